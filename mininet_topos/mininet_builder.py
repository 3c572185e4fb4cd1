"""Nodes and links for stock Mininet, ``Mininet(topo)`` or ``mn``: our stages, and nothing silent.

Mininet's own ``TCLink`` would shape on hosts, where a full qdisc pushes back on the sending socket,
and it only logs what ``tc`` refuses; so it is not used. Invariants: a command that fails raises;
what Mininet raised in the host's own network is put back before the first node's network is made,
for that starts with the host's values.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from subprocess import PIPE
from typing import TYPE_CHECKING, Any

from mininet.link import Link
from mininet.node import Node

from mininet_topos.batch_lines import ip_lines, number_lines, tc_lines
from mininet_topos.layout import Layout, Wire
from mininet_topos.raised_sysctls import PROC_SYS, sysctls

if TYPE_CHECKING:
    from mininet_topos.netns import Journal
    from model.cell import Flow

COMMAND_TIMEOUT_S = 60.0
#: Where a kernel has IPv6 at all: its own messages would pass the loss model, which draws for each.
NO_IPV6 = (
    "for each in all default lo; do"
    " f=/proc/sys/net/ipv6/conf/$each/disable_ipv6; [ ! -e $f ] || echo 1 >$f; done"
)
#: ethtool's short names of what :mod:`mininet_topos.offloads` switches off, in its order.
OFFLOADS = ("tso", "gso", "gro", "tx", "sg")


class BuildError(RuntimeError):
    """Stock Mininet's network cannot be made as asked."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a cell's nodes are set up with and those of ``mn`` are not."""

    laid_out: Layout
    flows: Sequence[Flow]
    route_options: Mapping[str, Mapping[str, str]]
    journal: Journal


class Machine(Node):  # type: ignore[misc]  # mininet is untyped
    """A source, router or destination, set up with the lines of the virtual lab's builder."""

    def __init__(
        self,
        name: str,
        role: str,
        routes: Sequence[tuple[str, str]],
        host_sysctls: Mapping[str, str],
        policies: Sequence[tuple[str, str]] = (),
        setup: Setup | None = None,
        **params: Any,
    ) -> None:
        """Make a node; the host's own network is first given back what it had."""
        put_back(host_sysctls)
        self.role, self.routes, self.policies = role, tuple(routes), tuple(policies)
        self.setup = setup
        self.shown_routes: list[dict[str, Any]] = []
        super().__init__(name, **params)
        self._run(["sh", "-c", NO_IPV6])
        if setup and name in setup.laid_out.routers[1:]:
            self._run(["ip", "-batch", "-"], number_lines(setup.laid_out, name))

    def config(self, **_params: Any) -> dict[str, Any]:
        """Set up all that is this node's; Mininet calls it once all links are there.

        Raises:
            BuildError: a command failed.
        """
        laid_out = self._laid_out()
        if self.role == "router":
            self._run(["sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"])
        for device in laid_out.devices(self.name):
            off = [word for offload in OFFLOADS for word in (offload, "off")]
            self._run(["ethtool", "-K", device, *off])
        flows = self.setup.flows if self.setup else ()
        options = self.setup.route_options.get(self.name, {}) if self.setup else {}
        shown = self._run(["ip", "-j", "-d", "-batch", "-"], ip_lines(laid_out, self.name, options))
        self.shown_routes = json.loads(shown) if shown.strip() else []
        stages = tc_lines(laid_out, flows, self.name)
        if stages:
            self._run(["tc", "-batch", "-"], stages)
        return {}

    def _laid_out(self) -> Layout:
        """Return the part of the topology that is this node's, or all if that is known."""
        if self.setup:
            return self.setup.laid_out
        wires = [interface.link.wire for interface in self.intfList()]
        return Layout(
            sources=(), destinations=(), routers=(self.name,) if self.role == "router" else (),
            wires=tuple(sorted(wires, key=lambda wire: wire.number)),
            routes={self.name: self.routes}, policies={self.name: self.policies},
        )  # fmt: skip

    def _run(self, argv: list[str], text: str = "") -> str:
        began_ns = time.monotonic_ns()
        process = self.popen(argv, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        out, error = process.communicate(text.encode(), timeout=COMMAND_TIMEOUT_S)
        if self.setup:
            self.setup.journal.add(self.name, argv, text, began_ns, process.returncode)
        if process.returncode != 0:
            said = (error or out).decode(errors="replace").strip()
            raise BuildError(
                f"{self.name}: {' '.join(argv)} failed with status {process.returncode}:"
                f" {said or 'no output'}" + (f"; input was:\n{text}" if text else "")
            )
        return str(out.decode())


class Cable(Link):  # type: ignore[misc]  # mininet is untyped
    """A veth pair with the names and MACs of a wire; the routers at its ends shape it."""

    def __init__(self, node1: Node, node2: Node, wire: Wire, **params: Any) -> None:
        """Make both interfaces, which know their addresses: ``ping`` of Mininet asks them."""
        self.wire = wire
        first, second = wire.ends
        names = {"intfName1": first.device, "intfName2": second.device}
        super().__init__(
            node1, node2, **{**params, **names, "addr1": first.mac, "addr2": second.mac}
        )
        for interface, end in zip((self.intf1, self.intf2), wire.ends, strict=True):
            interface.ip, interface.prefixLen = end.address, 24


def put_back(host_sysctls: Mapping[str, str]) -> None:
    """Give the host's own network the values it had.

    Raises:
        BuildError: the kernel refuses one.
    """
    now = sysctls(tuple(host_sysctls))
    for name, value in host_sysctls.items():
        if now[name] != value:
            try:
                (PROC_SYS / name).write_text(value)
            except OSError as error:
                raise BuildError(f"cannot put sysctl {name} back to {value!r}: {error}") from error
