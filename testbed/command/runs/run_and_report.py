"""Running and reporting what a command was pointed at: one run folder, or all those of a set.

Invariants: of a set, what goes wrong with one study is told at the end, after the others have been
run and reported. What a run that adds seeds needs next follows from its folder alone, so an
interrupted run goes on as if it had not been; ``plan.json`` only grows.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from model import run_folder
from model.errors import GroundtruthError
from model.words import how_many
from testbed.campaign import attempts, digests, manifest, run_cells, saved_runs
from testbed.campaign.progress import Display
from testbed.campaign.run_cell import json_text
from testbed.campaign.run_cells import Part
from testbed.campaign.study_sets import Found, set_of, together
from testbed.command.runs import chart_library, clusters, full_disk
from testbed.machine import room, workers
from testbed.machine.command_line import groundtruth
from testbed.machine.console import out, words
from testbed.planning.plan import PlannedCell
from testbed.store import cells as store

if TYPE_CHECKING:
    from reports.inference.replication import Replication
    from reports.verdict.summary import Summary

#: A report takes seconds; one that takes this long never ends.
REPORT_WITHIN_S = 3600.0
#: What is printed of reports: the answer on one screen, all tables, test results, or nothing.
AS_TESTS = ("ktap", "junit")
TOLD = ("screen", "tables", *AS_TESTS)
#: What went wrong with which run, by its folder's name.
Errors = dict[str, GroundtruthError | OSError]


def jobs_or_cores(jobs: int | None) -> int:
    """Return the number of jobs asked for, or the number of cores this process may use."""
    return jobs if jobs is not None else len(os.sched_getaffinity(0))


def each(found: Found, act: Callable[[Path], None]) -> Errors:
    """Call ``act`` with every run; return what it raised, which of a lone run is raised at once."""
    errors: Errors = {}
    for run in found.runs:
        try:
            act(run)
        except (GroundtruthError, OSError) as error:
            if not found.is_set:
                raise
            errors[run.name] = error
    return errors


def raise_if_any(errors: Errors) -> None:
    """Raise one error for all those of a set's studies."""
    if errors:
        raise together(errors, "of the set's studies went wrong")


def finished(run: Path, cells: Sequence[PlannedCell]) -> list[PlannedCell]:
    """Return the cells that have finished."""
    todo = {planned.id for planned in run_cells.unfinished(run, cells)}
    return [planned for planned in cells if planned.id not in todo]


def run_and_report(
    found: Found,
    parts: Sequence[Part],
    errors: Errors,
    jobs: int,
    *,
    retries: int = attempts.RETRIES,
    told: str = "screen",
) -> None:
    """Run what is not finished, report every run, then raise what went wrong.

    ``errors`` are of runs that cannot even be begun.
    """
    with full_disk.told(found):
        _run_and_report(found, parts, errors, jobs, retries, told)


def _run_and_report(
    found: Found, parts: Sequence[Part], errors: Errors, jobs: int, retries: int, told: str
) -> None:
    outcomes: dict[Path, run_cells.Outcome] = {}
    with Display(words()) as display:
        errors |= _run_rounds(found, parts, outcomes, jobs, display, retries)
    if not found.is_set:
        try:
            report_run(found.folder, {}, told)
        finally:
            # Also when the report could not be written: why cells failed must be said.
            run_cells.raise_if_failed(outcomes[found.folder], found.folder)
        return
    try:
        wrong = report_set(found, {run: {} for run in outcomes}, jobs, told)
        errors |= {f"report of {name}": error for name, error in wrong.items()}
    finally:
        _raise_what_failed(outcomes, errors)


def run_only(found: Found, parts: Sequence[Part], jobs: int, retries: int) -> None:
    """Run what is not finished of a set, without reports; raise what went wrong."""
    outcomes: dict[Path, run_cells.Outcome] = {}
    with full_disk.told(found), Display(words()) as display:
        errors = _run_rounds(found, parts, outcomes, jobs, display, retries)
    _raise_what_failed(outcomes, errors)


def _raise_what_failed(outcomes: Mapping[Path, run_cells.Outcome], errors: Errors) -> None:
    for run, outcome in outcomes.items():
        try:
            run_cells.raise_if_failed(outcome, run)
        except GroundtruthError as error:
            errors[run.name] = error
    raise_if_any(errors)


