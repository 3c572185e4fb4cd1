"""A cell's network inside a lab: built, read back, described."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collectors.recording import socket_sampler
from mininet_topos import check_built, check_sysctl, netns
from mininet_topos.filters import ack_counts, numbered_drops
from mininet_topos.layout import Layout
from mininet_topos.netns import Journal, Namespace
from model import run_folder
from model.ad_hoc import AdHoc
from model.cell import Cell, Flow, Side
from model.check import Check
from model.errors import VerifyError
from model.movement import kept, movement_csv
from model.movement.of_network import movement
from testbed.guest import (
    calibration,
    ledger,
    network_state,
    topologies,
)
from testbed.guest.radio import places as radio_places
from testbed.guest.radio import read_back as radios_read_back
from testbed.guest.radio import wireless
from testbed.guest.routing.registry import adapter_of
from testbed.guest.team import Alone, Team, Together, read_part

#: More than any buffer a host profile may want; what each socket got is read back.
BUFFER_BOUND_BYTES = 64 * 1024 * 1024
#: Pages that all sockets of a protocol may hold: never reached, so no run meets memory pressure.
UNREACHED_PAGES = "1048576 1048576 1048576"
#: TCP's buffers (least, first, most) are what Linux gives itself from 2 GiB of memory up
#: (tcp_init): a lab has less, and how much of it is free at start depends on the host.
MEMORY_LIMITS = {
    "core/rmem_max": str(BUFFER_BOUND_BYTES),
    "core/wmem_max": str(BUFFER_BOUND_BYTES),
    "ipv4/tcp_rmem": "4096 131072 6291456",
    "ipv4/tcp_wmem": "4096 16384 4194304",
    "ipv4/tcp_mem": UNREACHED_PAGES,
    "ipv4/udp_mem": UNREACHED_PAGES,
    "sctp/sctp_mem": UNREACHED_PAGES,
}
#: Of these, what each network has of its own.
OF_A_NETWORK = ("ipv4/tcp_rmem", "ipv4/tcp_wmem")
#: Signed cookies (the default) are checked with a key of the socket's. In Linux 7.3 an accepted
#: socket checks with its own, another than the listening one signed with: it discards a
#: COOKIE-ECHO that comes again, so an association whose COOKIE-ACK was lost never gets one.
HOST_SYSCTLS = {"net.sctp.cookie_hmac_alg": "none"}
TOOLS = ("iperf3", "iproute2", "libsctp1", "mininet", "python3.13", "tcpdump")


@dataclass
class BuiltNetwork:
    """A built network and what is known of it."""

    cell: Cell
    folder: Path
    laid_out: Layout
    roles: ledger.Roles
    spaces: dict[str, Namespace]
    routes: dict[str, dict[str, str]]
    shown_routes: dict[str, list[dict[str, Any]]]
    drops: tuple[numbered_drops.Installed, ...]
    team: Team
    wireless: wireless.Wireless | None = None
    acks: tuple[ack_counts.Counting, ...] = ()
    raw: dict[str, Any] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)

    def hosts(self, side: Side) -> tuple[str, ...]:
        """Return the hosts of a side that are here."""
        return tuple(node for node in self.roles.on(side) if node in self.spaces)

    def routers(self) -> tuple[str, ...]:
        """Return the routers that are here."""
        return tuple(node for node in self.laid_out.routers if node in self.spaces)

    def sent_here(self) -> tuple[Flow, ...]:
        """Return the flows that start at a host that is here."""
        return tuple(f for f in self.cell.flows if self.laid_out.sources[f.source] in self.spaces)

    def received_here(self) -> tuple[Flow, ...]:
        """Return the flows that end at a host that is here."""
        ends = self.laid_out.destinations
        return tuple(f for f in self.cell.flows if ends[f.destination] in self.spaces)

    def ends(self, flow: Flow) -> tuple[str, str]:
        """Return the hosts a flow starts and ends at."""
        return self.laid_out.sources[flow.source], self.laid_out.destinations[flow.destination]

    def source(self, flow: Flow) -> Namespace:
        """Return the host a flow starts at."""
        return self.spaces[self.laid_out.sources[flow.source]]

    def destination(self, flow: Flow) -> Namespace:
        """Return the host a flow ends at."""
        return self.spaces[self.laid_out.destinations[flow.destination]]

    def address(self, node: str) -> str:
        """Return a host's address, of several the first path's."""
        return self.laid_out.interface(node).address

    def addresses(self, node: str, flow: Flow) -> tuple[str, ...]:
        """Return the addresses of a host that a flow uses, that of its primary path first."""
        found = tuple(interface.address for interface in self.laid_out.interfaces(node))
        if not flow.is_multihomed():
            return found[:1]
        return found if flow.paths.primary == "first" else found[::-1]

    def write(self, name: str, value: Any) -> None:
        """Write one raw JSON file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def build(cell: Cell, folder: Path, journal: Journal) -> BuiltNetwork:
    """Build a cell's network and set its hosts up; return it, not yet read back."""
    if network := cell.ad_hoc:
        return _build_ad_hoc(cell, network, folder, journal)
    topology = topologies.topology(cell.wired, cell.seed)
    laid_out = topology.layout()
    roles = ledger.Roles(senders=laid_out.sources, receivers=laid_out.destinations)
    routes = ledger.route_options(cell.hosts, roles)
    own = dict(HOST_SYSCTLS)
    team: Team = Alone()
    if cell.on_machines_kernel():  # whose lab sets what all networks share, and takes it back
        own |= {f"net.{name}".replace("/", "."): MEMORY_LIMITS[name] for name in OF_A_NETWORK}
    if part := read_part(folder):
        from testbed.guest import spread_network

        team = Together()
        laid_out, spaces, shown = spread_network.build(
            laid_out, cell.flows, routes, journal, part, team
        )
    elif cell.on_machines_kernel():
        from mininet_topos.mininet_network import build as build_as_mininet

        spaces, shown = build_as_mininet(topology, cell.flows, routes, journal)
    else:
        from mininet_topos.fast_builder import build as build_fast

        _set_memory_limits()
        _hide_kernel_addresses()
        spaces, shown = build_fast(topology, cell.flows, routes, journal)
    _set_hosts_up(cell, roles, spaces, own)
    receivers = {flow.id: _end(laid_out, flow) for flow in cell.flows}
    return BuiltNetwork(
        cell=cell, folder=folder, laid_out=laid_out, roles=roles, spaces=spaces, routes=routes,
        shown_routes=shown, team=team,
        drops=numbered_drops.install(
            spaces, numbered_drops.targets(cell, calibration.PORT), numbered_drops.drawing(cell)
        ),
        acks=ack_counts.install(spaces, ack_counts.watched(cell, receivers)),
    )  # fmt: skip


