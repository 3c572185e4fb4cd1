"""What each command does: the only place where study, lab, campaign and report meet."""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from testbed import (
    campaign,
    costs,
    digests,
    drawing,
    reparse,
    repeat,
    rounds,
    runfolder,
    session,
    validate,
)
from testbed import doctor as doctoring
from testbed import plan as planning
from testbed.errors import StudyError, UnsupportedError
from testbed.execute import write_json
from testbed.labs import image, kernel, virtual
from testbed.plan import Plan, PlannedCell
from testbed.precision import wanted_precision
from testbed.progress import Display
from testbed.spec import find_study, load_study


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the command line chose; ``None`` is "not given" here and nowhere else."""

    reps: int | Literal["auto"] | None
    lab: str
    kernel: str
    jobs: int | None
    hosts: str
    pcap: bool
    telemetry: bool
    sensitivity: bool = True

    def worker_count(self) -> int:
        """Return how many cells to run at once."""
        return jobs_or_cores(self.jobs)


def jobs_or_cores(jobs: int | None) -> int:
    """Return the number of jobs asked for, or the number of cores this process may use."""
    return jobs if jobs is not None else len(os.sched_getaffinity(0))


def _out() -> Console:
    return Console(highlight=False, soft_wrap=True)


def _words() -> Console:
    return Console(stderr=True, highlight=False)


def _make_plan(
    study_name: str, choices: Choices, lab: Mapping[str, str]
) -> tuple[Plan, validate.Findings]:
    study = load_study(find_study(study_name), hosts=choices.hosts)
    precision = wanted_precision(study) if choices.reps == "auto" else None
    reps = precision.at_most if precision else choices.reps
    seeds: Sequence[int] = study.settings.seeds
    if isinstance(reps, int):
        seeds = planning.replicate_seeds(seeds, reps)
    findings = validate.find(study, seeds=seeds)
    made = planning.make_plan(
        study,
        seeds=seeds,
        lab=lab,
        pcap=choices.pcap,
        telemetry=choices.telemetry,
        sensitivity=choices.sensitivity,
        precision=precision,
    )
    return made, findings


def run(study_name: str, choices: Choices, data_dir: Path) -> None:
    """Run a study into a new run folder and report it."""
    session.check_lab(choices.lab)
    kernel.check_version(choices.kernel)
    _, findings = _make_plan(study_name, choices, {})  # all usage errors before anything is built
    session.check_writable(data_dir)
    words = _words()
    _print_findings(words, findings)
    with Display(words) as display:
        lab = virtual.ensure(choices.kernel, display.building)
        plan_, findings = _make_plan(study_name, choices, lab.describe())
        folder = session.create(data_dir, plan_, findings, sys.argv)
        words.print(f"run folder: {folder}", markup=False, soft_wrap=True)
        with session.locked(folder):
            outcome = _run_rounds(folder, plan_.first, lab, choices.worker_count(), display)
    _finish(folder, outcome)


def resume(run_name: str, jobs: int | None) -> None:
    """Run what is not finished in a run folder, then report it."""
    folder = session.find_run(run_name)
    cells = session.load_cells(folder)
    with session.locked(folder):
        _resume(folder, cells, jobs)


def _resume(folder: Path, cells: Sequence[PlannedCell], jobs: int | None) -> None:
    changed = digests.changed(folder, [planned.id for planned in _finished(folder, cells)])
    words = _words()
    with Display(words) as display:
        lab = session.lab_of(cells, display.building)
        for cell_id, why in changed.items():
            words.print(f"run again: cells/{cell_id}: {why}", markup=False, soft_wrap=True)
            (runfolder.cell_folder(folder, cell_id) / runfolder.DONE).unlink()
        outcome = _run_rounds(folder, cells, lab, jobs_or_cores(jobs), display)
    _finish(folder, outcome)


def _run_rounds(
    folder: Path,
    cells: Sequence[PlannedCell],
    lab: virtual.VirtualLab,
    jobs: int,
    display: Display,
) -> campaign.Outcome:
    """Run the planned cells, then round by round what a run with ``--reps auto`` still needs."""
    for number in itertools.count(1):
        name = "running cells" if number == 1 else f"running round {number}"
        report = functools.partial(display.cells, name=name)
        outcome = campaign.run_cells(folder, cells, lab, jobs=jobs, report=report)
        _write_failures(folder, outcome)
        more = () if outcome.failures else rounds.next_cells(folder)
        if not more:
            break
        cells = [*cells, *more]
    return outcome


def _write_failures(folder: Path, outcome: campaign.Outcome) -> None:
    write_json(
        folder / runfolder.WARNINGS,
        [
            {
                "rule": "cell-failed",
                "where": f"cells/{cell}",
                "text": message.replace(f"{folder}/", ""),
            }
            for cell, message in outcome.failures
        ],
    )


def _finish(folder: Path, outcome: campaign.Outcome) -> None:
    try:
        _report(folder, {})
    finally:
        # Also when the report could not be written: why cells failed must be said.
        campaign.raise_if_failed(outcome, folder)


def parse(run_name: str, jobs: int | None) -> None:
    """Make the tables of a run's finished cells again, and say which of them changed.

    Raises:
        RunError: a cell could not be parsed; it keeps the tables it had.
    """
    folder = session.find_run(run_name)
    cells = session.load_cells(folder)
    with session.locked(folder), Display(_words()) as display:
        outcome = reparse.parse_cells(folder, cells, jobs=jobs_or_cores(jobs), report=display.cells)
    for line in reparse.table_lines(outcome):
        _out().print(line, markup=False)
    reparse.raise_if_failed(outcome)


def _report(folder: Path, changed: Mapping[str, str]) -> None:
    """Report all cells but those that changed since they finished; raise if there is any."""
    # Imported when needed: tables, statistics and figures take longer to load than most commands.
    from reports import print_summary, write_report

    summary = write_report(folder, changed, drawing.library)
    print_summary(summary, _out())
    _out().print(f"report: {folder / runfolder.REPORT_HTML}", markup=False)
    digests.raise_if_any(dict(summary.damaged), folder, "cells are changed, and left out")


def plan(study_name: str, choices: Choices) -> None:
    """Print a study's points, cells and expected cost."""
    session.check_lab(choices.lab)
    kernel.check_version(choices.kernel)
    made, findings = _make_plan(study_name, choices, {"name": choices.lab})
    _print_findings(_words(), findings)
    table = Table("point", "seeds", "cells", box=None, pad_edge=False)
    for point in made.study.points:
        text = ", ".join(f"{name}={value}" for name, value in point.values.items())
        table.add_row(text or "the study's settings", *costs.seeds_words(made))
    out = _out()
    out.print(table)
    for line in costs.cost_lines(made, choices.worker_count()):
        out.print(line)
    missing = _not_built(choices.kernel)
    if missing:
        out.print(f"first built, once, about 6 min: {missing}")


