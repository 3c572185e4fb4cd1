"""Write classic pcap for tcptrace: raw IP packets at one point of view, times to the microsecond.

The link header is left off rather than turned into another one: what the capture does not hold is
not invented. tcptrace counts in microseconds, so the fraction below one is cut off, never rounded,
which keeps the order. Pure. Format: https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from reports.wireshark.captured import Ints, Sights, copy_packets

MAGIC_MICROSECONDS = 0xA1B2C3D4
VERSION = (2, 4)
RAW_IP = 101
SNAP_BYTES = 262_144
RECORD_HEADER_BYTES = 16
NS_PER_US = 1000
US_PER_S = 1_000_000
AT_ONCE = 1 << 17


def header() -> bytes:
    """Return the file's header."""
    return struct.pack("<IHHiIII", MAGIC_MICROSECONDS, *VERSION, 0, 0, SNAP_BYTES, RAW_IP)


def packets(sights: Sights, chosen: Ints) -> Iterator[bytes]:
    """Yield the records of the chosen rows, many to a piece."""
    for first in range(0, len(chosen), AT_ONCE):
        yield _piece(sights, chosen[first : first + AT_ONCE])


def _piece(sights: Sights, rows: Ints) -> bytes:
    link_bytes = sights.network[rows] - sights.starts[rows]
    captured_bytes = sights.captured_bytes[rows] - link_bytes
    sizes = captured_bytes + RECORD_HEADER_BYTES
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    t_us = sights.t_ns[rows] // NS_PER_US
    columns = (
        t_us // US_PER_S,
        t_us % US_PER_S,
        captured_bytes,
        sights.wire_bytes[rows] - link_bytes,
    )
    heads = np.stack(columns, axis=1).astype("<u4").view(np.uint8).ravel()
    at = np.arange(len(rows)) * RECORD_HEADER_BYTES
    copy_packets(heads, at, np.full(len(rows), RECORD_HEADER_BYTES), out, starts)
    copy_packets(
        sights.octets, sights.network[rows], captured_bytes, out, starts + RECORD_HEADER_BYTES
    )
    return out.tobytes()
