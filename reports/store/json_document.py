"""Typed access to parsed JSON. Invariant: every complaint names the file and the key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from model.errors import ParseError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Doc:
    """A JSON value and where it came from (``resolved.json: groups[0].id``)."""

    value: Any
    file: str
    path: str = ""

    @property
    def where(self) -> str:
        """Return file and key path in one string."""
        return f"{self.file}: {self.path}" if self.path else self.file

    def _fail(self, wanted: str) -> ParseError:
        got = "null" if self.value is None else f"{type(self.value).__name__} {self.value!r:.60}"
        return ParseError("unexpected value", where=self.where, wanted=wanted, got=got)

    def get(self, key: str) -> Doc:
        """Return the value under ``key``; raise ``ParseError`` if it is absent."""
        found = self.maybe(key)
        if found is None and (not isinstance(self.value, dict) or key not in self.value):
            raise ParseError("a key is missing", where=self.where, wanted=repr(key))
        return found or Doc(None, self.file, self._join(key))

    def maybe(self, key: str) -> Doc | None:
        """Return the value under ``key``, or None if it is absent or null."""
        if not isinstance(self.value, dict):
            raise self._fail("an object")
        value = self.value.get(key)
        return None if value is None else Doc(value, self.file, self._join(key))

    def _join(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def items(self) -> tuple[Doc, ...]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            raise self._fail("a list")
        return tuple(
            Doc(item, self.file, f"{self.path}[{index}]") for index, item in enumerate(self.value)
        )

    def fields(self) -> tuple[tuple[str, Doc], ...]:
        """Return keys and values of an object, in file order."""
        if not isinstance(self.value, dict):
            raise self._fail("an object")
        return tuple((k, Doc(v, self.file, self._join(k))) for k, v in self.value.items())

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            raise self._fail("a string")
        return self.value

    def name(self) -> str:
        """Return a string that is safe as part of a file or column name."""
        if not _NAME.fullmatch(self.text()):
            raise self._fail("a name of letters, digits, _ and -")
        return self.text()

    def integer(self) -> int:
        """Return a whole number."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self._fail("a whole number")
        return self.value

    def number(self) -> float:
        """Return a number."""
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            raise self._fail("a number")
        try:
            return float(self.value)
        except OverflowError:
            raise self._fail("a number that a computer can hold") from None

    def scalar(self) -> float | int | str:
        """Return a number or a string, as it is."""
        if not isinstance(self.value, int | float | str) or isinstance(self.value, bool):
            raise self._fail("a number or a string")
        return self.value

    def scalars(self) -> dict[str, float | int | str]:
        """Return an object of numbers and strings, as it is."""
        return {name: value.scalar() for name, value in self.fields()}

    def truth(self) -> bool | None:
        """Return true, false, or None for null (not known)."""
        if self.value is not None and not isinstance(self.value, bool):
            raise self._fail("true, false or null")
        return self.value

    def require_schema(self, version: int) -> None:
        """Raise ``ParseError`` unless the document says it is of this version."""
        got = self.get("schema").integer()
        if got != version:
            raise ParseError(
                "unknown schema version",
                where=self.where,
                wanted=str(version),
                got=str(got),
                hint="written by another version of this program?",
            )
