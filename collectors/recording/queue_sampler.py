"""Samples of every qdisc's queue and counters, over one netlink socket per node.

No process is started for a sample: a dump of a router's qdiscs is two system calls and some
hundred microseconds of computing, which in virtual time take no time at all.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from collectors.recording.netlink import attributes, connect, dump, dump_request, messages
from model.errors import RunError

if TYPE_CHECKING:
    from model.node import Node

NETLINK_ROUTE = 0
RTM_NEWQDISC, RTM_GETQDISC = 36, 38
TCA_STATS2, TCA_STATS_BASIC, TCA_STATS_QUEUE = 7, 1, 3
TCMSG = struct.Struct("=BxxxiIII")  # family, ifindex, handle, parent, info
BASIC = struct.Struct("=QI")  # bytes, packets
QUEUE = struct.Struct("=III")  # packets held, bytes held, drops
QUESTION = dump_request(RTM_GETQDISC, TCMSG.pack(0, 0, 0, 0, 0))


@dataclass(frozen=True, kw_only=True)
class Place:
    """A qdisc to watch and what it stands for; ``ifindex`` and ``handle`` are the kernel's."""

    node: str
    device: str
    ifindex: int
    handle: int
    role: str


@dataclass(frozen=True, kw_only=True)
class Counters:
    """One qdisc at one moment."""

    backlog_pkts: int
    backlog_bytes: int
    dropped_pkts: int
    sent_pkts: int


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Open sockets of all nodes, and the file samples go to in the order of ``places``."""

    places: tuple[Place, ...]
    sockets: dict[str, socket.socket]
    file: TextIO


def handle_number(handle: str) -> int:
    """Return the kernel's number of a qdisc handle ("10:" is 0x100000)."""
    major, minor = handle.split(":")
    return int(major, 16) << 16 | int(minor or "0", 16)


def find_places(host: Node, stages: Sequence[tuple[str, str, str]]) -> list[Place]:
    """Return a node's (device, handle, role) with the interface numbers they have there."""
    with host.entered():
        return [
            Place(
                node=host.name,
                device=device,
                ifindex=socket.if_nametoindex(device),
                handle=handle_number(handle),
                role=role,
            )
            for device, handle, role in stages
        ]


def start(hosts: Sequence[Node], places: Sequence[Place], file: Path) -> Sampler:
    """Open a socket in every node; nothing is sampled yet."""
    sockets = {}
    for host in hosts:
        with host.entered():
            sockets[host.name] = connect(NETLINK_ROUTE)
    return Sampler(places=tuple(places), sockets=sockets, file=file.open("w"))


def take(sampler: Sampler, t_ns: int) -> None:
    """Write one sample: a JSON line of columns, each in the order of the places.

    Raises:
        RunError: the kernel refused, or a qdisc is gone.
    """
    found = {name: ask(connection, name) for name, connection in sampler.sockets.items()}
    rows = []
    for place in sampler.places:
        row = found[place.node].get((place.ifindex, place.handle))
        if row is None:
            raise RunError(
                "a qdisc is gone", where=f"{place.node}:{place.device} {place.handle >> 16:x}:"
            )
        rows.append(row)
    sample = {name: [getattr(row, name) for row in rows] for name in Counters.__annotations__}
    sampler.file.write(json.dumps({"t_ns": t_ns, **sample}) + "\n")


def stop(sampler: Sampler) -> None:
    """Close the sockets and the file."""
    for connection in sampler.sockets.values():
        connection.close()
    sampler.file.close()


def ask(connection: socket.socket, node: str) -> dict[tuple[int, int], Counters]:
    """Return a node's qdiscs by interface number and handle."""
    found: dict[tuple[int, int], Counters] = {}
    for message in messages(dump(connection, QUESTION, node), node):
        if message.kind == RTM_NEWQDISC:
            found.update(qdisc(message.body, node))
    return found


def qdisc(body: bytes, node: str) -> dict[tuple[int, int], Counters]:
    """Return one qdisc's counters by interface number and handle; nothing if it keeps none."""
    _, ifindex, handle, _, _ = TCMSG.unpack_from(body)
    nest = attributes(body[TCMSG.size :], node).get(TCA_STATS2, b"")
    statistics = attributes(nest, node)
    if TCA_STATS_BASIC not in statistics or TCA_STATS_QUEUE not in statistics:
        return {}
    _, sent_pkts = BASIC.unpack_from(statistics[TCA_STATS_BASIC])
    backlog_pkts, backlog_bytes, dropped_pkts = QUEUE.unpack_from(statistics[TCA_STATS_QUEUE])
    return {
        (ifindex, handle): Counters(
            backlog_pkts=backlog_pkts,
            backlog_bytes=backlog_bytes,
            dropped_pkts=dropped_pkts,
            sent_pkts=sent_pkts,
        )
    }
