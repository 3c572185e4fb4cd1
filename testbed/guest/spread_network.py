"""A cell's network where its nodes are machines: the part of it that is on this one.

The namespaces are there, each with the interfaces that lead to its neighbours, under the names they
have in the layout (:mod:`testbed.labs.remote.on_machine`). Their addresses of the link layer are
the machines' own, and all agents tell each other which. Before anything delays or loses packets
each link is tried, since a loss model draws for every packet it meets.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from mininet_topos import fast_builder, netns
from mininet_topos.layout import Interface, Layout
from mininet_topos.netns import Journal, Namespace
from model.cell import Flow
from model.errors import RunError
from testbed.guest.team import Part, Team

#: Where each end of a link awaits the other's word; how often and how long, in seconds.
PORT, TRIES, EACH_S = 4996, 10, 1.0


def build(
    laid_out: Layout,
    flows: Sequence[Flow],
    route_options: Mapping[str, Mapping[str, str]],
    journal: Journal,
    part: Part,
    team: Team,
) -> tuple[Layout, dict[str, Namespace], dict[str, list[dict[str, Any]]]]:
    """Set up the nodes that are here; return the layout as it is, and what other builders return.

    Raises:
        RunError: a command failed, or a link does not lead where it should.
    """
    home = os.open(netns.OWN_NAMESPACE, os.O_RDONLY)
    spaces = {
        name: Namespace(name=name, handle=handle, home=home, journal=journal)
        for name, handle in part.spaces.items()
    }
    macs = {device: mac for told in team.meet("links", part.macs) for device, mac in told.items()}
    laid_out = _with_macs(laid_out, macs)
    fast_builder.without_offloads(laid_out, spaces)
    routes = fast_builder.addressed(laid_out, route_options, spaces)
    _try_links(laid_out, part, spaces, team)
    fast_builder.shaped(laid_out, flows, spaces, redirected="ip")
    team.meet("network is built")
    return laid_out, spaces, routes


def _with_macs(laid_out: Layout, macs: Mapping[str, str]) -> Layout:
    wires = []
    for wire in laid_out.wires:
        first, second = (
            dataclasses.replace(end, mac=macs[end.device], peer_mac=macs[other.device])
            for end, other in zip(wire.ends, reversed(wire.ends), strict=True)
        )
        wires.append(dataclasses.replace(wire, ends=(first, second)))
    return dataclasses.replace(laid_out, wires=tuple(wires))


def _try_links(laid_out: Layout, part: Part, spaces: Mapping[str, Namespace], team: Team) -> None:
    """Have the ends of each link hear of each other.

    Raises:
        RunError: one hears nothing.
    """
    ends = [
        (near, far)
        for near, far in ((a, b) for pair in laid_out.links for a, b in (pair, pair[::-1]))
        if near.node in spaces
    ]
    left = {near.device: (near, far) for near, far in ends}
    with contextlib.ExitStack() as opened:
        sockets = {
            near.device: opened.enter_context(_socket(near, spaces)) for near, _ in left.values()
        }
        team.meet("links are up")
        for _ in range(TRIES):
            for near, far in ends:
                with contextlib.suppress(OSError):  # no carrier yet
                    sockets[near.device].sendto(near.device.encode(), (far.address, PORT))
            for device in list(left):
                if _hears(sockets[device], left[device][1].device):
                    del left[device]
            if not any(team.meet("links are tried", bool(left))):
                return
    silent = [(part.interfaces[device], *pair) for device, pair in left.items()]
    if silent:
        name, near, far = silent[0]
        raise RunError(
            "nothing comes over a link", where=f"{part.machine}: {name}",
            wanted=f"{near.node} hears {far.node}", got=f"nothing in {TRIES * EACH_S:g} s",
            hint=f"the links of {part.machine} in the inventory; its cable, switch port or VLAN",
        )  # fmt: skip
    team.meet("links are good")


def _socket(near: Interface, spaces: Mapping[str, Namespace]) -> socket.socket:
    with spaces[near.node].entered():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((near.address, PORT))
    made.settimeout(EACH_S)
    return made


def _hears(of: socket.socket, whom: str) -> bool:
    try:
        return of.recv(64).decode(errors="replace") == whom
    except TimeoutError:
        return False
