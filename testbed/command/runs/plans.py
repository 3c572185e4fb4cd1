"""What the command line chose, made into plans; and what is told of them before anything runs."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from model.errors import GroundtruthError, StudyError
from model.words import how_many
from testbed.campaign import attempts, new_runs, real_time, study_sets
from testbed.cluster import address
from testbed.command.runs import clusters, plan_costs, room_for
from testbed.labs import registry
from testbed.labs.contract.lab import LabKind
from testbed.machine.console import out, words
from testbed.planning import plan as planning
from testbed.planning import resources
from testbed.planning.bisection import rounds_of
from testbed.planning.expressible import expressible
from testbed.planning.findings import Finding, Findings, find
from testbed.planning.plan import Plan
from testbed.planning.stopping_rule import wanted_precision
from testbed.points.load_study import find_study, kernels_of_hosts, load_study
from testbed.points.mechanisms import chosen, with_mechanisms
from testbed.points.some_points import only_at, only_of_claim
from testbed.study import kernel_names
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
    mechanisms: tuple[str, ...] = ()
    captures: bool = True
    simulator: str = ""
    #: Files with patches of the user's; once settled, names of those for each kernel there is.
    patches: tuple[str, ...] = ()
    #: Only what this claim needs, with more seeds while it is undecided.
    claim: str = ""
    #: How often a cell is tried again that the machine let fail.
    retries: int = attempts.RETRIES
    #: Whether to refuse to begin where disk or memory are too small.
    check_room: bool = True

    def worker_count(self) -> int:
        """Return how many cells to run at once."""
        return slots(self.jobs, self.lab)


def slots(jobs: int | None, lab_name: str) -> int:
    """Return how many cells to run at once: so many jobs, or as many as the lab says."""
    kind = registry.named(lab_name)
    most = kind.properties.at_once
    if jobs is not None and most is not None and jobs > most:
        raise StudyError(
            f"the {lab_name} lab runs {most} cell at a time", where="JOBS", wanted=str(most),
            got=str(jobs),
        )  # fmt: skip
    return kind.slots() if jobs is None else jobs


def make_plan(
    study_name: str, choices: Choices, **labs: Callable[[str], Mapping[str, str]]
) -> tuple[Plan, Findings]:
    """Return a study's plan and findings; ``of_kernel`` returns the lab of a kernel's version."""
    kind = registry.named(choices.lab)
    study = load_study(
        find_study(study_name), hosts=choices.hosts, kernel=choices.kernel, scale=choices.scale,
        patches=choices.patches,
    )  # fmt: skip
    study = expressible(only_at(study, choices.at), kind)
    if choices.claim:
        study = only_of_claim(study, choices.claim)
    if not choices.captures:
        study = dataclasses.replace(study, capture_points=())
    if choices.mechanisms:
        study = with_mechanisms(study, chosen(study, choices.mechanisms))
    precision = wanted_precision(study) if choices.reps == "auto" else None
    reps = precision.at_most if precision else choices.reps
    seeds: Sequence[int] = study.settings.seeds
    if isinstance(reps, int):
        seeds = planning.replicate_seeds(seeds, reps)
    rounds = rounds_of(len(seeds)) if choices.claim else ()
    if rounds:
        seeds = planning.replicate_seeds(seeds, rounds[-1])
    findings = find(study, seeds=seeds, simulated=kind.properties.simulates)
    made = planning.make_plan(
        study,
        seeds=seeds,
        lab={"name": choices.lab},
        lab_kind=kind,
        **labs,
        pcap=choices.pcap,
        telemetry=choices.telemetry,
        sensitivity=choices.sensitivity,
        precision=precision,
        rounds=rounds,
    )
    return made, findings


def settled(choices: Choices) -> Choices:
    """Return the choices with the kernel that the lab has instead of all that studies name.

    A folder and patches are called by their names from then on; what is settled stays as it is.
    """
    kernel, patches = kernel_and_patches(
        registry.named(choices.lab), choices.kernel, choices.patches
    )
    return dataclasses.replace(choices, kernel=kernel, patches=patches)


def kernel_and_patches(
    kind: LabKind, asked: str, files: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """Return the kernel that a lab has instead of all others, with patches; "" for none.

    Patches that no such kernel takes are returned: they are for each kernel there is.
    """
    patches, kernel = kind.own_patches(files), kind.kernel_instead(asked)
    return (kernel_names.patched(kernel, patches), ()) if kernel and patches else (kernel, patches)


def named_kernels(kind: LabKind, text: str, patches: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the kernels of a list with commas between, by the names that the lab has for them.

    Each has the patches that files are given of.

    Raises:
        StudyError: a name is empty, is no kernel's, or is there twice.
    """
    found: list[str] = []
    for one in text.split(","):
        try:
            name = kernel_and_patches(kind, one.strip(), patches)[0] if one.strip() else ""
        except StudyError as error:
            raise _of_a_comma(text) or error from error
        if not name or name in found:
            problem = "the same kernel twice" if name else "no kernel named"
            raise StudyError(
                problem, where="KERNEL", wanted="kernels with commas between, each once", got=text,
                hint="for example --kernel 6.12,7.3",
            )  # fmt: skip
        found.append(name)
    return tuple(found)


