"""Where programs that count acknowledgements hang, and that what hangs is what was loaded."""

from __future__ import annotations

import dataclasses

from mininet_topos.filters import hanging
from mininet_topos.filters.ack_counts import (
    Counting,
    Watched,
    begin,
    by_device,
    install,
    read_back,
    read_counts,
    watched,
)
from mininet_topos.filters.bpf import Program
from tests.support.recorded import value, wireless_cell

SHOWN = value("iproute2-6.15/filter-show-bpf.json")
TAGS = ("7a09f83c6026bc31", "dabd5c9f0ac15025")
RECEIVERS = {"T": ("dst1", ["dst1-eth0"]), "S": ("dst2", ["dst2-eth0", "dst2-eth1"])}


def counting(node: str = "dst1", *devices: str) -> tuple[Counting, ...]:
    """Return two flows that end at one host, hung as the recording shows two programs."""
    return tuple(
        Counting(
            watched=Watched(
                flow=flow, protocol="tcp", port=5001, node=node, devices=devices or ("dst1-eth0",)
            ),
            pref=pref, map_fd=0, program=Program(fd=0, id=pref, tag=tag),
        )
        for pref, (flow, tag) in enumerate(zip(("T", "S"), TAGS, strict=True), 1)
    )  # fmt: skip


def test_a_cell_that_asks_for_none_watches_no_flow() -> None:
    assert watched(wireless_cell(), {}) == ()
    assert install({}, ()) == ()
    begin((), 1, 2)
    assert read_back({}, ()) == ([], {})
    assert read_counts(()) == []


def test_each_flow_is_watched_at_its_receiver_on_all_interfaces() -> None:
    cell = wireless_cell()
    collect = dataclasses.replace(cell.collect, acknowledgements=True)
    cell = dataclasses.replace(cell, collect=collect)
    tcp, sctp = watched(cell, RECEIVERS)
    assert (tcp.flow, tcp.protocol, tcp.port) == ("T", "tcp", cell.flows[0].port)
    assert (tcp.node, tcp.devices) == ("dst1", ("dst1-eth0",))
    assert (sctp.flow, sctp.node, sctp.devices) == ("S", "dst2", ("dst2-eth0", "dst2-eth1"))
    udp = dataclasses.replace(cell.flows[1], protocol="udp")
    other = dataclasses.replace(cell, flows=(cell.flows[0], udp))
    assert [one.flow for one in watched(other, RECEIVERS)] == ["T"]


def test_flows_that_end_at_other_machines_are_not_hung_here() -> None:
    away = Watched(flow="T", protocol="tcp", port=5001, node="dst1", devices=("dst1-eth0",))
    assert install({}, (away,)) == ()


def test_what_hangs_is_compared_device_by_device() -> None:
    places = by_device(counting("dst1", "dst1-eth0", "dst1-eth1"))
    assert list(places) == [("dst1", "dst1-eth0"), ("dst1", "dst1-eth1")]
    for programs in places.values():
        found = hanging.compare("acknowledgements counted", "dst1:x egress", programs, SHOWN)
        assert [(check.where, check.agrees) for check in found] == [
            ("dst1:x egress, flow T", True), ("dst1:x egress, flow S", True),
        ]  # fmt: skip


def test_another_program_and_one_too_many_are_noticed() -> None:
    (programs,) = by_device(counting()).values()
    flow, program = programs[1]
    other = {1: (flow, dataclasses.replace(program, tag="0" * 16))}
    found = hanging.compare("acknowledgements counted", "dst1:x egress", other, SHOWN)
    assert [(check.check, check.agrees) for check in found] == [
        ("acknowledgements counted", False), ("unasked filter", False),
    ]  # fmt: skip
