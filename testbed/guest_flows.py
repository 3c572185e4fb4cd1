"""Start the flows of a cell: receivers, then senders, each with its host profile's options."""

from __future__ import annotations

import json
from typing import Any

from probes import driver, iperf3
from probes.process import Running
from testbed import ledger
from testbed.cell import Flow
from testbed.guest_lab import Lab
from testbed.telemetry import NS_PER_S, Telemetry


def start_receiver(lab: Lab, flow: Flow, epoch_ns: int) -> Running:
    """Start a flow's receiver; return once it listens."""
    host, cell = lab.destination(flow), lab.cell
    stem = lab.folder / "raw" / "flows" / f"{flow.id}.receiver"
    if flow.generator == "iperf3":
        argv = iperf3.server_argv(flow, lab.address(host.name), cell.collect.interval_s)
        return iperf3.start_server(host, argv, stem, host.read_file, flow.port)
    options = ledger.socket_options(cell.hosts, flow.protocol, "receiver")
    window_s = (cell.measure_from_s, cell.measured_s())
    argv = driver.receiver_argv(
        flow, lab.address(host.name), options, epoch_ns, window_s, cell.collect.interval_s
    )
    return driver.start_receiver(host, argv, stem)


def receiver_ends(lab: Lab, flow: Flow) -> bool:
    """Return whether a receiver ends by itself, now that its sender has ended."""
    if flow.generator == "iperf3":
        return True
    return flow.protocol != "udp" and sender_totals(lab, flow).get("end") == "drained"


def sender_totals(lab: Lab, flow: Flow) -> dict[str, Any]:
    """Return what a flow's sender counted in the end; nothing if it has not said yet."""
    path = lab.folder / "raw" / "flows" / f"{flow.id}.sender.jsonl"
    lines = [line for line in path.read_text().splitlines() if '"totals"' in line]
    value: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    return value


def start_sender(lab: Lab, flow: Flow, epoch_ns: int, watch: Telemetry) -> Running:
    """Start a flow's sender, which waits for its time by itself; iperf3's is waited for here."""
    host, to = lab.source(flow), lab.address(lab.destination(flow).name)
    stem = lab.folder / "raw" / "flows" / f"{flow.id}.sender"
    options = ledger.socket_options(lab.cell.hosts, flow.protocol, "sender")
    if flow.generator == "iperf3":
        # The client tells the server: what a receiver should have is said on this side too.
        options |= ledger.socket_options(lab.cell.hosts, flow.protocol, "receiver")
        options |= ledger.own_options(flow)
        watch.wait_until(epoch_ns + round(flow.start_s * NS_PER_S))
        return driver.start_sender(
            host, iperf3.client_argv(flow, to, options, lab.cell.collect.interval_s), stem
        )
    options |= ledger.own_options(flow)
    argv = driver.sender_argv(flow, lab.address(host.name), to, options, epoch_ns)
    return driver.start_sender(host, argv, stem)
