"""Two paths, by hand: addresses, routes and policies, stages, what packets cross, counters."""

from __future__ import annotations

import dataclasses

import pytest

from mininet_topos import batch_lines, check_built, taps
from mininet_topos.layout import Layout, counters, seed_for
from mininet_topos.options import OptionError
from mininet_topos.two_paths import TwoPaths, lay_out, read_options
from model.links import FurtherPath, Network
from tests.support.recorded import wireless_cell

CELL = wireless_cell()


def network(pairs: int = 1) -> Network:
    one = dataclasses.replace(CELL.wired, sources=pairs, destinations=pairs)
    second = FurtherPath(
        source_access=one.source_access, bottleneck=one.bottleneck,
        destination_access=one.destination_access,
    )  # fmt: skip
    return dataclasses.replace(one, topology="two-paths", further_paths=(second,))


@pytest.fixture(scope="module")
def laid_out() -> Layout:
    return lay_out(network(), 7)


def test_each_host_has_an_address_on_each_path(laid_out: Layout) -> None:
    found = {
        (end.node, end.device): end.address
        for pair in laid_out.links
        for end in pair
        if end.node in ("src1", "dst1")
    }
    assert found == {
        ("src1", "src1-eth0"): "10.1.1.2",
        ("dst1", "dst1-eth0"): "10.2.1.2",
        ("src1", "src1-eth1"): "10.3.1.2",
        ("dst1", "dst1-eth1"): "10.4.1.2",
    }
    assert laid_out.interface("src1").address == "10.1.1.2"


def test_no_two_macs_addresses_or_devices_of_a_node_are_equal(laid_out: Layout) -> None:
    ends = [end for pair in lay_out(network(3), 1).links for end in pair]
    for names in ([e.mac for e in ends], [e.address for e in ends], [e.device for e in ends]):
        assert len(set(names)) == len(names)
    assert all(len(end.device) <= 15 for end in ends)
    assert all(len(stage.device) <= 15 for stage in laid_out.stages)


def test_a_packet_goes_by_the_path_of_its_addresses(laid_out: Layout) -> None:
    assert laid_out.routes["src1"] == (("default", "10.1.1.1"), ("10.4.0.0/16", "10.3.1.1"))
    assert laid_out.routes["dst1"] == (("default", "10.2.1.1"), ("10.3.0.0/16", "10.4.1.1"))
    assert laid_out.routes["r1"] == (("10.2.0.0/16", "10.0.0.2"),)
    assert laid_out.routes["r4"] == (("10.3.0.0/16", "10.0.1.1"),)
    assert laid_out.policies["dst1"] == (("10.2.1.2", "10.2.1.1"), ("10.4.1.2", "10.4.1.1"))
    lines = batch_lines.ip_lines(laid_out, "src1", {"quickack": "1"}).splitlines()
    assert lines[-5:] == [
        "route add default via 10.1.1.1 table 101 quickack 1",
        "rule add from 10.1.1.2 table 101",
        "route add default via 10.3.1.1 table 102 quickack 1",
        "rule add from 10.3.1.2 table 102",
        "route show default",
    ]


def test_paths_share_no_router(laid_out: Layout) -> None:
    first, second = laid_out.all_crossed("src1", "dst1")
    assert [near.device for near, _ in first] == ["src1-eth0", "r1-bottleneck", "r2-dst1"]
    assert [near.device for near, _ in second] == ["src1-eth1", "r3-bottleneck2", "r4-dst1"]
    assert not {far.node for _, far in first[:-1]} & {far.node for _, far in second[:-1]}


def test_each_loss_model_has_a_seed_of_its_own(laid_out: Layout) -> None:
    channels = [stage for stage in laid_out.stages if stage.role == "channel"]
    assert len({stage.seed for stage in channels}) == len(channels) == 12
    by_place = {(stage.node, stage.device): stage.seed for stage in channels}
    assert by_place["r4", "ifb-bottleneck2"] == seed_for(7, "bottleneck2 forward")
    assert by_place["r3", "ifb-src1"] == seed_for(7, "from src1 on path 2")


