"""What each command does: the only place where study, lab, campaign and report meet."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from model import run_folder
from model.errors import GroundtruthError, StudyError, UnsupportedError, going_on
from testbed.campaign import (
    again,
    digests,
    new_runs,
    real_time,
    run_cells,
    saved_runs,
    study_sets,
)
from testbed.campaign.progress import Display
from testbed.campaign.study_sets import Found
from testbed.command import doctor as doctoring
from testbed.command import plan_costs, run_and_report
from testbed.command.run_and_report import jobs_or_cores
from testbed.labs import registry
from testbed.labs.contract.lab import LabKind
from testbed.machine import scratch, workers
from testbed.machine.console import out, words
from testbed.planning import plan as planning
from testbed.planning.findings import Findings, find
from testbed.planning.plan import Plan
from testbed.planning.stopping_rule import wanted_precision
from testbed.points.load_study import find_study, kernels_of_hosts, load_study
from testbed.points.some_points import only_at
from testbed.study.scaling import FULL


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
    tables: bool = False
    scale: Decimal = FULL
    at: tuple[str, ...] = ()

    def worker_count(self) -> int:
        """Return how many cells to run at once."""
        return _slots(self.jobs, self.lab)


def _slots(jobs: int | None, lab_name: str) -> int:
    """Return how many cells to run at once: so many jobs, or as many as the lab says."""
    return registry.named(lab_name).slots() if jobs is None else jobs


def _make_plan(
    study_name: str, choices: Choices, **labs: Callable[[str], Mapping[str, str]]
) -> tuple[Plan, Findings]:
    """Return a study's plan and findings; ``of_kernel`` returns the lab of a kernel's version."""
    study = load_study(
        find_study(study_name), hosts=choices.hosts, kernel=choices.kernel, scale=choices.scale
    )
    study = only_at(study, choices.at)
    precision = wanted_precision(study) if choices.reps == "auto" else None
    reps = precision.at_most if precision else choices.reps
    seeds: Sequence[int] = study.settings.seeds
    if isinstance(reps, int):
        seeds = planning.replicate_seeds(seeds, reps)
    findings = find(study, seeds=seeds)
    made = planning.make_plan(
        study,
        seeds=seeds,
        lab={"name": choices.lab},
        lab_kind=registry.named(choices.lab),
        **labs,
        pcap=choices.pcap,
        telemetry=choices.telemetry,
        sensitivity=choices.sensitivity,
        precision=precision,
    )
    return made, findings


def _settled(choices: Choices) -> Choices:
    """Return the choices with the kernel that the lab has instead of all that studies name."""
    kernel = registry.named(choices.lab).kernel_instead(choices.kernel)
    return dataclasses.replace(choices, kernel=kernel)


def _plans(study_names: Sequence[str], choices: Choices) -> list[Plan]:
    """Return the plans of studies on labs of which only name and kernel are known; say findings."""
    study_sets.check_names(study_names)
    plans = []
    for name in study_names:
        made, findings = _make_plan(name, choices)
        _print_findings(words(), findings)
        plans.append(made)
    if choices.kernel:
        words().print(f"kernel {choices.kernel} stands in for all that hosts and studies name")
    if choices.scale != FULL:
        words().print(
            f"times of the experiment are scaled by {choices.scale}: not the published ones"
        )
    for made in plans:
        if gone := len(made.study.left_out):
            here = len(made.study.points)
            words().print(
                f"{made.study.settings.study}: {here} of {here + gone} points; claims that need "
                "others are not judged"
            )
    ruled_out = dict.fromkeys(one for made in plans for one in made.study.alternatives.ruled_out)
    if ruled_out and choices.sensitivity:
        given = "--kernel" if choices.kernel else "--hosts"
        words().print(f"not tried, because of {given}: {', '.join(ruled_out)}")
    return plans


def _check_named(kind: LabKind, kernel_versions: Sequence[str]) -> None:
    """Raise for kernels that cannot be had, unless hosts of the project's own name them."""
    own = kernels_of_hosts()
    kind.check_offered([version for version in kernel_versions if version not in own])


def _kernels(plans: Sequence[Plan]) -> tuple[str, ...]:
    """Return the kernels of all plans, each once."""
    return tuple(dict.fromkeys(version for made in plans for version in made.kernels))


