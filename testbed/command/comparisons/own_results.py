"""``groundtruth compare``: a user's own results beside a run of the study, and what differs.

Invariants: nothing is written unless every file was read whole; a run is whole and as it was left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from model import plain_files, run_folder
from model.errors import DisagreementError, StudyError
from model.run_files.comparing.brought import Brought, KnownPoint, Reading, Span
from model.run_files.point import Point
from simulators.results import own_exports
from simulators.results.gather import gather, merged
from testbed.campaign import study_sets
from testbed.campaign.progress import Display
from testbed.command.comparisons import crosscheck
from testbed.machine.console import out, words
from testbed.study.results_mapping import read_mapping

if TYPE_CHECKING:
    from model.cell import Cell
    from model.run_files.comparing.own_results import OwnResults
    from reports.beside.compare import RunSide
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
    brought = _brought(wanted, side)
    from reports.beside.compare import compare

    made = compare(side, brought, margins, given)
    folder = run / run_folder.COMPARED / folder_name(made.source)
    _write(made, folder)
    _tell(made, folder)
    different = made.having("different")
    if different and wanted.agreement:
        named = [f"{one.metric} at {one.point.as_dict()}" for one in different]
        raise DisagreementError(
            f"differs by more than the margin in {len(different)} comparisons", where=str(folder),
            got="; ".join(named[:5]) + ("; ..." if len(named) > 5 else ""),
        )  # fmt: skip


def one_run(name: str) -> Path:
    """Return the run folder at a path; raise :class:`StudyError` for a set of several."""
    found = study_sets.find(name)
    if len(found.runs) != 1:
        raise StudyError(
            "a set of several runs", where=name, wanted="one of them",
            got=", ".join(run.name for run in found.runs),
            hint=f"groundtruth compare {Path(name) / found.runs[0].name} --with FILE...",
        )  # fmt: skip
    return found.runs[0]


def run_side(path: Path) -> RunSide:
    """Return what a run has to be compared with."""
    # Imported when needed, here and below: they take longer to load than most commands.
    from reports.agreement.lab_facts import facts
    from reports.beside.compare import RunSide
    from reports.store.run import read_run
    from reports.verdict.points import ordered_metrics, summarise_cells

    run = read_run(path)
    if not run.measured():
        raise StudyError("no finished cell", where=str(path), hint=f"groundtruth resume {path}")
    return RunSide(
        name=path.name,
        manifest_sha256=plain_files.sha256(path / run_folder.MANIFEST),
        kernels=tuple(facts(run, [])["kernel"].split(", ")),
        run=run,
        cells=summarise_cells(run, ordered_metrics(run.study)),
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


def _brought(wanted: Wanted, side: RunSide) -> Brought:
    if not wanted.files:
        raise StudyError("no file to compare with", where="--with", wanted="FILE...")
    if len(wanted.files) > MOST_FILES:
        raise StudyError("too many files", where="--with", wanted=f"at most {MOST_FILES}",
                         got=str(len(wanted.files)))  # fmt: skip
    points = known_points(side.run)
    if wanted.mapping is None:
        return _exported(wanted, side, points)
    mapping = read_mapping(wanted.mapping, side.run.study, flow_groups(side.run))
    with Display(words()) as display:
        brought = gather(mapping, wanted.files, points, display.reading)
    if wanted.source:
        return Brought(
            source=wanted.source, files=brought.files, readings=brought.readings,
            summaries=brought.summaries, notes=brought.notes,
        )  # fmt: skip
    return brought


def _exported(wanted: Wanted, side: RunSide, points: Sequence[KnownPoint]) -> Brought:
    """Return what this program's own exports give, which need no mapping."""
    files, readings = [], list[Reading]()
    with Display(words()) as display:
        for done, path in enumerate(wanted.files):
            display.reading(done, len(wanted.files))
            file, found = own_exports.read(path, side.run.study.id, points)
            files.append(file)
            readings += found
        display.reading(len(wanted.files), len(wanted.files))
    return Brought(
        source=wanted.source or _AN_EXPORT, files=tuple(files), readings=merged(readings),
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
