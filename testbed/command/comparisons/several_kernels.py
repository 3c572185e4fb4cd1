"""``--kernel A,B,C``: one study on several kernels, and what changed from each to the next.

Invariants: each kernel has a run of its own, with the same points and seeds, and a report of its
own; what changed is read from run folders that are whole and as they were left. Where one kernel is
named, or none, the command is the ordinary one.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from model import plain_files, run_folder
from model.errors import StudyError, going_on
from testbed.campaign import study_sets
from testbed.campaign.progress import Display
from testbed.command.comparisons import crosscheck
from testbed.command.runs import commands, plan_costs, plans, run_and_report
from testbed.labs import registry
from testbed.machine.console import out, words
from testbed.planning.plan import Plan
from testbed.study import kernel_names

if TYPE_CHECKING:
    from model.run_files.comparing.kernels import Kernels
    from reports.kernels.changes import KernelResult

#: The command that such a set is made for: it tells what changed, as no other set's report does.
THEN = "report"
#: What a folder's name keeps of a kernel's.
_PLAIN = re.compile(r"[^A-Za-z0-9.+@_-]+")


def run(study_names: Sequence[str], choices: plans.Choices, data_dir: Path) -> None:
    """Run a study on each kernel named, then say what changed; on one kernel, run as ever."""
    if "," not in choices.kernel:
        commands.run(study_names, choices, data_dir)
        return
    (study_name,) = _one(study_names)
    each = _each(choices)
    made = plans.plans_on_kernels(study_name, each)
    plans.check_jobs(made, each[0])
    if len(made[0].seeds) < 2:
        raise StudyError("too few to compare", where="SEEDS", wanted="at least 2", got="1")
    plans.check_place(made, choices, data_dir)
    kind = registry.named(choices.lab)
    with Display(words()) as display:
        lab = kind.ready(plans.kernels(made), display.building)
    planned = [plans.make_plan(study_name, one, of_kernel=lab.describe) for one in each]
    found = study_sets.create(
        data_dir, planned, sys.argv, names=folder_names([one.kernel for one in each]),
        set_name=f"{made[0].study.settings.study}-kernels", then=THEN,
    )  # fmt: skip
    words().print(f"set: {found.folder}", soft_wrap=True)
    parts = study_sets.parts(found, planned, [lab] * len(planned))
    with going_on(found.go_on), study_sets.locked(found):
        run_and_report.run_and_report(
            found, parts, {}, each[0].worker_count(), retries=choices.retries, told="nothing"
        )
    _tell(found, "tables" if choices.tables else "screen")


def _one(study_names: Sequence[str]) -> Sequence[str]:
    if len(study_names) != 1:
        raise StudyError(
            "several kernels take one study", where="STUDY", wanted="one",
            got=" ".join(study_names), hint="one command for each study; with make: STUDY=NAME",
        )  # fmt: skip
    return study_names


def _each(choices: plans.Choices) -> list[plans.Choices]:
    """Return the choices of each kernel's run; the variations of assumptions are not tried."""
    kind = registry.named(choices.lab)
    if kind.properties.simulates or choices.simulator:
        raise StudyError(
            "a simulator has no kernels to compare", where="KERNEL", wanted="one, or none",
            got=choices.kernel, hint="one command for each",
        )  # fmt: skip
    if choices.reps == "auto":
        raise StudyError(
            "kernels are compared seed by seed", where="SEEDS", wanted="a number of them",
            got="auto, which may be another number for each", hint="--reps N",
        )  # fmt: skip
    return [
        dataclasses.replace(choices, kernel=name, patches=(), sensitivity=False)
        for name in plans.named_kernels(kind, choices.kernel, choices.patches)
    ]


def folder_names(kernels: Sequence[str]) -> list[str]:
    """Return a folder's name for each kernel: its own, without what no such name may have."""
    return study_sets.folder_names(
        [kernel_names.in_files(_PLAIN.sub("-", name)).strip("-.") or "kernel" for name in kernels]
    )


