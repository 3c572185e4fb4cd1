"""Read a cell's raw files; a missing or broken one is an error that names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from testbed.errors import ParseError

Parsed = TypeVar("Parsed")


def read_text(path: Path) -> str:
    """Return a raw text file; raise :class:`ParseError` naming it if it cannot be read."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError("cannot read a raw file", where=str(path), got=str(error)) from error


def read_json(path: Path) -> Any:
    """Return a raw JSON file; raise :class:`ParseError` naming it if it is missing or broken."""
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise ParseError("not JSON", where=str(path), got=str(error)) from error


def read_as(path: Path, parse: Callable[[Any], Parsed]) -> Parsed:
    """Return what ``parse`` makes of a raw JSON file; raise :class:`ParseError` if it cannot."""
    value = read_json(path)
    try:
        return parse(value)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParseError(
            "not what the lab writes", where=str(path), got=json.dumps(value)[:80], hint=repr(error)
        ) from error
