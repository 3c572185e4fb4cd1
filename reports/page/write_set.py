"""Writes the report of a set of studies from what the reports of its runs left.

Invariants: nothing is measured, judged or drawn again, so a study is shown as on its own page; a
run whose report cannot be read is named and loses no other; equal sets give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from model import plain_files, run_folder
from model.errors import ParseError
from model.run_files import json_file
from model.run_files.cells import OBJECT
from model.run_files.summary import SET_SUMMARY
from reports.page import zoomable
from reports.page.html import render_set
from reports.page.review_tables import TABLE_FILES
from reports.page.section import SCHEMA, SECTION
from reports.page.study_set import Missing, SetPage, SetStudy
from reports.store.run import read_planned, read_run


@dataclass(frozen=True, kw_only=True)
class _Left:
    """What one run's report left."""

    study: SetStudy
    summary: Any
    tables: dict[str, str]


def write_set(
    folder: Path,
    runs: Sequence[Path],
    library: Callable[[], str] = zoomable.library,
    unsound: Mapping[Path, str] | None = None,
) -> None:
    """Write a set's page, summary and tables from those of its runs, which are written before.

    Args:
        folder: the set.
        runs: the run folders in it, in its order.
        library: gives the script that draws the page's figures.
        unsound: runs whose report is not to be shown, and why.

    Raises:
        OSError: a file cannot be written.
    """
    why = unsound or {}
    found = [
        Missing(name=run.name, why=_named(run, why[run])) if run in why else _read(run)
        for run in runs
    ]
    left = [one for one in found if isinstance(one, _Left)]
    missing = tuple(one for one in found if isinstance(one, Missing))
    page = SetPage(studies=tuple(one.study for one in left), missing=missing)
    content = {"studies": [one.summary for one in left], "missing": missing}
    text = json_file.text_of(SET_SUMMARY, SET_SUMMARY.validate_python(content))
    files = {folder / run_folder.SUMMARY_JSON: text.encode()}
    for kind in TABLE_FILES:
        lost = [f"{one.name} is not among these tables. {one.why}" for one in missing]
        tables = [one.tables[kind.name] for one in left]
        tables += [f"{kind.escaped(words)}\n" for words in lost]
        files[folder / kind.name] = "\n".join(tables).encode()
    files[folder / run_folder.REPORT_HTML] = render_set(page, library).encode()
    plain_files.write_together(files)


def _read(run: Path) -> _Left | Missing:
    """Return what a run's report left, or why there is nothing that could be shown."""
    try:
        read_planned(run)  # a report may be older than what ails its run
        section = json_file.read(SECTION, run / run_folder.REPORT_SECTION, schema=SCHEMA)
        summary = json_file.read(OBJECT, run / run_folder.SUMMARY_JSON, schema=None)
        tables = {kind.name: plain_files.read_text(run / kind.name) for kind in TABLE_FILES}
    except (ParseError, OSError, UnicodeDecodeError) as error:
        return Missing(name=run.name, why=_why(run, error))
    study = SetStudy(name=quote(run.name), section=section)
    return _Left(study=study, summary=summary, tables=tables)


def _why(run: Path, error: Exception) -> str:
    """Return why a run has no report: what its report failed of, if that still is so."""
    try:
        read_run(run)
    except ParseError as cause:
        error = cause
    return _named(run, str(error))


def _named(run: Path, text: str) -> str:
    """Return words about a run without the folders above it."""
    return text.replace(f"{run}/", "").replace(str(run), run.name)
