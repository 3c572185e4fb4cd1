"""Digests of a cell's artefacts: what makes a run repeatable to the byte checkable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from testbed import runfolder
from testbed.errors import DisagreementError, ParseError

SCHEMA = 1


def of_cell(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every compared file of a cell by its name in the folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and name not in runfolder.NOT_COMPARED:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def done_text(digests: Mapping[str, str]) -> str:
    """Return the content of a finished cell's DONE file."""
    return json.dumps({"schema": SCHEMA, "sha256": digests}, indent=1, sort_keys=True) + "\n"


def read_done(folder: Path) -> dict[str, str]:
    """Return the digests recorded when a cell finished.

    Raises:
        ParseError: the DONE file is missing or is not one.
    """
    path = folder / runfolder.DONE
    try:
        value = json.loads(path.read_text())
        recorded = value["sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ParseError("not a finished cell", where=str(path), got=str(error)) from error
    if not isinstance(recorded, dict):
        raise ParseError("not a finished cell", where=str(path), got="no table of digests")
    return {str(name): str(digest) for name, digest in recorded.items()}


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


def check_stored(run: Path, cell_ids: Iterable[str]) -> None:
    """Check that finished cells still are what they were when they finished.

    Raises:
        ParseError: a DONE file is not one.
        DisagreementError: a file was changed, removed or added since.
    """
    problems = []
    for cell_id in cell_ids:
        folder = runfolder.cell_folder(run, cell_id)
        problems += [
            f"cells/{cell_id}/{line}" for line in differences(read_done(folder), of_cell(folder))
        ]
    if problems:
        raise DisagreementError(
            f"{len(problems)} files are not what their run left:\n  " + "\n  ".join(problems[:10]),
            where=str(run),
            hint="remove a changed cell's folder and resume the run to measure it again",
        )
