"""``groundtruth compare``: a user's own results beside a run of the study, and what differs.

Invariants: nothing is written unless every file was read whole; a run is whole and as it was left.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from model import plain_files, run_folder
from model.errors import NothingJudgedError, StudyError
from model.run_files.comparing.brought import Brought, KnownPoint, Reading, Span
from model.run_files.metrics.every import metric_bounds
from model.run_files.point import Point
from simulators.results.gather import gather
from simulators.results.own_exports import OwnExports
from simulators.results.replicates import merged
from testbed.campaign import study_sets
from testbed.campaign.progress import Display
from testbed.command.comparisons import crosscheck
from testbed.machine.command_line import groundtruth
from testbed.machine.console import out, words
from testbed.study.results_mapping import read_mapping

if TYPE_CHECKING:
    from model.cell import Cell
    from model.run_files.comparing.own_results import OwnResults
    from reports.beside.run_side import RunSide
    from reports.store.run import Run

MOST_FILES, MOST_NAME = 100_000, 60
_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_AN_EXPORT = "an export"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is compared how: files, the mapping, a name, margins, and whether they must agree."""

    files: tuple[Path, ...]
    mapping: Path | None = None
    source: str = ""
    margins: tuple[str, ...] = ()
    agreement: bool = False


def command(run_name: str, wanted: Wanted) -> None:
    """Compare files with a run, keep and tell the results.

    Raises:
        DisagreementError: agreement was asked for, and something differs by more than its margin.
        NothingJudgedError: agreement was asked for, and nothing has a margin and an interval.
        ParseError: a file cannot be read, or gives what belongs nowhere.
        StudyError: run, mapping or margins cannot be used.
    """
    if len(wanted.source) > MOST_NAME:
        raise StudyError("too long", where="--name", wanted=f"at most {MOST_NAME} characters",
                         got=str(len(wanted.source)))  # fmt: skip
    run = one_run(run_name)
    crosscheck.check_whole(run)
    from testbed.command.comparisons.given_margins import margins_of

    side = run_side(run)
    margins, given = margins_of(wanted.margins, side.run.study)
    brought = _brought(wanted, side, run)
    from reports.beside.compare import compare

    made = compare(side, brought, margins, given)
    folder = run / run_folder.COMPARED / folder_name(made.source)
    _write(made, folder)
    _tell(made, folder)
    if wanted.agreement:
        _check_agreement(made, folder)


def _check_agreement(made: OwnResults, folder: Path) -> None:
    if not made.judged:
        reasons = dict.fromkeys(one.reason or "without a margin" for one in made.comparisons)
        raise NothingJudgedError(
            "nothing could be judged", where=str(folder), got="; ".join(reasons),
            wanted="a comparison with a margin and an interval, for --assert",
            hint="bring two replicates or more of each point; --margin METRIC=VALUE",
        )  # fmt: skip
    crosscheck.check_agreement(made, "differs", str(folder))


def one_run(name: str) -> Path:
    """Return the run folder at a path; raise :class:`StudyError` for a set of several."""
    found = study_sets.find(name)
    if len(found.runs) != 1:
        raise StudyError(
            "a set of several runs", where=name, wanted="one of them",
            got=", ".join(run.name for run in found.runs),
            hint=f"{groundtruth('compare', Path(name) / found.runs[0].name)} --with FILE...",
        )  # fmt: skip
    return found.runs[0]


def run_side(path: Path) -> RunSide:
    """Return what a run has to be compared with."""
    # Imported when needed, here and below: they take longer to load than most commands.
    from reports.beside.run_side import RunSide
    from reports.store.run import read_run
    from reports.verdict.points import ordered_metrics, summarise_cells

    run = read_run(path)
    if not run.measured():
        raise StudyError("no finished cell", where=str(path), hint=groundtruth("resume", path))
    return RunSide(
        name=path.name,
        manifest_sha256=plain_files.sha256(path / run_folder.MANIFEST),
        kernels=kernels_compared(run),
        run=run,
        cells=summarise_cells(run, ordered_metrics(run.study)),
    )


def kernels_compared(run: Run) -> tuple[str, ...]:
    """Return the kernels of the cells that are compared: those of alternatives are not."""
    return tuple(
        dict.fromkeys(
            str(one.env["kernel_release"])
            for one in run.measured()
            if one.plan.point in run.study.points
        )
    )


