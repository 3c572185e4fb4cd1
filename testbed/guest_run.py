"""One cell inside a lab, from the empty kernel to the raw files: build, read back, run, record."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collectors import snapshot_live
from mininet_topos import dumbbell, verify
from mininet_topos.netns import Journal, Namespace
from probes import driver, iperf3
from probes.process import Running
from testbed import calibration, captures, ledger, telemetry
from testbed.cell import Cell, Flow, Knob
from testbed.errors import RunError, VerifyError

NS_PER_S = 1_000_000_000
#: Between "everything is ready" and time zero of the experiment.
HEAD_START_S = 1
RECEIVER_TIMEOUT_S = 200.0
#: Above the first retransmission timeout of TCP and SCTP (RFC 6298, RFC 9260).
QUIET_S = 3.5
PRIME_PORT = 4998
#: More than any buffer a host profile may want; what each socket got is read back.
BUFFER_BOUND_BYTES = 64 * 1024 * 1024
TOOLS = ("iperf3", "iproute2", "libsctp1", "mininet", "python3.13", "tcpdump")


@dataclass
class Lab:
    """A built network and what is known of it."""

    cell: Cell
    folder: Path
    laid_out: dumbbell.Plan
    roles: ledger.Roles
    spaces: dict[str, Namespace]
    routes: dict[str, dict[str, str]]
    raw: dict[str, Any] = field(default_factory=dict)

    def source(self, flow: Flow) -> Namespace:
        """Return the host a flow starts at."""
        return self.spaces[self.laid_out.sources[flow.source]]

    def destination(self, flow: Flow) -> Namespace:
        """Return the host a flow ends at."""
        return self.spaces[self.laid_out.destinations[flow.destination]]

    def address(self, node: str) -> str:
        """Return a host's address."""
        return self.laid_out.interface(node).address

    def write(self, name: str, value: Any) -> None:
        """Write one raw JSON file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def run_cell(cell: Cell, folder: Path, say_phase: Callable[[str], None]) -> None:
    """Run a cell and leave its raw files in ``folder``.

    Raises:
        VerifyError: what was read back is not what was asked for.
        RunError: a program failed or did not end.
    """
    journal = Journal()
    say_phase("build the network")
    lab = _build(cell, folder, journal)
    say_phase("read the network back")
    _verify(lab)
    lab.write("env.json", _environment(lab))
    if cell.purpose == "calibrate":
        say_phase("calibrate")
        (folder / "raw" / "calibration").mkdir(parents=True)
        addresses = {name: lab.address(name) for name in lab.roles.on("both")}
        found = calibration.measure(
            cell.network, lab.spaces, addresses, folder / "raw" / "calibration"
        )
        lab.write("raw/calibration.json", found)
    else:
        _measure(lab, say_phase)
    say_phase("write the evidence")
    _write_counters(lab)
    (folder / "commands.jsonl").write_text(
        "".join(json.dumps(entry, sort_keys=True) + "\n" for entry in journal.entries)
    )


def _allow_large_buffers() -> None:
    """Lift the bounds on socket buffers, which older kernels keep for all namespaces at once."""
    for name in ("rmem_max", "wmem_max"):
        (Path("/proc/sys/net/core") / name).write_text(f"{BUFFER_BOUND_BYTES}\n")


def _build(cell: Cell, folder: Path, journal: Journal) -> Lab:
    _allow_large_buffers()
    laid_out = dumbbell.plan(cell.network, cell.seed)
    roles = ledger.Roles(senders=laid_out.sources, receivers=laid_out.destinations)
    routes = ledger.route_options(cell.hosts, roles)
    spaces = dumbbell.build(laid_out, cell.flows, routes, journal)
    for node, name, value in ledger.sysctls(cell.hosts, roles):
        spaces[node].write_sysctl(name, value)
    return Lab(
        cell=cell, folder=folder, laid_out=laid_out, roles=roles, spaces=spaces, routes=routes
    )


def _verify(lab: Lab) -> None:
    checks, lab.raw = verify.read_back(lab.laid_out, lab.spaces, lab.routes)
    for node, name, value in ledger.sysctls(lab.cell.hosts, lab.roles):
        got = lab.spaces[node].read_sysctl(name)
        checks.append(
            verify.Check(
                check="sysctl", where=f"{node} {name}", wanted=value, got=got,
                agrees=ledger.agrees(value, got),
            )
        )  # fmt: skip
    lab.write("raw/read_back.json", lab.raw)
    lab.write("verify.json", {"schema": 1, "checks": [dataclasses.asdict(c) for c in checks]})
    raise_for(checks)


def raise_for(checks: list[verify.Check]) -> None:
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


def _environment(lab: Lab) -> dict[str, Any]:
    status = Path("/var/lib/dpkg/status").read_text(errors="replace")
    sysctls = {}
    for node in (lab.roles.senders[0], lab.roles.receivers[0]):
        with lab.spaces[node].entered():
            sysctls[node] = _sysctl_tree(("net/ipv4", "net/sctp", "net/core"))
    return {
        "schema": 1,
        "kernel_release": platform.release(),
        "kernel_version": platform.version(),
        "tools": snapshot_live.packages(status, lambda name: name in TOOLS),
        "lab": dict(lab.cell.lab),
        "seed": lab.cell.seed,
        "clock": "virtual",
        "sysctls": sysctls,
        "warnings": [],
    }


def _sysctl_tree(branches: tuple[str, ...]) -> dict[str, str]:
    values = {}
    for branch in branches:
        for path in sorted((Path("/proc/sys") / branch).iterdir()):
            if path.is_file():
                try:
                    value = " ".join(path.read_text(errors="replace").split())
                except OSError:
                    continue  # write-only or refused to guests: there is no value to record
                values[f"{branch}/{path.name}".replace("/", ".")] = value
    return values


def _prime_initial_ssthresh(lab: Lab) -> None:
    """Make the kernel take the initial ssthresh of the routes.

    Linux copies a route's ssthresh into its metrics cache only when a connection to that
    destination ends with metrics saving on (tcp_update_metrics), and starts new connections from
    the cache. So each source makes one empty connection to each destination of its flows.
    """
    for flow in lab.cell.flows:
        if flow.protocol != "tcp" or "ssthresh" not in lab.routes[lab.source(flow).name]:
            continue
        saved = [
            (space, space.read_sysctl("net.ipv4.tcp_no_metrics_save"))
            for space in (lab.source(flow), lab.destination(flow))
        ]
        lab.source(flow).write_sysctl("net.ipv4.tcp_no_metrics_save", "0")
        _empty_connection(lab, flow)
        for space, value in saved:
            space.write_sysctl("net.ipv4.tcp_no_metrics_save", value)


def _empty_connection(lab: Lab, flow: Flow) -> None:
    destination = lab.destination(flow)
    with destination.entered():
        listener = socket.create_server((lab.address(destination.name), PRIME_PORT))
    with listener:
        with lab.source(flow).entered():
            client = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        with client:
            client.settimeout(RECEIVER_TIMEOUT_S)
            client.connect((lab.address(destination.name), PRIME_PORT))
            server, _ = listener.accept()
            # The destination closes first and keeps the TIME-WAIT; the source then saves metrics.
            server.close()
            client.recv(1)
    _await_saved_metrics(lab, flow)


def _await_saved_metrics(lab: Lab, flow: Flow) -> None:
    """Wait until the source's kernel has an entry for the destination, also after losses."""
    to = lab.address(lab.destination(flow).name)
    deadline_s = time.monotonic() + RECEIVER_TIMEOUT_S
    while f"{to} " not in lab.source(flow).run(["ip", "tcp_metrics", "show"]):
        if time.monotonic() > deadline_s:
            raise RunError(
                "the kernel keeps no metrics of an ended connection",
                where=f"{lab.source(flow).name} to {to}",
                hint="the initial ssthresh of the host profile cannot be set on this path",
            )
        time.sleep(max(0.1, base_rtt_s(lab.cell)))


