"""Digests of a cell's artefacts: what makes a run repeatable to the byte checkable."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from model import plain_files, run_folder
from model.cell import cell_id, from_dict
from model.errors import DisagreementError, ParseError

SCHEMA = 1
#: How many changed files of a cell are named.
MOST_NAMED = 5


#: The folder of a cell from which files may be removed to free the disk.
RAW = "raw/"
#: In place of the digest of a file that is there and was not read.
NOT_READ = "not read"


def of_cell(folder: Path, unread: str = "") -> dict[str, str]:
    """Return the SHA-256 of every compared file of a cell by its name in the folder.

    Those whose names begin with ``unread``, if that is anything, need only be there.

    Raises:
        ParseError: it is no folder.
        OSError: there is anything but plain files and folders in it, or a file cannot be read.
    """
    if not plain_files.is_folder(folder):
        raise ParseError("not a cell's folder", where=str(folder))
    named = sorted(plain_files.files(folder))
    return {
        name: NOT_READ if unread and name.startswith(unread) else plain_files.sha256(path)
        for name, path in named
        if name not in run_folder.NOT_COMPARED
    }


def raise_if_any(problems: Mapping[str, str], run: Path, what: str) -> None:
    """Raise :class:`DisagreementError` if there is a problem; they are named by where they are.

    A place is ``cells/ID`` or a file below that; what is counted is cells.
    """
    if problems:
        cells = {tuple(where.split("/")[:2]) for where in problems}
        lines = [f"{where}: {why}" for where, why in problems.items()]
        raise DisagreementError(
            f"{len(cells)} {what}:\n  " + "\n  ".join(lines[:10]),
            where=str(run),
            hint="resume runs changed cells again; parse makes tables again if all else is whole",
        )


def done_text(digests: Mapping[str, str]) -> str:
    """Return the content of a finished cell's DONE file."""
    return json.dumps({"schema": SCHEMA, "sha256": digests}, indent=1, sort_keys=True) + "\n"


def read_done(folder: Path, name: str = run_folder.DONE) -> dict[str, str]:
    """Return the digests recorded when a cell finished, in the file of this name.

    Raises:
        ParseError: the DONE file is missing or is not one.
    """
    path = folder / name
    try:
        text = plain_files.read_text(path)
        recorded = json.loads(text)["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ParseError("not a finished cell", where=str(path), got=str(error)) from error
    if not isinstance(recorded, dict):
        raise ParseError("not a finished cell", where=str(path), got="no table of digests")
    found = {str(name): str(digest) for name, digest in recorded.items()}
    if done_text(found) != text:  # so that no byte of it can be another
        raise ParseError("not a finished cell", where=str(path), got="not as the run wrote it")
    return found


def freed(folder: Path) -> dict[str, str]:
    """Return the digests of the raw files of a cell that were removed to free the disk.

    Raises:
        ParseError: the file that says so is none.
    """
    path = folder / run_folder.FREED
    if not plain_files.is_file(path):
        return {}
    try:
        found = json.loads(plain_files.read_text(path))["sha256"]
        return {str(name): str(digest) for name, digest in found.items() if name.startswith(RAW)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParseError("cannot read what was freed", where=str(path), got=str(error)) from error


def removed(folder: Path) -> list[str]:
    """Return the raw files of a cell that are gone to free the disk; raises as :func:`freed`."""
    return [name for name in freed(folder) if not plain_files.is_file(folder / name)]


def raise_if_freed(folder: Path) -> None:
    """Raise :class:`ParseError` where raw files of a cell were removed to free the disk."""
    if gone := removed(folder):
        raise ParseError(
            "raw files were removed to free the disk", where=str(folder),
            got=f"{len(gone)} missing, {gone[0]} among them",
            hint=f"by groundtruth gc, see {run_folder.FREED}; a new run of the study has them",
        )  # fmt: skip


def differences(recorded: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Return the names that differ, each with how, in order."""
    lines = []
    for name in sorted(set(recorded) | set(found)):
        if name not in found:
            lines.append(f"{name}: missing now")
        elif name not in recorded:
            lines.append(f"{name}: was not there before")
        elif recorded[name] != found[name]:
            lines.append(f"{name}: {recorded[name][:12]} before, {found[name][:12]} now")
    return lines


def another(folder: Path, wanted: str) -> list[str]:
    """Return a line that a whole cell is not the one of this id, if so."""
    try:
        found = cell_id(from_dict(json.loads(plain_files.read_text(folder / run_folder.CELL))))
    except (ValueError, RecursionError) as error:
        return [f"{run_folder.CELL}: not a cell: {error}"]
    return [] if found == wanted else [f"{run_folder.CELL}: another cell, {found}"]


def _as_read(digests: Mapping[str, str], unread: str) -> dict[str, str]:
    return {
        name: NOT_READ if unread and name.startswith(unread) else digest
        for name, digest in digests.items()
    }


def changed(run: Path, cell_ids: Iterable[str], unread: str = "") -> dict[str, str]:
    """Return the finished cells that are no longer what they were when they finished, and why.

    Of files whose names begin with ``unread``, if that is anything, only their absence is seen.

    A file changed, removed, added or no longer readable, and a DONE that is none, are such reasons:
    who damaged a cell or edited it cannot be told, so neither may pass for a measurement. Nor may
    another cell's folder in the place of this one. Raw files that were freed are not missed.
    """
    found = {}
    for id_ in cell_ids:
        folder = run_folder.cell_folder(run, id_)
        try:
            recorded = _as_read(read_done(folder), unread)
            there = {**_as_read(freed(folder), unread), **of_cell(folder, unread)}
            lines = differences(recorded, there) or another(folder, id_)
        except (ParseError, OSError) as error:
            lines = [str(error).replace(f"{folder}/", "")]
        if lines:
            more = f"; and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
            found[id_] = "; ".join(lines[:MOST_NAMED]) + more
    return found