def _build_ad_hoc(cell: Cell, network: AdHoc, folder: Path, journal: Journal) -> BuiltNetwork:
    _set_memory_limits()
    _hide_kernel_addresses()
    moved = _moved(cell, network, folder)
    if cell.purpose == "calibrate":
        network = radio_places.network(network)
    roles = ledger.Roles(senders=network.source_names(), receivers=network.destination_names())
    routes = ledger.route_options(cell.hosts, roles)
    spaces, running = wireless.build(cell, network, moved, routes, folder, journal)
    laid_out = running.laid_out
    _set_hosts_up(cell, roles, spaces, HOST_SYSCTLS)
    flows = cell.flows if cell.purpose == "measure" else ()
    receivers = {flow.id: _end(laid_out, flow) for flow in flows}
    return BuiltNetwork(
        cell=cell, folder=folder, laid_out=laid_out, roles=roles, spaces=spaces, routes=routes,
        shown_routes={}, team=Alone(), drops=(), wireless=running,
        acks=ack_counts.install(spaces, ack_counts.watched(cell, receivers)) if flows else (),
    )  # fmt: skip


def _moved(cell: Cell, network: AdHoc, folder: Path) -> bytes:
    """Return movement.csv of a cell's nodes; of a trace's as the cell's folder came with it."""
    if cell.purpose == "calibrate":
        places = radio_places.places(network)
    elif network.mobility.model == "trace":
        return kept.read(folder / run_folder.GIVEN_MOVEMENT, network.mobility.movement_sha256)
    else:
        places = movement(network, seed=cell.seed, until_s=cell.duration_s)
    return movement_csv.text_of(places).encode()


def _set_hosts_up(
    cell: Cell, roles: ledger.Roles, spaces: Mapping[str, Namespace], own: Mapping[str, str]
) -> None:
    """Write the sysctls of the hosts that are here: the lab's own, then their profile's."""
    for node in roles.on("both"):
        if node in spaces:
            for name, value in own.items():
                spaces[node].write_sysctl(name, value)
    for node, name, value in ledger.sysctls(cell.hosts, roles):
        if node in spaces:
            spaces[node].write_sysctl(name, value)


def _end(laid_out: Layout, flow: Flow) -> tuple[str, tuple[str, ...]]:
    """Return the host a flow ends at, and its interfaces."""
    node = laid_out.destinations[flow.destination]
    return node, laid_out.devices(node)


def _set_memory_limits() -> None:
    """Set what the kernel would work out from the lab's own small memory at its start.

    Namespaces made afterwards start with these values.
    """
    for name, value in MEMORY_LIMITS.items():
        (Path("/proc/sys/net") / name).write_text(f"{value}\n")


def _hide_kernel_addresses() -> None:
    """Have the kernel print 0 for where its objects are, which differs between machines."""
    Path("/proc/sys/kernel/kptr_restrict").write_text("2\n")


