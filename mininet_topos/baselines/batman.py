"""batman-adv on a node: the mesh made, its settings read back, and its routes.

The kernel's own B.A.T.M.A.N. routes frames, not packets: all nodes share one network on the mesh
interface, and a path is seen in its table of originators only. Numbers are those of
``linux/batman_adv.h``. Invariant: what was set is read back before :func:`bring_up` returns.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mininet_topos.netns import Namespace
from mininet_topos.radio.netlink import DUMP, Family, number
from model.errors import RunError

FAMILY, KIND, ALGORITHM = "batadv", "batadv", "BATMAN_IV"
GET_MESH, GET_ORIGINATORS, SET_MESH = 1, 8, 15
ALGORITHM_NAME, MESH, HARD_NAME, ORIGINATOR, BEST = 2, 3, 7, 9, 22
LAST_SEEN_MS, NEXT_HOP, QUALITY, INTERVAL_MS = 23, 24, 25, 57
#: What batman-adv puts before each frame: with it an IP packet of 1500 bytes still goes as one.
HEADER_BYTES = 32
IP_BYTES = 1500


@dataclass(frozen=True, kw_only=True)
class Mesh:
    """A node's mesh interface: what it lies on, its address in the common network."""

    interfaces: tuple[str, ...]
    address: str
    name: str = "bat0"
    #: The interface's own address; empty: what the kernel draws.
    mac: str = ""
    #: Whether the kernel makes the route to the common network, which then has no options.
    makes_route: bool = True
    #: How often the node tells of itself (an originator message); batman-adv's own default.
    originator_interval_ms: int = 1000


@dataclass(frozen=True, kw_only=True)
class Originator:
    """One way to a node, by the addresses of radios; 255 is the best quality."""

    address: str
    next_hop: str
    interface: str
    quality: int
    last_seen_ms: int
    is_best: bool


@dataclass(frozen=True, kw_only=True)
class ReadBack:
    """What the kernel says of a mesh."""

    algorithm: str
    originator_interval_ms: int


def bring_up(node: Namespace, mesh: Mesh) -> None:
    """Make a node's mesh on its interfaces, which need no address of their own.

    Raises:
        RunError: something is refused, or read back it is not as it was set.
        UnsupportedError: the kernel has no batman-adv.
    """
    with node.entered():
        Family.of(FAMILY).netlink.close()
    own = ["address", mesh.mac] if mesh.mac else []
    node.run(["ip", "link", "add", "name", mesh.name, *own, "type", KIND])
    for interface in mesh.interfaces:
        mtu_bytes = str(IP_BYTES + HEADER_BYTES)
        node.run(["ip", "link", "set", interface, "mtu", mtu_bytes, "master", mesh.name])
    routed = [] if mesh.makes_route else ["noprefixroute"]
    node.run(["ip", "address", "add", mesh.address, "dev", mesh.name, *routed])
    node.run(["ip", "link", "set", mesh.name, "up"])
    with node.entered():
        family = Family.of(FAMILY)
        try:
            values = {
                MESH: socket.if_nametoindex(mesh.name), INTERVAL_MS: mesh.originator_interval_ms,
            }  # fmt: skip
            family.ask(SET_MESH, values, f"{mesh.name} of {node.name}")
            (got,) = family.ask(GET_MESH, {MESH: values[MESH]}, f"{mesh.name} of {node.name}")
        finally:
            family.netlink.close()
    check(node.name, mesh, parse_mesh(got))


def parse_mesh(got: Mapping[int, bytes]) -> ReadBack:
    """Return what an answer to GET_MESH says; pure."""
    return ReadBack(
        algorithm=got[ALGORITHM_NAME].rstrip(b"\0").decode(),
        originator_interval_ms=number(got[INTERVAL_MS]),
    )


def check(node: str, mesh: Mesh, got: ReadBack) -> None:
    """Raise :class:`RunError` unless a mesh is as it was to be; pure."""
    wanted = ReadBack(algorithm=ALGORITHM, originator_interval_ms=mesh.originator_interval_ms)
    if got != wanted:
        raise RunError(
            "a mesh is not as it was set", where=f"{node} {mesh.name}",
            wanted=str(wanted), got=str(got),
        )  # fmt: skip


def parse_originators(answers: Sequence[Mapping[int, bytes]]) -> list[Originator]:
    """Return the ways that a dump of originators lists, by address and best first; pure."""
    found = [
        Originator(
            address=each[ORIGINATOR].hex(":"), next_hop=each[NEXT_HOP].hex(":"),
            interface=each[HARD_NAME].rstrip(b"\0").decode(), quality=number(each[QUALITY]),
            last_seen_ms=number(each[LAST_SEEN_MS]), is_best=BEST in each,
        )
        for each in answers
    ]  # fmt: skip
    return sorted(found, key=lambda way: (way.address, not way.is_best, way.next_hop))


def originators(node: Namespace, mesh: Mesh) -> list[Originator]:
    """Return a node's ways to all others now."""
    with node.entered():
        family = Family.of(FAMILY)
        try:
            values = {MESH: socket.if_nametoindex(mesh.name)}
            answers = family.ask(GET_ORIGINATORS, values, f"ways of {node.name}", DUMP)
        finally:
            family.netlink.close()
    return parse_originators(answers)


def next_hops(ways: Sequence[Originator]) -> dict[str, str]:
    """Return the radio that frames to each radio go to; pure."""
    return {way.address: way.next_hop for way in ways if way.is_best}
