"""Events are found in pages of the ring buffer as include/linux/ring_buffer.h lays them out."""

from __future__ import annotations

import struct

import pytest

from collectors.trace.event_format import PageLayout
from collectors.trace.ring_buffer import find_events
from model.errors import ParseError

LAYOUT = PageLayout(
    timestamp_offset=0, commit_offset=8, commit_bytes=8, data_offset=16, page_bytes=128
)


def head(kind: int, delta: int) -> bytes:
    return struct.pack("<I", kind | delta << 5)


def short(delta: int, number: int, words: int = 1) -> bytes:
    """Return an event of up to 28 words."""
    return head(words, delta) + struct.pack("<HH", number, 0) + bytes(4 * (words - 1))


def long(delta: int, number: int, words: int) -> bytes:
    """Return an event with its length in a word of its own, which that length counts."""
    length = struct.pack("<I", 4 + 4 * words)
    return head(0, delta) + length + struct.pack("<HH", number, 0) + bytes(4 * (words - 1))


def extend(delta: int) -> bytes:
    return head(30, delta & 0x7FFFFFF) + struct.pack("<I", delta >> 27)


def stamp(t_ns: int) -> bytes:
    return head(31, t_ns & 0x7FFFFFF) + struct.pack("<I", t_ns >> 27 & 0xFFFFFFFF)


def discarded(delta: int, words: int) -> bytes:
    return head(29, delta) + struct.pack("<I", 4 * words) + b"\xff" * (4 * words - 4)


def page(t_ns: int, *events: bytes, flags: int = 0, used: int | None = None) -> bytes:
    data = b"".join(events)
    commit = (len(data) if used is None else used) | flags
    return (struct.pack("<QQ", t_ns, commit) + data).ljust(LAYOUT.page_bytes, b"\xee")


def found(*pages: bytes) -> list[tuple[int, int, int, int]]:
    """Return time, number, byte and length of each event."""
    events = find_events(b"".join(pages), LAYOUT, "p")
    columns = (events.t_ns, events.kind, events.word * 4, events.words * 4)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_no_page_has_no_event() -> None:
    assert found() == []
    assert found(page(5), page(7)) == []


def test_short_and_long_events() -> None:
    assert found(page(1000, short(3, 7), long(4, 8, 5), short(0, 9, 2))) == [
        (1003, 7, 20, 4),
        (1007, 8, 32, 20),
        (1007, 9, 56, 8),
    ]


def test_pages_of_several_cpus_are_merged_by_time() -> None:
    mixed = page(20, short(0, 2), short(5, 3)) + page(10, short(0, 1), short(12, 4))
    with pytest.raises(ParseError, match="trace time runs backwards"):
        find_events(mixed, LAYOUT, "p")
    events = find_events(mixed, LAYOUT, "p", cpus=2)
    assert list(zip(events.t_ns.tolist(), events.kind.tolist(), strict=True)) == [
        (10, 1), (20, 2), (22, 4), (25, 3),
    ]  # fmt: skip


def test_pages_of_unequal_fill_keep_their_order() -> None:
    pages = (page(10, short(0, 1)), page(20, short(0, 2), short(5, 3)), page(30, short(1, 4)))
    assert found(*pages) == [
        (10, 1, 20, 4),
        (20, 2, 148, 4),
        (25, 3, 156, 4),
        (31, 4, 276, 4),
    ]


def test_time_extends_add_59_bits() -> None:
    gap = (5 << 27) + 123
    assert found(page(1000, short(1, 7), extend(gap), short(2, 8)))[1][:2] == (1003 + gap, 8)


def test_absolute_times_keep_the_highest_bits_of_the_page() -> None:
    base = 3 << 59
    assert found(page(base + 5, stamp(base + 99_999_999_999), short(0, 7)))[0][0] == (
        base + 99_999_999_999
    )


def test_padding_ends_a_page_and_discarded_events_are_stepped_over() -> None:
    events = (short(1, 7), discarded(50, 4), short(2, 8), head(29, 0), b"\x1e\x00\x00\x00")
    # As the kernel's own reader has it, a discarded event does not move the time.
    assert [event[:2] for event in found(page(1000, *events))] == [(1001, 7), (1003, 8)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (page(1, short(0, 7))[:-1], "p: byte 0: the last trace page is cut short: wanted 128"),
        (page(1) + b"x", "p: byte 128: the last trace page is cut short: wanted 128 bytes, got 1"),
        (page(1) + page(2, flags=1 << 31), "p: byte 144: trace events are lost before a page"),
        (page(1, flags=1 << 30), "p: byte 16: trace events are lost before a page"),
        (page(1, used=116), "p: byte 16: impossible length of a trace page: got 116"),
        (page(1, used=6), "p: byte 16: impossible length of a trace page: got 6"),
        (page(1, flags=1 << 40), "p: byte 16: impossible length of a trace page"),
        (page(1 << 63), "p: byte 16: impossible time of a trace page"),
        (page(1, short(0, 7), head(1, 0)), "p: byte 24: a trace event is cut short"),
        (page(1, head(0, 0) + struct.pack("<I", 4)), "p: byte 16: impossible length of a trace ev"),
        (page(1, head(0, 0) + struct.pack("<I", 9)), "p: byte 16: impossible length of a trace ev"),
        (page(1, long(0, 7, 4)[:-4]), "p: byte 16: a trace event is longer than its page"),
        (page(1, head(29, 1) + struct.pack("<I", 400)), "p: byte 16: a trace event is longer than"),
        (page(1, extend(0)[:4]), "p: byte 16: a trace event is cut short"),
        (page(9, short(0, 7)) + page(8, short(0, 7)), "p: byte 148: trace time runs backwards"),
    ],
)  # fmt: skip
def test_what_is_no_page_is_named_with_its_place(content: bytes, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        find_events(content, LAYOUT, "p")
    assert str(caught.value).startswith(message)
