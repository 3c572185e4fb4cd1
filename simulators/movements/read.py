"""A file of movements, plain or packed, read in the format that the study or itself says it has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from model.errors import ParseError
from simulators.movements import bonnmotion, setdest
from simulators.movements.claimed import Claimed, Imported
from simulators.results.streams import BOM, head_of, opened

Format = Literal["setdest", "bonnmotion"]
#: What a line of text has not: controls, and what is put for bytes that are no UTF-8.
_NO_TEXT = re.compile("[\0-\x08\x0e-\x1f\x7f-\x9f\ufffd]")
_READERS = {"setdest": setdest.read, "bonnmotion": bonnmotion.read}


def told(path: Path) -> Format:
    """Return the format of a file by its first line that is neither empty nor a comment.

    Raises:
        ParseError: it cannot be read, or begins as none of them does.
    """
    wanted = f"{setdest.WANTED}, or numbers: t x y"
    head = head_of(path).removeprefix(BOM).decode(errors="replace")
    if not head:
        raise ParseError("the file is empty", where=str(path), wanted=wanted)
    lines = ((at, line.strip()) for at, line in enumerate(head.splitlines(), 1))
    at, first = next((one for one in lines if one[1] and not one[1].startswith("#")), (1, ""))
    if first.startswith(("$", "set ")):
        return "setdest"
    if first.startswith(tuple("0123456789.+-")):
        return "bonnmotion"
    if strange := _NO_TEXT.search(first):
        byte = f"byte 0x{ord(strange[0]):02x}"
        raise ParseError(
            "not text", where=f"{path}:{at}", wanted="lines of setdest or BonnMotion",
            got="bytes that are no UTF-8" if strange[0] == "\ufffd" else byte,
        )  # fmt: skip
    raise ParseError(
        "no movements that are known by their first line", where=str(path), wanted=wanted,
        got=ascii(first[:60]),
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
