"""batman-adv on the nodes of a network of radios: a mesh of its own for each radio.

Frames are routed, not packets: all nodes are on one link, which the meshes' interfaces have the
addresses of. Invariants: a radio has no address; first and second radios' meshes have prefixes of
their own, so a packet leaves by the mesh of the network that its destination is in; what is counted
is counted from time zero of the run to its end.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mininet_topos.baselines import batman, mesh_counters
from mininet_topos.layout import Interface
from mininet_topos.netns import Namespace
from mininet_topos.radio.radios import mac_of
from model import run_folder
from model.ad_hoc import NodeRadio
from model.check import Check
from testbed.guest.routing.adapter import (
    ARP_BY_RADIO,
    PREFIX_BITS,
    Adapter,
    Here,
    Router,
    arp_checks,
    between,
    prefix,
)

#: A mesh's own address is its radio's but for the second byte.
MESH_MAC_BYTE = "ba"
#: Of iproute2: routes that an administrator set, which no kernel does by itself.
ROUTES_PROTOCOL = "static"


def device(radio: NodeRadio) -> str:
    """Return the name of the mesh's interface of a radio."""
    return radio.device.replace("wlan", "bat")


def mesh_mac(mac: str) -> str:
    """Return the address of a mesh's interface by that of its radio."""
    first, _, *others = mac.split(":")
    return ":".join([first, MESH_MAC_BYTE, *others])


def mesh(radio: NodeRadio, mac: str) -> batman.Mesh:
    """Return a radio's mesh as it shall be; ``mac`` is the radio's."""
    return batman.Mesh(
        interfaces=(radio.device,), address=f"{radio.address}/{PREFIX_BITS}", name=device(radio),
        mac=mesh_mac(mac), makes_route=False,
    )  # fmt: skip


def route_words(radio: NodeRadio, options: Mapping[str, str]) -> list[str]:
    """Return the command that makes the one route of a mesh, with the hosts' options."""
    words = [
        "ip", "route", "add", prefix(radio), "dev", device(radio), "proto", ROUTES_PROTOCOL,
        "scope", "link", "src", radio.address,
    ]  # fmt: skip
    return words + [word for name, value in options.items() for word in (name, *value.split())]


@dataclass
class MeshRouter(Router):
    """The kernel's mesh: what it had counted, and its ways, by each time it was told of."""

    is_marked: ClassVar[bool] = True

    here: Here
    radio: NodeRadio
    mesh: batman.Mesh
    lines: list[dict[str, Any]] = field(default_factory=list)
    marks: list[tuple[int, Mapping[str, int]]] = field(default_factory=list)

    def mark(self, t_ns: int) -> None:
        """Take down counters and the ways to all others."""
        self.marks.append((t_ns, mesh_counters.read(self.here.node, self.mesh.name)))
        ways = [way for way in batman.originators(self.here.node, self.mesh) if way.is_best]
        self.lines.append(
            {"event": "ways", "t_ns": t_ns, "ways": [dataclasses.asdict(way) for way in ways]}
        )

    def terminate(self) -> None:
        """Write down what was counted between the marks; of a mesh not marked there is nothing."""
        self.lines.append({"event": "totals", **between(self.marks)})
        stem = run_folder.routing(self.here.node.name, self.radio.device)
        text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in self.lines)
        (self.here.folder / f"{stem}.jsonl").write_text(text)

    def finish(self, timeout_s: float) -> None:
        """Return at once: nothing runs but the kernel."""


class BatmanAdv(Adapter):
    """The kernel's B.A.T.M.A.N. IV with its own defaults, originator messages once a second."""

    leaves: ClassVar[Mapping[str, int]] = {".jsonl": 0}
    routes_shown = ("proto", ROUTES_PROTOCOL)

    def radio_address(self, radio: NodeRadio) -> str | None:
        """Return None: a radio's mesh has its address."""
        del radio
        return None

    def interface(self, radio: NodeRadio, mac: str) -> Interface:
        """Return the mesh's interface, which flows see."""
        return Interface(
            node=radio.node, device=device(radio), address=radio.address, mac=mesh_mac(mac),
            peer_address="", peer_mac="",
        )  # fmt: skip

    def set_up(self, here: Here) -> None:
        """Have a node's loopback up, and each of two meshes answer for its own address alone."""
        if len(here.radios) > 1:
            for name, value in ARP_BY_RADIO.items():
                here.node.write_sysctl(name, value)
        here.node.run(["ip", "link", "set", "lo", "up"])

    def start(self, here: Here, radio: NodeRadio) -> Router:
        """Make a radio's mesh, read back, and its route."""
        made = mesh(radio, mac_of(here.network.radios().index(radio)))
        batman.bring_up(here.node, made)
        here.node.run(route_words(radio, here.route_options))
        return MeshRouter(here=here, radio=radio, mesh=made)

    def read_back_radio(self, here: Here, radio: NodeRadio) -> list[Check]:
        """Return whether the mesh has its address and lets packets of the usual size through."""
        shown = _shown(here.node, device(radio))
        wanted = {
            "mesh's address": mesh_mac(mac_of(here.network.radios().index(radio))),
            "mesh's largest packet": str(batman.IP_BYTES),
        }
        got = {
            "mesh's address": str(shown.get("address")),
            "mesh's largest packet": str(shown.get("mtu")),
        }
        where = f"{here.node.name} {device(radio)}"
        return [
            Check(check=what, where=where, wanted=wanted[what], got=got[what],
                  agrees=wanted[what] == got[what])
            for what in wanted
        ]  # fmt: skip

    def read_back_node(self, here: Here) -> list[Check]:
        """Return how a node with two meshes answers for its addresses."""
        return arp_checks(here) if len(here.radios) > 1 else []


def _shown(node: Namespace, name: str) -> Mapping[str, Any]:
    found: list[dict[str, Any]] = node.json(["ip", "-j", "link", "show", "dev", name])
    return found[0]
