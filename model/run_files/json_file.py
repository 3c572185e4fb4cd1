"""JSON files of a run folder as dataclasses: written from them, read back by the same declarations.

Reading is strict: a number is no text, a whole number no fraction, and what is not there has its
default or is missed. Every complaint names the file and the place in it.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import StringConstraints, TypeAdapter, ValidationError

from model import plain_files
from model.errors import ParseError

T = TypeVar("T")

#: A string that is safe as part of a file or column name.
Name = Annotated[str, StringConstraints(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_-]*\z")]

_WANTED = {
    "bool_type": "true, false or null",
    "dataclass_type": "an object",
    "dict_type": "an object",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "string_pattern_mismatch": "a name of letters, digits, _ and -",
    "string_type": "a string",
    "tuple_type": "a list",
}


class MisfitError(ValueError):
    """What is read does not belong together; ``where`` leads on from the object that says so."""

    def __init__(self, message: str, *, where: str = "", wanted: str = "", got: str = "") -> None:
        super().__init__(message)
        self.where, self.wanted, self.got = where, wanted, got


def text_of(adapter: TypeAdapter[T], value: T, *, context: Any = None) -> str:
    """Return a file's text; exact decimals keep the digits they have.

    Args:
        adapter: of the dataclass, or of a list of one.
        value: what the file is to hold.
        context: what the adapter's serializers go by.
    """
    record = adapter.dump_python(value, by_alias=True, context=context)
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False, default=_marked)
    return re.sub(r'"\\u0000([^"]*)\\u0000"', r"\1", text) + "\n"  # no other text holds the mark


def _marked(value: Any) -> str:
    assert isinstance(value, Decimal)
    return f"\0{value}\0"


def read_text(path: Path) -> str:
    """Return a file's text; raises as :func:`read`."""
    try:
        return plain_files.read_text(path)
    except FileNotFoundError:
        raise ParseError(
            "file is missing", where=str(path), hint="is this a run folder of this version?"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError("file cannot be read", where=str(path), got=str(error)) from error


def load(text: str, where: str) -> Any:
    """Return parsed JSON; raise ``ParseError`` for what is none, or could not be written again."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not a JSON number")

    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=refuse)
        # Half of a surrogate pair is legal JSON but no text: nothing could be written with it.
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except (ValueError, RecursionError) as error:
        raise ParseError("file is not JSON", where=where, got=str(error)) from error
    return value


def read(adapter: TypeAdapter[T], path: Path, *, schema: int | None = 1) -> T:
    """Return what a file holds.

    Args:
        adapter: of the dataclass, or of a list of one.
        path: the file.
        schema: the version the file must say it is of; None: it says none.

    Raises:
        ParseError: it is missing, no JSON, of another version, or not what the adapter takes.
    """
    return parse(adapter, read_text(path), str(path), schema=schema)


def parse(adapter: TypeAdapter[T], text: str, where: str, *, schema: int | None = 1) -> T:
    """Return what a file's text holds; raises as :func:`read`."""
    value = load(text, where)
    if schema is not None:
        _require(value, schema, where)
    try:
        return adapter.validate_json(text, strict=True)
    except ValidationError as error:
        raise _complaint(error, value, where) from None


def _require(value: Any, schema: int, where: str) -> None:
    if not isinstance(value, dict):
        raise ParseError("unexpected value", where=where, wanted="an object", got=_said(value))
    got = value.get("schema")
    if got != schema or isinstance(got, bool):
        raise ParseError(
            "unknown schema version", where=where, wanted=str(schema), got=_said(got),
            hint="written by another version of this program?",
        )  # fmt: skip


def _said(value: Any) -> str:
    return "null" if value is None else f"{type(value).__name__} {value!r:.60}"


def _complaint(error: ValidationError, value: Any, file: str) -> ParseError:
    """Return the first of the problems in the project's words."""
    first = error.errors(include_url=False)[0]
    place, kind = _place(first["loc"], value), first["type"]
    if kind == "missing":
        key = repr(first["loc"][-1])
        return ParseError("a key is missing", where=_where(file, place), wanted=key)
    context = first.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, MisfitError):
        where = _where(file, [*place, *cause.where.split(".")] if cause.where else place)
        return ParseError(str(cause), where=where, wanted=cause.wanted, got=cause.got)
    wanted = _WANTED.get(kind) or context.get("expected") or first["msg"]
    return ParseError(
        "unexpected value", where=_where(file, place), wanted=wanted, got=_said(first["input"])
    )


def _place(found: tuple[int | str, ...], value: Any) -> list[Any]:
    """Return the keys that are the file's; pydantic also names which of several types it tried."""
    place: list[Any] = []
    for key in found:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            break
        place.append(key)
    return place


def _where(file: str, place: list[Any]) -> str:
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place)
    return f"{file}: {path.removeprefix('.')}" if path else file