def base_rtt_s(cell: Cell) -> float:
    """Return the two-way propagation delay of the path."""
    links = (
        cell.network.source_access, cell.network.bottleneck, cell.network.destination_access,
    )  # fmt: skip
    return sum(link.forward.owd_s + link.reverse.owd_s for link in links)


def _measure(lab: Lab, say_phase: Callable[[str], None]) -> None:
    cell = lab.cell
    for name in ("raw/flows", "raw/snapshots"):
        (lab.folder / name).mkdir(parents=True)
    say_phase("prepare the hosts")
    _prime_initial_ssthresh(lab)
    _await_silence(cell)
    captures.write_path(lab.laid_out, lab.folder / "raw")
    lab.write("raw/qdiscs-start.json", _qdiscs(lab))
    capture = captures.start(cell, lab.folder / "raw", lab.laid_out, lab.spaces)
    epoch_ns = (time.monotonic_ns() // NS_PER_S + 1 + HEAD_START_S) * NS_PER_S
    say_phase("start the telemetry")
    watch = telemetry.start(cell, lab.folder / "raw", lab.laid_out, lab.spaces, epoch_ns)
    say_phase("start the flows")
    receivers = [_start_receiver(lab, flow, epoch_ns) for flow in cell.flows]
    senders = [_start_sender(lab, flow, epoch_ns, watch) for flow in cell.flows]
    lab.write("raw/epoch.json", _epoch(epoch_ns))
    say_phase("run the flows")
    watch.wait_until(epoch_ns + round(cell.duration_s * NS_PER_S))
    say_phase("drain the flows")
    for running in senders:
        running.finish(RECEIVER_TIMEOUT_S)
    # UDP has no end of its own: let what is in flight arrive.
    time.sleep(base_rtt_s(cell) + 1)
    for flow, running in zip(cell.flows, receivers, strict=True):
        if flow.protocol == "udp" and flow.generator == "probe":
            running.terminate()
        running.finish(RECEIVER_TIMEOUT_S)
    _await_silence(cell)
    say_phase("stop the telemetry")
    watch.stop()
    capture.stop()
    lab.write("raw/ledger.json", _ledger(lab))


def _epoch(epoch_ns: int) -> dict[str, int]:
    """Return time zero on the clocks of the probes and of captures, and how late it became."""
    before_ns = time.monotonic_ns()
    realtime_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    # Reading a clock of the virtual lab moves it by 256 ns, so the middle is exact.
    return {
        "epoch_ns": epoch_ns,
        "epoch_realtime_ns": epoch_ns + realtime_ns - (before_ns + after_ns) // 2,
        "late_ns": max(0, after_ns - epoch_ns),
    }


def _await_silence(cell: Cell) -> None:
    """Wait for the last packets of ended connections: under way, or lost and sent once more."""
    time.sleep(2 * base_rtt_s(cell) + QUIET_S)


def _start_receiver(lab: Lab, flow: Flow, epoch_ns: int) -> Running:
    host, cell = lab.destination(flow), lab.cell
    stem = lab.folder / "raw" / "flows" / f"{flow.id}.receiver"
    if flow.generator == "iperf3":
        argv = iperf3.server_argv(flow, lab.address(host.name), cell.collect.interval_s)
        return iperf3.start_server(host, argv, stem, host.read_file, flow.port)
    options = ledger.socket_options(cell.hosts, flow.protocol, "receiver")
    argv = driver.receiver_argv(
        flow, lab.address(host.name), options, epoch_ns, cell.duration_s, cell.collect.interval_s
    )
    return driver.start_receiver(host, argv, stem)


def _start_sender(lab: Lab, flow: Flow, epoch_ns: int, watch: telemetry.Telemetry) -> Running:
    host, to = lab.source(flow), lab.address(lab.destination(flow).name)
    stem = lab.folder / "raw" / "flows" / f"{flow.id}.sender"
    options = ledger.socket_options(lab.cell.hosts, flow.protocol, "sender")
    if flow.generator == "iperf3":
        # The client tells the server: what a receiver should have is said on this side too.
        options |= ledger.socket_options(lab.cell.hosts, flow.protocol, "receiver")
        watch.wait_until(epoch_ns + round(flow.start_s * NS_PER_S))
        return driver.start_sender(
            host, iperf3.client_argv(flow, to, options, lab.cell.collect.interval_s), stem
        )
    argv = driver.sender_argv(flow, lab.address(host.name), to, options, epoch_ns)
    return driver.start_sender(host, argv, stem)


def _effective(lab: Lab, flow: Flow, side: str) -> dict[str, Any]:
    path = lab.folder / "raw" / "flows" / f"{flow.id}.{side}.jsonl"
    for line in path.read_text().splitlines():
        if '"effective"' in line:
            value: dict[str, Any] = json.loads(line)
            return value
    return {}


def _ledger(lab: Lab) -> list[dict[str, Any]]:
    def read(knob: Knob) -> dict[str, str]:
        nodes = lab.roles.on(knob.side)
        if knob.kind == "sysctl":
            return {node: lab.spaces[node].read_sysctl(knob.name) for node in nodes}
        if knob.kind == "route":
            if knob.name == "ssthresh":
                return _initial_ssthresh(lab)
            return {
                node: verify.route_options(lab.raw["routes"][node]).get(knob.name, "not set")
                for node in nodes
            }
        return _socket_read_back(lab, knob)

    return ledger.rows(lab.cell.hosts, read)


def _probe_flows(lab: Lab, protocol: str) -> list[Flow]:
    return [f for f in lab.cell.flows if f.protocol == protocol and f.generator == "probe"]


def _initial_ssthresh(lab: Lab) -> dict[str, str]:
    """Return what each TCP connection really started with; the route alone proves nothing."""
    return {
        f"{flow.id} sender": str(_effective(lab, flow, "sender").get("snd_ssthresh_segments"))
        for flow in _probe_flows(lab, "tcp")
    }


def _socket_read_back(lab: Lab, knob: Knob) -> dict[str, str]:
    protocol = ledger.SOCKET_PROTOCOL.get(knob.kind, "")
    sides = ("sender", "receiver") if knob.side == "both" else (knob.side,)
    got = {}
    for flow in _probe_flows(lab, protocol):
        for side in sides:
            if side == "receiver" and knob.name not in driver.RECEIVER_OPTIONS[protocol]:
                continue
            value = ledger.socket_value(knob, _effective(lab, flow, side))
            if value is not None:
                got[f"{flow.id} {side}"] = value
    return got


def _write_counters(lab: Lab) -> None:
    wanted = dumbbell.counters(lab.laid_out, lab.cell.flows)
    lab.write("raw/counters.json", verify.read_counters(lab.spaces, wanted))
    lab.write("raw/qdiscs.json", _qdiscs(lab))
    os.sync()


def _qdiscs(lab: Lab) -> dict[str, Any]:
    """Return every qdisc's counters, by router."""
    return {
        name: lab.spaces[name].json(["tc", "-j", "-s", "qdisc", "show"])
        for name in dumbbell.ROUTERS
    }