def run(study_names: Sequence[str], choices: Choices, data_dir: Path) -> None:
    """Run a study into a new run folder, or several into a new set, and report."""
    # All usage errors before anything is built.
    choices = _settled(choices)
    first = _plans(study_names, choices)
    if registry.named(choices.lab).properties.clock == "real":
        planned_cells = (one.cell for made in first for one in made.cells)
        real_time.check_jobs(planned_cells, choices.worker_count())
    new_runs.check_writable(data_dir)
    with Display(words()) as display:
        lab = registry.named(choices.lab).ready(_kernels(first), display.building)
    planned = [_make_plan(name, choices, of_kernel=lab.describe) for name in study_names]
    found = study_sets.create(data_dir, planned, sys.argv)
    for folder in found.runs:
        saved_runs.record_lab(folder, lab.packages())
    words().print(f"{'set' if found.is_set else 'run folder'}: {found.folder}", soft_wrap=True)
    parts = [
        run_cells.Part(run=folder, cells=plan_.first, lab=lab)
        for folder, (plan_, _) in zip(found.runs, planned, strict=True)
    ]
    with going_on(f"groundtruth resume {found.folder}"), study_sets.locked(found):
        at_once = choices.worker_count()
        run_and_report.run_and_report(found, parts, {}, at_once, told=_told(tables=choices.tables))


def run_in_labs(study_name: str, choices: Sequence[Choices], data_dir: Path) -> Found:
    """Run a study in the lab of each of the choices: a new set of a run folder per lab.

    Reports are written and not printed. The choices differ in their labs alone.
    """
    first = choices[0]
    if first.kernel:
        for one in choices:
            registry.named(one.lab).check_kernel(first.kernel)
    plans = [*_plans([study_name], first), *(_make_plan(study_name, c)[0] for c in choices[1:])]
    if len(plans[0].seeds) < 2:
        raise StudyError("too few to compare", where="SEEDS", wanted="at least 2", got="1")
    new_runs.check_writable(data_dir)
    with Display(words()) as display:
        labs = [
            registry.named(one.lab).ready(_kernels([made]), display.building)
            for one, made in zip(choices, plans, strict=True)
        ]
    planned = [
        _make_plan(study_name, one, of_kernel=lab.describe)
        for one, lab in zip(choices, labs, strict=True)
    ]
    found = study_sets.create(
        data_dir, planned, sys.argv, names=[one.lab for one in choices],
        set_name=f"{plans[0].study.settings.study}-crosscheck",
    )  # fmt: skip
    words().print(f"set: {found.folder}", soft_wrap=True)
    parts = []
    for folder, (made, _), lab in zip(found.runs, planned, labs, strict=True):
        saved_runs.record_lab(folder, lab.packages())
        parts.append(run_cells.Part(run=folder, cells=made.first, lab=lab))
    again = f"groundtruth resume {found.folder} && groundtruth crosscheck {found.folder}"
    with going_on(again), study_sets.locked(found):
        at_once = min(one.worker_count() for one in choices)
        run_and_report.run_and_report(found, parts, {}, at_once, told="nothing")
    return found


def resume(run_name: str, jobs: int | None, *, tables: bool) -> None:
    """Run what is not finished in a run folder or a set, then report it."""
    found = study_sets.find(run_name)
    parts: list[run_cells.Part] = []
    with going_on(f"groundtruth resume {found.folder}"), study_sets.locked(found):
        for folder in found.runs:
            for prefix in (run_folder.VERIFY_SCRATCH, run_folder.PARSE_SCRATCH):
                scratch.sweep(folder, prefix)
        with Display(words()) as display:
            errors = run_and_report.each(
                found, lambda folder: parts.append(_prepare(found, folder, display))
            )
        of_lab = parts[0].lab.properties.name if parts else registry.DEFAULT.properties.name
        at_once = _slots(jobs, of_lab)
        run_and_report.run_and_report(found, parts, errors, at_once, told=_told(tables=tables))


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


def plan(study_names: Sequence[str], choices: Choices) -> None:
    """Print the points, cells and expected cost of studies, and of several the total."""
    choices = _settled(choices)
    planned = _plans(study_names, choices)
    _check_named(registry.named(choices.lab), _kernels(planned))
    for made in planned:
        if len(planned) > 1:
            out().print(f"{made.study.settings.study}:")
        table = Table("point", "seeds", "cells", box=None, pad_edge=False)
        for point in made.study.points:
            text = ", ".join(f"{name}={value}" for name, value in point.values.items())
            table.add_row(text or "the study's settings", *plan_costs.seeds_words(made))
        out().print(table)
        for line in plan_costs.cost_lines([made], choices.worker_count()):
            out().print(line)
        out().print(plan_costs.kernels_line(made))
    if len(planned) > 1:
        for line in plan_costs.cost_lines(planned, choices.worker_count()):
            out().print(f"all together: {line}")
    kind = registry.named(choices.lab)
    if kind.properties.clock == "real":
        out().print(plan_costs.real_time_line(choices.scale))
    building = kind.built_first(_kernels(planned))
    if building:
        out().print(building)


