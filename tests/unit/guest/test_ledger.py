"""The parameter ledger: settings of each node, values as the kernel writes them, disagreements."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from model.cell import HostProfile, Knob, KnobKind, LedgerEntry, Side
from model.sctp_paths import PF_OFF, SctpPaths
from testbed.guest.ledger import (
    OWN_PARAMETER,
    OWN_PATHS,
    Roles,
    agrees,
    disagreements,
    knobs,
    own_entries,
    own_options,
    route_options,
    row,
    rows,
    socket_options,
    socket_value,
    sysctls,
)
from tests.support.recorded import text, value, wireless_cell

ROLES = Roles(senders=("src1", "src2"), receivers=("dst1",))


def knob(kind: KnobKind, name: str, value: str, side: Side = "both") -> Knob:
    return Knob(kind=kind, name=name, value=value, side=side)


def entry(*settings: Knob) -> LedgerEntry:
    return LedgerEntry(
        parameter="Initial window",
        published="2 segments",
        fidelity="approximated",
        note="why",
        knobs=settings,
    )


PROFILE = HostProfile(
    id="p",
    title="t",
    entries=(
        entry(
            knob("sysctl", "net.ipv4.tcp_sack", "1"),
            knob("route", "initcwnd", "2", "sender"),
            knob("tcp_socket", "nodelay", "1", "sender"),
        ),
        entry(),
        entry(
            knob("sysctl", "net.ipv4.tcp_moderate_rcvbuf", "0", "receiver"),
            knob("route", "quickack", "1"),
            knob("route", "initcwnd", "3", "sender"),
            knob("tcp_socket", "rcvbuf_bytes", "65536", "receiver"),
            knob("sctp_socket", "rcvbuf_bytes", "32768"),
        ),
    ),
)


@pytest.mark.parametrize(
    ("side", "nodes"),
    [("sender", ("src1", "src2")), ("receiver", ("dst1",)), ("both", ("src1", "src2", "dst1"))],
)
def test_nodes_of_a_side(side: Side, nodes: tuple[str, ...]) -> None:
    assert ROLES.on(side) == nodes


def test_settings_for_each_node_in_the_profiles_order() -> None:
    assert [k.name for k in knobs(PROFILE, "route")] == ["initcwnd", "quickack", "initcwnd"]
    assert sysctls(PROFILE, ROLES) == [
        ("src1", "net.ipv4.tcp_sack", "1"),
        ("src2", "net.ipv4.tcp_sack", "1"),
        ("dst1", "net.ipv4.tcp_sack", "1"),
        ("dst1", "net.ipv4.tcp_moderate_rcvbuf", "0"),
    ]
    assert route_options(PROFILE, ROLES) == {
        "src1": {"initcwnd": "3", "quickack": "1"},
        "src2": {"initcwnd": "3", "quickack": "1"},
        "dst1": {"quickack": "1"},
    }


@pytest.mark.parametrize(
    ("protocol", "side", "options"),
    [
        ("tcp", "sender", {"nodelay": "1"}),
        ("tcp", "receiver", {"rcvbuf_bytes": "65536"}),
        ("sctp", "sender", {"rcvbuf_bytes": "32768"}),
        ("sctp", "receiver", {"rcvbuf_bytes": "32768"}),
        ("udp", "sender", {}),
    ],
)
def test_socket_options_of_a_side(protocol: str, side: Side, options: dict[str, str]) -> None:
    assert socket_options(PROFILE, protocol, side) == options


@pytest.mark.parametrize(
    ("wanted", "got", "same"),
    [
        ("1", "1", True),
        ("1", "0", False),
        ("reno", "reno", True),
        ("reno", "cubic", False),
        ("4096 131072 6291456", "4096\t131072\t6291456", True),
        ("4096 131072 6291456", "4096 131072 6291457", False),
        ("lock 45", "45", True),
        ("lock 45", "46", False),
        ("492ms", "492", True),
        ("492ms", "493", False),
        ("true", "1", True),
        ("1", "True", True),
        ("false", "0", True),
        ("false", "1", False),
        ("45", "not set", False),
        ("45", "None", False),
    ],
)
def test_values_agree_as_the_kernel_writes_them(wanted: str, got: str, same: bool) -> None:
    assert agrees(wanted, got) is same


def effective(name: str) -> dict[str, Any]:
    """Return what a recorded probe read back from its socket."""
    lines = (json.loads(line) for line in text(f"probes-0.1.0/{name}.jsonl").splitlines())
    found: dict[str, Any] = next(line for line in lines if line["event"] == "effective")
    return found


@pytest.mark.parametrize(
    ("probe", "kind", "name", "got"),
    [
        # The kernel holds twice what was asked for: 2097152 and 524288 bytes.
        ("tcp_recv", "tcp_socket", "rcvbuf_bytes", "1048576"),
        ("tcp_send", "tcp_socket", "sndbuf_bytes", "262144"),
        ("tcp_send", "tcp_socket", "congestion_control", "reno"),
        ("tcp_send", "tcp_socket", "maxseg_bytes", "1448"),
        ("tcp_send", "tcp_socket", "nodelay", "True"),
        ("tcp_send", "tcp_socket", "nonesuch", None),
        ("sctp_recv", "sctp_socket", "rcvbuf_bytes", "65536"),
        ("sctp_recv", "sctp_socket", "sack_freq_packets", "1"),
        ("sctp_send", "sctp_socket", "max_burst_packets", "0"),
        ("sctp_send", "sctp_socket", "hb_disable", "0"),
    ],
)
def test_socket_value_in_a_probes_words(
    probe: str, kind: KnobKind, name: str, got: str | None
) -> None:
    assert socket_value(knob(kind, name, "x"), effective(probe)) == got


def test_socket_values_that_are_not_there() -> None:
    assert socket_value(knob("sctp_socket", "hb_disable", "1"), {"hb_interval_ms": None}) == "1"
    assert socket_value(knob("tcp_socket", "rcvbuf_bytes", "1"), {}) is None
    assert socket_value(knob("tcp_socket", "window_clamp_bytes", "1"), {}) is None


def test_row_shows_what_was_read() -> None:
    read = {"net.ipv4.tcp_sack": {"src1": "1", "src2": "0"}, "initcwnd": {"src1": "2"}}
    made = row(PROFILE.entries[0], lambda k: read.get(k.name, {}))
    assert {name: made[name] for name in ("parameter", "published", "fidelity", "note")} == {
        "parameter": "Initial window",
        "published": "2 segments",
        "fidelity": "approximated",
        "note": "why",
    }
    assert made["knobs"][0] == {
        "kind": "sysctl",
        "name": "net.ipv4.tcp_sack",
        "value": "1",
        "side": "both",
        "read_back": {"src1": "1", "src2": "0"},
        "agrees": False,
    }
    # Nothing could be read of the third: neither agreement nor disagreement.
    assert [shown["agrees"] for shown in made["knobs"]] == [False, True, None]
    assert disagreements([made]) == [("src2: sysctl net.ipv4.tcp_sack", "1", "0")]


def test_recorded_ledger_agrees_and_holds_every_setting() -> None:
    ledger = value("probes-0.1.0/ledger.json")
    assert disagreements(ledger) == []
    profile = wireless_cell().hosts
    again = rows(
        profile,
        lambda k: next(
            shown["read_back"]
            for shown in ledger[0]["knobs"]
            if (shown["kind"], shown["name"], shown["side"]) == (k.kind, k.name, k.side)
        ),
    )
    assert again == ledger


def test_every_disagreeing_node_is_named() -> None:
    ledger = value("probes-0.1.0/ledger.json")
    setting = ledger[0]["knobs"][0]
    setting["read_back"].update(src2="0", dst1="0")
    assert disagreements(ledger) == []  # what was judged when it was read stands
    setting["agrees"] = False
    assert disagreements(ledger) == [
        ("dst1: sysctl net.ipv4.tcp_sack", "1", "0"),
        ("src2: sysctl net.ipv4.tcp_sack", "1", "0"),
    ]


def test_a_flow_without_a_congestion_control_of_its_own_asks_nothing() -> None:
    tcp, sctp = wireless_cell().flows
    assert own_options(tcp) == own_options(sctp) == {}
    assert own_entries((tcp, sctp)) == []


def test_each_congestion_control_of_single_flows_is_one_setting() -> None:
    tcp, sctp = wireless_cell().flows
    flows = [
        dataclasses.replace(tcp, id=f"T{i}", congestion_control=name)
        for i, name in enumerate(("cubic", "bbr", "cubic"))
    ]
    assert own_options(flows[0]) == {"congestion_control": "cubic"}
    (asked,) = own_entries((*flows, tcp, sctp))
    assert asked.parameter == OWN_PARAMETER
    assert [(knob.name, knob.value, knob.side) for knob in asked.knobs] == [
        ("congestion_control", "cubic", "sender"), ("congestion_control", "bbr", "sender"),
    ]  # fmt: skip


def test_what_a_flow_asks_of_its_paths_is_in_the_ledger_by_the_probes_own_names() -> None:
    tcp, sctp = wireless_cell().flows
    paths = SctpPaths(path_max_retrans=3, pf_max_retrans=PF_OFF, rto_min_ms=100)
    flow = dataclasses.replace(sctp, addresses="both", paths=paths)
    assert own_options(flow) == {
        "path_max_retrans": "3", "pf_max_retrans": "65535", "rto_min_ms": "100",
    }  # fmt: skip
    switching = dataclasses.replace(flow, paths=SctpPaths(pf_max_retrans=0, ps_max_retrans=1))
    assert own_options(switching) == {"pf_max_retrans": "0", "ps_max_retrans": "1"}
    (asked,) = own_entries((tcp, flow))
    assert asked.parameter == OWN_PATHS
    assert {(knob.kind, knob.name) for knob in asked.knobs} == {
        ("sctp_socket", name) for name in own_options(flow)
    }
