"""``groundtruth status``: how far a run or a set is, once, again and again, or as a page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from model import plain_files
from model.errors import UnsupportedError
from model.words import how_many
from testbed.campaign import state, study_sets
from testbed.campaign.progress import duration_text
from testbed.campaign.state import CALLED, CellState, RunState
from testbed.command.runs import status_page
from testbed.machine.console import out

#: How often a run is looked at again.
EVERY_S = 2.0
#: How many failures are named of a run; all are in its folder.
MOST_NAMED = 10


def command(run_name: str, page: Path | None, *, watch: bool) -> None:
    """Print how far a run or a set is, or write it as a page; with ``watch`` until it ends.

    Raises:
        StudyError: there is no such run.
        ParseError: its plan cannot be read.
        UnsupportedError: the page cannot be written.
    """
    while True:
        states = read(run_name)
        held = any(one.held for one in states)
        if page is not None:
            words = [_remaining_words(states), *machines(states)]
            _write(page, status_page.page(states, words, refresh=watch and held))
        if page is None or not watch or not held:
            show(states)
        if not watch or not held:
            return
        time.sleep(EVERY_S)
        if page is None and out().is_terminal:
            out().clear()


def _write(page: Path, html: str) -> None:
    try:
        plain_files.write(page.absolute(), html.encode(), unlocked=True)
    except OSError as error:
        raise UnsupportedError("cannot write the page", where=str(page), got=str(error)) from error


def read(run_name: str) -> list[RunState]:
    """Return how far each run is of what is named; one that is not there yet is left out."""
    found = study_sets.named(run_name)
    return [state.read(run) for run in found.runs if plain_files.is_folder(run)]


def show(states: Sequence[RunState]) -> None:
    """Print how far runs are: in all, by point, and what failed."""
    for line in heads(states):
        out().print(line)
    for one in states:
        out().print(_table(one, titled=len(states) > 1))
    for line in failures(states):
        out().print(line, soft_wrap=True)


def heads(states: Sequence[RunState]) -> list[str]:
    """Return the lines that say how far all is."""
    cells = sum(len(one.cells) for one in states)
    parts = [
        f"{number} {called}"
        for how, called in CALLED.items()
        if (number := sum(one.number(how) for one in states))
    ]
    said = [f"{how_many(cells, 'cell')}: {', '.join(parts) or 'none planned'}",
            _remaining_words(states)]  # fmt: skip
    return [*said, *machines(states)]


def machines(states: Sequence[RunState]) -> list[str]:
    """Return a line for each machine that finished cells: how many, and how long one took."""
    found: dict[str, list[float]] = {}
    for cell in (cell for one in states for cell in one.cells if cell.machine):
        found.setdefault(cell.machine, []).append(cell.took_s)
    return [
        f"on {name}: {how_many(len(took), 'cell')}, {sum(took) / len(took):.1f} s each"
        for name, took in sorted(found.items())
    ]


def _remaining_words(states: Sequence[RunState]) -> str:
    """Return what is to come, in words."""
    if state.all_finished(states):
        return "all cells have finished"
    held = any(one.held for one in states)
    left_s = state.remaining_s(states)
    if left_s is None:
        words = "how long the others take is not known yet"
    else:
        running = max(1, sum(one.number("running") for one in states))
        words = f"about {duration_text(left_s)} left, {running} at once"
    return words if held else f"no process is working on it; {words}; groundtruth resume goes on"


def rows(one: RunState) -> list[tuple[str, ...]]:
    """Return for each point its name and how many of its cells are of each kind."""
    return [
        (point, *(str(sum(cell.how == how for cell in cells) or "") for how in CALLED))
        for point, cells in one.points().items()
    ]


def _table(one: RunState, *, titled: bool) -> Table:
    title = one.name if titled else None
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("point")
    for called in CALLED.values():
        table.add_column(called, justify="right")
    for row in rows(one):
        table.add_row(*row)
    return table


def failures(states: Sequence[RunState]) -> list[str]:
    """Return a line for each of the first cells that failed, with why."""
    failed = [(one, cell) for one in states for cell in one.failures()]
    lines = [
        f"failed: {one.name + ': ' if len(states) > 1 else ''}{failure_words(cell)}"
        for one, cell in failed[:MOST_NAMED]
    ]
    more = len(failed) - MOST_NAMED
    return [*lines, f"and {more} more"] if more > 0 else lines


def failure_words(cell: CellState) -> str:
    """Return which cell failed, and why."""
    planned = cell.planned
    what = "calibration" if planned.cell.purpose == "calibrate" else f"seed {planned.cell.seed}"
    return f"{cell.point}, {what} (cells/{planned.id}): {cell.why}"