def _run_rounds(
    found: Found,
    parts: Sequence[Part],
    outcomes: dict[Path, run_cells.Outcome],
    jobs: int,
    display: Display,
    retries: int,
) -> Errors:
    """Run the planned cells, then round by round what runs with ``--reps auto`` still need."""
    errors: Errors = {}
    elsewhere = clusters.named()
    for number in itertools.count(1):
        name = "running cells" if number == 1 else f"running round {number}"
        report = functools.partial(display.cells, name=name)
        ended = run_cells.run_parts(
            parts, jobs=jobs, report=report, use_store=True, elsewhere=elsewhere, retries=retries
        )
        more = []
        for part, outcome in zip(parts, ended, strict=True):
            outcomes[part.run] = outcome
            _write_failures(part.run, outcome)
            try:
                new = () if outcome.failures else next_cells(part.run)
            except GroundtruthError as error:
                if not found.is_set:
                    raise
                errors[part.run.name], new = error, ()
            if new:
                more.append(dataclasses.replace(part, cells=[*part.cells, *new]))
        _say_stored(sum(outcome.stored_cells for outcome in ended))
        parts = more
        if not parts:
            break
    return errors


def _say_stored(stored_cells: int) -> None:
    if stored_cells:
        came = f"{how_many(stored_cells, 'cell')} came from the store, {store.place()}"
        words().print(f"{came}: not run again", soft_wrap=True)


def _write_failures(folder: Path, outcome: run_cells.Outcome) -> None:
    failures = [
        {
            "rule": "cell-failed",
            "where": f"cells/{cell}",
            "text": message.replace(f"{folder}/", ""),
        }
        for cell, message in outcome.failures
    ]
    manifest.write(folder, {run_folder.WARNINGS: json_text(failures)})


def report_found(found: Found, jobs: int, told: str = "screen") -> None:
    """Report every run of what was found, without the cells that changed since they finished.

    Raises:
        DisagreementError: there are such cells; the report is of the others.
    """
    changed: dict[Path, Mapping[str, str]] = {}

    def look(run: Path) -> None:
        ids = [planned.id for planned in finished(run, saved_runs.load_cells(run))]
        changed[run] = digests.changed(run, ids)

    errors = each(found, look)
    with full_disk.told(found):
        if found.is_set:
            errors |= report_set(found, changed, jobs, told)
            raise_if_any(errors)
        else:
            report_run(found.folder, changed[found.folder], told)


def report_run(folder: Path, changed: Mapping[str, str], told: str = "screen") -> None:
    """Report all cells but those that changed since they finished; raise if there is any."""
    # Imported when needed: tables, statistics and figures take longer to load than most commands.
    from reports.page.write import write_report

    summary = write_report(folder, changed, chart_library.library)
    _tell([summary], folder, told)
    if (whole := set_of(folder)) is not None:
        words().print(f"the set's page is as it was; write it: {groundtruth('report', whole)}")
    digests.raise_if_any(dict(summary.damaged), folder, "cells are changed, and left out")


def report_set(
    found: Found, changed: Mapping[Path, Mapping[str, str]], jobs: int, told: str = "screen"
) -> Errors:
    """Report the runs in ``changed``, each without the cells named, then write the set's page.

    Returns what went wrong; raises ``OSError`` if a disk is full, of which each would fail.
    """
    from reports.page.write_set import write_set  # when needed, as above

    reported = write_reports({run: changed[run] for run in found.runs if run in changed}, jobs)
    for ended in reported.values():
        if isinstance(ended, OSError) and room.is_full(ended):
            raise ended
    errors: Errors = {}
    unsound = {run: why for run in found.runs if (why := _unsound(run))}
    summaries = []
    for run, summary in reported.items():
        if isinstance(summary, Exception):
            errors[run.name] = summary
            unsound.setdefault(run, str(summary))
            continue
        summaries.append(summary)
        try:
            digests.raise_if_any(dict(summary.damaged), run, "cells are changed, and left out")
        except GroundtruthError as error:
            errors[run.name] = error
    write_set(found.folder, found.runs, chart_library.library, unsound)
    runs = [run.name for run, summary in reported.items() if not isinstance(summary, Exception)]
    _tell(summaries, found.folder, told, runs)
    return errors


