"""What each setting of a host profile came to: read back from hosts, routes and probes' sockets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mininet_topos import check_built
from model.cell import Flow, Knob
from probes import driver
from testbed.guest import ledger, start_flows
from testbed.guest.build_network import BuiltNetwork


def read_ledger(lab: BuiltNetwork) -> list[dict[str, Any]]:
    """Return every published parameter with what its settings read back as, once flows ran."""

    def read(knob: Knob) -> dict[str, str]:
        nodes = lab.hosts(knob.side)
        if knob.kind == "sysctl":
            return {node: lab.spaces[node].read_sysctl(knob.name) for node in nodes}
        if knob.kind == "route":
            if knob.name == "ssthresh":
                return _initial_ssthresh(lab)
            return {
                node: check_built.route_options(lab.raw["routes"][node]).get(knob.name, "not set")
                for node in nodes
            }
        return _socket_read_back(lab, knob)

    rows = ledger.rows(lab.cell.hosts, read)
    own = ledger.own_entries(lab.cell.flows)
    return [*rows, *(ledger.row(one, lambda knob: _own_read_back(lab, knob)) for one in own)]


def _own_read_back(lab: BuiltNetwork, knob: Knob) -> dict[str, str]:
    """Return a setting of single flows as the sockets of those that ask for it have it."""
    return {
        f"{flow.id} sender": value
        for flow in _probe_flows(lab, ledger.SOCKET_PROTOCOL[knob.kind], lab.sent_here())
        if ledger.own_options(flow).get(knob.name) == knob.value
        and (value := ledger.socket_value(knob, _effective(lab, flow, "sender"))) is not None
    }


def _socket_read_back(lab: BuiltNetwork, knob: Knob) -> dict[str, str]:
    protocol = ledger.SOCKET_PROTOCOL.get(knob.kind, "")
    sides = ("sender", "receiver") if knob.side == "both" else (knob.side,)
    got = {}
    here = {"sender": lab.sent_here(), "receiver": lab.received_here()}
    for side in sides:
        for flow in _probe_flows(lab, protocol, here[side]):
            if side == "sender" and knob.name in ledger.own_options(flow):
                continue
            if side == "receiver" and knob.name not in driver.RECEIVER_OPTIONS[protocol]:
                continue
            value = ledger.socket_value(knob, _effective(lab, flow, side))
            if value is not None:
                got[f"{flow.id} {side}"] = value
    return got


def _initial_ssthresh(lab: BuiltNetwork) -> dict[str, str]:
    """Return what each TCP connection really started with; the route alone proves nothing.

    A flow that asks for a congestion control without slow start of the usual kind has no threshold.
    """
    return {
        f"{flow.id} sender": str(_effective(lab, flow, "sender").get("snd_ssthresh_segments"))
        for flow in _probe_flows(lab, "tcp", lab.sent_here())
        if flow.congestion_control not in ledger.WITHOUT_SSTHRESH
    }


def _probe_flows(lab: BuiltNetwork, protocol: str, flows: Sequence[Flow]) -> list[Flow]:
    """Return the flows whose sockets can say what they had: those that came to a connection."""
    return [
        flow
        for flow in flows
        if flow.protocol == protocol
        and flow.generator == "probe"
        and start_flows.sender_totals(lab, flow).get("end") != "unconnected"
    ]


def _effective(lab: BuiltNetwork, flow: Flow, side: str) -> dict[str, Any]:
    path = lab.folder / "raw" / "flows" / f"{flow.id}.{side}.jsonl"
    for line in path.read_text().splitlines():
        if '"effective"' in line:
            value: dict[str, Any] = json.loads(line)
            return value
    return {}
