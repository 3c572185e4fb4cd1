"""Studies whose nodes have two radios: what is read, what is refused, what a cell may take."""

from __future__ import annotations

import dataclasses

import pytest

from model.cell import cell_id, cell_json, from_dict, to_dict
from testbed.labs.booted import time_limits
from testbed.labs.confinement import allowance
from testbed.labs.contract import accept
from testbed.labs.virtual import costs
from tests.support.ad_hoc_study import cell, cells, network, problems
from tests.support.study_file import Edit

MIB = 1 << 20
SWEPT = "flows.main.protocol: [tcp]"
BOTH: Edit = ("protocol: tcp, pair: 1", "protocol: sctp, addresses: both, pair: 1")
SWEPT_SIZE: Edit = (SWEPT, "flows.main.message: [1400 bytes]")


def asked(multihoming: str) -> Edit:
    return ("  routing:", f"  multihoming: {multihoming}\n  routing:")


@pytest.mark.parametrize("multihoming", ["same-channel", "two-networks"])
def test_an_association_over_two_radios(multihoming: str) -> None:
    one = cell(asked(multihoming), BOTH, SWEPT_SIZE)
    assert one.ad_hoc is not None
    assert one.ad_hoc.multihoming == multihoming
    assert [flow.is_multihomed() for flow in one.flows] == [True, False]
    assert from_dict(to_dict(one)) == one
    assert one.carried_bps() == (4_000_000 if multihoming == "two-networks" else 2_000_000)
    assert "heartbeats" in one.left_to_chance()


def test_nodes_of_one_radio_are_what_they_were() -> None:
    assert network() == network(asked("none"))
    assert "multihoming" not in cell_json(cell())
    assert cell_id(cell(asked("none"))) == cell_id(cell())
    assert len({cell_id(cell(asked(kind))) for kind in ("none", "same-channel", "two-networks")}
               ) == 3  # fmt: skip


def test_it_can_be_swept_with_the_addresses_of_a_flow() -> None:
    points = """\
points:
  - {network.multihoming: none, flows.main.addresses: first}
  - {network.multihoming: same-channel, flows.main.addresses: both}
"""
    found = cells(
        ("protocol: tcp, pair: 1", "protocol: sctp, pair: 1"), (f"sweep:\n  {SWEPT}\n", points)
    )
    assert [one.flows[0].addresses for one in found] == ["first", "both"]
    assert [len(one.ad_hoc.radios()) for one in found if one.ad_hoc] == [6, 8]


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ((BOTH, SWEPT_SIZE),
         ("a.yaml:28: flows.main.addresses: nodes have one radio: wanted multihoming same-channel"
          " or two-networks of the network, or first, got multihoming none")),
        ((asked("same-channel"), ("protocol: tcp,", "protocol: tcp, addresses: both,")),
         ("a.yaml:29: flows.main.addresses: only an sctp flow of the probes has several addresses:"
          " wanted addresses: first, got protocol tcp, generator probe")),
        ((asked("same-channel"), SWEPT_SIZE, ("protocol: tcp, pair: 1", "protocol: sctp, pair: 1"),
          ("protocol: udp, pair: 2, message: 512 bytes, rate: 16 kbit/s",
           "protocol: sctp, pair: 2, message: 512 bytes, addresses: both")),
         ("a.yaml:30: flows.cbr.addresses: the pair's nodes have one radio: wanted a flow of pair"
          " 1, or multihoming two-networks, got pair 2, multihoming same-channel")),
        ((asked("two-networks"), ("nodes: 6", "nodes: 65")),
         ("a.yaml:21: network.multihoming: more radios than the medium has: wanted at most 64"
          " nodes of two radios, or same-channel, got two-networks of 65 nodes")),
        ((asked("two"),),
         ("a.yaml:21: network.multihoming: unknown multihoming: wanted one of none,"
          " same-channel, two-networks, got 'two'")),
    ],
)  # fmt: skip
def test_what_is_refused(edits: tuple[Edit, ...], said: str) -> None:
    assert problems(*edits) == [said]


def test_all_pairs_have_second_radios_in_two_networks() -> None:
    swept: Edit = (SWEPT, "flows.main.message: [1400 bytes]")
    found = cell(
        asked("two-networks"), swept, ("protocol: tcp, pair: 1", "protocol: sctp, pair: 1"),
        ("protocol: udp, pair: 2, message: 512 bytes, rate: 16 kbit/s",
         "protocol: sctp, pair: 2, message: 512 bytes, addresses: both"),
    )  # fmt: skip
    assert found.flows[1].is_multihomed()


def test_only_radios_can_be_two_of_a_node() -> None:
    link = "{rate: 2 Mbit/s, delay: 1 ms, queue: 10 packets"
    text = (
        f"topology: dumbbell\n  source_access: {link}}}\n  destination_access: {link}}}\n"
        f"  shared_destination: false\n"
        f"  bottleneck: {link}, loss: {{data: 0 %, acknowledgements: 0 %}}}}"
    )
    found = problems(("topology: ad-hoc", text), asked("same-channel"))
    assert any(
        "network.multihoming: a network of topology dumbbell has no such key" in line
        for line in found
    )


def test_what_second_daemons_leave() -> None:
    one = cell(asked("same-channel"))
    found = accept.expected(one)
    for end in ("jsonl", "err", "events.gz"):
        assert f"raw/routing/n2.wlan1.{end}" in found
        assert f"raw/routing/n3.wlan1.{end}" not in found
    calibrating = accept.expected(dataclasses.replace(one, purpose="calibrate"))
    assert "raw/routing/n1.wlan0.jsonl" not in calibrating
    assert "raw/routing/n1.wlan1.jsonl" not in calibrating


def test_two_networks_may_take_twice_as_much() -> None:
    one, two = cell(), cell(asked("two-networks"))
    assert costs.cell_wall_s(two) - costs.cell_wall_s(one) == pytest.approx(6 * 0.1)
    more_s = [time_limits.limits(each).wall_s - each.limits.wall_s for each in (one, two)]
    assert more_s[1] == pytest.approx(2 * more_s[0])
    captured = [
        accept.expected(each)["raw/radio/medium.pcap.gz"]
        for each in (*cells(pcap=True), *cells(asked("two-networks"), pcap=True))
    ]
    frames_bytes = 2000 * 1700 * one.limits.virtual_s
    assert captured[1] - captured[0] == pytest.approx(frames_bytes)


@pytest.mark.parametrize(
    ("nodes", "multihoming", "memory_mib"),
    [(6, "none", 256), (46, "same-channel", 256), (51, "none", 320), (46, "two-networks", 448),
     (64, "two-networks", 576)],
)  # fmt: skip
def test_memory_for_radios_and_their_routers(nodes: int, multihoming: str, memory_mib: int) -> None:
    asked_for = cell(("nodes: 6", f"nodes: {nodes}"), asked(multihoming))
    assert allowance.of_cell(asked_for).memory_bytes == memory_mib * MIB