def _tell(summaries: Sequence[Summary], folder: Path, told: str, runs: Sequence[str] = ()) -> None:
    """Print what is to be told of reports, and where they are; ``runs`` are names in a set."""
    from reports.terminal.last_screen import print_last_screen  # when needed, as above
    from reports.terminal.study_tables import print_summary

    if told in AS_TESTS:
        from reports.terminal import test_results  # when needed, as above

        written = {"ktap": test_results.ktap, "junit": test_results.junit}[told](summaries, runs)
        out().print(written, end="", soft_wrap=True, markup=False, highlight=False)
        return
    report, *more = places(summaries, folder)
    if told == "screen":
        print_last_screen(summaries, [report, *more], out())
        return
    for summary in summaries if told == "tables" else ():
        print_summary(summary, out())
        out().print("")
    out().print(report, soft_wrap=True)


def places(summaries: Sequence[Summary], folder: Path) -> list[str]:
    """Return the lines that say where a run's report and tables are, and what to do next."""
    again = groundtruth("report", folder, "--tables")
    report = f"report: {folder / run_folder.REPORT_HTML}"
    return [report, f"tables: {again}", *_next(summaries)]


def _next(summaries: Sequence[Summary]) -> Sequence[str]:
    """Return what to do next, where more seeds may tell more."""
    from reports.verdict.summary import ENOUGH_RUNS  # when needed, as above
    from reports.verdict.verdicts import UNDECIDED

    open_ = [one for one in summaries if any(v.verdict == UNDECIDED for v in one.verdicts)]
    seeds = max((point.cells_planned for one in open_ for point in one.points), default=0)
    if not seeds:
        return ()
    more = max(2 * seeds, ENOUGH_RUNS)
    return (f"next: more seeds may decide the undecided: the same again with --reps {more}",)


def write_reports(
    changed: Mapping[Path, Mapping[str, str]], jobs: int
) -> dict[Path, Summary | GroundtruthError | OSError]:
    """Write each run's report without the cells named; return its summary or what went wrong."""
    ended: dict[Path, Summary | GroundtruthError | OSError] = {}
    with Display(words()) as display:

        def keep(
            one: tuple[Path, Mapping[str, str]], summary: Summary | GroundtruthError | OSError
        ) -> None:
            ended[one[0]] = summary
            display.reporting(len(ended), len(changed))

        display.reporting(0, len(changed))
        # All that is shared is bundled once, before it would be at the same time.
        chart_library.library()
        workers.each(
            changed.items(), _write_report, name=lambda one: f"report of {one[0]}", jobs=jobs,
            ended=keep, timeout_s=REPORT_WITHIN_S,
        )  # fmt: skip
    return {run: ended[run] for run in changed}


def _write_report(one: tuple[Path, Mapping[str, str]]) -> Summary:
    from reports.page.write import write_report  # when needed, as above

    return write_report(*one, chart_library.library)


def _unsound(run: Path) -> str:
    """Return why no report of a run may be shown, an old one neither; empty if it may."""
    try:
        manifest.check(run)
    except GroundtruthError as error:
        return str(error)
    return ""


def next_cells(run: Path) -> tuple[PlannedCell, ...]:
    """Plan the next round of a run whose planned cells have finished, and return its cells.

    There are none if every point has stopped, if the run has a fixed number of seeds, or while a
    cell is unfinished. ``replication.json`` says how far each point is.

    Raises:
        ParseError: the folder is not a readable run.
    """
    planned = saved_runs.load_cells(run)
    if run_cells.unfinished(run, planned):
        return ()
    # Imported when needed: tables and statistics take longer to load than most commands.
    from reports.page.write import read_replication
    from reports.verdict.files import replication_record

    found = read_replication(run)
    if found is None:
        return ()
    manifest.write(run, {run_folder.REPLICATION: json_text(replication_record(found))})
    new = _needed(found, planned, saved_runs.load_candidates(run))
    if new:
        saved_runs.record_plan(run, [*planned, *new])
    return new


def _needed(
    found: Replication, planned: Sequence[PlannedCell], candidates: Sequence[PlannedCell]
) -> tuple[PlannedCell, ...]:
    """Return as many of the candidates, in their order, as each point needs."""
    there = {cell.id for cell in planned}
    wanted = {_point_key(state.point.as_dict()): state.runs + state.more for state in found.points}
    return tuple(
        cell
        for cell in candidates
        if cell.id not in there
        and cell.cell.purpose == "measure"
        and cell.cell.replicate <= wanted.get(_point_key(cell.cell.point), 0)
    )


def _point_key(point: Mapping[str, float | int | str]) -> frozenset[tuple[str, float | int | str]]:
    return frozenset(point.items())