def read_back(lab: BuiltNetwork) -> None:
    """Compare the network and the sysctls with what was asked; write verify.json.

    Raises:
        VerifyError: one of them is not as asked.
    """
    if lab.wireless:
        checks = radios_read_back.read_back(lab.wireless.network, lab.spaces, lab.folder)
        shown_by = adapter_of(lab.wireless.network.routing).routes_shown
        found, lab.raw["routes"] = radios_read_back.read_back_routes(
            lab.routes, lab.spaces, shown_by
        )
        checks += found
    else:
        checks, lab.raw = check_built.read_back(
            lab.laid_out, lab.spaces, lab.routes, lab.shown_routes
        )
        found, lab.raw["numbered_drops"] = numbered_drops.read_back(lab.spaces, lab.drops)
        checks += found
    if lab.acks:
        found, lab.raw["acknowledgements"] = ack_counts.read_back(lab.spaces, lab.acks)
        checks += found
    for node, name, value in ledger.sysctls(lab.cell.hosts, lab.roles):
        if node in lab.spaces:
            checks.append(check_sysctl.read_back(lab.spaces[node], name, value, ledger.agrees))
    wanted_hz, got_hz = lab.cell.lab["tick_hz"], str(tick_hz())
    checks.append(
        Check(
            check="timer frequency", where="kernel", wanted=wanted_hz, got=got_hz,
            agrees=wanted_hz == got_hz,
        )
    )  # fmt: skip
    lab.write("raw/read_back.json", lab.raw)
    settle(lab, checks)


def state(lab: BuiltNetwork) -> network_state.Snapshot:
    """Return what is set of the network now, with all sysctls that the lab or the hosts set."""
    names = {node: set(HOST_SYSCTLS) for node in lab.hosts("both")}
    for node, name, _ in ledger.sysctls(lab.cell.hosts, lab.roles):
        if node in names:
            names[node].add(name)
    names |= {node: {"net.ipv4.ip_forward"} for node in lab.routers()}
    return network_state.take(lab.laid_out, lab.spaces, names)


def read_back_again(
    lab: BuiltNetwork, before: network_state.Snapshot, qdiscs: Mapping[str, list[dict[str, Any]]]
) -> None:
    """Compare what is set now with what was before the flows; add that to verify.json.

    Raises:
        VerifyError: something was changed while they ran.
    """
    checks = [
        dataclasses.replace(check, check=f"{check.check} after the flows")
        for node, shown in qdiscs.items()
        for check in check_built.compare_qdiscs(lab.laid_out, node, shown)
    ]
    settle(lab, [*checks, *network_state.compare(before, state(lab))])


def settle(lab: BuiltNetwork, checks: list[Check]) -> None:
    """Add comparisons to verify.json; raise :class:`VerifyError` if one disagrees."""
    lab.checks += checks
    lab.write("verify.json", {"schema": 1, "checks": [dataclasses.asdict(c) for c in lab.checks]})
    raise_for(checks)


def raise_for(checks: list[Check]) -> None:
    """Raise :class:`VerifyError` for the first check that disagrees."""
    wrong = [check for check in checks if not check.agrees]
    if wrong:
        first = wrong[0]
        raise VerifyError(
            f"{first.check} is not as asked",
            where=first.where,
            wanted=first.wanted,
            got=first.got,
            hint=f"{len(wrong)} of {len(checks)} checks disagree; all are in verify.json",
        )


def tick_hz() -> int:
    """Return the timer interrupts a second that the running kernel was built for."""
    return round(1_000_000_000 / socket_sampler.tick_ns())


def environment(lab: BuiltNetwork) -> dict[str, Any]:
    """Return the content of env.json: kernel, tools, sysctls as read."""
    status = Path("/var/lib/dpkg/status").read_text(errors="replace")
    shown = {}
    for node in (*lab.hosts("sender")[:1], *lab.hosts("receiver")[:1]):
        with lab.spaces[node].entered():
            shown[node] = netns.sysctl_tree()
    return {
        "schema": 1,
        "kernel_release": os.uname().release,
        "kernel_version": os.uname().version,
        "tick_hz": tick_hz(),
        "tools": packages(status, TOOLS),
        "lab": dict(lab.cell.lab),
        "seed": lab.cell.seed,
        "clock": lab.cell.lab.get("clock", "not told"),
        "sysctls": shown,
        "warnings": [],
    }


def packages(status: str, names: Collection[str]) -> dict[str, str]:
    """Return versions of the chosen packages from dpkg's status file."""
    versions: dict[str, str] = {}
    name = ""
    for line in status.splitlines():
        if line.startswith("Package: "):
            name = line[9:]
        elif line.startswith("Version: ") and name in names:
            versions[name] = line[9:]
    return dict(sorted(versions.items()))
