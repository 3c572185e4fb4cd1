"""Progress in words: durations, plain lines where there is no terminal, bars where there is."""

from __future__ import annotations

import contextlib
import io
import time

import pytest
from rich.console import Console

from testbed.campaign.progress import Display, duration_text
from testbed.campaign.run_cells import Progress


@pytest.mark.parametrize(
    ("duration_s", "words"),
    [
        (-1, "0 s"),
        (0, "0 s"),
        (0.4, "0 s"),
        (8.4, "8 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 0 min"),
        (7500, "2 h 5 min"),
        (90_000, "25 h 0 min"),
    ],
)
def test_durations(duration_s: float, words: str) -> None:
    assert duration_text(duration_s) == words


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "monotonic", made)
    return made


def display(*, terminal: bool = False) -> tuple[Display, io.StringIO]:
    out = io.StringIO()
    return Display(Console(file=out, force_terminal=terminal, width=120)), out


def campaign(done: int, *, failed: int = 0, total: int = 10, virtual_s: float = 100.0) -> Progress:
    """Return how far a campaign of equal cells is."""
    return Progress(
        total_cells=total,
        done_cells=done,
        failed_cells=failed,
        total_virtual_s=total * virtual_s,
        done_virtual_s=done * virtual_s,
    )


def test_lines_come_now_and_then_and_at_the_end(clock: Clock) -> None:
    shown, out = display()
    with shown:
        for second, done in ((0, 0), (4, 1), (9, 2), (10, 4), (11, 5), (40, 10)):
            clock.now_s = 1000.0 + second
            shown.cells(campaign(done))
    assert out.getvalue().splitlines() == [
        "running cells:   0 %  0/10 cells",
        # 4 cells of 100 virtual s in 10 s; the other six take 15 s at that pace.
        "running cells:  40 %  4/10 cells, 40 virtual s per s, 15 s left",
        "running cells: 100 %  10/10 cells, 25 virtual s per s",
    ]


def test_why_the_first_cell_failed_is_told_at_once_and_once(clock: Clock) -> None:
    shown, out = display()
    one = campaign(3, failed=1)
    shown.cells(one)
    one.first_failure = "cell 3f: the lab [died]: got a signal"
    shown.cells(one)
    shown.cells(one)
    said = "failed, the others go on: cell 3f: the lab [died]: got a signal\n"
    assert out.getvalue().count(said) == out.getvalue().count("failed, the") == 1


def test_failed_cells_are_told(clock: Clock) -> None:
    shown, out = display()
    shown.cells(campaign(3, failed=2))
    assert out.getvalue() == "running cells:  30 %  5/10 cells, 2 failed\n"


def test_cells_from_the_store_are_counted_apart_and_say_nothing_of_the_pace(clock: Clock) -> None:
    shown, out = display()
    shown.cells(campaign(0))
    clock.now_s += 10
    some = campaign(6)
    some.stored_cells, some.total_virtual_s, some.done_virtual_s = 4, 600.0, 200.0
    shown.cells(some)
    # 200 of 600 virtual s in 10 s.
    words = "running cells:  33 %  6/10 cells, 4 from the store, 20 virtual s per s, 20 s left"
    assert out.getvalue().splitlines()[1:] == [words]


def test_a_campaign_that_is_all_in_the_store_is_all_done(clock: Clock) -> None:
    shown, out = display()
    every = campaign(10, virtual_s=0.0)
    every.stored_cells = 10
    shown.cells(every)
    assert out.getvalue() == "running cells: 100 %  10/10 cells, 10 from the store\n"


def test_what_went_wrong_with_the_store_is_told_once(clock: Clock) -> None:
    shown, out = display()
    one = campaign(3)
    for said in ((), ("the store's [tables]",), ("the store's [tables]", "another")):
        one.said = said
        shown.cells(one)
    told = [line for line in out.getvalue().splitlines() if line.startswith("warning")]
    assert told == ["warning: the store's [tables]", "warning: another"]


def test_a_campaign_of_nothing(clock: Clock) -> None:
    shown, out = display()
    shown.cells(campaign(0, total=0))
    assert out.getvalue() == "running cells:   0 %  0/0 cells\n"


def test_an_export_counts_its_cells(clock: Clock) -> None:
    shown, out = display()
    for second, done in ((0, 0), (10, 1), (11, 2), (40, 4)):
        clock.now_s = 1000.0 + second
        shown.exporting(done, 4)
    assert out.getvalue().splitlines() == [
        "exporting captures:   0 %  0/4 cells",
        "exporting captures:  25 %  1/4 cells, 30 s left",
        "exporting captures: 100 %  4/4 cells",
    ]


def test_builds_are_told_apart(clock: Clock) -> None:
    shown, out = display()
    shown.building("lab image", 0.0)
    shown.building("kernel 7.3", 0.01)
    clock.now_s += 60
    shown.building("kernel 7.3", 0.25)
    clock.now_s += 60
    shown.building("kernel 7.3", 0.99)  # how long the end takes is not known
    assert out.getvalue().splitlines() == [
        "building lab image:   0 %",
        "building kernel 7.3:   1 %",
        "building kernel 7.3:  25 %  3 min 0 s left",
        "building kernel 7.3:  99 %",
    ]


def test_a_terminal_gets_bars(clock: Clock) -> None:
    shown, out = display(terminal=True)
    with shown:
        shown.building("lab image", 0.5)
        shown.cells(campaign(5))
    text = out.getvalue()
    assert "building lab image" in text
    assert "running cells" in text
    assert "100 %" in text  # what ended well is shown as whole


def test_bars_of_what_failed_stay_where_they_are(clock: Clock) -> None:
    shown, out = display(terminal=True)
    with contextlib.suppress(ValueError), shown:
        shown.cells(campaign(5))
        raise ValueError
    assert "100 %" not in out.getvalue()
    assert "\x1b[?25h" in out.getvalue()  # the cursor is shown again
