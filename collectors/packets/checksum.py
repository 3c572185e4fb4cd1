"""Check TCP, UDP and SCTP checksums of packets captured whole, and what an SCTP one was. Pure.

Invariants: packets of equal length are checked together, one word of each at a time; the arrays
given describe whole segments (RFC 9293 3.1, RFC 768, RFC 9260 appendix A), but for those of
:func:`ends_in_zeros`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from collectors.raw.pcap import Flags, Ints, Octets, rows_at

CASTAGNOLI_REFLECTED = 0x82F63B78
SCTP_CHECKSUM_AT = 8
Words = npt.NDArray[np.uint32]


def internet_ok(
    octets: Octets, starts: Ints, lengths: Ints, source: Ints, destination: Ints, protocol: Ints
) -> Flags:
    """Return whether TCP or UDP segments and their pseudo headers sum to all ones."""

    def right(rows: Octets, packets: Ints) -> Flags:
        length = rows.shape[1]
        even = rows if length % 2 == 0 else np.pad(rows, ((0, 0), (0, 1)))
        total = even.view(">u2").sum(axis=1, dtype=np.int64)
        for address in (source[packets], destination[packets]):
            total += (address >> 16) + (address & 0xFFFF)
        total += protocol[packets] + length
        for _ in range(3):
            total = (total & 0xFFFF) + (total >> 16)
        agrees: Flags = total == 0xFFFF
        return agrees

    return _by_length(octets, starts, lengths, right)


def sctp_ok(octets: Octets, starts: Ints, lengths: Ints) -> Flags:
    """Return whether SCTP packets carry their own CRC32c."""

    def right(rows: Octets, packets: Ints) -> Flags:
        if rows.shape[1] < SCTP_CHECKSUM_AT + 4:
            return np.zeros(len(packets), np.bool_)
        carried, blank = _carried(rows)
        agrees: Flags = crc32c(blank) == carried
        return agrees

    return _by_length(octets, starts, lengths, right)


def ends_in_zeros(octets: Octets, starts: Ints, captured: Ints, lengths: Ints) -> Flags:
    """Return whether SCTP packets cut short had only zeros where they were cut off.

    Their CRC32c tells: it is that of the ``captured`` bytes and zeros up to the packet's length.
    """
    found = np.zeros(len(starts), np.bool_)
    for length in np.unique(lengths):
        alike = np.flatnonzero((lengths == length) & (captured < length))

        def right(rows: Octets, _: Ints, length: int = int(length)) -> Flags:
            if rows.shape[1] < SCTP_CHECKSUM_AT + 4:
                return np.zeros(len(rows), np.bool_)
            carried, blank = _carried(rows)
            agrees: Flags = _after_zeros(~crc32c(blank), length - rows.shape[1]) == ~carried
            return agrees

        found[alike] = _by_length(octets, starts[alike], captured[alike], right)
    return found


def _carried(rows: Octets) -> tuple[Words, Octets]:
    """Return the checksums SCTP packets carry, and the packets as these were computed of them."""
    field = slice(SCTP_CHECKSUM_AT, SCTP_CHECKSUM_AT + 4)
    blank = rows.copy()
    blank[:, field] = 0
    return rows[:, field].copy().view("<u4")[:, 0], blank


def _by_length(
    octets: Octets, starts: Ints, lengths: Ints, right: Callable[[Octets, Ints], Flags]
) -> Flags:
    found = np.zeros(len(starts), np.bool_)
    for length in np.unique(lengths):
        if length <= 0:
            continue
        packets = np.flatnonzero(lengths == length)
        found[packets] = right(rows_at(octets, starts[packets], int(length)), packets)
    return found


def _tables() -> Words:
    """Return the four tables of slicing-by-4: table k advances a byte by k bytes more."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(CASTAGNOLI_REFLECTED), table >> 1)
    tables = [table]
    for _ in range(3):
        tables.append((tables[-1] >> 8) ^ table[tables[-1] & 255])
    return np.array(tables, np.uint32)


TABLES = _tables()


def crc32c(rows: Octets) -> Words:
    """Return the CRC32c of each row of bytes, all rows at once."""
    return ~_over(np.full(len(rows), 0xFFFF_FFFF, np.uint32), rows)


def _after_zeros(crc: Words, zero_bytes: int) -> Words:
    """Return the register of the division after that many zeros: linear in each of its bytes."""
    byte = np.arange(256, dtype=np.uint32)
    zeros = np.zeros((256, zero_bytes), np.uint8)
    found = np.zeros(len(crc), np.uint32)
    for shift in (0, 8, 16, 24):
        found ^= _over(byte << np.uint32(shift), zeros)[(crc >> np.uint32(shift)) & 255]
    return found


def _over(crc: Words, rows: Octets) -> Words:
    """Return the register of the division after each row of bytes, from that before it."""
    whole = rows.shape[1] // 4 * 4
    words = np.ascontiguousarray(rows[:, :whole]).view("<u4").astype(np.uint32)
    for column in range(words.shape[1]):
        crc = crc ^ words[:, column]
        crc = (
            TABLES[3][crc & 255]
            ^ TABLES[2][(crc >> 8) & 255]
            ^ TABLES[1][(crc >> 16) & 255]
            ^ TABLES[0][crc >> 24]
        )
    for column in range(whole, rows.shape[1]):
        crc = (crc >> 8) ^ TABLES[0][(crc ^ rows[:, column]) & 255]
    return crc
