"""Nodes and links for stock Mininet, ``Mininet(topo)`` or ``mn``: our stages, and nothing silent.

Mininet's own ``TCLink`` would shape on hosts, where a full qdisc pushes back on the sending socket,
and it only logs what ``tc`` refuses; so it is not used. Invariants: a command that fails raises;
what Mininet raised in the host's own network is put back before the first node's network is made,
for that starts with the host's values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from subprocess import PIPE
from typing import Any

from mininet.link import Link
from mininet.node import Node

from mininet_topos.batch_lines import ip_lines, tc_lines
from mininet_topos.layout import Layout, Wire
from mininet_topos.raised_sysctls import PROC_SYS, sysctls

COMMAND_TIMEOUT_S = 60.0
#: ethtool's short names of what :mod:`mininet_topos.offloads` switches off, in its order.
OFFLOADS = ("tso", "gso", "gro", "tx", "sg")


class BuildError(RuntimeError):
    """Stock Mininet's network cannot be made as asked."""


class Machine(Node):  # type: ignore[misc]  # mininet is untyped
    """A source, router or destination, set up with the lines of the virtual lab's builder."""

    def __init__(
        self,
        name: str,
        role: str,
        routes: Sequence[tuple[str, str]],
        host_sysctls: Mapping[str, str],
        **params: Any,
    ) -> None:
        """Make a node; the host's own network is first given back what it had."""
        put_back(host_sysctls)
        self.role, self.routes = role, tuple(routes)
        super().__init__(name, **params)

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
        self._run(["ip", "-batch", "-"], ip_lines(laid_out, self.name, {}))
        stages = tc_lines(laid_out, (), self.name)
        if stages:
            self._run(["tc", "-batch", "-"], stages)
        return {}

    def _laid_out(self) -> Layout:
        """Return the part of the topology that is this node's."""
        wires = [interface.link.wire for interface in self.intfList()]
        return Layout(
            sources=(), destinations=(), routers=(self.name,) if self.role == "router" else (),
            wires=tuple(sorted(wires, key=lambda wire: wire.number)),
            routes={self.name: self.routes},
        )  # fmt: skip

    def _run(self, argv: list[str], text: str = "") -> None:
        process = self.popen(argv, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        out, error = process.communicate(text.encode(), timeout=COMMAND_TIMEOUT_S)
        if process.returncode != 0:
            said = (error or out).decode(errors="replace").strip()
            raise BuildError(
                f"{self.name}: {' '.join(argv)} failed with status {process.returncode}:"
                f" {said or 'no output'}" + (f"; input was:\n{text}" if text else "")
            )


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
