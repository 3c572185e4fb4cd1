"""movement.csv: one text for a movement, and nothing else read as one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import ParseError
from model.movement import movement_csv
from model.movement.movement_csv import movement_of, text_of
from model.movement.paths import MOST_MM, MOST_NS, Movement, Path, Row

TWO = Movement((Path((Row(0, 500_000, 150_000), Row(2_000_000_001, 0, 7))), Path((Row(3, 1, 2),))))
TEXT = "t_ns,node,x_mm,y_mm\n0,0,500000,150000\n2000000001,0,0,7\n3,1,1,2\n"

rows = st.dictionaries(
    st.integers(0, MOST_NS), st.tuples(st.integers(0, MOST_MM), st.integers(0, MOST_MM)),
    min_size=1, max_size=6,
)  # fmt: skip


def test_a_file_is_written_and_read() -> None:
    assert text_of(TWO) == TEXT
    assert movement_of(TEXT, "m.csv") == TWO


@given(st.lists(rows, min_size=1, max_size=4))
def test_any_movement_survives(nodes: list[dict[int, tuple[int, int]]]) -> None:
    every = Movement(
        tuple(Path(tuple(Row(t_ns, *node[t_ns]) for t_ns in sorted(node))) for node in nodes)
    )
    assert movement_of(text_of(every), "m.csv") == every


ROW = "four whole numbers: t_ns,node,x_mm,y_mm"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "m.csv: the file is empty: wanted t_ns,node,x_mm,y_mm"),
        ("\n", "m.csv:1: not its head: wanted t_ns,node,x_mm,y_mm, got ''"),
        ("t_ns", "m.csv:1: not its head: wanted t_ns,node,x_mm,y_mm, got 't_ns'"),
        (TEXT[20:], "m.csv:1: not its head: wanted t_ns,node,x_mm,y_mm, got '0,0,500000,150000'"),
        ("t_ns,node,x_mm,y_mm\n", "m.csv: no node in the file"),
        (
            TEXT[:-1],
            (
                "m.csv:4: the last line has no end: wanted a whole line, got '3,1,1,2'"
                " (was the file cut short?)"
            ),
        ),
        (TEXT + "\n", f"m.csv:5: not a row: wanted {ROW}, got ''"),
        (TEXT + "4,1,1\n", f"m.csv:5: not a row: wanted {ROW}, got '4,1,1'"),
        (TEXT + "4,1,1,-2\n", f"m.csv:5: not a row: wanted {ROW}, got '4,1,1,-2'"),
        (TEXT + "4,1,1,2.0\n", f"m.csv:5: not a row: wanted {ROW}, got '4,1,1,2.0'"),
        (TEXT + "4,1,1,02\n", f"m.csv:5: not a row: wanted {ROW}, got '4,1,1,02'"),
        (TEXT + "4,1,1,2\r\n", f"m.csv:5: not a row: wanted {ROW}, got '4,1,1,2\\r'"),
        (TEXT + "4,1,nan,2\n", f"m.csv:5: not a row: wanted {ROW}, got '4,1,nan,2'"),
        (TEXT + "4,1,٣,2\n", f"m.csv:5: not a row: wanted {ROW}, got '4,1,٣,2'"),
        (
            TEXT + "3,1,1,2\n",
            "m.csv:5: a time that does not ascend: wanted more than 3 ns, got 3 ns",
        ),
        (
            TEXT + "4,0,1,2\n",
            (
                "m.csv:5: not the node that follows: wanted 1 or 2, got 0"
                " (rows stand by node, from 0, then by time)"
            ),
        ),
        (
            TEXT + "4,3,1,2\n",
            (
                "m.csv:5: not the node that follows: wanted 1 or 2, got 3"
                " (rows stand by node, from 0, then by time)"
            ),
        ),
        (
            "t_ns,node,x_mm,y_mm\n4,1,1,2\n",
            (
                "m.csv:2: not the node that follows: wanted 0, got 1"
                " (rows stand by node, from 0, then by time)"
            ),
        ),
        (
            TEXT + f"4,1,1,{MOST_MM + 1}\n",
            f"m.csv:5: y_mm is too large: wanted at most {MOST_MM}, got {MOST_MM + 1}",
        ),
        (
            TEXT + f"{MOST_NS + 1},1,1,1\n",
            f"m.csv:5: t_ns is too large: wanted at most {MOST_NS}, got {MOST_NS + 1}",
        ),
    ],
)
def test_what_is_no_movement(text: str, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        movement_of(text, "m.csv")
    assert str(caught.value) == said


def test_too_much_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movement_csv, "MOST_ROWS", 2)
    with pytest.raises(ParseError, match=r"m\.csv: too many rows: wanted at most 2, got 3"):
        movement_of(TEXT, "m.csv")
    monkeypatch.setattr(movement_csv, "MOST_ROWS", 3)
    monkeypatch.setattr(movement_csv, "MOST_NODES", 1)
    with pytest.raises(ParseError, match=r"m\.csv:4: not the node that follows"):
        movement_of(TEXT, "m.csv")
