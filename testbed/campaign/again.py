"""Finished cells done again: run, to see that the bytes are the same, or parsed, for new tables.

Invariant of parsing: a cell is always whole. It has its old tables or its new ones; if the program
is killed between the two it has no DONE, so that no report takes it, and parsing it again completes
it.
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from model import plain_files, run_folder
from model.errors import ParseError, RunError, UnsupportedError
from model.words import how_many
from testbed.campaign import digests, run_cells
from testbed.campaign.run_cell import write_done
from testbed.campaign.run_cells import Progress
from testbed.labs import registry
from testbed.labs.contract.lab import Lab, Properties
from testbed.machine import scratch, workers
from testbed.planning.plan import PlannedCell, virtual_s

TABLES = "tables"
#: What the parsers make; everything else in a cell is evidence.
MADE = (TABLES, run_folder.AUDIT)
CHANGES = ("new", "changed", "gone", "same")


@dataclass(kw_only=True)
class Outcome:
    """What parsing a run again did: how often each table changed how, and why cells failed."""

    cells: int = 0
    unfinished: int = 0
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[tuple[str, str]] = field(default_factory=list)


def parse_cells(
    run: Path,
    cells: Sequence[PlannedCell],
    *,
    jobs: int,
    report: Callable[[Progress], None],
) -> Outcome:
    """Parse every finished measuring cell again, ``jobs`` at once; one that fails is left alone."""
    measuring = [planned for planned in cells if planned.cell.purpose == "measure"]
    todo = [p for p in measuring if _recorded_in(run_folder.cell_folder(run, p.id))]
    outcome = Outcome(unfinished=len(measuring) - len(todo))
    progress = Progress(total_cells=len(todo), total_virtual_s=sum(virtual_s(p.cell) for p in todo))
    report(progress)

    def ended(planned: PlannedCell, changes: dict[str, str] | Exception) -> None:
        progress.done_virtual_s += virtual_s(planned.cell)
        if not isinstance(changes, Exception):
            progress.done_cells += 1
            outcome.cells += 1
            outcome.changes.update(changes.items())
        else:
            progress.failed_cells += 1
            text = str(changes).replace(f"{place}/", "").replace(f"{run}/", "")
            outcome.failures.append((planned.id, text))
        report(progress)

    with scratch.scratch(run, run_folder.PARSE_SCRATCH) as place:
        act = functools.partial(parse_cell, run, place)
        workers.each(todo, act, name=lambda p: f"cell {p.id}", jobs=jobs, ended=ended)
    return outcome


def _recorded_in(folder: Path) -> str:
    """Return the name of the file that says what a cell's files were; empty if it is not done."""
    names = (run_folder.DONE, run_folder.DONE_BEFORE)
    return next((name for name in names if plain_files.is_file(folder / name)), "")


def parse_cell(run: Path, place: Path, planned: PlannedCell) -> dict[str, str]:
    """Parse one finished cell again; return what became of each table: a word of ``CHANGES``.

    Raises:
        ParseError: a raw file is not what the run left, or cannot be parsed; nothing has changed.
    """
    # When needed: tables are slow to load.
    from collectors.tables.write import write_tables
    from simulators.ns2 import cell_files

    folder = run_folder.cell_folder(run, planned.id)
    digests.raise_if_freed(folder)
    if run_folder.is_done(folder):  # so the swap that made this was over
        (folder / run_folder.DONE_BEFORE).unlink(missing_ok=True)
    try:
        found = digests.of_cell(folder)
    except OSError as error:
        raise ParseError("cannot look at a cell", where=str(folder), got=str(error)) from error
    evidence = _check_evidence(folder, found)
    view = _view(folder, run_folder.cell_folder(place, planned.id))
    kind = registry.named(planned.cell.lab.get("name", ""))
    if planned.cell.simulated():
        cell_files.write_tables(view, planned.cell)
    else:
        write_tables(view, planned.cell, kind.properties.tolerances)
    made = {f"{TABLES}/{name}": one for name, one in digests.of_cell(view / TABLES).items()}
    made[run_folder.AUDIT] = plain_files.sha256(view / run_folder.AUDIT)
    old = {name: digest for name, digest in found.items() if _is_made(name)}
    recorded = {**evidence, **made}
    if made != old or digests.read_done(folder, _recorded_in(folder)) != recorded:
        _swap(folder, view, recorded)
    return {name: _change(name, old, made) for name in sorted({*old, *made})}


def _is_made(name: str) -> bool:
    return name.partition("/")[0] in MADE


def _change(name: str, old: Mapping[str, str], made: Mapping[str, str]) -> str:
    if name not in old:
        return "new"
    if name not in made:
        return "gone"
    return "same" if old[name] == made[name] else "changed"


