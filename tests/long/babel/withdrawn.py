"""A node that leaves a network that babeld routes: what is sent to it is offered and lost.

Run as ``cells.py`` beside this.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from model import run_folder
from testbed.campaign.run_cell import execute
from testbed.labs.virtual import virtual_lab
from tests.support.radio.traced_study import cell_of, read

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

#: All hear each other but for n4, which leaves at 1 s and is out of reach before 3 s. Its ways are
#: withdrawn about 48 s later, when its last hellos have gone from what is remembered of it, and
#: stand as unreachable for a while from then on.
PLACES_M = (10, 60, 30, 90, 100, 110)
TRACE = (
    "".join(
        f"$node_({number}) set X_ {x_m}\n$node_({number}) set Y_ 10\n"
        for number, x_m in enumerate(PLACES_M)
    )
    + '$ns_ at 1.0 "$node_(3) setdest 20000 10 340"\n'
)
#: 16 kbit/s of 540 bytes for 5 s.
START_S, PACKETS = 55, 19


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("withdrawn")
    study = read(
        place / "study", ("protocol: aodv", "protocol: babel"),
        ("duration: 20 s", "duration: 60 s"),
        ("  routing:", "  warm_up: 20 s\n  routing:"), ("width: 700 m", "width: 30000 m"),
        ("rate: 16 kbit/s", f"rate: 16 kbit/s, start: {START_S} s"), trace=TRACE,
    )  # fmt: skip
    lab = virtual_lab.ensure(study.kernel_at(study.points[0]), lambda _what, _done: None)
    one = cell_of(study, seed=9, lab=lab.describe())
    ((sha256, text),) = study.movements.of_cells([one])
    kept = run_folder.kept_movement(place, sha256)
    kept.parent.mkdir()
    kept.write_text(text)
    folder = run_folder.cell_folder(place, "c")
    execute(one, folder, lab, threading.Event())
    assert run_folder.is_done(folder)
    return folder


def totals(folder: Path, side: str) -> dict[str, Any]:
    last = (folder / "raw" / "flows" / f"cbr.{side}.jsonl").read_text().splitlines()[-1]
    found: dict[str, Any] = json.loads(last)
    return found


def test_a_sender_is_told_of_no_error(left: Path) -> None:
    sender = totals(left, "sender")
    assert (sender["packets"], sender["send_errors"]) == (PACKETS, 0)
    assert totals(left, "receiver")["goodput_bytes"] == 0


def test_all_is_as_it_was_set_and_began_as_asked(left: Path) -> None:
    for name in (run_folder.AUDIT, run_folder.VERIFY):
        checks = json.loads((left / name).read_text())["checks"]
        assert [check for check in checks if check["agrees"] is False] == []


def test_the_way_had_been_withdrawn_before(left: Path) -> None:
    """No other way is left out: the sender's daemon knows all who stayed, and not who left."""
    text = (left / "raw" / "routing" / "n3.jsonl").read_text()
    first, last, _ = (json.loads(line) for line in text.splitlines())
    prefixes = [{way["prefix"] for way in one["ways"]} for one in (first, last)]
    assert prefixes[0] - prefixes[1] == {"10.0.3.1/32"}
    assert len(prefixes[0]) == len(PLACES_M) - 1
