"""Writes what a set of runs has beside its runs' own reports: one page, one summary, the tables.

Invariants: only files of the runs' reports are read; each file appears whole or not at all; a run
that could not be reported has its place everywhere, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports import live
from reports.html import Part, missing_part, render_page
from reports.whole_file import write_whole
from testbed import runfolder
from testbed.errors import ParseError

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Member:
    """A run of a set as reported: its part of the page, or why there is none."""

    run: Path
    part: Part | None
    why: str = ""


def write_set(
    folder: Path, members: Sequence[Member], library: Callable[[], str] = live.library
) -> None:
    """Write a set's page, summary and tables into its folder.

    Raises:
        ParseError: a run's summary, just written, cannot be read.
    """
    parts = [one.part or missing_part(one.run.name, one.why) for one in members]
    files: dict[Path, bytes] = {
        folder / runfolder.REPORT_HTML: render_page(parts, library).encode(),
        folder / runfolder.SUMMARY_JSON: _summary(members).encode(),
    }
    for name in runfolder.REPORT_TABLES:
        files |= _tables(folder, name, [one for one in members if one.part])
    for path, content in files.items():
        write_whole(path, content)


def _summary(members: Sequence[Member]) -> str:
    studies = [
        {
            "run": one.run.name,
            "summary": _read(one.run / runfolder.SUMMARY_JSON) if one.part else None,
            "reason": one.why or None,
        }
        for one in members
    ]
    return json.dumps({"schema": SCHEMA, "studies": studies}, indent=1, ensure_ascii=False) + "\n"


def _read(path: Path) -> Mapping[str, object]:
    try:
        found: Mapping[str, object] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ParseError("cannot read a summary", where=str(path), got=str(error)) from error
    return found


def _tables(folder: Path, name: str, members: Sequence[Member]) -> dict[Path, bytes]:
    """Return the runs' tables of one format in one file, if each run has some."""
    paths = [one.run / name for one in members]
    if not paths or not all(path.is_file() for path in paths):
        return {}
    return {folder / name: b"\n".join(path.read_bytes() for path in paths)}
