"""From the pages of the kernel's trace ring buffer to tables: congestion state and drops.

Pure but for :func:`read_trace`. One schema for TCP and SCTP; what a protocol's events do not tell
is null. A state is the one an arriving acknowledgement meets: both protocols' events come before
the kernel acts on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.raw import compressed
from collectors.raw.files import check_count, read_as, whole
from collectors.trace.event_format import EventFormat, PageLayout, parse_event, parse_header_page
from collectors.trace.ring_buffer import Events, find_events
from model.errors import ParseError

BYTE_ORDER = "little"


@dataclass(frozen=True, kw_only=True)
class Formats:
    """The kernel's description of its pages and of the events that were recorded."""

    layout: PageLayout
    events: dict[str, EventFormat]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """All events of a cell, and how to read the fields of each."""

    formats: Formats
    events: Events
    words: NDArray[np.uint32]
    where: str

    def records(
        self, event: str, names: Sequence[str], arrays: Sequence[str] = ()
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return positions (in time) and fields of all events of a kind; ``arrays`` are bytes.

        Raises:
            ParseError: a field is not in the kernel's format, or an event is too short for it.
        """
        form = self.formats.events.get(event)
        if form is None:  # this kernel or this cell has no such event
            return np.empty(0, np.int64), np.empty(0, _empty_record(names, arrays))
        record = form.record((*names, *arrays), arrays)
        places = np.flatnonzero(self.events.kind == form.id)
        need = record.itemsize // 4
        short = np.flatnonzero(self.events.words[places] < need)
        if short.size:
            raise ParseError(
                f"{event} is shorter than its format",
                where=f"{self.where}: byte {int(self.events.word[places[short[0]]]) * 4}",
                wanted=f"{need * 4} bytes",
                got=str(int(self.events.words[places[short[0]]]) * 4),
            )
        rows = self.words[self.events.word[places, None] + np.arange(need)]
        return places, np.ascontiguousarray(rows).view(record)[:, 0]

    def t_ns(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the times of events by position."""
        return self.events.t_ns[places]


def _empty_record(names: Sequence[str], arrays: Sequence[str]) -> np.dtype[Any]:
    numbers = [(name, np.int64) for name in names]
    return np.dtype([*numbers, *((name, np.uint8, (4,)) for name in arrays)])


def parse_formats(value: Mapping[str, Any], where: str) -> Formats:
    """Return the formats in ``formats.json``."""
    if value["byte_order"] != BYTE_ORDER:
        raise ParseError("byte order", where=where, wanted=BYTE_ORDER, got=value["byte_order"])
    return Formats(
        layout=parse_header_page(value["header_page"], where),
        events={event: parse_event(text, event, where) for event, text in value["events"].items()},
    )


def parse_pages(pages: bytes, formats: Formats, where: str, cpus: int = 1) -> Trace:
    """Return the events in ``pages``; raise :class:`ParseError` naming file and byte."""
    events = find_events(pages, formats.layout, where, cpus)
    kinds = np.array([form.id for form in formats.events.values()], dtype=np.int64)
    strange = np.flatnonzero(~np.isin(events.kind, kinds))
    if strange.size:
        first = strange[0]
        raise ParseError(
            "unknown trace event",
            where=f"{where}: byte {int(events.word[first]) * 4}",
            wanted=", ".join(f"{form.event} {form.id}" for form in formats.events.values()),
            got=str(int(events.kind[first])),
        )
    return Trace(formats=formats, events=events, words=np.frombuffer(pages, "<u4"), where=where)


def read_trace(pages: Path, formats: Path, counts: Path | None = None) -> Trace:
    """Read a cell's ``pages.bin.gz`` and ``formats.json``.

    Args:
        counts: what the ring buffer counted, if that is to be compared.
    """
    content = compressed.read(pages, "trace pages")
    form = read_as(formats, lambda value: parse_formats(value, str(formats)))
    cpus, counted = read_as(counts, _counted) if counts is not None else (1, 0)
    trace = parse_pages(content, form, str(pages), cpus)
    if counts is not None:
        check_count(pages, counted, len(trace.events.t_ns), "events")
    return trace


def _counted(value: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many CPUs recorded, and how many events were read; older runs had one CPU."""
    return whole(value.get("cpus", 1)), whole(value["read events"])
