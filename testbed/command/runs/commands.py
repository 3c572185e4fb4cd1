"""What each command does: the only place where study, lab, campaign and report meet."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from model import run_folder
from model.errors import GroundtruthError, StudyError, going_on
from model.words import how_many
from testbed.campaign import (
    again,
    attempts,
    digests,
    run_cells,
    saved_runs,
    study_sets,
)
from testbed.campaign.progress import Display
from testbed.campaign.study_sets import Found
from testbed.cluster import address
from testbed.command.runs import clusters, plans, room_for, run_and_report, simulators
from testbed.command.runs.run_and_report import jobs_or_cores
from testbed.labs import registry
from testbed.machine import scratch
from testbed.machine.console import out, words


def run(study_names: Sequence[str], choices: plans.Choices, data_dir: Path) -> None:
    """Run a study into a new run folder, or several into a new set, and report."""
    # All usage errors before anything is built.
    choices = plans.settled(choices)
    first = plans.plans_of(study_names, choices)
    plans.check_jobs(first, choices)
    plans.check_place(first, choices, data_dir)
    live = simulators.simulate(study_names, choices, data_dir) if choices.simulator else ()
    with Display(words()) as display:
        lab = registry.named(choices.lab).ready(plans.kernels(first), display.building)
    planned = [plans.make_plan(name, choices, of_kernel=lab.describe) for name in study_names]
    found = study_sets.create(data_dir, planned, sys.argv)
    parts = study_sets.parts(found, planned, [lab] * len(planned))
    for folder, simulated in zip(found.runs, live, strict=bool(live)):
        simulators.record(folder, simulated)
    words().print(f"{'set' if found.is_set else 'run folder'}: {found.folder}", soft_wrap=True)
    with going_on(found.go_on), study_sets.locked(found):
        run_and_report.run_and_report(
            found, parts, {}, choices.worker_count(), retries=choices.retries,
            told=_told(tables=choices.tables),
        )  # fmt: skip


def run_in_labs(study_name: str, choices: Sequence[plans.Choices], data_dir: Path) -> Found:
    """Run a study in the lab of each of the choices: a new set of a run folder per lab.

    Reports are written and not printed. The choices differ in their labs alone.
    """
    choices = [plans.settled(one) for one in choices]
    first = choices[0]
    made = [
        *plans.plans_of([study_name], first),
        *(plans.make_plan(study_name, c)[0] for c in choices[1:]),
    ]
    if len(made[0].seeds) < 2:
        raise StudyError("too few to compare", where="SEEDS", wanted="at least 2", got="1")
    clusters.check(*(one.lab for one in choices))
    plans.check_place(made, first, data_dir)
    with Display(words()) as display:
        labs = [
            registry.named(one.lab).ready(plans.kernels([plan]), display.building)
            for one, plan in zip(choices, made, strict=True)
        ]
    planned = [
        plans.make_plan(study_name, one, of_kernel=lab.describe)
        for one, lab in zip(choices, labs, strict=True)
    ]
    found = study_sets.create(
        data_dir, planned, sys.argv, names=[one.lab for one in choices],
        set_name=f"{made[0].study.settings.study}-crosscheck", then="crosscheck",
    )  # fmt: skip
    words().print(f"set: {found.folder}", soft_wrap=True)
    parts = study_sets.parts(found, planned, labs)
    with going_on(found.go_on), study_sets.locked(found):
        at_once = min(one.worker_count() for one in choices)
        run_and_report.run_and_report(
            found, parts, {}, at_once, retries=first.retries, told="nothing"
        )
    return found


def resume(
    run_name: str,
    jobs: int | None,
    told: str = "screen",
    retries: int = attempts.RETRIES,
    *,
    check_room: bool = True,
) -> None:
    """Run what is not finished in a run folder or a set, then report it."""
    found = study_sets.find(run_name)
    if address.named() and (labs := _labs_left(found)):
        clusters.check(*labs)
    parts: list[run_cells.Part] = []
    with going_on(found.go_on), study_sets.locked(found):
        for folder in found.runs:
            for prefix in run_folder.SCRATCH:
                scratch.sweep(folder, prefix)
        with Display(words()) as display:
            errors = run_and_report.each(
                found, lambda folder: parts.append(_prepare(found, folder, display))
            )
        of_lab = parts[0].lab.properties.name if parts else registry.DEFAULT.properties.name
        at_once = plans.slots(jobs, of_lab)
        todo = [one for part in parts for one in run_cells.unfinished(part.run, part.cells)]
        if todo:
            room_for.check(
                [one.cell for one in todo], at_once, found.folder, lab=of_lab,
                here=address.named() is None, refuse=check_room,
            )  # fmt: skip
        run_and_report.run_and_report(found, parts, errors, at_once, retries=retries, told=told)
    if found.then and told != "nothing":
        out().print(f"next: {found.next_command}", soft_wrap=True)


def _labs_left(found: Found) -> set[str]:
    """Return the labs of cells that have not finished; none of a run that cannot be read."""
    left: set[str] = set()
    for run in found.runs:
        with contextlib.suppress(GroundtruthError):  # it is told where cells are prepared
            cells = run_cells.unfinished(run, saved_runs.load_cells(run))
            left |= {planned.cell.lab.get("name", "") for planned in cells}
    return left


def _prepare(found: Found, folder: Path, display: Display) -> run_cells.Part:
    """Return a run's part of a campaign, its changed cells marked as not finished."""
    cells = saved_runs.load_cells(folder)
    changed = digests.changed(
        folder, [planned.id for planned in run_and_report.finished(folder, cells)]
    )
    lab = saved_runs.lab_of(folder, cells, display.building)
    for cell_id, why in changed.items():
        line = f"run again: {found.named(folder)}cells/{cell_id}: {why}"
        words().print(line, soft_wrap=True)
        (run_folder.cell_folder(folder, cell_id) / run_folder.DONE).unlink()
    return run_cells.Part(run=folder, cells=cells, lab=lab)


