"""What a routing protocol does on the nodes of a network of radios: one adapter per protocol.

Invariants: radios are joined before anything here is called; first every node is set up, then each
radio is routed for, in the order of :meth:`model.ad_hoc.AdHoc.radios`; what routes has ended, and
said what it counted, before the medium does.
"""

from __future__ import annotations

import ipaddress
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from mininet_topos import check_sysctl
from mininet_topos.layout import Interface
from mininet_topos.netns import Namespace
from model.ad_hoc import AdHoc, NodeRadio
from model.check import Check
from model.errors import RunError

#: Two radios of one node: each answers for its own address alone, for on one channel both hear who
#: asks for it.
ARP_BY_RADIO = {"net.ipv4.conf.all.arp_ignore": "1", "net.ipv4.conf.all.arp_announce": "2"}
#: First radios' addresses and second ones' are a half of 10.0.0.0/8 each (model/ad_hoc.py).
PREFIX_BITS = 9
FORWARDING = "net.ipv4.ip_forward"
#: When a run begins and when it ends.
MARKS = 2


@dataclass(frozen=True, kw_only=True)
class Here:
    """A node as its adapter gets it: its radios, in order, and where it writes what it says.

    ``route_options`` are those of the node's routes, by iproute2's names.
    """

    network: AdHoc
    node: Namespace
    radios: tuple[NodeRadio, ...]
    folder: Path
    route_options: Mapping[str, str]


class Router(ABC):
    """What routes for one radio, while it does."""

    #: Whether it is told when the run begins and when it ends, by :meth:`mark`. What is not is
    #: left alone while flows run: each look at the lab's clock takes time of it.
    is_marked: ClassVar[bool] = False

    def mark(self, t_ns: int) -> None:  # noqa: B027 - what is not marked has nothing to do
        """Take down what was counted by time zero of the run, or by its end (CLOCK_MONOTONIC)."""

    @abstractmethod
    def terminate(self) -> None:
        """Have it end; what it counted is written by the time :meth:`finish` returns."""

    @abstractmethod
    def finish(self, timeout_s: float) -> None:
        """Wait until it has ended; raise :class:`~model.errors.RunError` if it did not, or ill."""


class Adapter(ABC):
    """One protocol: what it makes of nodes, what is read back, what it leaves."""

    #: What each router leaves: the ends of its files' names, and bytes per second of a cell that
    #: they can grow by beyond what any program says of itself.
    leaves: ClassVar[Mapping[str, int]]
    #: The words of ``ip route show`` after ``ip -4 -j -d`` for routes that have the hosts' options.
    routes_shown: ClassVar[tuple[str, ...]]

    @abstractmethod
    def radio_address(self, radio: NodeRadio) -> str | None:
        """Return the address, with its prefix length, that a radio's interface gets; None: none."""

    @abstractmethod
    def interface(self, radio: NodeRadio, mac: str) -> Interface:
        """Return the interface that flows use where a radio is, whose own address is ``mac``."""

    @abstractmethod
    def set_up(self, here: Here) -> None:
        """Prepare a node, loopback included, before anything routes."""

    @abstractmethod
    def start(self, here: Here, radio: NodeRadio) -> Router:
        """Have a radio routed for; return once it is, which does not say that there are ways.

        Raises:
            RunError: something is refused, or does not start.
            UnsupportedError: the kernel has no such protocol.
        """

    def read_back_radio(self, here: Here, radio: NodeRadio) -> list[Check]:
        """Return what is as it was set where a radio is, besides the radio itself."""
        del here, radio
        return []

    def read_back_node(self, here: Here) -> list[Check]:
        """Return what is as it was set of a node as a whole."""
        del here
        return []


def own_interface(radio: NodeRadio, mac: str) -> Interface:
    """Return a radio's own interface, for flows that see it as it is."""
    return Interface(
        node=radio.node, device=radio.device, address=radio.address, mac=mac, peer_address="",
        peer_mac="",
    )  # fmt: skip


def prefix(radio: NodeRadio) -> str:
    """Return the network that the addresses of all first radios are in, or of all second ones."""
    return str(ipaddress.ip_interface(f"{radio.address}/{PREFIX_BITS}").network)


def between(marks: Sequence[tuple[int, Mapping[str, int]]]) -> dict[str, int]:
    """Return what was counted from one mark to the other, and when these were. Pure.

    Raises:
        RunError: there are marks, but not two.
    """
    if not marks:
        return {}
    if len(marks) != MARKS:
        raise RunError(
            "routing messages were not counted at both ends of the run", wanted=f"{MARKS} times",
            got=str(len(marks)),
        )  # fmt: skip
    (from_ns, first), (to_ns, last) = marks
    counted = {name: last[name] - first[name] for name in last}
    return {"from_ns": from_ns, "to_ns": to_ns, **counted}


def forwarding_check(here: Here) -> Check:
    """Return whether a node passes packets on, as every router of packets does."""
    got = here.node.read_sysctl(FORWARDING)
    return Check(check=FORWARDING, where=here.node.name, wanted="1", got=got, agrees=got == "1")


def arp_checks(here: Here) -> list[Check]:
    """Return how a node with two radios answers for its addresses, as it was set."""
    return [check_sysctl.read_back(here.node, name, value) for name, value in ARP_BY_RADIO.items()]


def heres(
    network: AdHoc, spaces: Mapping[str, Namespace], folder: Path,
    routes: Mapping[str, Mapping[str, str]],
) -> Sequence[Here]:  # fmt: skip
    """Return every node, in order."""
    return [
        Here(
            network=network, node=spaces[name], folder=folder, route_options=routes.get(name, {}),
            radios=tuple(radio for radio in network.radios() if radio.node == name),
        )
        for name in network.node_names()
    ]  # fmt: skip
