"""Read the kernel's own description of its trace pages and events (``format``, ``header_page``).

Pure. Nothing of a kernel version is known here: where a field is, how wide and whether signed is
what the text says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.errors import ParseError

FIELD = re.compile(
    r"^\s*field:\s?(?P<type>.+?)\s?(?P<name>\w+)(\[(?P<count>\d*)\])?;"
    r"\s*offset:(?P<offset>\d+);\s*size:(?P<size>\d+);\s*signed:(?P<signed>[01]);$",
    re.MULTILINE,
)
SYMBOL = re.compile(r'\{ (\d+)(?:UL)?, "(\w+)" \}')
WIDTHS = frozenset({1, 2, 4, 8})
#: No event is longer than a page of the ring buffer, of which none is larger than this.
LONGEST_EVENT_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of an event; ``dtype`` is an unsigned byte array where it is an array."""

    name: str
    offset: int
    size: int
    dtype: np.dtype


@dataclass(frozen=True, kw_only=True)
class EventFormat:
    """One event: its number in the pages, its fields, and names the kernel prints for numbers.

    ``where`` is the file that describes it, for messages.
    """

    event: str
    where: str
    id: int
    fields: dict[str, Field]
    symbols: dict[int, str]

    def record(self, names: Sequence[str], arrays: Sequence[str] = ()) -> np.dtype:
        """Return the structured type of these fields: numbers, but for ``arrays`` of bytes.

        Raises:
            ParseError: a field is missing, or is not what its name stands for; it is named.
        """
        for name in names:
            if name not in self.fields:
                raise self._unknown(f"no field {name!r}", wanted=name, got=", ".join(self.fields))
            field = self.fields[name]
            if not field.size or (field.dtype.subdtype is not None) != (name in arrays):
                wanted = "bytes" if name in arrays else "a number"
                raise self._unknown(f"field {name!r}", wanted=wanted, got=f"{field.size} bytes")
            if field.offset + field.size > LONGEST_EVENT_BYTES:
                raise self._unknown(
                    f"field {name!r}", wanted=f"within {LONGEST_EVENT_BYTES} bytes",
                    got=f"byte {field.offset}",
                )  # fmt: skip
        chosen = [self.fields[name] for name in names]
        return np.dtype(
            {
                "names": list(names),
                "formats": [field.dtype for field in chosen],
                "offsets": [field.offset for field in chosen],
                "itemsize": -(-max(field.offset + field.size for field in chosen) // 4) * 4,
            }
        )

    def _unknown(self, what: str, *, wanted: str, got: str) -> ParseError:
        return ParseError(
            f"{what} of trace event {self.event!r}", where=self.where, wanted=wanted, got=got,
            hint="this kernel's trace events differ from those the parser was made for",
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PageLayout:
    """A page: where the time and the used length stand, where events begin, how long it is."""

    timestamp_offset: int
    commit_offset: int
    commit_bytes: int
    data_offset: int
    page_bytes: int


def _fields(text: str, where: str) -> dict[str, Field]:
    found = {}
    for match in FIELD.finditer(text):
        size = int(match["size"])
        if size > LONGEST_EVENT_BYTES:
            raise ParseError("a field longer than a page", where=where, got=match[0].strip()[:80])
        if match["count"] is not None or size not in WIDTHS:
            dtype = np.dtype((np.uint8, (size,)))
        else:
            dtype = np.dtype(f"<{'i' if match['signed'] == '1' else 'u'}{size}")
        found[match["name"]] = Field(
            name=match["name"], offset=int(match["offset"]), size=size, dtype=dtype
        )
    if not found:
        raise ParseError("no field in a trace format", where=where, got=text[:80])
    return found


def parse_event(text: str, event: str, where: str) -> EventFormat:
    """Return one event's format; ``event`` is its name, as in ``tcp/tcp_probe``."""
    number = re.search(r"^ID: (\d{1,5})$", text, re.MULTILINE)
    if number is None:
        raise ParseError("no ID in a trace format", where=f"{where}: {event}", got=text[:80])
    _, _, printed = text.partition("print fmt:")
    return EventFormat(
        event=event,
        where=where,
        id=int(number.group(1)),
        fields=_fields(text, f"{where}: {event}"),
        symbols={int(value): name for value, name in SYMBOL.findall(printed)},
    )


def parse_header_page(text: str, where: str) -> PageLayout:
    """Return the layout of a page."""
    fields = _fields(text, where)
    missing = {"timestamp", "commit", "data"} - set(fields)
    if missing:
        raise ParseError("unknown page layout", where=where, wanted=", ".join(sorted(missing)))
    data, commit = fields["data"], fields["commit"]
    layout = PageLayout(
        timestamp_offset=fields["timestamp"].offset,
        commit_offset=commit.offset,
        commit_bytes=commit.size,
        data_offset=data.offset,
        page_bytes=data.offset + data.size,
    )
    if commit.size not in (4, 8) or layout.page_bytes % 8 or data.offset % 4:
        raise ParseError("unknown page layout", where=where, got=repr(layout))
    return layout