def parse(run_name: str, jobs: int | None) -> None:
    """Make the tables of finished cells again, and say which of them changed.

    Raises:
        RunError: a cell could not be parsed; it keeps the tables it had.
    """
    found = study_sets.find(run_name)
    with study_sets.locked(found):
        run_and_report.raise_if_any(
            run_and_report.each(found, lambda run: _parse(found, run, jobs))
        )


def _parse(found: Found, folder: Path, jobs: int | None) -> None:
    cells = saved_runs.load_cells(folder)
    with Display(words()) as display:
        outcome = again.parse_cells(folder, cells, jobs=jobs_or_cores(jobs), report=display.cells)
    for line in again.table_lines(outcome):
        out().print(f"{found.named(folder)}{line}")
    again.raise_if_failed(outcome)


def report(run_name: str, told: str) -> None:
    """Write the summary and report of a run or a set again; print what is to be told of it.

    Raises:
        DisagreementError: a cell was changed since it finished; the report is of the others.
    """
    found = study_sets.find(run_name)
    run_and_report.report_found(found, jobs_or_cores(None), told)


def _told(*, tables: bool) -> str:
    return "tables" if tables else "screen"


def verify(run_name: str, count: int, jobs: int | None) -> None:
    """Repeat finished cells of a run, or of each of a set's, and compare all artefacts by digest.

    Raises:
        DisagreementError: some artefact differs, or a cell was changed since it finished.
    """
    found = study_sets.find(run_name)
    run_and_report.raise_if_any(
        run_and_report.each(found, lambda run: _verify(found, run, count, jobs))
    )


def _verify(found: Found, folder: Path, count: int, jobs: int | None) -> None:
    cells = saved_runs.load_cells(folder)
    done = run_and_report.finished(folder, cells)
    if not done:
        raise StudyError("no finished cell to verify", where=str(folder))
    # A cell edited afterwards is not the run's: that is seen without repeating it.
    changed = digests.changed(folder, [planned.id for planned in done])
    chosen = again.choose([planned for planned in done if planned.id not in changed], count)
    if len(done) < len(cells):
        words().print(f"{len(cells) - len(done)} of {len(cells)} cells are not finished")
    problems = {f"cells/{cell_id}": why for cell_id, why in changed.items()}
    with Display(words()) as display:
        lab = saved_runs.lab_of(folder, cells, display.building)
        lab.check_whole(thorough=True)
        at_once = plans.slots(jobs, lab.properties.name)
        problems |= again.repeat(folder, chosen, lab, jobs=at_once, report=display.cells)
    digests.raise_if_any(problems, folder, f"of {len(chosen) + len(changed)} cells not the same")
    repeated = f"{found.named(folder)}{how_many(len(chosen), 'cell')} repeated"
    out().print(f"{repeated}, every file the same to the byte")
