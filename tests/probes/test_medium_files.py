"""Files of the radio medium: a mistake ends it with one line that names the place.

A right file is read to its end; then this machine, which has no radios, is refused: status 4.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

TABLE = "radio,node,mac,freq_mhz\n0,0,02:00:00:00:00:00,2412\n1,1,02:00:00:00:00:01,2412\n"
MOVEMENT = "t_ns,node,x_mm,y_mm\n0,0,0,0\n5,0,-10,20\n0,1,0,0\n"
NO_RADIOS = "this kernel lacks MAC80211_HWSIM"


def started(
    probes: Any, folder: Path, table: str = TABLE, movement: bytes = MOVEMENT.encode()
) -> Any:
    (folder / "radios.csv").write_text(table)
    (folder / "movement.csv").write_bytes(movement)
    return probes.run(
        "wifi_medium",
        f"--radios-file={folder / 'radios.csv'}",
        f"--movement-file={folder / 'movement.csv'}",
    )


def test_right_files_are_read(probes: Any, tmp_path: Path) -> None:
    done = started(probes, tmp_path)
    assert (done.status, NO_RADIOS in done.stderr) == (4, True)
    options = done.one("options")
    assert options["carrier_sense_m"] == 550
    assert (options["retry_limit"], options["long_retry_limit"]) == (7, 4)
    assert options["rts_threshold_bytes"] is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("t_ns,node", "t,node", ":1: wanted t_ns,node,x_mm,y_mm, got t,node,x_mm,y_mm"),
        ("5,0,-10,20", "5,0,-10", ":3: wanted four integers"),
        ("5,0,-10,20", "5,0,-1e1,20", ":3: wanted four integers"),
        ("5,0,-10,20", "05,0,-10,20", ":3: wanted four integers"),
        ("5,0,-10,20", "-5,0,-10,20", ":3: wanted four integers"),
        ("5,0,-10,20", "5,0,-10,2000000000", ":3: wanted four integers"),
        ("5,0,-10,20", "99999999999999999999,0,0,0", ":3: wanted four integers"),
        ("5,0,-10,20", "0,0,-10,20", ":3: wanted a later time"),
        ("0,1,0,0\n", "0,2,0,0\n", ":4: wanted a node that has a radio"),
        ("0,1,0,0\n", "", ":4: wanted a row for every node that has a radio, got the end"),
        ("0,1,0,0\n", "0,1,0,0", ":4: wanted a line of at most 94 characters, ended"),
        ("0,1,0,0\n", "0,1,0,0\n9,0,0,0\n", ":5: wanted rows of all nodes, in order of node"),
        (MOVEMENT, "", ":1: wanted t_ns,node,x_mm,y_mm, got an empty file"),
    ],
)
def test_mistake_in_the_movement(
    probes: Any, tmp_path: Path, old: str, new: str, said: str
) -> None:
    done = started(probes, tmp_path, movement=MOVEMENT.replace(old, new, 1).encode())
    assert done.status == 3
    assert f"movement.csv{said}" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("1,1,02:00:00:00:00:01", "1,1,02:00:00:00:00:00", "address that no other radio has"),
        ("1,1,02", "1,2,02", "nodes numbered from 0 without a gap"),
        ("1,1,02", "2,1,02", "radios numbered from 0 in order"),
        (":01,2412", ":01,5180", "from 2412 to 2484 MHz"),
        (":01,2412", ":01", "radio,node,mac,freq_mhz"),
        (":01,2412", ":01,2412 ", "1,1,02:00:00:00:00:01,2412"),
    ],
)
def test_mistake_in_the_table(probes: Any, tmp_path: Path, old: str, new: str, said: str) -> None:
    done = started(probes, tmp_path, table=TABLE.replace(old, new, 1))
    assert done.status == 3
    assert (
        f"wanted {said}" in done.stderr
        or f"wanted an {said}" in done.stderr
        or (f"a frequency {said}" in done.stderr)
    )


def test_huge_file_is_refused_unread(probes: Any, tmp_path: Path) -> None:
    (tmp_path / "radios.csv").write_text(TABLE)
    with (tmp_path / "movement.csv").open("wb") as huge:
        huge.truncate(10 << 30)
    done = probes.run(
        "wifi_medium",
        f"--radios-file={tmp_path / 'radios.csv'}",
        f"--movement-file={tmp_path / 'movement.csv'}",
    )
    assert done.status == 3
    assert "wanted at most 134217728 bytes, got 10737418240 bytes" in done.stderr


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--ack-rate-bps=3000000", "a rate no radio has"),
        ("--carrier-sense-m=249", "at least --range-m"),
        ("--cw-max-slots=30", "at least --cw-min-slots"),
        ("--rts-threshold-bytes=3001", "from 0 to 3000"),
        ("--long-retry-limit=0", "from 1 to 255"),
    ],
)
def test_options_that_do_not_go_together(probes: Any, option: str, said: str) -> None:
    done = probes.run("wifi_medium", "--radios-file=x", "--movement-file=y", option)
    assert done.status == 2
    assert said in done.stderr


def test_damaged_movement_never_breaks_the_reader(probes: Any, tmp_path: Path) -> None:
    """Bytes changed, removed or doubled: read or refused in words, whatever it is."""
    generator = random.Random(7)
    for _ in range(60):
        text = bytearray(MOVEMENT.encode())
        for _ in range(generator.randint(1, 4)):
            at = generator.randrange(len(text))
            text[at : at + 1] = generator.choice(
                (b"", bytes([generator.randrange(256)]), text[at : at + 9] * 2)
            )
        done = started(probes, tmp_path, movement=bytes(text))
        assert done.status in (3, 4), done.stderr
        assert "Sanitizer" not in done.stderr
