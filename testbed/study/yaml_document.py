"""YAML read strictly: plain data in which every key, item and number knows its line.

A study file needs only mappings, lists and scalars, so anchors, aliases, tags, several documents
and keys given twice are errors. Scalars follow YAML 1.2 with JSON's numbers; all else is text
("yes" is text, "0x10" is text), so that a mistake is seen where it is made.
"""

from __future__ import annotations

import dataclasses
import errno
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from model.errors import StudyError
from testbed.study.problems import Loc, Problem, StudyFileError
from testbed.study.scaling import FULL

MAX_FILE_BYTES = 1_000_000
MAX_DEPTH = 20

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,29})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?")
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass(frozen=True, kw_only=True)
class Document:
    """A YAML file: its text, data (mappings, tuples, scalars), lines, scalars as written.

    ``scale`` is what its times of the experiment are multiplied by when they are read.
    """

    name: str
    text: str
    data: dict[str, Any]
    lines: Mapping[Loc, int]
    texts: Mapping[Loc, str]
    problems: tuple[Problem, ...] = ()
    scale: Decimal = FULL

    def line(self, loc: Loc) -> int:
        """Return the line of a place, or of the nearest place above that exists."""
        while loc and loc not in self.lines:
            loc = loc[:-1]
        return self.lines.get(loc, 1)

    def where(self, loc: Loc) -> str:
        """Return ``file:line`` of a place."""
        return f"{self.name}:{self.line(loc)}"

    def key(self, loc: Loc) -> str:
        """Return a place as people write it: ``network.bottleneck.rate``, ``flows.T.pair``."""
        text = ""
        found: Any = self.data
        for part in loc:
            found = _child(found, part)
            if isinstance(part, str):
                text += f".{part}"
            elif isinstance(found, dict) and isinstance(found.get("id"), str):
                text += f".{found['id']}"
            else:
                text += f"[{part}]"
        return text.removeprefix(".")

    def problem(
        self, loc: Loc, what: str, *, wanted: str = "", got: str = "", hint: str = ""
    ) -> Problem:
        """Return a problem at a place."""
        return Problem(
            file=self.name,
            line=self.line(loc),
            key=self.key(loc),
            what=what,
            wanted=wanted,
            got=got,
            hint=hint,
        )

    def replaced(self, loc: Loc, value: Any, line: int) -> Document:
        """Return a copy in which one place holds another value, given on another line."""
        return dataclasses.replace(
            self, data=_replaced(self.data, loc, value), lines={**self.lines, loc: line}
        )


