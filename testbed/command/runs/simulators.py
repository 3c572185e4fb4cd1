"""A simulator's run of the same studies, made before the kernel's, whose report shows both.

Invariant: what is shown of it is what its own report says; its run folder stays beside.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

from model import plain_files, run_folder
from model.errors import StudyError, going_on
from model.run_files.comparing.simulated import SIMULATED, Simulated
from model.run_files.json_file import text_of
from testbed.campaign import manifest, study_sets
from testbed.campaign.progress import Display
from testbed.command.runs import plans, run_and_report
from testbed.labs import registry
from testbed.machine.console import words


def chosen(choices: plans.Choices) -> plans.Choices:
    """Return the choices of the simulator's run: its lab and profile, the study's own points.

    Raises:
        StudyError: there is no such simulator, or no such profile of it.
    """
    lab, _, profile = choices.simulator.partition(":")
    kind = registry.LABS.get(lab)
    if kind is None or not kind.properties.simulates:
        known = [name for name, one in registry.LABS.items() if one.properties.simulates]
        raise StudyError("no such simulator", where="SIMULATOR", wanted=" or ".join(known), got=lab)
    if registry.named(choices.lab).properties.simulates:
        raise StudyError("a simulator beside itself", where="LAB", wanted="a lab with a kernel",
                         got=choices.lab)  # fmt: skip
    its = dataclasses.replace(
        choices, lab=lab, kernel=profile, patches=(), simulator="", sensitivity=False,
        pcap=False, telemetry=True, jobs=None,
    )  # fmt: skip
    return plans.settled(its)


def simulate(
    study_names: Sequence[str], choices: plans.Choices, data_dir: Path
) -> tuple[Simulated, ...]:
    """Run studies in the simulator and return what their reports say, in order."""
    its = chosen(choices)
    first = plans.plans_of(study_names, its)
    with Display(words()) as display:
        lab = registry.named(its.lab).ready(plans.kernels(first), display.building)
    planned = [plans.make_plan(name, its, of_kernel=lab.describe) for name in study_names]
    found = study_sets.create(data_dir, planned, sys.argv)
    parts = study_sets.parts(found, planned, [lab] * len(planned))
    words().print(f"simulated in: {found.folder}", soft_wrap=True)
    with going_on(found.go_on), study_sets.locked(found):
        run_and_report.run_and_report(
            found, parts, {}, its.worker_count(), retries=its.retries, told="nothing"
        )
    return tuple(map(taken_from, found.runs))


def taken_from(run: Path) -> Simulated:
    """Return what a simulator's run gave; raise :class:`StudyError` if it is none."""
    # When needed: tables and statistics take longer to load than most commands.
    from reports.store.run import read_run
    from reports.verdict.simulated import taken
    from reports.verdict.summary import summarise

    read = read_run(run)
    digest = plain_files.sha256(run / run_folder.MANIFEST)
    return taken(summarise(read), read, run.name, digest)


def record(run: Path, simulated: Simulated) -> None:
    """Keep what a simulator gave in a kernel's run folder."""
    manifest.write(run, {run_folder.SIMULATOR: text_of(SIMULATED, simulated)})
