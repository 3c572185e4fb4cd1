"""A file of movements, plain or packed, read in the format that the study or itself says it has."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from model.errors import ParseError
from simulators.movements import bonnmotion, setdest
from simulators.movements.claimed import Claimed, Imported
from simulators.results.streams import BOM, head_of, opened

Format = Literal["setdest", "bonnmotion"]
_READERS = {"setdest": setdest.read, "bonnmotion": bonnmotion.read}


def told(path: Path) -> Format:
    """Return the format of a file by its first line that is neither empty nor a comment.

    Raises:
        ParseError: it cannot be read, or begins as none of them does.
    """
    head = head_of(path).removeprefix(BOM).decode(errors="replace")
    lines = (line.strip() for line in head.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if first.startswith(("$", "set ")):
        return "setdest"
    if first.startswith(tuple("0123456789.+-")):
        return "bonnmotion"
    raise ParseError(
        "no movements that are known by their first line", where=str(path),
        wanted=f"{setdest.WANTED}, or numbers: t x y", got=ascii(first[:60]),
        hint="" if first else "format: says of which format a file is",
    )  # fmt: skip


def read(path: Path, form: Format, claimed: Claimed) -> Imported:
    """Return the movement of all nodes of a study, and notes for who reads its runs.

    Raises:
        ParseError: the file cannot be read as that, or is not of this study; file, line, wanted,
            got, and a hint where one is known.
    """
    with opened(path) as stream:
        return _READERS[form](stream, claimed)
