"""Start the flows of a cell: receivers, then senders, each with its host profile's options."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from model import run_folder
from model.cell import Flow
from probes import driver, iperf3
from probes.process import Running
from testbed.guest import ledger
from testbed.guest.build_network import BuiltNetwork
from testbed.guest.recording import NS_PER_S, Telemetry


def start_receiver(lab: BuiltNetwork, flow: Flow, epoch_ns: int) -> Running:
    """Start a flow's receiver; return once it listens."""
    host, cell = lab.destination(flow), lab.cell
    stem = lab.folder / "raw" / "flows" / f"{flow.id}.receiver"
    if flow.generator == "iperf3":
        argv = iperf3.server_argv(flow, lab.address(host.name), cell.collect.interval_s)
        return iperf3.start_server(host, argv, stem, host.read_file, flow.port)
    options = ledger.socket_options(cell.hosts, flow.protocol, "receiver")
    window_s = (cell.measure_from_s, cell.measured_s())
    address, *further = lab.addresses(host.name, flow)
    argv = driver.receiver_argv(
        flow, address, options, epoch_ns, window_s, cell.collect.interval_s,
        _messages(lab, flow, "receiver"), further,
    )  # fmt: skip
    return driver.start_receiver(host, argv, stem)


def receivers_that_end(lab: BuiltNetwork) -> set[str]:
    """Return the flows whose receivers end by themselves, now that all senders have ended."""
    ends = [flow.id for flow in lab.sent_here() if _receiver_ends(lab, flow)]
    return {flow for told in lab.team.meet("senders have ended", ends) for flow in told}


def _receiver_ends(lab: BuiltNetwork, flow: Flow) -> bool:
    if flow.generator == "iperf3":
        return True
    return flow.protocol != "udp" and sender_totals(lab, flow).get("end") == "drained"


def sender_totals(lab: BuiltNetwork, flow: Flow) -> dict[str, Any]:
    """Return what a flow's sender counted in the end; nothing if it is not here or has not said."""
    path = lab.folder / "raw" / "flows" / f"{flow.id}.sender.jsonl"
    if flow not in lab.sent_here():
        return {}
    lines = [line for line in path.read_text().splitlines() if '"totals"' in line]
    value: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    return value


def start_probes(lab: BuiltNetwork, epoch_ns: int) -> dict[str, Running]:
    """Start the probes' senders, each of which waits for its flow's time; return them by flow."""
    return {
        flow.id: _start_probe(lab, flow, epoch_ns)
        for flow in lab.sent_here()
        if flow.generator == "probe"
    }


def _start_probe(lab: BuiltNetwork, flow: Flow, epoch_ns: int) -> Running:
    host = lab.source(flow)
    own, other = (lab.addresses(node, flow) for node in lab.ends(flow))
    options = ledger.socket_options(lab.cell.hosts, flow.protocol, "sender")
    options |= ledger.own_options(flow)
    argv = driver.sender_argv(
        flow, own[0], other[0], options, epoch_ns, _messages(lab, flow, "sender"),
        list(zip(own[1:], other[1:], strict=True)),
    )  # fmt: skip
    return driver.start_sender(host, argv, _sender_stem(lab, flow))


def _messages(lab: BuiltNetwork, flow: Flow, side: str) -> Path | None:
    """Return the file for the times of a flow's messages; None if the cell asks for none."""
    if not lab.cell.records_messages_of(flow):
        return None
    return lab.folder / run_folder.messages(flow.id, side)


def start_others(
    lab: BuiltNetwork, epoch_ns: int, watch: Telemetry
) -> tuple[dict[str, Running], list[dict[str, Any]]]:
    """Start the senders that cannot wait by themselves, in order of time, each when it is due.

    Returns them by flow, and when each was started: rows of ``raw/starts.json``.
    """
    others = [flow for flow in lab.sent_here() if flow.generator == "iperf3"]
    started: dict[str, Running] = {}
    rows: list[dict[str, Any]] = []
    for flow in sorted(others, key=lambda flow: flow.start_s):
        argv = _iperf3_argv(lab, flow)
        watch.wait_until(epoch_ns + round(flow.start_s * NS_PER_S))
        rows.append({"flow": flow.id, "started_ns": time.monotonic_ns()})
        started[flow.id] = driver.start_sender(lab.source(flow), argv, _sender_stem(lab, flow))
    return started, rows


def _iperf3_argv(lab: BuiltNetwork, flow: Flow) -> list[str]:
    # The client tells the server: what a receiver should have is said on this side too.
    options = ledger.socket_options(lab.cell.hosts, flow.protocol, "sender")
    options |= ledger.socket_options(lab.cell.hosts, flow.protocol, "receiver")
    options |= ledger.own_options(flow)
    to = lab.address(lab.ends(flow)[1])
    return iperf3.client_argv(flow, to, options, lab.cell.collect.interval_s)


def _sender_stem(lab: BuiltNetwork, flow: Flow) -> Path:
    return lab.folder / "raw" / "flows" / f"{flow.id}.sender"
