"""``groundtruth crosscheck``: one study in several labs, and whether they agree.

Invariant: what is compared is read from run folders that are whole and as they were left.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from model import plain_files, run_folder
from model.errors import DisagreementError, StudyError
from testbed.campaign import digests, new_runs, saved_runs, study_sets
from testbed.command.runs import commands, plans, run_and_report
from testbed.labs import registry
from testbed.machine.command_line import groundtruth
from testbed.machine.console import out

if TYPE_CHECKING:
    from model.run_files.comparing.crosscheck import Crosscheck
    from model.run_files.comparing.own_results import OwnResults
    from reports.agreement.comparable import Measured
    from reports.store.run import Run
    from reports.verdict.points import CellSummary


def of_study(study_name: str, labs: Sequence[str], choices: plans.Choices, data_dir: Path) -> None:
    """Run a study in these labs, then compare them; the results are in the set that this makes.

    Raises:
        DisagreementError: labs differ by more than a margin.
    """
    if len(labs) < 2 or len(set(labs)) < len(labs):
        raise StudyError(
            "nothing to compare", where="LABS", wanted="two labs or more, each once",
            got=",".join(labs), hint="for example --labs virtual,stock",
        )  # fmt: skip
    if not all(registry.named(name).properties.traces for name in labs):
        # Where one lab has only captures to tell from, cells of all are captured.
        choices = dataclasses.replace(choices, pcap=True, telemetry=False)
    each = [dataclasses.replace(choices, lab=name) for name in labs]
    found = commands.run_in_labs(study_name, each, data_dir)
    made = _compared(found.runs)
    _write(made, found.folder)
    _tell(made, found.folder)


def of_runs(names: Sequence[str], data_dir: Path) -> None:
    """Compare finished runs of one study, given by their folders or as a set.

    The results are in the set, or in a new folder below ``data_dir``.

    Raises:
        DisagreementError: labs differ by more than a margin.
    """
    found = [_found(name) for name in names]
    runs = list(dict.fromkeys(run for one in found for run in one.runs))
    if len(runs) < 2:
        raise StudyError(
            "nothing to compare", where=" ".join(names), wanted="two runs of a study or more",
            got=f"{len(runs)}", hint="to run a study in labs and compare them: --labs LAB,LAB",
        )  # fmt: skip
    if len(found) == 1:
        made, folder = _compared(runs), found[0].folder
        _write(made, folder)
    else:
        new_runs.check_writable(data_dir)
        made = _compared(runs)
        folder = new_runs.new_folder(
            data_dir, f"{made.study}-crosscheck", lambda place, _: _write(made, place),
            latest=False,
        )  # fmt: skip
    _tell(made, folder)


def _found(name: str) -> study_sets.Found:
    try:
        return study_sets.find(name)
    except StudyError as error:
        hint = "to run a study in labs and compare them: --labs LAB,LAB"
        raise StudyError(
            error.what, where=error.where, wanted=error.wanted, got=error.got, hint=hint
        ) from error


def _compared(runs: Sequence[Path]) -> Crosscheck:
    # Imported when needed, here and below: they take longer to load than most commands.
    from reports.agreement.compare import crosscheck

    return crosscheck(_measured(runs))


def _tell(made: Crosscheck, folder: Path) -> None:
    """Print how labs agree; raise :class:`DisagreementError` if they do not."""
    from reports.agreement import tables
    from reports.terminal.screen import print_grids

    print_grids(
        tables.verdict_words(made),
        [tables.facts_grid(made), tables.worst_grid(made)],
        tables.notes(made),
        out(),
    )
    out().print(f"crosscheck: {folder / run_folder.CROSSCHECK_MD}")
    check_agreement(made, "labs differ", str(folder))


def check_agreement(made: Crosscheck | OwnResults, differ: str, where: str) -> None:
    """Raise :class:`DisagreementError` if anything differs by more than its margin."""
    from reports.measures.judged import point_words

    different = made.having("different")
    if different:
        named = [f"{one.metric} at {point_words(one.point)}" for one in different]
        raise DisagreementError(
            f"{differ} by more than the margin in {len(different)} of {made.judged} comparisons",
            where=where, got="; ".join(named[:5]) + ("; ..." if len(named) > 5 else ""),
        )  # fmt: skip


def _write(made: Crosscheck, folder: Path) -> None:
    from model.run_files.comparing.crosscheck import CROSSCHECK
    from model.run_files.json_file import text_of
    from reports.agreement.tables import attachment
    from reports.page.review_tables import MARKDOWN

    files = {
        folder / run_folder.CROSSCHECK_JSON: text_of(CROSSCHECK, made),
        folder / run_folder.CROSSCHECK_MD: MARKDOWN.text(attachment(made)),
    }
    plain_files.write_together({path: text.encode() for path, text in files.items()})


def _measured(runs: Sequence[Path]) -> list[Measured]:
    """Return what whole runs hold, each with a label that tells it from the others."""
    from reports.store.run import read_run
    from reports.verdict.points import ordered_metrics, summarise_cells

    for run in runs:
        check_whole(run)
    read = [read_run(run) for run in runs]
    return [
        measured(path, one, label, summarise_cells(one, ordered_metrics(one.study)))
        for path, one, label in zip(runs, read, _labels(runs, read), strict=True)
    ]


def measured(path: Path, run: Run, label: str, cells: tuple[CellSummary, ...]) -> Measured:
    """Return what a run holds, under a label; ``cells`` are the values of its cells."""
    from reports.agreement.comparable import Measured
    from reports.agreement.lab_facts import facts
    from reports.store.timer import read_timer_hz

    timers = dict.fromkeys(read_timer_hz(path, cell.plan.id) for cell in run.measured())
    return Measured(
        label=label,
        name=path.name,
        manifest_sha256=plain_files.sha256(path / run_folder.MANIFEST),
        facts=facts(run, [hz for hz in timers if hz is not None]),
        run=run,
        cells=cells,
    )


def check_whole(run: Path) -> None:
    """Raise unless every planned cell has finished, and all that is read of it is as it was left.

    That is all but the captures of packets, many times as large as the rest: what is told of
    packets is in the tables that were made of them.
    """
    cells = saved_runs.load_cells(run)
    done = run_and_report.finished(run, cells)
    if len(done) < len(cells):
        raise StudyError(
            "not finished", where=str(run), wanted=f"{len(cells)} cells", got=str(len(done)),
            hint=groundtruth("resume", run),
        )  # fmt: skip
    changed = digests.changed(run, [planned.id for planned in done], run_folder.CAPTURES)
    digests.raise_if_any(changed, run, "cells are changed")


def _labels(paths: Sequence[Path], runs: Sequence[Run]) -> list[str]:
    """Return the shortest names that tell runs apart: lab, kernel besides, or folder."""
    cells = [run.finished[0] for run in runs]
    ways: list[Callable[[int], str]] = [
        lambda i: cells[i].cell.lab["name"],
        lambda i: f"{cells[i].cell.lab['name']} {cells[i].env['kernel_release']}",
        lambda i: paths[i].name,
        lambda i: str(paths[i]),
    ]
    tried = ([way(index) for index in range(len(runs))] for way in ways)
    return next(labels for labels in tried if len(set(labels)) == len(labels))