def _child(value: Any, part: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(part)
    if isinstance(value, tuple) and isinstance(part, int) and part < len(value):
        return value[part]
    return None


def _replaced(container: Any, loc: Loc, value: Any) -> Any:
    if not loc:
        return value
    first, rest = loc[0], loc[1:]
    if isinstance(container, dict):
        return {**container, first: _replaced(container.get(first), rest, value)}
    return tuple(
        _replaced(item, rest, value) if i == first else item for i, item in enumerate(container)
    )


def read_document(path: Path, wanted: str = "a study file") -> Document:
    """Read a YAML file, which ``wanted`` names; raise ``StudyError`` if it cannot be read."""
    try:
        if path.is_fifo() or path.is_socket():  # would wait for somebody to write
            raise OSError(errno.EINVAL, "not a file")
        with path.open("rb") as file:  # not read_bytes: a device may have no end
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise StudyError(
            f"cannot read: {reason}", where=str(path), wanted=f"{wanted} in YAML"
        ) from error
    if len(content) > MAX_FILE_BYTES:
        most = f"at most {MAX_FILE_BYTES} bytes"
        raise StudyError("file too large", where=str(path), wanted=most)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise StudyError(
            "not text",
            where=f"{path}:{line}",
            wanted="UTF-8",
            got=f"byte 0x{content[error.start]:02x}",
        ) from error
    return parse_document(text, str(path))


def parse_document(text: str, name: str) -> Document:
    """Return the document in a text; ``name`` is what messages call the file.

    Raises:
        StudyFileError: not YAML, empty, or not a mapping.
    """
    builder = _Builder(name)
    try:
        data = builder.document(YAML(typ="safe", pure=True).parse(text))
    except YAMLError as error:
        raise StudyFileError([_syntax_problem(error, name, text)]) from error
    except (ValueError, OverflowError) as error:  # ruamel on an escape beyond Unicode
        problem = Problem(file=name, line=1, key="", what=f"not YAML: {error}")
        raise StudyFileError([problem]) from error
    if not isinstance(data, dict):
        what = "empty file" if data is None else "not a mapping"
        problem = Problem(file=name, line=1, key="", what=what, wanted="keys such as 'study:'")
        raise StudyFileError([problem, *builder.problems])
    return Document(
        name=name,
        text=text,
        data=data,
        lines=builder.lines,
        texts=builder.texts,
        problems=tuple(builder.problems),
    )


def _syntax_problem(error: YAMLError, name: str, text: str) -> Problem:
    line, what, hint = 1, str(error).splitlines()[0] if str(error) else "unreadable", ""
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        what = error.problem or error.context or what
    elif hasattr(error, "position"):
        line = text.count("\n", 0, error.position) + 1
    if "'\\t'" in what:
        what, hint = "a tab", "indent and separate with spaces"
    return Problem(file=name, line=line, key="", what=f"not YAML: {what}", hint=hint)


@dataclass
class _Builder:
    """Turns parser events into data, noting the line of each place and what is not allowed."""

    name: str
    lines: dict[Loc, int] = field(default_factory=dict)
    texts: dict[Loc, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def document(self, events: Iterator[Event]) -> Any:
        """Return the first document's data; a second document is a problem."""
        data, seen = None, 0
        for event in events:
            if isinstance(event, DocumentStartEvent):
                seen += 1
                if seen > 1:
                    self._problem(event, (), "a second document", "one study per file")
            elif isinstance(event, NodeEvent):
                value = self._node(event, events, (), 0)
                data = value if seen == 1 else data
        return data

    def _problem(self, event: Event, loc: Loc, what: str, wanted: str = "", got: str = "") -> None:
        key = ".".join(str(part) for part in loc)
        self.problems.append(
            Problem(
                file=self.name,
                line=event.start_mark.line + 1,
                key=key,
                what=what,
                wanted=wanted,
                got=got,
            )
        )

    def _node(self, event: Event, events: Iterator[Event], loc: Loc, depth: int) -> Any:
        self.lines.setdefault(loc, event.start_mark.line + 1)
        if depth > MAX_DEPTH:
            self._problem(event, (), "nested too deeply", f"at most {MAX_DEPTH} levels")
            raise StudyFileError(self.problems)
        if isinstance(event, AliasEvent):
            self._problem(event, loc, "an alias", "the value itself", f"*{event.anchor}")
            return None
        assert isinstance(event, MappingStartEvent | SequenceStartEvent | ScalarEvent)
        if event.anchor:
            self._problem(event, loc, "an anchor", "plain values", f"&{event.anchor}")
        if event.tag:
            self._problem(event, loc, "a tag", "plain values", str(event.tag))
        if isinstance(event, MappingStartEvent):
            return self._mapping(events, loc, depth)
        if isinstance(event, SequenceStartEvent):
            return self._sequence(events, loc, depth)
        self.texts[loc] = event.value
        return _scalar(event)

    def _mapping(self, events: Iterator[Event], loc: Loc, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for event in events:
            if isinstance(event, MappingEndEvent):
                break
            if not isinstance(event, ScalarEvent):
                self._problem(event, loc, "not a key", "a word")
                self._node(event, events, (*loc, "?"), depth + 1)
                self._node(next(events), events, (*loc, "?"), depth + 1)
                continue
            key, here = event.value, (*loc, event.value)
            if event.anchor or event.tag:
                self._problem(event, here, "an anchor or tag", "a plain key")
            if key in data:
                first = f"already given on line {self.lines[here]}"
                self._problem(event, here, f"duplicate key: {first}")
                here = (*loc, key, "?")
            self.lines.setdefault(here, event.start_mark.line + 1)
            value = self._node(next(events), events, here, depth + 1)
            data.setdefault(key, value)
        return data

    def _sequence(self, events: Iterator[Event], loc: Loc, depth: int) -> tuple[Any, ...]:
        items: list[Any] = []
        for event in events:
            if isinstance(event, SequenceEndEvent):
                break
            items.append(self._node(event, events, (*loc, len(items)), depth + 1))
        return tuple(items)


def _scalar(event: ScalarEvent) -> Any:
    text: str = event.value
    if event.style is not None:  # quoted or block text
        return text
    if text in _WORDS:
        return _WORDS[text]
    match = _NUMBER.fullmatch(text)
    if not match:
        return text
    return float(text) if match[2] or match[3] else int(text)
