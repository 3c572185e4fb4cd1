"""From captures to ``packets.parquet``: every packet at every capture point. Pure.

Invariants: rows are in order of time; unknown is null; nothing on the wire makes it raise. Numbers
of one connection count from its start: the SYN has ``seq`` 0 and the first byte 1, the first DATA
chunk has ``tsn`` 0; what is known only by its first sight in the capture counts from there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from collectors.packets import columns as packet_columns
from collectors.packets import journey, sctp_columns, tcp_columns
from collectors.packets.checksum import internet_ok
from collectors.packets.columns import Columns
from collectors.packets.ipv4 import SCTP, TCP, UDP, Ipv4, parse_ipv4, parse_link
from collectors.packets.sctp import Sctp, parse_sctp
from collectors.packets.sequence import Ends, lanes
from collectors.packets.tcp import Tcp, parse_tcp
from collectors.raw.files import file_name, whole
from collectors.raw.pcap import Flags, Ints, Records, rows_at, u16
from model import path_names
from model.cell import Flow
from model.units import NS_PER_S

#: In the order in which a packet passes them.
POINTS = ("sent", "queue_offered", "loss_offered", "loss_passed", "delivered")
DIRECTIONS = ("data", "ack")
PROTOCOLS = {"tcp": TCP, "udp": UDP, "sctp": SCTP}
UDP_HEADER_BYTES = 8
PORTS = 1 << 16
UNKNOWN = -1


@dataclass(frozen=True, kw_only=True)
class Tap:
    """What packets of one file, at one interface and going one way, mean."""

    file: str
    ifindex: int
    outgoing: bool
    point: str
    direction: str
    path: int = 1

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Tap:
        """Return the tap an entry of ``raw/pcap/points.json`` describes."""
        return cls(
            file=file_name(entry["file"]), ifindex=whole(entry["ifindex"]),
            outgoing={"in": False, "out": True}[entry["way"]],
            point=POINTS[POINTS.index(entry["point"])],
            direction=DIRECTIONS[DIRECTIONS.index(entry["direction"])],
            path=range(1, path_names.MOST + 1).index(whole(entry.get("path", 1))) + 1,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where each packet was seen: numbers in POINTS and DIRECTIONS, and paths, or ``UNKNOWN``."""

    points: Ints
    directions: Ints
    paths: Ints

    def keys(self) -> Ints:
        """Return one small number for point and direction together."""
        both: Ints = (self.directions + 1) * 8 + self.points + 1
        return both

    def references(self) -> Ints:
        """Return for each packet the key of the first point of its direction."""
        keys = self.keys()
        first = np.full(32, UNKNOWN, np.int64)
        for key in sorted(np.unique(keys), reverse=True):
            first[key // 8] = key
        found: Ints = np.where(self.points >= 0, first[keys // 8], keys)
        return found


@dataclass(frozen=True, kw_only=True)
class Transport:
    """Transport headers of the packets numbered ``tcp_packets`` and ``sctp_packets``."""

    tcp_packets: Ints
    tcp: Tcp
    sctp_packets: Ints
    sctp: Sctp
    ends: Ends
    has_ports: Flags


def parse_packets(
    records: Records, taps: Sequence[Tap], flows: Sequence[Flow], epoch_ns: int | None
) -> pl.DataFrame:
    """Return the packets table.

    Args:
        records: all captures together, in order of time.
        taps: where each was taken; of packets at no tap the point is unknown.
        flows: the cell's, told apart by protocol and port.
        epoch_ns: time zero of the run since 1970; ``None``: the first packet.
    """
    link = parse_link(records)
    ip = parse_ipv4(records, link)
    transport = _transport(records, ip)
    flow, way = _flows(transport, flows)
    places = _places(records, link.ifindexes, link.outgoing, taps, way)
    columns = Columns(len(records))
    columns.put_text("point", POINTS, places.points)
    columns.put_text("direction", DIRECTIONS, places.directions)
    columns.put("path", places.paths, places.paths >= 0)
    columns.put_text("flow", [f.id for f in flows], flow)
    start_ns = epoch_ns if epoch_ns is not None else int(records.t_ns[0]) if len(records) else 0
    everywhere = np.ones(len(records), np.bool_)
    columns.put("t_s", (records.t_ns - start_ns) / NS_PER_S, everywhere)
    _put_ip(columns, ip)
    several = [number for number, one in enumerate(flows) if one.is_multihomed()]
    lane = lanes(_as_one(transport.ends, np.isin(flow, several)))
    _put_transport(columns, records, ip, transport, places, lane)
    return columns.frame()


def _transport(records: Records, ip: Ipv4) -> Transport:
    def chosen(protocol: int) -> Ints:
        return np.flatnonzero(ip.readable & ~ip.fragment & (ip.protocol == protocol))

    tcp_at, sctp_at = chosen(TCP), chosen(SCTP)
    tcp = parse_tcp(records.octets, ip.transport[tcp_at], ip.ends[tcp_at], ip.captured_ends[tcp_at])
    sctp = parse_sctp(
        records.octets, ip.transport[sctp_at], ip.ends[sctp_at], ip.captured_ends[sctp_at]
    )
    # All three protocols begin with the two ports.
    ports = rows_at(records.octets, ip.transport, 4)
    has_ports = ip.readable & ~ip.fragment & (ip.captured_ends - ip.transport >= 4)
    has_ports &= np.isin(ip.protocol, list(PROTOCOLS.values()))
    ends = Ends(
        protocol=np.where(ip.readable, ip.protocol, UNKNOWN),
        source=np.where(ip.readable, ip.source, 0),
        destination=np.where(ip.readable, ip.destination, 0),
        source_port=np.where(has_ports, u16(ports, 0), 0),
        destination_port=np.where(has_ports, u16(ports, 2), 0),
    )
    return Transport(
        tcp_packets=tcp_at, tcp=tcp, sctp_packets=sctp_at, sctp=sctp, ends=ends, has_ports=has_ports
    )


def _flows(transport: Transport, flows: Sequence[Flow]) -> tuple[Ints, Ints]:
    """Return each packet's flow and direction, ``UNKNOWN`` where it belongs to none."""
    ends = transport.ends
    flow = np.full(len(ends.protocol), UNKNOWN, np.int64)
    way = flow.copy()
    for protocol, number in PROTOCOLS.items():
        by_port = np.full(PORTS, UNKNOWN, np.int64)
        for index, one in enumerate(flows):
            if one.protocol == protocol:
                by_port[one.port] = index
        mine = transport.has_ports & (ends.protocol == number)
        for direction, port in ((1, ends.source_port), (0, ends.destination_port)):
            found = mine & (by_port[port] >= 0)
            flow[found], way[found] = by_port[port[found]], direction
    return flow, way


def _as_one(ends: Ends, several: Flags) -> Ends:
    """Return ends as if packets of flows over several paths all went by the first."""
    if not several.any():
        return ends
    second = np.arange(1 << 8)
    for path in range(2, path_names.MOST + 1):
        second[list(path_names.second_numbers(path))] = path_names.second_numbers(1)

    def moved(addresses: Ints) -> Ints:
        there = second[addresses >> 16 & 0xFF]
        return np.where(several, addresses & ~(0xFF << 16) | there << 16, addresses)

    return dataclasses.replace(ends, source=moved(ends.source), destination=moved(ends.destination))


def _places(
    records: Records, ifindexes: Ints, outgoing: Flags, taps: Sequence[Tap], way: Ints
) -> Places:
    points = np.full(len(records), UNKNOWN, np.int64)
    directions, paths = way.copy(), points.copy()
    for tap in taps:
        for number, name in enumerate(records.names):
            if name.rpartition("/")[2] == tap.file:
                here = (records.files == number) & (ifindexes == tap.ifindex)
                here &= outgoing == tap.outgoing
                points[here] = POINTS.index(tap.point)
                directions[here] = DIRECTIONS.index(tap.direction)
                paths[here] = tap.path
    return Places(points=points, directions=directions, paths=paths)


def _put_ip(columns: Columns, ip: Ipv4) -> None:
    words = list(PROTOCOLS)
    codes = np.full(256, UNKNOWN, np.int64)
    codes[list(PROTOCOLS.values())] = range(len(words))
    columns.put_text("protocol", words, np.where(ip.readable, codes[ip.protocol], UNKNOWN))
    for name, values in (("ip_bytes", ip.ip_bytes), ("ttl", ip.ttl), ("ip_id", ip.ip_id)):
        columns.put(name, values, ip.readable)
    columns.put("ip_checksum_ok", ip.header_ok, ip.readable)


def _put_transport(
    columns: Columns, records: Records, ip: Ipv4, transport: Transport, places: Places, lane: Ints
) -> None:
    count = len(records)
    references = places.references()
    keys = places.keys()
    identity = journey.identities(records.octets, ip)
    number = np.full(count, UNKNOWN, np.int64)
    there = np.flatnonzero(ip.readable)
    number[there] = journey.numbers(identity[there], keys[there], references[there])
    columns.put("connection", lane // 2, transport.has_ports)
    columns.put("packet", number, number >= 0)
    seen = packet_columns.Seen(
        lanes=lane, points=places.points, numbers=number, at_reference=keys == references
    )
    filled = packet_columns.Filled(count)
    tcp_columns.put(columns, filled, records.octets, ip, transport.tcp_packets,
                          transport.tcp, seen)  # fmt: skip
    sctp_columns.put(columns, filled, records.octets, ip, transport.sctp_packets,
                           transport.sctp, seen)  # fmt: skip
    _put_udp(filled, records, ip, np.flatnonzero(transport.has_ports & (ip.protocol == UDP)))
    filled.put(columns)


def _put_udp(filled: packet_columns.Filled, records: Records, ip: Ipv4, packets: Ints) -> None:
    starts, lengths = ip.transport[packets], ip.ends[packets] - ip.transport[packets]
    head = rows_at(records.octets, starts, UDP_HEADER_BYTES)
    has_length = (ip.captured_ends[packets] - starts >= UDP_HEADER_BYTES) & (
        u16(head, 4) == lengths
    )
    filled.payload_bytes[packets] = np.where(has_length, lengths - UDP_HEADER_BYTES, UNKNOWN)
    whole = has_length & (ip.captured_ends[packets] == ip.ends[packets]) & (u16(head, 6) != 0)
    rows = packets[whole]
    filled.checksum_ok[rows] = internet_ok(
        records.octets, ip.transport[rows], ip.ends[rows] - ip.transport[rows],
        ip.source[rows], ip.destination[rows], ip.protocol[rows],
    )  # fmt: skip
