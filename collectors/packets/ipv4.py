"""Parse link and IPv4 headers of many packets at once. Pure.

Invariants: arrays are parallel to the records; where ``readable`` is false there is no whole IPv4
header and the other values of that packet mean nothing. Nothing here raises on a packet: what a
damaged or foreign one holds is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collectors.raw.pcap import ETHERNET, Flags, Ints, Octets, Records, rows_at, u16, u32

ETHERNET_HEADER_BYTES = 14
SLL2_HEADER_BYTES = 20
IPV4_ETHERTYPE = 0x0800
VLAN_ETHERTYPES = (0x8100, 0x88A8)
VLAN_TAG_BYTES = 4
OUTGOING = 4
SHORTEST_HEADER_BYTES = 20
#: The fragment's offset, and whether more follow.
FRAGMENT_BITS = 0x3FFF
TCP, UDP, SCTP = 6, 17, 132


@dataclass(frozen=True, kw_only=True)
class Link:
    """Link headers: where the network layer starts, and at which interface (-1: not recorded)."""

    ethertypes: Ints
    network: Ints
    ifindexes: Ints
    outgoing: Flags


@dataclass(frozen=True, kw_only=True)
class Ipv4:
    """IPv4 headers. ``ends`` is where a packet ends, ``captured_ends`` where its bytes here do.

    ``transport`` is where the next header starts; of a fragment nothing beyond it is believed.
    """

    readable: Flags
    starts: Ints
    transport: Ints
    ends: Ints
    captured_ends: Ints
    ip_bytes: Ints
    ttl: Ints
    ip_id: Ints
    protocol: Ints
    source: Ints
    destination: Ints
    fragment: Flags
    header_ok: Flags


def parse_link(records: Records) -> Link:
    """Return the link headers; a packet too short for one gets the ethertype -1."""
    head = rows_at(records.octets, records.starts, SLL2_HEADER_BYTES)
    ethernet = records.linktypes == ETHERNET
    header_bytes = np.where(ethernet, ETHERNET_HEADER_BYTES, SLL2_HEADER_BYTES)
    ethertypes = np.where(ethernet, u16(head, 12), u16(head, 0))
    network = records.starts + header_bytes
    for _ in range(2):  # a tag inside a provider's tag
        tagged = np.flatnonzero(ethernet & np.isin(ethertypes, VLAN_ETHERTYPES))
        if len(tagged):
            ethertypes[tagged] = u16(rows_at(records.octets, network[tagged], VLAN_TAG_BYTES), 2)
            network[tagged] += VLAN_TAG_BYTES
    whole = network <= records.starts + records.captured_bytes
    return Link(
        ethertypes=np.where(whole, ethertypes, -1),
        network=np.where(whole, network, records.starts),
        ifindexes=np.where(ethernet | ~whole, -1, u32(head, 4)),
        outgoing=~ethernet & whole & (head[:, 10] == OUTGOING),
    )


def parse_ipv4(records: Records, link: Link) -> Ipv4:
    """Return the IPv4 headers of the packets that have one."""
    head = rows_at(records.octets, link.network, SHORTEST_HEADER_BYTES)
    room = records.starts + records.captured_bytes - link.network
    header_bytes = (head[:, 0] & 15).astype(np.int64) * 4
    ip_bytes = u16(head, 2)
    readable = (
        (link.ethertypes == IPV4_ETHERTYPE)
        & (head[:, 0] >> 4 == 4)
        & (header_bytes >= SHORTEST_HEADER_BYTES)
        & (header_bytes <= ip_bytes)
        & (header_bytes <= room)
    )
    ends = link.network + ip_bytes
    return Ipv4(
        readable=readable,
        starts=link.network,
        transport=link.network + header_bytes,
        ends=ends,
        captured_ends=np.minimum(ends, link.network + room),
        ip_bytes=ip_bytes,
        ttl=head[:, 8].astype(np.int64),
        ip_id=u16(head, 4),
        protocol=head[:, 9].astype(np.int64),
        source=u32(head, 12),
        destination=u32(head, 16),
        fragment=(u16(head, 6) & FRAGMENT_BITS) != 0,
        header_ok=_header_ok(records.octets, head, link.network, header_bytes, readable),
    )


def _header_ok(
    octets: Octets, head: Octets, starts: Ints, header_bytes: Ints, readable: Flags
) -> Flags:
    """Return whether the header's ones' complement sum is right (RFC 791, RFC 1071)."""
    total = head.view(">u2").sum(axis=1, dtype=np.int64)
    longer = np.flatnonzero(readable & (header_bytes > SHORTEST_HEADER_BYTES))
    if len(longer):
        options = rows_at(octets, starts[longer] + SHORTEST_HEADER_BYTES, 40)
        beyond = np.arange(40) >= (header_bytes[longer] - SHORTEST_HEADER_BYTES)[:, None]
        options[beyond] = 0
        total[longer] += options.view(">u2").sum(axis=1, dtype=np.int64)
    total = (total & 0xFFFF) + (total >> 16)
    right: Flags = (total & 0xFFFF) + (total >> 16) == 0xFFFF
    return right