def known_points(run: Run) -> list[KnownPoint]:
    """Return the study's points that have a finished cell, with what is counted there."""
    from reports.beside.compare import cells_by_point

    return [
        KnownPoint(
            point=point, duration_s=cell.duration_s,
            span=Span(from_s=cell.measure_from_s, to_s=cell.measure_to_s),
        )
        for point, cell in cells_by_point(run).items()
    ]  # fmt: skip


def flow_groups(run: Run) -> dict[str, str]:
    """Return the group of each flow of a run's cells."""
    from reports.beside.compare import cells_by_point

    cells: dict[Point, Cell] = cells_by_point(run)
    return {flow.id: flow.group for cell in cells.values() for flow in cell.flows}


def folder_name(source: str) -> str:
    """Return a source's name as that of a folder."""
    return _NAME.sub("-", source).strip(".-") or "own"


def _check_free(run: Path, source: str) -> None:
    """Raise :class:`StudyError` if the folder for a source is that of another one's comparison."""
    from model.run_files.comparing.own_results import OWN_RESULTS
    from model.run_files.json_file import read

    folder = run / run_folder.COMPARED / folder_name(source)
    path = folder / run_folder.COMPARISON_JSON
    there = read(OWN_RESULTS, path).source if path.exists() else source
    if there != source:
        raise StudyError(
            "the folder of another comparison", where=str(folder), wanted=f"one for {source!r}",
            got=f"that of {there!r}", hint="call it something else: --name",
        )  # fmt: skip


def _brought(wanted: Wanted, side: RunSide, run: Path) -> Brought:
    if not wanted.files:
        raise StudyError("no file to compare with", where="--with", wanted="FILE...")
    if len(wanted.files) > MOST_FILES:
        raise StudyError("too many files", where="--with", wanted=f"at most {MOST_FILES}",
                         got=str(len(wanted.files)))  # fmt: skip
    points = known_points(side.run)
    if wanted.mapping is None:
        source = wanted.source or _AN_EXPORT
        _check_free(run, source)
        return _exported(wanted, source, side, points)
    mapping = read_mapping(wanted.mapping, side.run.study, flow_groups(side.run))
    if wanted.source:
        mapping = dataclasses.replace(mapping, source=wanted.source)
    _check_free(run, mapping.source)
    with Display(words()) as display:
        return gather(mapping, wanted.files, points, display.reading)


def _exported(wanted: Wanted, source: str, side: RunSide, points: Sequence[KnownPoint]) -> Brought:
    """Return what this program's own exports give, which need no mapping."""
    study = side.run.study
    bounds = metric_bounds((group.id for group in study.groups), study.flows)
    exports = OwnExports(study.id, points, bounds)
    files, readings = [], list[Reading]()
    with Display(words()) as display:
        for done, path in enumerate(wanted.files):
            display.reading(done, len(wanted.files))
            file, found = exports.read(path)
            files.append(file)
            readings += found
        display.reading(len(wanted.files), len(wanted.files))
    return Brought(
        source=source, files=tuple(files), readings=merged(readings),
        summaries=(), notes=(),
    )  # fmt: skip


def _write(made: OwnResults, folder: Path) -> None:
    from model.run_files.comparing.own_results import OWN_RESULTS
    from model.run_files.json_file import text_of
    from reports.beside.page import page
    from reports.beside.tables import attachment
    from reports.page.review_tables import MARKDOWN

    files = {
        folder / run_folder.COMPARISON_JSON: text_of(OWN_RESULTS, made),
        folder / run_folder.COMPARISON_MD: MARKDOWN.text(attachment(made)),
        folder / run_folder.COMPARISON_HTML: page(made),
    }
    plain_files.write_together({path: text.encode() for path, text in files.items()})


def _tell(made: OwnResults, folder: Path) -> None:
    from reports.beside import tables
    from reports.terminal.screen import print_grids

    told = [*tables.notes(made), *tables.missing_words(made)]
    if len(told) > tables.MOST_NOTES:
        more = len(told) - tables.MOST_NOTES
        told = [*told[: tables.MOST_NOTES], f"{more} notes more in {run_folder.COMPARISON_MD}"]
    print_grids(tables.verdict_words(made), [tables.worst_grid(made)], told, out())
    out().print(f"comparison: {folder / run_folder.COMPARISON_HTML}", soft_wrap=True)
