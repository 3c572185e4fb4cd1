"""Make pages of the trace ring buffer repeatable: no kernel addresses, nothing behind the events.

Where the kernel put an object depends on the machine (a CPU with wider registers has larger tasks),
what happened to it does not. Addresses of objects an event is about become small numbers in order
of appearance; all other addresses become 0. The layout stays the kernel's.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

from model.errors import RunError

#: A page begins with the time of its first event and the bytes in use, flags above them.
PAGE_HEADER = struct.Struct("<QQ")
LENGTH_MASK, LOST_MASK = (1 << 30) - 1, 3 << 30
#: An event's head and the word behind it: type (5 bits), time (27 bits); a length, or more time.
HEAD = struct.Struct("<I")
ID = struct.Struct("<H")
ADDRESS = struct.Struct("<Q")
TYPE_MASK, TYPE_BITS = 31, 5
LONG_DATA, PADDING = 0, 29
#: Addresses that say which connection, association or qdisc an event is about.
OBJECTS = frozenset({"skaddr", "asoc", "qdisc"})
EIGHT_BYTES = re.compile(r"field:(.+?)(\w+);\toffset:(\d+);\tsize:8;")


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Where an event holds addresses: of objects, and others."""

    objects: tuple[int, ...]
    others: tuple[int, ...]


@dataclass(kw_only=True)
class Scrubber:
    """The events' address fields by event number, and the numbers given to objects so far."""

    events: dict[int, Addresses]
    numbers: dict[int, int] = field(default_factory=dict)


def addresses(text: str) -> Addresses:
    """Return where an event of this ``format`` holds addresses."""
    objects, others = [], []
    for kind, name, offset in EIGHT_BYTES.findall(text):
        if name in OBJECTS:
            objects.append(int(offset))
        elif "*" in kind:
            others.append(int(offset))
    return Addresses(objects=tuple(objects), others=tuple(others))


def scrubber(formats: Iterable[str]) -> Scrubber:
    """Return what scrubs pages of events of these ``format`` texts."""
    events = {}
    for text in formats:
        number = re.search(r"^ID: (\d+)$", text, re.MULTILINE)
        if number is None:
            raise RunError("a trace event has no number", got=text[:80])
        events[int(number.group(1))] = addresses(text)
    return Scrubber(events=events)


def page_bytes(header_page: str) -> int:
    """Return the size of a page from the kernel's description of it."""
    layout = re.findall(r"field: \S+ (\w+);\toffset:(\d+);\tsize:(\d+);", header_page)
    found = {name: (int(offset), int(size)) for name, offset, size in layout}
    if found.get("timestamp") != (0, 8) or found.get("commit") != (8, 8) or "data" not in found:
        raise RunError("the kernel's trace pages are unknown", got=header_page[:200])
    return sum(found["data"])


def scrub(page: bytes, scrubber: Scrubber) -> bytearray:
    """Return a page without addresses and with zeros after its last event.

    Raises:
        RunError: the kernel says that events are missing before this page, or the page holds what
            was not asked for.
    """
    _, commit = PAGE_HEADER.unpack_from(page)
    if commit & LOST_MASK:
        raise RunError("trace events are lost", wanted="a larger ring buffer")
    end = PAGE_HEADER.size + (commit & LENGTH_MASK)
    clean = bytearray(page[:end].ljust(len(page), b"\0"))
    place = PAGE_HEADER.size
    while place < end:
        (head,) = HEAD.unpack_from(clean, place)
        kind = head & TYPE_MASK
        if LONG_DATA < kind < PADDING:
            data, after = place + 4, place + 4 + 4 * kind
        elif kind > PADDING:  # only time
            place += 8
            continue
        elif kind == PADDING and not head >> TYPE_BITS:  # all the rest
            clean[place + 4 :] = bytes(len(clean) - place - 4)
            break
        else:
            data, after = place + 8, place + 4 + HEAD.unpack_from(clean, place + 4)[0]
        if kind == PADDING:
            clean[data:after] = bytes(after - data)
        else:
            _scrub_event(clean, data, scrubber)
        place = after
    return clean


def _scrub_event(page: bytearray, data: int, scrubber: Scrubber) -> None:
    (number,) = ID.unpack_from(page, data)
    places = scrubber.events.get(number)
    if places is None:
        raise RunError(
            "an unasked trace event", wanted=str(sorted(scrubber.events)), got=str(number)
        )
    for offset in places.others:
        ADDRESS.pack_into(page, data + offset, 0)
    for offset in places.objects:
        (address,) = ADDRESS.unpack_from(page, data + offset)
        numbers = scrubber.numbers
        if address:
            ADDRESS.pack_into(page, data + offset, numbers.setdefault(address, len(numbers) + 1))