def test_the_first_path_is_the_dumbbells(laid_out: Layout) -> None:
    from mininet_topos.dumbbell import lay_out as lay_out_dumbbell

    alone = lay_out_dumbbell(network().paths()[0], 7)
    of_first = [stage for stage in laid_out.stages if stage.node in ("r1", "r2")]
    assert of_first == list(alone.stages)
    assert taps.stretches(laid_out)[:8] == taps.stretches(alone)
    assert taps.taps(laid_out)[: len(taps.taps(alone))] == taps.taps(alone)


def test_what_packets_pass_on_the_second_path(laid_out: Layout) -> None:
    second = taps.stretches(laid_out)[8:]
    assert [(one.node, one.devices) for one in second] == [
        ("r3", ("ifb-src1",)), ("r3", ("r3-bottleneck2",)), ("r4", ("ifb-bottleneck2",)),
        ("r4", ("r4-dst1",)), ("r4", ("ifb-dst1",)), ("r4", ("r4-bottleneck2",)),
        ("r3", ("ifb-bottleneck2",)), ("r3", ("r3-src1",)),
    ]  # fmt: skip
    assert {one.record()["path"] for one in second} == {2}
    assert "path" not in taps.stretches(laid_out)[0].record()


def test_a_flow_is_counted_on_both_paths(laid_out: Layout) -> None:
    flow = CELL.flows[0]
    found = [(one.name, one.node, one.device) for one in counters(laid_out, [flow])]
    assert found == [
        ("queue_offered", "r1", "r1-bottleneck"),
        ("loss_offered", "r2", "r2-bottleneck"),
        ("loss_passed", "r2", "r2-dst1"),
        ("queue_offered_2", "r3", "r3-bottleneck2"),
        ("loss_offered_2", "r4", "r4-bottleneck2"),
        ("loss_passed_2", "r4", "r4-dst1"),
    ]


@pytest.mark.parametrize("paths", [0, 2])
def test_there_are_two_paths(paths: int) -> None:
    whole = network()
    with pytest.raises(ValueError, match="two paths"):
        lay_out(dataclasses.replace(whole, further_paths=whole.further_paths * paths), 1)


def test_options_of_the_second_path_are_the_firsts_unless_said() -> None:
    found, seed = read_options(pairs=2, owd_s=0.1, bottleneck2_rate_bps=8000, seed=3)
    (second,) = found.further_paths
    assert (found.sources, found.destinations, seed) == (2, 2, 3)
    assert second.bottleneck.forward.rate_bps == 8000
    assert second.bottleneck.forward.owd_s == found.bottleneck.forward.owd_s == 0.1
    with pytest.raises(OptionError, match="unknown option bottleneck3_rate_bps"):
        read_options(bottleneck3_rate_bps=8000)
    assert TwoPaths.lay_out(pairs=2).sources == ("src1", "src2")


RULES = [
    {"priority": 0, "src": "all", "table": "local"},
    {"priority": 32764, "src": "10.3.1.2", "table": "102"},
    {"priority": 32765, "src": "10.1.1.2", "table": "101"},
    {"priority": 32766, "src": "all", "table": "main"},
    {"priority": 32767, "src": "all", "table": "default"},
]
WANTED = (("10.1.1.2", "10.1.1.1"), ("10.3.1.2", "10.3.1.1"))


def tables(*gateways: str) -> list[list[dict[str, str]]]:
    return [[{"dst": "default", "gateway": gateway}] for gateway in gateways]


def test_rules_and_tables_as_asked_agree() -> None:
    found = check_built.compare_policies("src1", RULES, tables("10.1.1.1", "10.3.1.1"), WANTED)
    assert [check.agrees for check in found] == [True, True, True]


def test_a_table_that_leads_elsewhere_a_rule_too_many_and_one_too_few_are_found() -> None:
    swapped = check_built.compare_policies("src1", RULES, tables("10.3.1.1", "10.1.1.1"), WANTED)
    assert [check.agrees for check in swapped] == [False, False, True]
    more = [*RULES, {"priority": 1, "src": "10.9.9.9", "table": "101"}]
    found = check_built.compare_policies("src1", more, tables("10.1.1.1", "10.3.1.1"), WANTED)
    assert [check.agrees for check in found] == [True, True, False]
    less = [rule for rule in RULES if rule["src"] != "10.3.1.2"]
    found = check_built.compare_policies("src1", less, tables("10.1.1.1", "10.3.1.1"), WANTED)
    assert [check.agrees for check in found] == [True, False, False]
    assert found[1].got == "table none, default by 10.3.1.1"
