"""What the topologies of this folder have in common as ``mininet.topo.Topo``.

Every node says its role, its routes and the class stock Mininet makes it of; every link is a
:class:`mininet_topos.layout.Wire`: names, addresses and MACs of its ends, and for each way its
shaper (rate, buffer) and its channel (delay, loss). Two builders read it: that of the virtual lab
(:mod:`mininet_topos.fast_builder`), and stock Mininet, which makes nodes and links of the classes
in :mod:`mininet_topos.mininet_builder`.
"""

from __future__ import annotations

from typing import Any

from mininet_topos.layout import Layout, Wire
from mininet_topos.raised_sysctls import RAISED_SYSCTLS, sysctls

try:
    from mininet.topo import Topo
except ModuleNotFoundError:  # Mininet is where networks are built; elsewhere they are laid out
    Topo = object


class Topology(Topo):  # type: ignore[misc]  # mininet is untyped
    """A Mininet topology of a layout; a subclass says how its options become one."""

    @classmethod
    def lay_out(cls, **options: Any) -> Layout:
        """Return the layout of a topology's options."""
        raise NotImplementedError

    def build(self, **options: Any) -> None:
        """Add the nodes and links of a layout; Mininet calls this with the options."""
        laid_out = self.lay_out(**options)
        # Mininet makes its topology before it raises these, and its nodes after.
        host_sysctls = sysctls(RAISED_SYSCTLS)
        roles = dict.fromkeys(laid_out.routers, "router")
        roles |= dict.fromkeys(laid_out.sources, "source")
        roles |= dict.fromkeys(laid_out.destinations, "destination")
        for name in laid_out.node_names():
            self.addHost(name, cls=_machine, role=roles[name], routes=laid_out.routes[name],
                         policies=laid_out.policies.get(name, ()),
                         host_sysctls=host_sysctls)  # fmt: skip
        for wire in laid_out.wires:
            self.addLink(wire.ends[0].node, wire.ends[1].node, cls=_cable, wire=wire)

    def layout(self) -> Layout:
        """Return the layout as nodes and links say it now."""
        nodes = {name: self.nodeInfo(name) for name in self.nodes(sort=False)}

        def named(role: str) -> tuple[str, ...]:
            return tuple(name for name, info in nodes.items() if info["role"] == role)

        wires: list[Wire] = [info["wire"] for _, _, info in self.links(withInfo=True)]
        return Layout(
            sources=named("source"), routers=named("router"), destinations=named("destination"),
            wires=tuple(sorted(wires, key=lambda wire: wire.number)),
            routes={name: info["routes"] for name, info in nodes.items()},
            policies={name: info["policies"] for name, info in nodes.items() if info["policies"]},
        )  # fmt: skip


def _machine(name: str, **params: Any) -> Any:
    from mininet_topos.mininet_builder import Machine

    return Machine(name, **params)


def _cable(node1: Any, node2: Any, **params: Any) -> Any:
    from mininet_topos.mininet_builder import Cable

    return Cable(node1, node2, **params)