def _of_a_comma(text: str) -> StudyError | None:
    """Return the error for a list of kernels that a folder's own comma has taken apart."""
    words = text.split(",")
    for begin, end in itertools.combinations(range(len(words) + 1), 2):
        joined = ",".join(words[begin:end]).strip()
        for folder in (joined, joined.rpartition("@")[0]):
            if "," in folder and _is_folder(folder):
                return StudyError(
                    "a folder's name has a comma in it", where="KERNEL", got=folder,
                    wanted="kernels with commas between",
                    hint=f"name a link to it: ln -s {shlex.quote(folder)} linux",
                )  # fmt: skip
    return None


def _is_folder(text: str) -> bool:
    try:
        return Path(text).expanduser().is_dir()
    except (OSError, ValueError, RuntimeError):  # no name, or of no such user's
        return False


def plans_of(study_names: Sequence[str], choices: Choices) -> list[Plan]:
    """Return the plans of studies on labs of which only name and kernel are known; say findings."""
    study_sets.check_names(study_names)
    plans = []
    for name in study_names:
        made, findings = make_plan(name, choices)
        _print_findings(words(), findings.warnings)
        plans.append(made)
    if choices.kernel:
        words().print(f"kernel {choices.kernel} stands in for all that hosts and studies name")
    if choices.patches:
        words().print(f"kernels are patched: {', '.join(choices.patches)}")
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
        if choices.kernel and registry.named(choices.lab).properties.clock == "real":
            given = f"the {choices.lab} lab's kernel"
        if registry.named(choices.lab).properties.simulates:
            given = f"the {choices.lab} lab"
        words().print(f"not tried, because of {given}: {', '.join(ruled_out)}")
    return plans


def plans_on_kernels(study_name: str, each: Sequence[Choices]) -> list[Plan]:
    """Return a study's plan for each of the choices, which differ in kernel; say findings once."""
    study_sets.check_names([study_name])
    made = [make_plan(study_name, one) for one in each]
    told = {finding.text: finding for _, findings in made for finding in findings.warnings}
    _print_findings(words(), told.values())
    if gone := len(made[0][0].study.left_out):
        here = len(made[0][0].study.points)
        words().print(f"{here} of {here + gone} points; claims that need others are not judged")
    words().print("sensitivity to assumptions is not tried on several kernels")
    return [plan for plan, _ in made]


def check_named(kind: LabKind, kernel_versions: Sequence[str]) -> None:
    """Raise for kernels that cannot be had, unless hosts of the project's own name them."""
    own = kernels_of_hosts()
    kind.check_offered([version for version in kernel_versions if version not in own])


