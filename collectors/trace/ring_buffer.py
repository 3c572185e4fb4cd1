"""Find the events in pages of the kernel's trace ring buffer, as trace_pipe_raw hands them out.

Pure. An event cannot be found without having walked all before it in its page, but pages are
independent: one step here moves by one event in all pages at once. What the bits of an event's
head mean is documented in include/linux/ring_buffer.h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collectors.trace.event_format import PageLayout
from model.errors import ParseError

LENGTH_MASK, LOST_MASK = (1 << 30) - 1, 3 << 30
TYPE_BITS, DELTA_BITS, STAMP_BITS = 5, 27, 59
LONG_DATA, PADDING, TIME_EXTEND, TIME_STAMP = 0, 29, 30, 31

Numbers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Events:
    """All data events in order: time, number of the event's kind, place and length in words."""

    t_ns: Numbers
    kind: Numbers
    word: Numbers
    words: Numbers


@dataclass
class _Walk:
    """One cursor per page: ``begin`` and ``end`` count words from the start of all pages."""

    words: NDArray[np.uint32]
    page: Numbers
    begin: Numbers
    end: Numbers
    t_ns: Numbers
    where: str

    def fail(self, what: str, wrong: NDArray[np.bool_], got: Numbers) -> None:
        """Raise for the first page where ``wrong``, with the offset of its event."""
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            raise ParseError(
                what, where=f"{self.where}: byte {int(self.begin[first]) * 4}", got=str(got[first])
            )


def find_events(data: bytes, layout: PageLayout, where: str, cpus: int = 1) -> Events:
    """Return the events of whole pages, in order of time; pages of several ``cpus`` are mixed.

    Raises:
        ParseError: a page is cut short, tells of lost events, or does not hold what it claims to;
            the message names file and byte.
    """
    if len(data) % layout.page_bytes:
        raise ParseError(
            "the last trace page is cut short",
            where=f"{where}: byte {len(data) // layout.page_bytes * layout.page_bytes}",
            wanted=f"{layout.page_bytes} bytes",
            got=str(len(data) % layout.page_bytes),
        )
    walk = _begin(data, layout, where)
    found: list[tuple[Numbers, ...]] = []
    while walk.page.size:
        found.append(_step(walk))
    page, t_ns, word, words = (np.concatenate(column) for column in _columns(found))
    order = np.argsort(page, kind="stable") if cpus == 1 else np.lexsort((page, t_ns))
    t_ns, word, words = t_ns[order], word[order], words[order]
    back = np.flatnonzero(np.diff(t_ns) < 0)
    if back.size:
        raise ParseError(
            "trace time runs backwards",
            where=f"{where}: byte {int(word[back[0] + 1]) * 4}",
            got=f"{t_ns[back[0]]} ns, then {t_ns[back[0] + 1]} ns",
        )
    kind = walk.words[word].astype(np.int64) & 0xFFFF
    return Events(t_ns=t_ns, kind=kind, word=word, words=words)


def _columns(found: list[tuple[Numbers, ...]]) -> list[tuple[Numbers, ...]]:
    nothing = (np.empty(0, np.int64),) * 4
    return list(zip(nothing, *found, strict=True))


def _begin(data: bytes, layout: PageLayout, where: str) -> _Walk:
    pages = np.frombuffer(data, np.uint8).reshape(-1, layout.page_bytes)
    count = pages.shape[0]

    def column(offset: int, size: int) -> Numbers:
        return (
            np.ascontiguousarray(pages[:, offset : offset + size])
            .view(f"<u{size}")
            .ravel()
            .astype(np.int64)
        )

    commit = column(layout.commit_offset, layout.commit_bytes)
    length = commit & LENGTH_MASK
    first = (np.arange(count) * layout.page_bytes + layout.data_offset) // 4
    walk = _Walk(
        words=np.frombuffer(data, "<u4"),
        page=np.arange(count),
        begin=first,
        end=first + length // 4,
        t_ns=column(layout.timestamp_offset, 8),
        where=where,
    )
    walk.fail("trace events are lost before a page", (commit & LOST_MASK) != 0, commit)
    capacity = layout.page_bytes - layout.data_offset
    wrong = (commit != length) | (length > capacity) | (length % 4 != 0)
    walk.fail("impossible length of a trace page", wrong, commit)
    walk.fail("impossible time of a trace page", walk.t_ns < 0, walk.t_ns)
    return _keep(walk, walk.begin < walk.end)


def _keep(walk: _Walk, which: NDArray[np.bool_]) -> _Walk:
    walk.page, walk.begin, walk.end, walk.t_ns = (
        column[which] for column in (walk.page, walk.begin, walk.end, walk.t_ns)
    )
    return walk


def _step(walk: _Walk) -> tuple[Numbers, ...]:
    """Move by one event in every page; return page, time, place and length of the data events."""
    head = walk.words[walk.begin].astype(np.int64)
    kind, delta = head & ((1 << TYPE_BITS) - 1), head >> TYPE_BITS
    has_second = walk.begin + 1 < walk.end
    second = walk.words[np.where(has_second, walk.begin + 1, walk.begin)].astype(np.int64)
    rest = (kind == PADDING) & (delta == 0)  # nothing more in this page
    sized = (kind == LONG_DATA) | ((kind == PADDING) & ~rest)
    walk.fail("a trace event is cut short", ~has_second & ~rest, head)
    walk.fail(
        "impossible length of a trace event",
        sized & ((second < 8) | (second % 4 != 0)) & (kind != PADDING),
        second,
    )
    size = np.where(sized, 1 + (second + 3) // 4, 1 + kind)
    size = np.where(kind >= TIME_EXTEND, 2, np.where(rest, walk.end - walk.begin, size))
    walk.fail("a trace event is longer than its page", walk.begin + size > walk.end, size)
    moves = kind < PADDING
    stamp = second << DELTA_BITS | delta
    high = walk.t_ns >> STAMP_BITS << STAMP_BITS
    walk.t_ns = walk.t_ns + np.where(moves, delta, np.where(kind == TIME_EXTEND, stamp, 0))
    walk.t_ns = np.where(kind == TIME_STAMP, high | stamp, walk.t_ns)
    skip = np.where(kind == LONG_DATA, 2, 1)
    data = tuple(column[moves] for column in (walk.page, walk.t_ns, walk.begin + skip, size - skip))
    walk.begin = walk.begin + size
    _keep(walk, walk.begin < walk.end)
    return data