def _not_built(version: str) -> str:
    missing = []
    if image.built() is None:
        missing.append("lab image")
    if kernel.built(version, image.key()) is None:
        missing.append(f"kernel {version}")
    return ", ".join(missing)


def validate_study(study_name: str, hosts: str) -> None:
    """Check a study file and print its findings."""
    study = load_study(find_study(study_name), hosts=hosts)
    findings = validate.find(study, seeds=study.settings.seeds)
    out = _out()
    _print_findings(out, findings)
    for item in findings.acknowledged:
        out.print(f"acknowledged: {item.where}: {item.rule}: {item.text}", markup=False)
        out.print(f"  because: {item.why}", markup=False)
    out.print(
        f"{study.settings.study}: valid, {len(study.points)} points, "
        f"{len(findings.warnings)} warnings"
    )


def _print_findings(console: Console, findings: validate.Findings) -> None:
    for finding in findings.warnings:
        line = f"warning: {finding.where}: {finding.rule}: {finding.text}"
        console.print(line, markup=False, soft_wrap=True)


def report(run_name: str) -> None:
    """Write a run's summary and report again, and print it.

    Raises:
        DisagreementError: a cell was changed since it finished; the report is of the others.
    """
    folder = session.find_run(run_name)
    finished = _finished(folder, session.load_cells(folder))
    _report(folder, digests.changed(folder, [planned.id for planned in finished]))


def _finished(folder: Path, cells: Sequence[PlannedCell]) -> list[PlannedCell]:
    todo = {planned.id for planned in campaign.unfinished(folder, cells)}
    return [planned for planned in cells if planned.id not in todo]


def verify(run_name: str, count: int, jobs: int | None) -> None:
    """Repeat finished cells and compare all artefacts by digest.

    Raises:
        DisagreementError: some artefact differs, or a cell was changed since it finished.
    """
    folder = session.find_run(run_name)
    cells = session.load_cells(folder)
    finished = _finished(folder, cells)
    if not finished:
        raise StudyError("no finished cell to verify", where=str(folder))
    # A cell edited afterwards is not the run's: that is seen without repeating it.
    changed = digests.changed(folder, [planned.id for planned in finished])
    chosen = repeat.choose([planned for planned in finished if planned.id not in changed], count)
    words = _words()
    if len(finished) < len(cells):
        words.print(f"{len(cells) - len(finished)} of {len(cells)} cells are not finished")
    problems = {f"cells/{cell_id}": why for cell_id, why in changed.items()}
    with Display(words) as display:
        lab = session.lab_of(cells, display.building)
        problems |= repeat.repeat(
            folder, chosen, lab, jobs=jobs_or_cores(jobs), report=display.cells
        )
    digests.raise_if_any(problems, folder, "cells are not the same")
    files = sum(len(digests.read_done(runfolder.cell_folder(folder, c.id))) for c in chosen)
    _out().print(f"{len(chosen)} cells repeated, {files} artefacts, all the same to the byte")


def build(lab_name: str, version: str) -> None:
    """Build what a lab needs and is not in the cache yet."""
    session.check_lab(lab_name)
    with Display(_words()) as display:
        lab = virtual.ensure(version, display.building)
    _out().print(f"{lab_name} lab with kernel {lab.describe()['kernel_package']} is built")


def doctor(version: str) -> None:
    """Print what this machine can run; raise if the virtual lab is not among it."""
    findings = doctoring.examine(kernel.check_version(version))
    out = _out()
    for finding in findings:
        mark = "ok" if finding.well else "NO" if finding.needed else "--"
        out.print(f"{mark:3} {finding.name}: {finding.state}", markup=False)
        if not finding.well and finding.hint:
            out.print(f"    {finding.hint}", markup=False)
    bad = [finding.name for finding in findings if finding.needed and not finding.well]
    if bad:
        raise UnsupportedError("the virtual lab cannot run here", got=f"not well: {', '.join(bad)}")
    out.print("the virtual lab can run here")
