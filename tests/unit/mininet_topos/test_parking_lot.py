"""A parking lot's names, addresses and routes, and which bottlenecks each pair shares."""

from __future__ import annotations

import dataclasses

import pytest

from mininet_topos.batch_lines import ip_lines, number_lines, tc_lines
from mininet_topos.layout import Layout, counters
from mininet_topos.options import OptionError
from mininet_topos.parking_lot import ParkingLot
from tests.support.recorded import text, wireless_cell

THREE = ParkingLot.lay_out(
    bottlenecks=3, pairs=2, rate_bps=2_000_000, bottleneck2_rate_bps=1_000_000,
    bottleneck3_reverse_rate_bps=64_000, queue_pkts=20,
)  # fmt: skip


def test_hosts_and_routers() -> None:
    assert THREE.node_names() == (
        "src1", "src2", "x1src1", "x2src1", "x3src1", "r1", "r2", "r3", "r4",
        "dst1", "dst2", "x1dst1", "x2dst1", "x3dst1",
    )  # fmt: skip


def test_a_router_in_the_middle() -> None:
    assert ip_lines(THREE, "r2", {}) == text("parking-lot-r2.txt")
    shapers = [
        (stage.device, stage.direction.rate_bps)
        for stage in THREE.stages
        if stage.node in ("r2", "r3") and stage.role == "shaper" and "bottleneck" in stage.device
    ]
    assert shapers == [
        ("r2-bottleneck1", 2_000_000), ("r2-bottleneck2", 1_000_000),
        ("r3-bottleneck2", 1_000_000), ("r3-bottleneck3", 2_000_000),
    ]  # fmt: skip
    assert "r4-bottleneck3 root handle 10: netem limit 20 rate 64000bit -14" in tc_lines(
        THREE, (), "r4"
    )


def reaches(laid_out: Layout, start: str, end: str) -> list[str]:
    """Follow the routes from node to node; return the nodes between."""
    addresses = {i.address: i.node for pair in laid_out.links for i in pair}
    target = laid_out.interface(end).address
    passed, node = [], start
    while node != end:
        direct = [far.node for near, far in laid_out.neighbours[node] if far.address == target]
        prefixes = [
            (int(prefix.partition("/")[2] or 0), via)
            for prefix, via in laid_out.routes[node]
            if prefix == "default" or within(target, prefix)
        ]
        node = direct[0] if direct else addresses[max(prefixes)[1]]
        passed.append(node)
        assert len(passed) < 10, passed
    return passed


def within(address: str, prefix: str) -> bool:
    network, _, bits = prefix.partition("/")
    kept = int(bits) // 8
    return address.split(".")[:kept] == network.split(".")[:kept]


def test_every_pair_of_nodes_has_the_shortest_way() -> None:
    for start in THREE.node_names():
        for end in THREE.node_names():
            if start != end:
                shortest = [far.node for _, far in THREE.crossed(start, end)]
                assert reaches(THREE, start, end) == shortest, (start, end)


def test_more_hosts_than_one_number_holds_are_reached_too() -> None:
    many = ParkingLot.lay_out(bottlenecks=2, pairs=1, cross_pairs=260)
    addresses = [i.address for pair in many.links for i in pair]
    assert len(set(addresses)) == len(addresses)
    assert reaches(many, "dst1", "x1src260") == ["r3", "r2", "r1", "x1src260"]
    assert reaches(many, "x2dst260", "x1dst260") == ["r3", "r2", "x1dst260"]


def test_long_flows_share_every_bottleneck_and_cross_flows_one() -> None:
    template = wireless_cell().flows[0]
    flows = [
        dataclasses.replace(template, id=id_, source=i, destination=i, port=5001 + i)
        for i, id_ in enumerate(("L1", "L2", "X1", "X2", "X3"))
    ]
    made = counters(THREE, flows)
    queues = {
        flow.id: [c.device for c in made if c.flow == flow.id and c.name == "queue_offered"]
        for flow in flows
    }
    every = ["r1-bottleneck1", "r2-bottleneck2", "r3-bottleneck3"]
    assert queues == {
        "L1": every, "L2": every, "X1": every[:1], "X2": every[1:2], "X3": every[2:],
    }  # fmt: skip
    assert [(c.node, c.device) for c in made if c.name == "loss_passed"] == [
        ("r4", "r4-dst1"), ("r4", "r4-dst2"), ("r2", "r2-x1dst1"), ("r3", "r3-x2dst1"),
        ("r4", "r4-x3dst1"),
    ]  # fmt: skip
    # A packet comes through each middle router's bottleneck twice: in by an ifb, out by a queue.
    assert tc_lines(THREE, flows, "r2").count("pref 100 ") == 2


def test_all_names_fit_and_none_is_there_twice() -> None:
    most = ParkingLot.lay_out(bottlenecks=9, pairs=99, cross_pairs=99)
    devices = [(i.node, i.device) for pair in most.links for i in pair]
    devices += [(node, ifb) for node, _, ifb in most.redirects]
    assert max(len(device) for _, device in devices) == 15
    assert len(set(devices)) == len(devices)
    seeds = [stage.seed for stage in most.stages if stage.role == "channel"]
    assert len(set(seeds)) == len(seeds)
    with pytest.raises(OptionError, match="bottlenecks: wanted a whole number from 1 to 9, got 10"):
        ParkingLot.lay_out(bottlenecks=10)


def test_each_router_uses_up_the_numbers_of_those_before() -> None:
    # r1: a bottleneck and three hosts; r2: two bottlenecks and two hosts; each end with an ifb.
    assert [number_lines(THREE, router).count("link add") for router in THREE.routers] == [
        0, 8, 16, 24,
    ]  # fmt: skip