def check_jobs(plans: Sequence[Plan], choices: Choices) -> None:
    """Raise :class:`StudyError` if a lab in real time cannot run so many cells at once."""
    if registry.named(choices.lab).properties.clock == "real":
        cells = (one.cell for made in plans for one in made.cells)
        real_time.check_jobs(cells, choices.worker_count())


def check_place(plans: Sequence[Plan], choices: Choices, data_dir: Path) -> None:
    """Say what the cells of plans take, and raise if they have no place or room.

    That is in ``data_dir`` and on the cluster that is named, if one is; nothing is made there.
    """
    clusters.check(choices.lab)
    new_runs.check_writable(data_dir)
    cells = [one.cell for made in plans for one in made.first]
    room_for.check(
        cells, choices.worker_count(), data_dir, lab=choices.lab, here=address.named() is None,
        refuse=choices.check_room,
    )  # fmt: skip


def kernels(plans: Sequence[Plan]) -> tuple[str, ...]:
    """Return the kernels of all plans, each once."""
    return tuple(dict.fromkeys(version for made in plans for version in made.kernels))


def plan(study_names: Sequence[str], choices: Choices) -> None:
    """Print the points, cells and expected cost of studies, and of several the total."""
    choices = settled(choices)
    planned = plans_of(study_names, choices)
    check_jobs(planned, choices)
    jobs = choices.worker_count()
    check_named(registry.named(choices.lab), kernels(planned))
    for made in planned:
        if len(planned) > 1:
            out().print(f"{made.study.settings.study}:")
        print_points(made)
        for line in plan_costs.cost_lines([made], choices.worker_count()):
            out().print(line)
        out().print(plan_costs.kernels_line(made))
    if len(planned) > 1:
        for line in plan_costs.cost_lines(planned, choices.worker_count()):
            out().print(f"all together: {line}")
    kind = registry.named(choices.lab)
    need = resources.needed((one.cell for made in planned for one in made.cells), jobs)
    of_labs = kind.properties.clock == "virtual"
    out().print(room_for.line(need, jobs, of_labs=of_labs), soft_wrap=True)
    if kind.properties.clock == "real":
        out().print(plan_costs.real_time_line(choices.scale))
    building = kind.built_first(kernels(planned))
    if building:
        out().print(building)


def print_points(made: Plan) -> None:
    """Print a plan's points with their seeds and cells."""
    table = Table("point", "seeds", "cells", box=None, pad_edge=False)
    for point in made.study.points:
        text = ", ".join(f"{name}={value}" for name, value in point.values.items())
        table.add_row(text or "the study's settings", *plan_costs.seeds_words(made))
    out().print(table)


def validate_studies(study_names: Sequence[str], hosts: str, kernel: str = "") -> None:
    """Check study files and print their findings.

    Raises:
        StudyError: some cannot be used; the others were checked.
    """
    errors: dict[str, GroundtruthError | OSError] = {}
    kernel = registry.DEFAULT.kernel_instead(kernel)
    for name in study_names:
        try:
            _validate(name, hosts, kernel)
        except StudyError as error:
            if len(study_names) == 1:
                raise
            errors[name] = error
    if errors:
        raise study_sets.together(errors, "of the studies cannot be used")


def _validate(study_name: str, hosts: str, kernel: str) -> None:
    study = load_study(find_study(study_name), hosts=hosts, kernel=kernel)
    findings = find(study, seeds=study.settings.seeds)
    _print_findings(out(), findings.warnings)
    for item in findings.acknowledged:
        out().print(f"acknowledged: {item.where}: {item.rule}: {item.text}")
        out().print(f"  because: {item.why}")
    out().print(
        f"{study.settings.study}: valid, {how_many(len(study.points), 'point')}, "
        f"{how_many(len(findings.warnings), 'warning')}"
    )


def _print_findings(console: Console, findings: Iterable[Finding]) -> None:
    for finding in findings:
        line = f"warning: {finding.where}: {finding.rule}: {finding.text}"
        console.print(line, soft_wrap=True)