def _check_evidence(folder: Path, found: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of all that is not made by parsers; raise unless they are as recorded."""

    def evidence(all_of_them: Mapping[str, str]) -> dict[str, str]:
        return {name: digest for name, digest in all_of_them.items() if not _is_made(name)}

    recorded = evidence(digests.read_done(folder, _recorded_in(folder)))
    wrong = digests.differences(recorded, evidence(found))
    if wrong:
        raise ParseError(
            "raw files are not what the run left",
            where=str(folder),
            got="; ".join(wrong[: digests.MOST_NAMED]),
            hint="resume runs this cell again",
        )
    return recorded


def _view(folder: Path, view: Path) -> Path:
    """Return a folder with a cell's evidence, the same files, and room for new tables beside it."""
    for name, path in plain_files.files(folder):
        if not _is_made(name):
            (view / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(path, view / name, follow_symlinks=False)
    return view


def _swap(folder: Path, view: Path, recorded: Mapping[str, str]) -> None:
    """Put what was made in ``view`` in place of what the cell has; DONE comes back last."""
    done, before = folder / run_folder.DONE, folder / run_folder.DONE_BEFORE
    if plain_files.is_file(done):
        done.replace(before)
    if plain_files.is_folder(folder / TABLES):
        (folder / TABLES).rename(view / f"{TABLES}.before")
    (view / TABLES).rename(folder / TABLES)
    (view / run_folder.AUDIT).replace(folder / run_folder.AUDIT)
    write_done(folder, recorded)
    before.unlink()


def table_lines(outcome: Outcome) -> list[str]:
    """Return what became of each table, in words, one line each."""
    lines = [f"{how_many(outcome.cells, 'cell')} parsed"]
    if outcome.unfinished:
        lines[0] += f", {outcome.unfinished} not finished"
    for name in sorted({name for name, _ in outcome.changes}):
        counts = [(outcome.changes[name, change], change) for change in CHANGES]
        lines.append(f"{name}: {', '.join(f'{n} {change}' for n, change in counts if n)}")
    return lines


def raise_if_failed(outcome: Outcome) -> None:
    """Raise one :class:`RunError` that names the first cells that could not be parsed."""
    if outcome.failures:
        shown = "\n".join(f"  {why}" for _, why in outcome.failures[:10])
        raise RunError(f"{how_many(len(outcome.failures), 'cell')} could not be parsed:\n{shown}")


def choose(cells: Sequence[PlannedCell], count: int) -> list[PlannedCell]:
    """Return ``count`` cells spread evenly over those given; all of them for 0."""
    if count == 0 or count >= len(cells):
        return list(cells)
    return [cells[index * len(cells) // count] for index in range(count)]


def check_repeatable(properties: Properties) -> None:
    """Raise :class:`UnsupportedError` for a lab that does not promise the same bytes."""
    if not properties.repeatable:
        raise UnsupportedError(
            "cells of this lab cannot be verified",
            where=f"{properties.name} lab",
            wanted="a lab whose cells leave the same bytes each time",
            got=f"one in {properties.clock} time",
            hint="compare the intervals of two runs",
        )


def repeat(
    folder: Path,
    chosen: Sequence[PlannedCell],
    lab: Lab,
    *,
    jobs: int,
    report: Callable[[Progress], None],
) -> dict[str, str]:
    """Run finished cells of a run folder again, beside it; return how they differ.

    Raises:
        UnsupportedError: the lab does not promise the same bytes.
        RunError: a cell failed this time.
    """
    check_repeatable(lab.properties)
    with scratch.scratch(folder, run_folder.VERIFY_SCRATCH) as place:
        _lend_movements(folder, place)
        outcome = run_cells.run_cells(place, chosen, lab, jobs=jobs, report=report)
        run_cells.raise_if_failed(outcome, folder)
        return compare(folder, place, chosen)


def _lend_movements(folder: Path, place: Path) -> None:
    """Let cells beside a run follow the movements that it keeps."""
    kept = folder / run_folder.MOVEMENTS
    if plain_files.is_folder(kept):
        lent = place / run_folder.MOVEMENTS
        lent.mkdir()
        for name, path in plain_files.files(kept):
            if run_folder.is_movement(f"{run_folder.MOVEMENTS}/{name}"):
                os.link(path, lent / name, follow_symlinks=False)


def compare(folder: Path, again: Path, chosen: Sequence[PlannedCell]) -> dict[str, str]:
    """Return how the cells in ``again`` differ from those a run folder recorded, by place."""
    problems = {}
    for planned in chosen:
        recorded = digests.read_done(run_folder.cell_folder(folder, planned.id))
        repeated = digests.of_cell(run_folder.cell_folder(again, planned.id))
        for line in digests.differences(recorded, repeated):
            name, _, how = line.partition(": ")
            problems[f"cells/{planned.id}/{name}"] = how
    return problems
