"""Read a cell's raw files; a missing or broken one is an error that names it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from model import plain_files
from model.errors import ParseError

Parsed = TypeVar("Parsed")
#: What a 64-bit counter of a table can hold.
WHOLE_MAX = (1 << 63) - 1


def read_text(path: Path) -> str:
    """Return a raw text file; raise :class:`ParseError` naming it if it cannot be read."""
    try:
        return plain_files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError("cannot read a raw file", where=str(path), got=str(error)) from error


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


#: Made once: files have thousands of lines, each a text of its own.
_JSON = json.JSONDecoder(parse_constant=_refuse)
#: May be half a character.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def json_value(text: str) -> Any:
    """Return the value a JSON text stands for; raise ``ValueError`` if it stands for none."""
    try:
        value = _JSON.decode(text)
        if _HALF.search(text):  # legal JSON, but no text: nothing could be written with it
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def read_json(path: Path) -> Any:
    """Return a raw JSON file; raise :class:`ParseError` naming it if it is missing or broken."""
    try:
        return json_value(read_text(path))
    except ValueError as error:
        raise ParseError("not JSON", where=str(path), got=str(error)) from error


def read_as(path: Path, parse: Callable[[Any], Parsed]) -> Parsed:
    """Return what ``parse`` makes of a raw JSON file; raise :class:`ParseError` if it cannot."""
    value = read_json(path)
    try:
        return parse(value)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise ParseError(
            "not what the lab writes", where=str(path), got=json.dumps(value)[:80], hint=repr(error)
        ) from error


def check_count(path: Path, counted: int, got: int, unit: str) -> None:
    """Raise :class:`ParseError` unless a raw file holds as much as whoever wrote it counted.

    A file cut between two records is sound by itself.
    """
    if counted != got:
        raise ParseError(
            "not all that was recorded", where=f"{path}: byte {path.stat().st_size}",
            wanted=f"{counted} {unit}", got=str(got),
        )  # fmt: skip


def whole(value: Any) -> int:
    """Return a count or a time in ns; raise ``ValueError`` for what no counter can show."""
    if type(value) is not int or not 0 <= value <= WHOLE_MAX:
        raise ValueError(f"{value!r:.40} is not a whole number from 0 to {WHOLE_MAX}")
    return value


def read_bytes(path: Path, what: str) -> bytes:
    """Return a raw file's bytes; raise :class:`ParseError` naming it if it cannot be read."""
    try:
        return plain_files.read_bytes(path)
    except OSError as error:
        raise ParseError(f"cannot read {what}", where=str(path), got=str(error)) from error


def file_name(value: Any) -> str:
    """Return the name of a file in a known folder; raise ``ValueError`` for one elsewhere."""
    if "/" in word(value) or value in ("", ".", "..") or "\0" in value:
        raise ValueError(f"{value!r:.40} is not the name of a file")
    return str(value)


def word(value: Any) -> str:
    """Return a text; raise ``ValueError`` for anything else."""
    if type(value) is not str:
        raise ValueError(f"{value!r:.40} is not text")
    return value
