"""Movements of setdest and BonnMotion: read as ns-2 would move the nodes, or refused at a line."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from model.errors import ParseError
from model.movement.paths import Field, Row
from simulators.movements import claimed as claims
from simulators.movements.claimed import Claimed, Imported
from simulators.movements.read import Format, read

S = 1_000_000_000
CLAIMED = Claimed(nodes=2, field=Field(width_mm=1_000_000, height_mm=300_000), until_ns=100 * S)
SETDEST = """\
#
# nodes: 2, pause: 2.00, max speed: 20.00
#
$node_(0) set X_ 100.0
$node_(0) set Y_ 50.0
$node_(0) set Z_ 0.000000000000
$node_(1) set X_ 700
$node_(1) set Y_ 200
$god_ set-dist 0 1 3
$ns_ at 2.000000000000 "$node_(0) setdest 130.0 90.0 5.0"
$ns_ at 4.000000000000 "$god_ set-dist 0 1 2"
$ns_ at 20.0 "$node_(0) setdest 130.0 290.0 10.0"
$ns at 25.0 "$node_(0) setdest 230.0 140.0 20.0"
$ns_ at 27.0 "$node_(0) setdest 0.0 0.0 0.0"
"""
BONNMOTION = (
    "# made by hand\n0 100 50 2 100 50 12 130 90\n0.0 700.0 200.0 100 700 200 100 700 200\n"
)


def imported(tmp_path: Path, content: str | bytes, form: Format) -> Imported:
    file = tmp_path / "m"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return read(file, form, CLAIMED)


def refused(tmp_path: Path, content: str | bytes, form: Format) -> str:
    with pytest.raises(ParseError) as caught:
        imported(tmp_path, content, form)
    return str(caught.value).replace(f"{tmp_path}/", "")


def test_setdest_worked_by_hand(tmp_path: Path) -> None:
    """ns-2.35 says the same places of node 0 when it meets each setdest."""
    found = imported(tmp_path, SETDEST, "setdest")
    assert found.movement.paths[0].rows == (
        Row(0, 100_000, 50_000),
        Row(2 * S, 100_000, 50_000),
        Row(12 * S, 130_000, 90_000),  # 50 m at 5 m/s
        Row(20 * S, 130_000, 90_000),
        Row(25 * S, 130_000, 140_000),  # 50 m of 200: another trip begins here
        Row(27 * S, 170_000, 140_000),  # 40 m of 100: speed 0 ends it
    )
    assert found.movement.paths[1].rows == (Row(0, 700_000, 200_000),)
    assert [note.replace(f"{tmp_path}/", "") for note in found.notes] == [
        "m: 2 lines of $god_ passed over",
        "m: no node moves after 27 s, and runs last 100 s",
    ]


def test_bonnmotion_worked_by_hand(tmp_path: Path) -> None:
    found = imported(tmp_path, BONNMOTION, "bonnmotion")
    assert found.movement.paths[0].rows == (
        Row(0, 100_000, 50_000), Row(2 * S, 100_000, 50_000), Row(12 * S, 130_000, 90_000),
    )  # fmt: skip
    assert found.movement.paths[1].rows == (
        Row(0, 700_000, 200_000),
        Row(100 * S, 700_000, 200_000),
    )
    assert found.notes == ()
    packed = imported(tmp_path, gzip.compress(BONNMOTION.encode()), "bonnmotion")
    assert packed.movement == found.movement


def test_both_formats_of_one_movement_are_one(tmp_path: Path) -> None:
    setdest = SETDEST.split("$ns_ at 20.0")[0]
    found = [imported(tmp_path, *one).movement.paths[0]
             for one in ((setdest, "setdest"), (BONNMOTION, "bonnmotion"))]  # fmt: skip
    assert found[0] == found[1]


GO = '$ns_ at 30.0 "$node_(0) setdest {} {} {}"\n'


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("hello\n", ("m:15: no line of setdest: wanted such as '$ns_ at 2.0 \"$node_(0) setdest"
         " 90.4 44.9 1.37\"', got 'hello'")),
        ("0 1 2\n", ("m:15: no line of setdest: wanted such as '$ns_ at 2.0 \"$node_(0) setdest"
         " 90.4 44.9 1.37\"', got '0 1 2' (is it format: bonnmotion?)")),
        (GO.format(1, 2, 3)[:-2] + "\n", None),
        ('$ns_ at 30.0 "$node_(2) setdest 1 2 3"\n',
         "m:15: a node that the study does not have: wanted nodes from 0 to 1, got node 2"),
        ("$node_(1) set X_ 5\n", ("m:15: X_ of node 1 is set again: wanted once"
         " (nodes cannot jump)")),
        ("$node_(1) set Z_ 5\n", ("m:15: a node above the ground: wanted Z_ 0, got 5"
         " (movements have two dimensions)")),
        (GO.format(1, 2, 3).replace("30.0", "26.5"),
         "m:15: earlier than the setdest of node 0 before: wanted 27 s or later, got 26.5 s"),
        (GO.format("1000.1", 2, 3), ("m:15: outside of the field: wanted x from 0 to 1000 m,"
         " got x 1000.1 (the study's field has that width)")),
        (GO.format(1, "-0.5", 3), ("m:15: outside of the field: wanted y from 0 to 300 m,"
         " got y -0.5 (the study's field has that height)")),
        (GO.format(1, "nan", 3), "m:15: y of a place is no number: wanted a number, got 'nan'"),
        (GO.format(1, 2, "inf"), None),
        (GO.format(1, 2, "1e3"), "m:15: too fast: wanted at most 340 m/s, got 1000 m/s"),
        (GO.format(1, 2, "-3"), ("m:15: the speed is out of range: wanted a number of 0 or more,"
         " got -3")),
        (GO.format(1, 2, "1e-320"), ("m:15: too slow to arrive: wanted within 4611686018 s,"
         " got 9.99989e-321 m/s")),
        (GO.format(1, 2, 3).replace("30.0", "1e30"),
         "m:15: too late a time: wanted at most 4611686018 s, got 1e30"),
        (GO.format(1, 2, 3)[:-1], ("m:15: the last line has no end: wanted a whole line,"
         " got '30.0 \"$node_(0) setdest 1 2 3\"' (was the file cut short?)")),
        ("$node_(0) " + "x" * 2000 + "\n", "m:15: too long a line: wanted at most 1000 bytes"),
    ],
)  # fmt: skip
def test_what_setdest_does_not_write(tmp_path: Path, more: str, said: str | None) -> None:
    found = refused(tmp_path, SETDEST + more, "setdest")
    assert found.startswith("m:15: ") if said is None else found == said


def test_nodes_without_a_place(tmp_path: Path) -> None:
    text = SETDEST.replace("$node_(1) set Y_ 200\n", "")
    assert refused(tmp_path, text, "setdest") == (
        "m:7: node 1 has no Y_: wanted $node_(1) set Y_ below, got X_ alone"
        " (was the file cut short?)"
    )
    flat = text.replace("$node_(1) set X_ 700", "$node_(1) set Z_ 0")
    assert refused(tmp_path, flat, "setdest") == (
        "m:7: node 1 has no X_ and no Y_: wanted $node_(1) set X_ below, got Z_ alone"
        " (was the file cut short?)"
    )
    one = "".join(line for line in SETDEST.splitlines(keepends=True) if "node_(1)" not in line)
    assert refused(tmp_path, one, "setdest") == (
        "m: node 1 has no place: wanted 2 nodes, numbered from 0, got 1 nodes"
        " (was the file cut short?)"
    )
    assert refused(tmp_path, SETDEST.replace("$node_(0) set Y_ 50.0\n", ""), "setdest") == (
        "m:9: node 0 moves before it has a place: wanted $node_(0) set X_ and Y_ above"
    )
    assert refused(tmp_path, "# nothing\n", "setdest").startswith("m: node 0 has no place")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "m: the file is empty"),
        ("\n", ("m: not all nodes have a line: wanted 2 lines, one for each node, got 0"
         " (was the file cut short?)")),
        ("0 1 2\n", ("m: not all nodes have a line: wanted 2 lines, one for each node, got 1"
         " (was the file cut short?)")),
        ("0 1 2\n" * 3, "m:3: a node more than the study has: wanted 2 lines, one for each node"),
        ("0 1 2 3 4\n", ("m:1: not times with places: wanted three numbers each: t x y,"
         " got 5 words")),
        ("0 1 2 0\n", ("m:1: not times with places: wanted three numbers each: t x y, got 4 words"
         " (has it three dimensions?)")),
        (SETDEST[SETDEST.index("$"):], ("m:1: not times with places: wanted three numbers each:"
         " t x y, got 4 words (is it format: setdest?)")),
        ("0 1 2 5 1 2 4 1 2\n", ("m:1: a time of node 0 that does not ascend: wanted 5 s or later,"
         " got 4 s")),
        ("0 1 2 0 9 2\n", "m:1: node 0 is too fast: wanted at most 340 m/s, got 8 m in 0 s"),
        ("0 1 2 1 900 2\n", "m:1: node 0 is too fast: wanted at most 340 m/s, got 899 m in 1 s"),
        ("0 1 301\n", ("m:1: outside of the field: wanted y from 0 to 300 m, got y 301"
         " (the study's field has that height)")),
        ("-1 1 2\n", "m:1: the time is out of range: wanted a number of 0 or more, got -1"),
        ("0 1,5 2\n", ("m:1: x of a place is no number: wanted a number, got '1,5'"
         " (decimals are written with a point)")),
        ("0 1 2\n0 1 2", ("m:2: the last line has no end: wanted a whole line, got '0 1 2'"
         " (was the file cut short?)")),
    ],
)  # fmt: skip
def test_what_bonnmotion_does_not_write(tmp_path: Path, text: str, said: str) -> None:
    assert refused(tmp_path, text, "bonnmotion") == said


def test_a_packed_file_cut_short(tmp_path: Path) -> None:
    packed = gzip.compress(BONNMOTION.encode())
    said = refused(tmp_path, packed[:-12], "bonnmotion")
    assert said == "m: cannot be read as gzip: got it is cut short"


def test_a_huge_file_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "MOST_BYTES", len(SETDEST) - 1)
    assert refused(tmp_path, SETDEST, "setdest") == (
        f"m: too large a file: wanted at most {len(SETDEST) - 1} bytes, got {len(SETDEST)} bytes"
        " (lines of $god_ can be left out)"
    )
    os.truncate(tmp_path / "m", 10_000_000_000)
    with pytest.raises(ParseError, match="wanted a file without holes"):
        read(tmp_path / "m", "setdest", CLAIMED)


def test_rows_and_bytes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MOST_ROWS", 4)
    assert refused(tmp_path, SETDEST, "setdest") == "m:13: too many rows: wanted at most 4 in all"
    monkeypatch.setattr(claims, "MOST_BYTES", 200)
    packed = gzip.compress(("# " + "x" * 150 + "\n").encode() * 2 + SETDEST.encode())
    assert refused(tmp_path, packed, "setdest") == (
        "m:2: too large a file: wanted at most 200 bytes, got more, unpacked"
    )
