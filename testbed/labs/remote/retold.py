"""Times in what one machine left, told on the reference's clock: logs, events, captures. Pure."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from collectors.raw.messages import parse
from model.units import NS_PER_S
from testbed.labs.remote.clocks import Shift

#: A nanosecond capture of this byte order, its head, and that of a record.
PCAP_MAGIC = 0xA1B23C4D
PCAP_HEAD_BYTES, RECORD = 24, struct.Struct("<IIII")
ABSOLUTE = re.compile(r'("\w+_t_ns":\s*)(\d+)')
ONE_WAY = re.compile(r'("owd_(?:min|max|mean)_ns":\s*)(-?\d+)')


def program(text: str, own: Shift, sender: Shift, enough_ns: float) -> str:
    """Return what a program said with other times; one-way delays are missing if not known.

    Args:
        text: its events.
        own: of the machine it ran on.
        sender: of the machine whose packets it received.
        enough_ns: to which one-way delays must be known.
    """
    times_ns = [int(found[2]) for found in ABSOLUTE.finditer(text)]
    # What the sender's clock is ahead of ours, when ours showed the first time and the last. Which
    # packet had the least delay is not told: all are as far from the middle as those ends are.
    ends_ns = [
        sender.of.shows(own.of.ours(t_ns)) - t_ns
        for t_ns in (min(times_ns, default=0), max(times_ns, default=0))
    ]
    ahead_ns = sum(ends_ns) // 2
    within_ns = abs(ends_ns[1] - ends_ns[0]) / 2
    if own.of != sender.of:
        within_ns += own.of.within_ns + sender.of.within_ns

    def at(found: re.Match[str]) -> str:
        return f"{found[1]}{own.monotonic_ns(int(found[2]))}"

    def delay(found: re.Match[str]) -> str:
        return f"{found[1]}{int(found[2]) + ahead_ns if within_ns <= enough_ns else 'null'}"

    return ONE_WAY.sub(delay, ABSOLUTE.sub(at, text))


def capture(content: bytes, told: Callable[[int], int]) -> bytes:
    """Return a capture with other times of its packets, each in ns since 1970.

    Raises:
        ValueError: it is no nanosecond capture of this byte order, or is cut off.
    """
    if len(content) < PCAP_HEAD_BYTES or int.from_bytes(content[:4], "little") != PCAP_MAGIC:
        raise ValueError("not a capture with nanoseconds")
    shifted, offset = bytearray(content), PCAP_HEAD_BYTES
    while offset < len(content):
        seconds, rest_ns, kept, length = RECORD.unpack_from(content, offset)
        t_ns = told(seconds * NS_PER_S + rest_ns)
        RECORD.pack_into(shifted, offset, t_ns // NS_PER_S, t_ns % NS_PER_S, kept, length)
        offset += RECORD.size + kept
    if offset != len(content):
        raise ValueError("the capture is cut off")
    return bytes(shifted)


def messages(content: bytes, kind: np.dtype[Any], told: Callable[[int], int]) -> bytes:
    """Return the times of messages, records of that kind, as another clock shows them.

    Raises:
        ParseError: the file is cut off.
    """
    records = parse(content, kind, "the times of messages").copy()
    for name in kind.names or ():
        if name.endswith("_ns"):
            records[name] = [told(int(t_ns)) for t_ns in records[name]]
    return records.tobytes()


def log(text: str, sent: Callable[[int], int], received: Callable[[int], int]) -> str:
    """Return a log of packets, a line each, with other times of sending and of receiving."""
    head, *lines = text.splitlines()
    rows = [head]
    for line in lines:
        number, send_ns, recv_ns = (int(field) for field in line.split("\t"))
        rows.append(f"{number}\t{sent(send_ns)}\t{received(recv_ns)}")
    return "".join(f"{row}\n" for row in rows)
