"""Recognise each packet again at every capture point. Pure.

A packet is known by what no router changes: its first bytes without time to live, header checksum
and the two bits of ECN, which a router may set. The IP identification makes them unique among
packets under way at the same time; where two are equal all the same, they are taken in order, as
the path is first in, first out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from collectors.packets.ipv4 import Ipv4
from collectors.raw.pcap import Ints, Octets, rows_at

#: IP header, TCP header with its timestamp or the first SCTP chunk, and the probes' UDP header.
COMPARED_BYTES = 64
#: The byte of ECN, and its other bits.
ECN_AT, NOT_ECN = 1, 0xFC
TIME_TO_LIVE_AT = 8
CHECKSUM_AT = 10
UNKNOWN = -1
Hashes = npt.NDArray[np.uint64]


def identities(octets: Octets, ip: Ipv4) -> Hashes:
    """Return a 64-bit hash of each packet that is the same all along its path."""
    rows = rows_at(octets, ip.starts, COMPARED_BYTES)
    rows[:, ECN_AT] &= NOT_ECN
    rows[:, TIME_TO_LIVE_AT] = 0
    rows[:, CHECKSUM_AT : CHECKSUM_AT + 2] = 0
    captured = ip.captured_ends - ip.starts
    short = np.flatnonzero(captured < COMPARED_BYTES)
    rows[short] *= np.arange(COMPARED_BYTES) < captured[short, None]
    words = rows.view("<u8").astype(np.uint64)
    found = np.zeros(len(rows), np.uint64)
    with np.errstate(over="ignore"):
        for column in range(words.shape[1]):
            found = (found ^ words[:, column]) * np.uint64(0x9E37_79B9_7F4A_7C15)
            found ^= found >> np.uint64(29)
    return found


def numbers(identity: Hashes, points: Ints, reference: Ints) -> Ints:
    """Return a number per packet, the same at every point; ``UNKNOWN`` where none was sent.

    Args:
        identity: from :func:`identities`, in order of time.
        points: number of the capture point (with its direction) of each.
        reference: the point at which this point's packets were first seen, or ``UNKNOWN``; there
            packets are numbered in order of time, from 0 over all of them.
    """
    found = np.full(len(identity), UNKNOWN, np.int64)
    at_reference = np.flatnonzero(points == reference)
    found[at_reference] = np.arange(len(at_reference))
    for point in np.unique(points[(points != reference) & (reference != UNKNOWN)]):
        rows = np.flatnonzero(points == point)
        sent = np.flatnonzero(points == reference[rows[0]])
        found[rows] = _recognised(identity[rows], identity[sent], found[sent])
    return found


def _recognised(seen: Hashes, sent: Hashes, sent_numbers: Ints) -> Ints:
    """Return the number of the sent packet each seen one is: the nth of equals is the nth."""
    if not len(sent):
        return np.full(len(seen), UNKNOWN, np.int64)
    sent_order = np.argsort(sent, kind="stable")
    seen_order = np.argsort(seen, kind="stable")
    sent_sorted, seen_sorted = sent[sent_order], seen[seen_order]
    first = np.searchsorted(seen_sorted, seen_sorted)
    place = np.searchsorted(sent_sorted, seen_sorted) + np.arange(len(seen)) - first
    inside = np.minimum(place, len(sent) - 1)
    same = (place < len(sent)) & (sent_sorted[inside] == seen_sorted)
    found = np.empty(len(seen), np.int64)
    found[seen_order] = np.where(same, sent_numbers[sent_order[inside]], UNKNOWN)
    return found
