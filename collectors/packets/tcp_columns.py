"""The TCP columns of ``packets.parquet``. Pure."""

from __future__ import annotations

import numpy as np

from collectors.packets.checksum import internet_ok
from collectors.packets.columns import UNKNOWN, Columns, Filled, Seen
from collectors.packets.ipv4 import Ipv4
from collectors.packets.sequence import bases, near, opposite, repeated, runs_of_equal, unwrapped
from collectors.packets.tcp import ACK, FIN, RST, SYN, Tcp
from collectors.raw.pcap import Flags, Ints, Octets

#: RFC 7323: larger shifts are used as this.
LARGEST_SHIFT = 14


def put(
    columns: Columns, filled: Filled, octets: Octets, ip: Ipv4, packets: Ints, tcp: Tcp, seen: Seen
) -> None:
    """Put the columns of the TCP segments ``packets``, parsed as ``tcp``."""
    if not len(packets):
        return
    lane, lines = seen.lanes[packets], seen.lines()[packets]
    base = _bases(tcp, lane)
    seq = _following(tcp.seq, lines, base[lane], tcp.readable)
    acks = tcp.readable & ((tcp.flags & ACK) > 0) & (base[opposite(lane)] != UNKNOWN)
    ack = _following(tcp.ack, lines, base[opposite(lane)], acks)
    columns.put("tcp_flags", tcp.flags, tcp.readable, packets)
    columns.put("seq", seq, tcp.readable, packets)
    columns.put("ack", ack, acks, packets)
    for name, values in (("mss_bytes", tcp.mss_bytes), ("window_scale", tcp.window_scale)):
        columns.put(name, values, values >= 0, packets)
    _put_window(columns, tcp, lane, packets)
    _put_sack(columns, tcp, ack, acks, packets)
    columns.put("dupack_count", _duplicates(tcp, seq, lines), acks, packets)
    filled.payload_bytes[packets] = np.where(tcp.readable, tcp.payload_bytes, UNKNOWN)
    _fill_checksum(filled, octets, ip, packets, tcp)
    length = np.where(tcp.readable, tcp.sequence_length(), 0)
    repeats = np.full(len(packets), UNKNOWN, np.int64)
    there = np.flatnonzero(seen.at_reference[packets] & (length > 0))
    repeats[there] = repeated(seq[there], length[there], lane[there])
    filled.repeat_everywhere(packets, repeats, seen)


def _bases(tcp: Tcp, lane: Ints) -> Ints:
    """Return per lane the number of its SYN, or one less than the first number seen."""
    readable = np.flatnonzero(tcp.readable)
    syn = readable[(tcp.flags[readable] & SYN) > 0]
    return bases(
        int(lane.max()) // 2 * 2 + 2,
        (lane[syn], tcp.seq[syn]),
        (lane[readable], tcp.seq[readable] - 1),
    )


def _following(raw: Ints, lines: Ints, start: Ints, readable: Flags) -> Ints:
    """Return relative numbers of the known ones, 0 of the others."""
    found = np.zeros(len(raw), np.int64)
    found[readable] = unwrapped(raw[readable], lines[readable], start[readable])
    return found


def _put_window(columns: Columns, tcp: Tcp, lane: Ints, packets: Ints) -> None:
    """Put the window in bytes; null where no SYN said whether it is scaled."""
    syn = np.flatnonzero(tcp.readable & tcp.options_readable & ((tcp.flags & SYN) > 0))
    count = int(lane.max()) // 2 * 2 + 2
    shift = np.full(count, UNKNOWN, np.int64)
    shift[lane[syn[::-1]]] = np.minimum(tcp.window_scale[syn[::-1]], LARGEST_SHIFT)
    heard = np.zeros(count, np.bool_)
    heard[lane[syn]] = True
    both_heard = heard[lane] & heard[opposite(lane)]
    scaled = both_heard & (shift[lane] >= 0) & (shift[opposite(lane)] >= 0)
    is_syn = (tcp.flags & SYN) > 0
    window = np.where(scaled & ~is_syn, tcp.window << np.maximum(shift[lane], 0), tcp.window)
    columns.put("window_bytes", window, tcp.readable & (both_heard | is_syn), packets)


def _put_sack(columns: Columns, tcp: Tcp, ack: Ints, acks: Flags, packets: Ints) -> None:
    """Put SACK blocks; their edges lie near the acknowledgement they come with."""
    blocks = tcp.sack_blocks
    good = (acks & tcp.options_readable)[blocks.packets]
    whose = blocks.packets[good]
    readable = np.zeros(columns.count, np.bool_)
    readable[packets] = acks & tcp.options_readable
    readable[packets] |= tcp.readable & tcp.options_readable & ((tcp.flags & ACK) == 0)
    columns.put_lists(
        "sack_blocks",
        packets[whose],
        {
            "start": near(blocks.starts[good], tcp.ack[whose], ack[whose]),
            "end": near(blocks.ends[good], tcp.ack[whose], ack[whose]),
        },
        readable,
    )


def _duplicates(tcp: Tcp, seq: Ints, lines: Ints) -> Ints:
    """Return which duplicate of an acknowledgement each segment is: 0 for none, then 1, 2, ...

    As RFC 5681 has it, without asking whether data are outstanding: the same acknowledgement
    number and window as the line's segment before, no data, neither SYN, FIN nor RST.
    """
    order = np.argsort(lines.astype(np.int32), kind="stable")
    same = np.zeros(len(lines), np.bool_)
    here, before = order[1:], order[:-1]
    bare = (tcp.payload_bytes == 0) & ((tcp.flags & (SYN | FIN | RST)) == 0)
    same[here] = (
        (lines[here] == lines[before])
        & (tcp.ack[here] == tcp.ack[before])
        & (tcp.window[here] == tcp.window[before])
        & (seq[here] == seq[before])
        & bare[here]
        & ((tcp.flags[here] & ACK) > 0)
        & ((tcp.flags[before] & (ACK | SYN)) == ACK)
    )
    return np.where(same, runs_of_equal(tcp.ack, same, lines), 0)


def _fill_checksum(filled: Filled, octets: Octets, ip: Ipv4, packets: Ints, tcp: Tcp) -> None:
    whole = packets[tcp.readable & (ip.captured_ends[packets] == ip.ends[packets])]
    filled.checksum_ok[whole] = internet_ok(
        octets, ip.transport[whole], ip.ends[whole] - ip.transport[whole],
        ip.source[whole], ip.destination[whole], ip.protocol[whole],
    )  # fmt: skip
