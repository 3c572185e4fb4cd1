"""A dumbbell's names, addresses and stages, and ip's and tc's lines: as recorded, to the byte."""

from __future__ import annotations

import collections
import dataclasses
import ipaddress
import re
from collections.abc import Callable

import pytest

from mininet_topos import layout
from mininet_topos.batch_lines import ip_lines, link_lines, number_lines, tc_lines
from mininet_topos.dumbbell import lay_out
from mininet_topos.layout import Layout, counters
from model import draws
from model.cell import Flow, Protocol
from model.fields import build
from model.links import Loss, Network
from tests.support import recorded
from tests.support.recorded import both_ways, direction, wireless_cell

CELL = wireless_cell()
WIRELESS = lay_out(CELL.wired, seed=1)


def network(sources: int, destinations: int) -> Network:
    return dataclasses.replace(CELL.wired, sources=sources, destinations=destinations)


def flow(index: int, destination: int, protocol: Protocol = "tcp") -> Flow:
    return dataclasses.replace(
        CELL.flows[0],
        id=f"F{index}",
        source=index,
        destination=destination,
        port=5001 + index,
        protocol=protocol,
    )


def test_a_thousand_hosts_have_addresses_of_their_own() -> None:
    few, many = lay_out(network(250, 250), seed=1), lay_out(network(500, 500), seed=1)
    ends = [end for pair in many.links for end in pair]
    for name in ("address", "mac"):
        assert len({getattr(end, name) for end in ends}) == len(ends) == 2002
    assert all(ipaddress.ip_address(end.address) for end in ends)
    nets = {ipaddress.ip_network(f"{pair[0].address}/24", strict=False) for pair in many.links}
    assert len(nets) == 1001
    assert all(re.fullmatch(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", end.mac) for end in ends)
    devices = [end.device for end in ends] + [ifb for _, _, ifb in many.redirects]
    assert max(map(len, devices)) <= 15  # IFNAMSIZ, with its end
    # Small networks have the addresses they had.
    source = next(pair for pair in few.links if pair[1].node == "src250")
    assert (source[1].address, source[1].mac) == ("10.1.250.2", "02:00:00:00:fa:02")
    assert many.interface("dst251").address == "10.4.1.2"


RECORDED = recorded.value("dumbbell-lines-0.1.0/lines.json")


@pytest.mark.parametrize("name", RECORDED)
def test_ip_and_tc_are_given_what_they_always_were(name: str) -> None:
    was = RECORDED[name]
    laid_out = lay_out(build(Network, was["network"], "network"), was["seed"])
    flows = [build(Flow, flow, "flow") for flow in was["flows"]]
    lines: dict[str, Callable[[str], str]] = {
        "number": lambda node: number_lines(laid_out, node),
        "link": lambda node: link_lines(laid_out, node),
        "ip": lambda node: ip_lines(laid_out, node, was["route_options"].get(node, {})),
        "tc": lambda node: tc_lines(laid_out, flows, node),
    }
    now = [[node, what, lines[what](node).splitlines()] for node, what, _ in was["commands"]]
    assert now == was["commands"]
    made = [dataclasses.asdict(counter) for counter in counters(laid_out, flows)]
    assert made == [counter | {"handle": 1} for counter in was["counters"]]


def test_counters_of_many_flows_are_one_table() -> None:
    was = RECORDED["wireless"]
    laid_out = lay_out(build(Network, was["network"], "network"), was["seed"])
    (one, *_) = (build(Flow, flow, "flow") for flow in was["flows"])
    flows = [dataclasses.replace(one, id=f"T{n}", port=5000 + n) for n in range(1, 22)]
    told = [(c.pref, c.handle) for c in counters(laid_out, flows) if c.name == "queue_offered"]
    assert told == [(100, n) for n in range(1, 22)]
    lines = [line for line in tc_lines(laid_out, flows, "r1").splitlines() if "flower" in line]
    assert [line.partition(" protocol")[0] for line in lines] == [
        "filter add dev r1-bottleneck egress pref 100",
        *(f"filter add dev r1-bottleneck egress pref 100 handle {n}" for n in range(2, 22)),
    ]
    few = counters(laid_out, flows[:20])
    assert len({c.pref for c in few if c.name == "queue_offered"}) == 20


def test_hosts_have_no_qdisc_and_routers_no_route_option() -> None:
    assert [tc_lines(WIRELESS, CELL.flows, name) for name in ("src1", "dst2")] == ["", ""]
    assert ip_lines(WIRELESS, "r2", {"quickack": "1"}) == ip_lines(WIRELESS, "r2", {})


def test_a_router_makes_the_links_it_begins() -> None:
    assert link_lines(WIRELESS, "r1") == (
        "link add name r1-bottleneck address 02:00:00:00:00:01 type veth"
        " peer name r2-bottleneck address 02:00:00:00:00:02 netns r2\n"
        "link add name r1-src1 address 02:00:00:00:01:01 type veth"
        " peer name src1-eth0 address 02:00:00:00:01:02 netns src1\n"
        "link add name r1-src2 address 02:00:00:00:02:01 type veth"
        " peer name src2-eth0 address 02:00:00:00:02:02 netns src2\n"
    )
    assert [line.split()[3] for line in link_lines(WIRELESS, "r2").splitlines()] == [
        "r2-dst1",
        "r2-dst2",
    ]


SIZES = [(1, 1), (2, 2), (5, 5), (5, 1), (1, 5), (99, 99)]


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}-{size[1]}")
def laid_out(request: pytest.FixtureRequest) -> Layout:
    return lay_out(network(*request.param), seed=3)


def test_nodes_in_starting_order() -> None:
    assert lay_out(network(3, 1), seed=1).node_names() == (
        "src1", "src2", "src3", "r1", "r2", "dst1",
    )  # fmt: skip


def test_every_name_and_address_is_there_once(laid_out: Layout) -> None:
    ends = [end for pair in laid_out.links for end in pair]
    assert len(laid_out.links) == 1 + len(laid_out.sources) + len(laid_out.destinations)
    for values in (
        [(end.node, end.device) for end in ends],
        [end.address for end in ends],
        [end.mac for end in ends],
    ):
        assert len(set(values)) == len(ends)
    octets = [int(part) for end in ends for part in end.address.split(".")]
    assert max(octets) <= 255
    assert all(len(end.mac) == 17 for end in ends)
    for a, b in laid_out.links:
        assert (a.peer_address, a.peer_mac) == (b.address, b.mac)
        assert (b.peer_address, b.peer_mac) == (a.address, a.mac)
        assert a.address.rpartition(".")[0] == b.address.rpartition(".")[0]


def test_every_direction_has_one_shaper_and_one_channel_in_a_router(laid_out: Layout) -> None:
    assert {stage.node for stage in laid_out.stages} == {"r1", "r2"}
    roles = collections.Counter(stage.role for stage in laid_out.stages)
    assert roles == {"shaper": 2 * len(laid_out.links), "channel": 2 * len(laid_out.links)}
    places = [(s.node, s.device, s.handle) for s in laid_out.stages]
    assert len(set(places)) == len(places)
    # A stage is on a router's own device or on the ifb that the device's ingress goes to.
    own = {(end.node, end.device) for pair in laid_out.links for end in pair}
    assert {(s.node, s.device) for s in laid_out.stages} <= own | {
        (node, ifb) for node, _, ifb in laid_out.redirects
    }
    assert {(node, device) for node, device, _ in laid_out.redirects} == {
        (node, device) for node, device in own if node in ("r1", "r2")
    }


def test_every_loss_model_has_its_own_seed_and_tc_can_read_it(laid_out: Layout) -> None:
    seeds = [stage.seed for stage in laid_out.stages if stage.role == "channel"]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_seeds_follow_the_cells_seed_and_the_place_only() -> None:
    def seeds(sources: int, seed: int) -> dict[tuple[str, str], int]:
        made = lay_out(network(sources, 2), seed)
        return {(s.node, s.device): s.seed for s in made.stages if s.role == "channel"}

    small, large, other = seeds(2, 1), seeds(5, 1), seeds(2, 2)
    assert {place: large[place] for place in small} == small
    assert set(small.values()).isdisjoint(other.values())
    # sha256("1 bottleneck forward"), its first 63 bits
    assert small["r2", "ifb-bottleneck"] == 7491548076416030204
    assert all(0 <= seed < 2**63 for seed in seeds(2, 2**63).values())


@pytest.mark.parametrize("seed", [1, 2**63])
def test_places_have_the_seeds_that_parsers_know_them_by(seed: int) -> None:
    assert layout.seed_for(seed, "from src1") == draws.seed_for(seed, "from src1")
    assert layout.seed_for(seed, "bottleneck forward") == draws.channel_seed(seed, "forward")


def test_loss_is_on_the_bottleneck_in_the_data_direction_only() -> None:
    lossy = [stage for stage in WIRELESS.stages if " loss " in stage.command()]
    assert [(s.node, s.device, s.role) for s in lossy] == [("r2", "ifb-bottleneck", "channel")]


def test_each_direction_of_an_access_link_is_where_its_packets_pass() -> None:
    up, down = direction(rate_bps=1_000_000), direction(rate_bps=2_000_000)
    link = dataclasses.replace(both_ways(up), reverse=down)
    made = lay_out(
        dataclasses.replace(network(1, 1), source_access=link, destination_access=link), seed=1
    )
    rates = {(s.node, s.device): s.direction.rate_bps for s in made.stages if s.role == "shaper"}
    # Data leave src1 by the ifb at r1 and reach dst1 by r2's device; acknowledgements the reverse.
    assert rates["r1", "ifb-src1"] == rates["r2", "r2-dst1"] == 1_000_000
    assert rates["r1", "r1-src1"] == rates["r2", "ifb-dst1"] == 2_000_000


def test_loss_on_access_links_and_back_is_placed_too() -> None:
    lossy = both_ways(direction(loss=Loss(model="random", loss_frac=0.02)))
    everywhere = dataclasses.replace(
        network(1, 1), source_access=lossy, bottleneck=lossy, destination_access=lossy
    )
    stages = lay_out(everywhere, seed=1).stages
    assert sum(" loss random 2% seed " in stage.command() for stage in stages) == 6
    assert not any(" loss " in s.command() for s in stages if s.role == "shaper")


def test_flows_to_one_destination_are_counted_apart() -> None:
    laid_out = lay_out(network(3, 1), seed=1)
    flows = tuple(flow(i, 0, "udp" if i == 2 else "tcp") for i in range(3))
    made = counters(laid_out, flows)
    assert [(c.name, c.node, c.device, c.hook) for c in made[:3]] == [
        ("queue_offered", "r1", "r1-bottleneck", "egress"),
        ("loss_offered", "r2", "r2-bottleneck", "ingress"),
        ("loss_passed", "r2", "r2-dst1", "egress"),
    ]
    assert {c.pref for c in made if c.flow == "F2"} == {102}
    assert len({(c.node, c.device, c.hook, c.pref) for c in made}) == 9
    assert {c.device for c in made if c.name == "loss_passed"} == {"r2-dst1"}
    text = tc_lines(laid_out, flows, "r2")
    assert "egress pref 102 protocol ip flower ip_proto udp dst_port 5003 action ok\n" in text
    # What a counter at an ingress lets pass must still go through the channel.
    assert text.count("pref 102 protocol ip flower ip_proto udp dst_port 5003") == 2


def test_a_hosts_interface() -> None:
    end = WIRELESS.interface("dst2")
    assert (end.device, end.address, end.peer_address) == ("dst2-eth0", "10.2.2.2", "10.2.2.1")


def test_routers_number_their_interfaces_apart() -> None:
    # r1 has three interfaces and three ifbs, so r2 uses up six numbers.
    laid_out = lay_out(wireless_cell().wired, 1)
    lines = number_lines(laid_out, "r2").splitlines()
    assert lines == [
        *(f"link add gap{number} type dummy" for number in range(6)),
        *(f"link del gap{number}" for number in range(6)),
    ]
    assert number_lines(laid_out, "r1") == ""


def test_far_sources_are_the_last_and_differ_in_their_own_delay_alone() -> None:
    near, far = both_ways(direction(owd_s=0.002)), both_ways(direction(owd_s=0.3))
    all_near = dataclasses.replace(network(3, 3), source_access=near)
    one_far = dataclasses.replace(all_near, far_accesses=(far,))
    assert one_far.accesses() == (near, near, far)
    was, now = (lay_out(one, seed=1).stages for one in (all_near, one_far))
    changed = [stage for stage, before in zip(now, was, strict=True) if stage != before]
    assert {stage.device for stage in changed} == {"r1-src3", "ifb-src3"}
    assert {stage.direction.owd_s for stage in changed} == {0.3}
    # 250 ms each way besides; what a packet waits for is the source's own.
    rest_s = all_near.base_rtt_s() - 0.004
    trips_s = [one_far.base_rtt_s(source) for source in (0, 1, 2, -1)]
    assert trips_s == pytest.approx([rest_s + 0.004] * 2 + [rest_s + 0.6] * 2)
    assert one_far.longest_rtt_s() == trips_s[2]
    assert all_near.longest_rtt_s() == trips_s[0]
