"""All that was set of a network, as the kernel has it: taken before the flows, again after them.

A setting that is changed while flows run would be believed, had it only been read before. So the
kernel is asked for everything of a kind over netlink, which starts no process, and what must not
move is kept: qdiscs and filters without their counters, routes and rules without their use, lasting
neighbours, addresses, offloads, and the sysctls that were set. Both snapshots must be equal.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from collectors.recording import netlink
from mininet_topos import offloads
from mininet_topos.layout import Layout
from mininet_topos.netns import Namespace
from model.check import Check

#: Interface, handle, parent, and what else a qdisc or filter is told by.
TC = struct.Struct("=BxxxiIII")
RTM_QDISC, RTM_FILTER = 38, 46
KIND, OPTIONS = 1, 2
#: Of routes that a daemon sets while traffic flows: their protocol (aodvd's, babeld's), and where
#: it stands.
DAEMONS_PROTOCOLS, PROTOCOL_AT = (191, 42), 5
#: Hooks of a clsact qdisc.
HOOKS = (0xFFFFFFF2, 0xFFFFFFF3)
#: What of a filter's options counts packets, by its kind: actions, hits.
COUNTING = {b"flower\0": {3}, b"matchall\0": {2, 4}}
#: A neighbour that does not expire (NUD_PERMANENT), and where its state stands.
PERMANENT, NEIGHBOUR_STATE = 0x80, struct.Struct("=xxxxxxxxH")

Snapshot = Mapping[tuple[str, str], frozenset[str]]  # by node and what it is


@dataclass(frozen=True)
class Kind:
    """One kind of setting: the question, the length of a message's head, and what to leave out."""

    name: str
    question: int
    head_bytes: int
    volatile: Collection[int]


KINDS = (
    Kind("routes", 26, 12, {12}),  # RTA_CACHEINFO
    Kind("rules", 34, 12, ()),
    Kind("addresses", 22, 8, {6}),  # IFA_CACHEINFO
    Kind("neighbours", 30, 12, {3, 4}),  # NDA_CACHEINFO, NDA_PROBES
)


def take(
    laid_out: Layout, spaces: Mapping[str, Namespace], sysctls: Mapping[str, Collection[str]]
) -> Snapshot:
    """Return what is set on all nodes now; of sysctls those asked for by node.

    Raises:
        RunError: the kernel does not answer.
    """
    found: dict[tuple[str, str], frozenset[str]] = {}
    for name, space in spaces.items():
        with space.entered(), netlink.connect(socket.NETLINK_ROUTE) as connection:
            for kind in KINDS:
                found[name, kind.name] = frozenset(_entries(connection, kind, name))
            qdiscs = list(_traffic_control(connection, RTM_QDISC, 0, 0, name))
            filters = [
                entry
                for interface, kind_name, _ in qdiscs
                if kind_name == b"clsact\0"
                for hook in HOOKS
                for entry in _traffic_control(connection, RTM_FILTER, interface, hook, name)
            ]
        found[name, "sysctls"] = frozenset(
            f"{key} = {space.read_sysctl(key)}" for key in sysctls.get(name, ())
        )
        found[name, "qdiscs"] = frozenset(text for _, _, text in qdiscs)
        found[name, "filters"] = frozenset(text for _, _, text in filters)
    for end in (end for pair in laid_out.links for end in pair if end.node in spaces):
        shown = offloads.read(spaces[end.node], end.device)
        found[end.node, f"offloads of {end.device}"] = frozenset(k for k, on in shown.items() if on)
    return found


def _dump(
    connection: socket.socket, question: int, body: bytes, where: str
) -> Iterator[netlink.Message]:
    answer = netlink.dump(connection, netlink.dump_request(question, body), where)
    for message in netlink.messages(answer, where):
        if message.kind != netlink.NLMSG_DONE:
            yield message


def _text(head: bytes, attributes: Mapping[int, bytes], volatile: Collection[int]) -> str:
    kept = (f"{k}:{v.hex()}" for k, v in sorted(attributes.items()) if k not in volatile)
    return " ".join((head.hex(), *kept))


def _entries(connection: socket.socket, kind: Kind, where: str) -> Iterator[str]:
    body = bytes([socket.AF_INET]).ljust(kind.head_bytes, b"\0")
    for message in _dump(connection, kind.question, body, where):
        head = message.body[: kind.head_bytes]
        if kind.name == "neighbours" and not NEIGHBOUR_STATE.unpack_from(head)[0] & PERMANENT:
            continue  # learned, and forgotten again
        if kind.name == "routes" and head[PROTOCOL_AT] in DAEMONS_PROTOCOLS:
            continue  # found, and given up again
        attributes = netlink.attributes(message.body[kind.head_bytes :], where)
        yield _text(head, attributes, kind.volatile)


def _traffic_control(
    connection: socket.socket, question: int, interface: int, parent: int, where: str
) -> Iterator[tuple[int, bytes, str]]:
    """Yield interface, kind and text of qdiscs or filters, without what they count."""
    body = TC.pack(0, interface, 0, parent, 0)
    for message in _dump(connection, question, body, where):
        _, device, handle, above, info = TC.unpack_from(message.body)
        attributes = netlink.attributes(message.body[TC.size :], where)
        kind, options = attributes.get(KIND, b""), attributes.get(OPTIONS, b"")
        number = info if question == RTM_FILTER else 0  # of a qdisc it counts users
        head = f"{device} {handle:x} {above:x} {number:x} {kind.decode().rstrip(chr(0))} "
        if question == RTM_FILTER:
            parts = netlink.attributes(options, where)
            yield device, kind, head + _text(b"", parts, COUNTING.get(kind, ()))
        else:
            yield device, kind, head + options.hex()


def without_qdiscs(found: Snapshot, node: str, interfaces: Collection[int]) -> Snapshot:
    """Return a snapshot without the qdiscs of some of a node's interfaces, by their numbers."""
    place = (node, "qdiscs")
    kept = (text for text in found[place] if int(text.split(" ", 1)[0]) not in interfaces)
    return {**found, place: frozenset(kept)}


def compare(
    before: Snapshot, after: Snapshot, when: str = "after the flows", then: str = "before the flows"
) -> list[Check]:
    """Return one comparison per node and kind of setting."""
    made = []
    for place in sorted({*before, *after}):
        old, new = before.get(place, frozenset()), after.get(place, frozenset())
        node, what = place
        made.append(
            Check(
                check=f"{what} {when}", where=node, wanted=f"as {then}",
                got="the same" if old == new else _difference(old, new), agrees=old == new,
            )
        )  # fmt: skip
    return made


def _difference(then: Collection[str], now: Collection[str]) -> str:
    gone, new = sorted({*then} - {*now}), sorted({*now} - {*then})
    shown: Sequence[str] = (*(f"no longer {x:.200}" for x in gone), *(f"now {x:.200}" for x in new))
    more = f", and {len(shown) - 2} more" if len(shown) > 2 else ""
    return "; ".join(shown[:2]) + more
