"""The SCTP columns of ``packets.parquet``. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from collectors.packets.checksum import sctp_ok
from collectors.packets.columns import UNKNOWN, Columns, Filled, Seen
from collectors.packets.ipv4 import Ipv4
from collectors.packets.sctp import Chunks, Sctp
from collectors.packets.sequence import bases, near, opposite, repeated, unwrapped
from collectors.raw.pcap import Flags, Ints, Octets

#: Names of chunk types (IANA, "SCTP Parameters"); others are told by their number.
NAMES = {
    0: "DATA", 1: "INIT", 2: "INIT_ACK", 3: "SACK", 4: "HEARTBEAT", 5: "HEARTBEAT_ACK", 6: "ABORT",
    7: "SHUTDOWN", 8: "SHUTDOWN_ACK", 9: "ERROR", 10: "COOKIE_ECHO", 11: "COOKIE_ACK", 12: "ECNE",
    13: "CWR", 14: "SHUTDOWN_COMPLETE", 15: "AUTH", 64: "I_DATA", 128: "ASCONF_ACK",
    130: "RE_CONFIG", 132: "PAD", 192: "FORWARD_TSN", 193: "ASCONF", 194: "I_FORWARD_TSN",
}  # fmt: skip
#: Chunk types of one packet that ``chunk_types`` can tell; of a packet with more it is null.
MOST_TYPES = 7


def put(
    columns: Columns,
    filled: Filled,
    octets: Octets,
    ip: Ipv4,
    packets: Ints,
    sctp: Sctp,
    seen: Seen,
) -> None:
    """Put the columns of the SCTP packets ``packets``, parsed as ``sctp``."""
    if not len(packets):
        return
    lane, lines = seen.lanes[packets], seen.lines()[packets]
    data = sctp.data
    base = bases(
        int(lane.max()) // 2 * 2 + 2,
        (lane[sctp.inits.packets], sctp.inits.tsn),
        (lane[data.packets], data.tsn),
    )
    tsn = unwrapped(data.tsn, lines[data.packets], base[lane[data.packets]])
    _put_types(columns, packets, sctp)
    _put_data(columns, packets, sctp, tsn)
    _put_sacks(columns, packets, sctp, lines, base[opposite(lane)])
    payload = np.bincount(data.packets, data.payload_bytes, len(packets)).astype(np.int64)
    filled.payload_bytes[packets] = np.where(sctp.complete, payload, UNKNOWN)
    whole = packets[sctp.readable & (ip.captured_ends[packets] == ip.ends[packets])]
    filled.checksum_ok[whole] = sctp_ok(
        octets, ip.transport[whole], ip.ends[whole] - ip.transport[whole]
    )
    there = seen.at_reference[packets[data.packets]]
    again = np.zeros(len(data.packets), np.bool_)
    again[there] = repeated(tsn[there], np.ones(there.sum(), np.int64), lane[data.packets][there])
    repeats = np.full(len(packets), UNKNOWN, np.int64)
    repeats[data.packets] = 0
    repeats[data.packets[again]] = 1
    filled.repeat_everywhere(packets, repeats, seen)


def _put_types(columns: Columns, packets: Ints, sctp: Sctp) -> None:
    """Put the types of a packet's chunks, each once, in order: ``SACK+DATA``."""
    codes = _type_codes(sctp.chunks, len(packets))
    readable = sctp.complete & (codes >= 0)
    different, which = np.unique(codes, return_inverse=True)
    words = [_words(int(code)) for code in different]
    whole = np.full(columns.count, UNKNOWN, np.int64)
    whole[packets] = np.where(readable, which, UNKNOWN)
    columns.put_text("chunk_types", words, whole)