def validate_studies(study_names: Sequence[str], hosts: str) -> None:
    """Check study files and print their findings.

    Raises:
        StudyError: some cannot be used; the others were checked.
    """
    errors: dict[str, GroundtruthError | OSError] = {}
    for name in study_names:
        try:
            _validate(name, hosts)
        except StudyError as error:
            if len(study_names) == 1:
                raise
            errors[name] = error
    if errors:
        raise study_sets.together(errors, "of the studies cannot be used")


def _validate(study_name: str, hosts: str) -> None:
    study = load_study(find_study(study_name), hosts=hosts)
    findings = find(study, seeds=study.settings.seeds)
    _print_findings(out(), findings)
    for item in findings.acknowledged:
        out().print(f"acknowledged: {item.where}: {item.rule}: {item.text}")
        out().print(f"  because: {item.why}")
    out().print(
        f"{study.settings.study}: valid, {len(study.points)} points, "
        f"{len(findings.warnings)} warnings"
    )


def _print_findings(console: Console, findings: Findings) -> None:
    for finding in findings.warnings:
        line = f"warning: {finding.where}: {finding.rule}: {finding.text}"
        console.print(line, soft_wrap=True)


def report(run_name: str, *, tables: bool) -> None:
    """Write the summary and report of a run or a set again; print the answer, or all tables.

    Raises:
        DisagreementError: a cell was changed since it finished; the report is of the others.
    """
    found = study_sets.find(run_name)
    run_and_report.report_found(found, jobs_or_cores(None), _told(tables=tables))


def _told(*, tables: bool) -> run_and_report.Told:
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
        at_once = _slots(jobs, lab.properties.name)
        problems |= again.repeat(folder, chosen, lab, jobs=at_once, report=display.cells)
    digests.raise_if_any(problems, folder, f"of {len(chosen) + len(changed)} cells not the same")
    cells_words = f"{len(chosen)} cell{'s' if len(chosen) > 1 else ''}"
    out().print(f"{found.named(folder)}{cells_words} repeated, every file the same to the byte")


def build(lab_name: str, version: str) -> None:
    """Build what labs need and is not in the cache yet; without a version for all own hosts."""
    kind = registry.named(lab_name)
    versions = kernel_versions(kind, version)
    with Display(words()) as display:
        lab = kind.ready(versions, display.building)
    packages = [lab.describe(one)["kernel_package"] for one in versions]
    out().print(f"{lab_name} lab with kernel {' and '.join(packages)} is built")


def kernel_versions(kind: LabKind, asked: str) -> Sequence[str]:
    """Return the kernel that was asked for or the lab has; else those of all own hosts."""
    only = kind.kernel_instead(asked)
    return [only] if only else kernels_of_hosts()


def clean(lab_name: str) -> None:
    """Undo what a killed run of a lab left on this machine."""
    undone: list[str] = []
    registry.named(lab_name).clean(undone.append)
    workers.sweep()
    for line in undone:
        out().print(line, soft_wrap=True)
    if not undone:
        out().print(f"nothing is left of the {lab_name} lab on this machine")


def doctor(lab_name: str, version: str) -> None:
    """Print what this machine can run; raise if that lab is not among it."""
    kind = registry.named(lab_name)
    versions = kernel_versions(kind, version)
    _check_named(kind, versions)
    findings = doctoring.examine(kind, versions)
    for finding in findings:
        mark = "ok" if finding.well else "NO" if finding.needed else "--"
        out().print(f"{mark:3} {finding.name}: {finding.state}")
        if not finding.well and finding.hint:
            out().print(f"    {finding.hint}")
    bad = [finding.name for finding in findings if finding.needed and not finding.well]
    if bad:
        got = f"not well: {', '.join(bad)}"
        raise UnsupportedError(f"the {lab_name} lab cannot run here", got=got)
    out().print(f"the {lab_name} lab can run here")