def plan(study_names: Sequence[str], choices: plans.Choices) -> None:
    """Print what a study on each kernel named would cost; on one kernel, as ever."""
    if "," not in choices.kernel:
        plans.plan(study_names, choices)
        return
    (study_name,) = _one(study_names)
    each = _each(choices)
    made = plans.plans_on_kernels(study_name, each)
    plans.check_jobs(made, each[0])
    kind = registry.named(choices.lab)
    plans.check_named(kind, plans.kernels(made))
    plans.print_points(made[0])
    at_once = each[0].worker_count()
    out().print(f"on each kernel: {_cost(made[:1], at_once)}")
    out().print(f"all together: {_cost(made, at_once)}")
    out().print(f"kernels {', '.join(plans.kernels(made))}")
    building = kind.built_first(plans.kernels(made))
    if building:
        out().print(building)


def _cost(made: Sequence[Plan], at_once: int) -> str:
    return plan_costs.cost_lines(made, at_once)[0]


def resume(
    run_name: str, jobs: int | None, retries: int, *, tables: bool, check_room: bool
) -> None:
    """Run what is not finished in a run folder or a set, then report it, and what changed."""
    told = "tables" if tables else "screen"
    if not _of_kernels(run_name):
        commands.resume(run_name, jobs, told, retries, check_room=check_room)
        return
    commands.resume(run_name, jobs, "nothing", retries, check_room=check_room)
    _tell(study_sets.find(run_name), told)


def report(run_name: str, told: str) -> None:
    """Write the reports of a run or a set again, and what changed; print what is to be told."""
    if not _of_kernels(run_name):
        commands.report(run_name, told)
        return
    found = study_sets.find(run_name)
    for folder in found.runs:
        crosscheck.check_whole(folder)
    as_tests = told in run_and_report.AS_TESTS
    commands.report(run_name, told if as_tests else "nothing")
    _tell(found, "nothing" if as_tests else told)


def _of_kernels(run_name: str) -> bool:
    return study_sets.find(run_name).then == THEN


def _tell(found: study_sets.Found, told: str) -> None:
    """Write what changed, and print it on one screen, or all tables, or nothing."""
    # Imported when needed: they take longer to load than most commands.
    from reports.kernels import tables
    from reports.kernels.changes import kernels
    from reports.terminal.screen import print_grids

    made = kernels([_result(folder) for folder in found.runs])
    _write(made, found.folder)
    if told == "nothing":
        return
    grids = tables.attachment(made).tables if told == "tables" else tables.screen_grids(made)
    print_grids(tables.title(made), grids, tables.notes(made), out())
    out().print(f"kernels: {found.folder / run_folder.KERNELS_HTML}", soft_wrap=True)


def _result(folder: Path) -> KernelResult:
    """Return a whole run on one kernel, and what its report says."""
    from reports.kernels.changes import KernelResult
    from reports.store.run import read_run
    from reports.verdict.summary import summarise

    crosscheck.check_whole(folder)
    read = read_run(folder)
    summary = summarise(read)
    kernel = read.finished[0].cell.lab["kernel"]
    measured = crosscheck.measured(folder, read, kernel, summary.cells)
    return KernelResult(measured=measured, summary=summary)


def _write(made: Kernels, folder: Path) -> None:
    from model.run_files.comparing.kernels import KERNELS
    from model.run_files.json_file import text_of
    from reports.kernels.page import page
    from reports.kernels.tables import attachment
    from reports.page.review_tables import MARKDOWN

    files = {
        folder / run_folder.KERNELS_JSON: text_of(KERNELS, made),
        folder / run_folder.KERNELS_MD: MARKDOWN.text(attachment(made)),
        folder / run_folder.KERNELS_HTML: page(made),
    }
    plain_files.write_together({path: text.encode() for path, text in files.items()})