def _type_codes(chunks: Chunks, count: int) -> Ints:
    """Return each packet's different chunk types, nine bits each, the first lowest."""
    codes = np.zeros(count, np.int64)
    chunk_count = np.bincount(chunks.packets, minlength=count)
    alone = chunk_count[chunks.packets] == 1
    codes[chunks.packets[alone]] = chunks.types[alone] + 1
    whose, types = chunks.packets[~alone], chunks.types[~alone]
    _, first = np.unique(whose * 256 + types, return_index=True)
    first.sort()
    whose, types = whose[first], types[first]
    begins = np.flatnonzero(np.concatenate([[True], whose[1:] != whose[:-1]])[: len(whose)])
    nth = np.arange(len(whose)) - np.repeat(begins, np.diff([*begins, len(whose)]))
    np.add.at(codes, whose, (types + 1) << np.minimum(9 * nth, 62))
    codes[whose[nth >= MOST_TYPES]] = UNKNOWN
    return codes


def _words(code: int) -> str:
    names = []
    while code > 0:
        number = (code & 511) - 1
        names.append(NAMES.get(number, str(number)))
        code >>= 9
    return "+".join(names)


def _put_data(columns: Columns, packets: Ints, sctp: Sctp, tsn: Ints) -> None:
    data = sctp.data
    count = np.bincount(data.packets, minlength=len(packets))
    columns.put("data_chunk_count", count, sctp.complete, packets)
    first = np.zeros(len(packets), np.int64)
    first[data.packets[::-1]] = tsn[::-1]
    columns.put("tsn", first, count > 0, packets)
    columns.put_lists(
        "data_chunks",
        packets[data.packets],
        {
            "tsn": tsn,
            "stream": data.stream,
            "ssn": data.ssn,
            "flags": data.flags,
            "payload_bytes": data.payload_bytes,
        },
        _spread(columns.count, packets, sctp.complete),
    )


def _put_sacks(columns: Columns, packets: Ints, sctp: Sctp, lines: Ints, start: Ints) -> None:
    """Put acknowledgements; of several in one packet the last counts, blocks are those of all."""
    sacks = sctp.sacks
    good = start[sacks.packets] != UNKNOWN
    cum = np.zeros(len(packets), np.int64)
    raw = np.zeros(len(packets), np.int64)
    has = np.zeros(len(packets), np.bool_)
    whose = sacks.packets[good]
    # The first DATA chunk is number 0: what acknowledges nothing yet is one below it.
    cum[whose] = unwrapped(sacks.cum_tsn[good], lines[whose], start[whose])
    raw[whose] = sacks.cum_tsn[good]
    has[whose] = True
    columns.put("cum_tsn_ack", cum, has, packets)
    a_rwnd_bytes = np.full(len(packets), UNKNOWN, np.int64)
    a_rwnd_bytes[sctp.inits.packets] = sctp.inits.a_rwnd_bytes
    a_rwnd_bytes[sacks.packets] = sacks.a_rwnd_bytes
    columns.put("a_rwnd_bytes", a_rwnd_bytes, a_rwnd_bytes >= 0, packets)
    selective = np.zeros(len(packets), np.bool_)
    selective[sacks.packets[(sacks.a_rwnd_bytes >= 0) & sacks.blocks_readable]] = True
    selective &= has & sctp.complete
    readable = _spread(columns.count, packets, selective)
    gaps = selective[sacks.gap_packets]
    gap_whose = sacks.gap_packets[gaps]
    columns.put_lists(
        "gap_blocks",
        packets[gap_whose],
        {
            "start": cum[gap_whose] + sacks.gap_starts[gaps],
            "end": cum[gap_whose] + sacks.gap_ends[gaps],
        },
        readable,
    )
    twice = selective[sacks.duplicate_packets]
    twice_whose = sacks.duplicate_packets[twice]
    numbers = near(sacks.duplicates[twice], raw[twice_whose], cum[twice_whose])
    columns.put_lists("duplicate_tsns", packets[twice_whose], {"tsn": numbers}, readable)


def _spread(count: int, packets: Ints, readable: Flags) -> npt.NDArray[np.bool_]:
    """Return flags of these packets among all."""
    found = np.zeros(count, np.bool_)
    found[packets] = readable
    return found
