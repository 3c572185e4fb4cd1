"""A study's ad-hoc network: what is read, what is refused at its line, what it is in base units."""

from __future__ import annotations

import dataclasses

import pytest

from mininet_topos.aodv.driver import NS235
from model.ad_hoc import Mobility, RadioSettings, Routing
from model.cell import cell_id, cell_json, from_dict, to_dict
from testbed.points.resolve import resolve_cell
from tests.support import ad_hoc_study
from tests.support.ad_hoc_study import STILL, cell, cells, edited, network, problems, study
from tests.support.study_file import Edit, line_of

LINK = "{rate: 2 Mbit/s, delay: 1 ms, queue: 10 packets"
BOTTLENECK = f"bottleneck: {LINK}, loss: {{data: 0 %, acknowledgements: 0 %}}}}"
#: Of the sweep's line, what it sweeps.
SWEPT = "flows.main.protocol: [tcp]"


def test_all_in_base_units() -> None:
    found = network(
        ("rate: 2 Mbit/s, range: 250 m", "rate: 5.5 Mbit/s, basic_rate: 2 Mbit/s, range: 0.2 km"),
        ("carrier_sense: 550 m", ("carrier_sense: 550 m, queue: 60 packets, capture_db: 10,"
         " attempts: 4, rts_threshold: 500 bytes, long_attempts: 3")),
        ("protocol: aodv", "protocol: aodv, link_breaks: hello"),
        ("pause: 0 s", "pause: 500 ms\n    start: uniform\n    ends: stay"),
        ("  routing:", "  warm_up: 2.5 s\n  routing:"),
    )  # fmt: skip
    assert (found.topology, found.nodes, found.pairs, found.warm_up_s) == ("ad-hoc", 6, 2, 2.5)
    assert found.radio == RadioSettings(
        rate_bps=5_500_000, basic_rate_bps=2_000_000, range_m=200.0, carrier_sense_m=550.0,
        queue_pkts=60, capture_db=10, retry_limit=4, rts_threshold_bytes=500, long_retry_limit=3,
    )  # fmt: skip
    assert found.routing == Routing(protocol="aodv", link_breaks="hello", options={})
    assert found.mobility == Mobility(
        model="random-waypoint", width_mm=700_000, height_mm=100_000, min_speed_mps=1.0,
        max_speed_mps=5.0, pause_s=0.5, start="uniform", ends="stay",
    )  # fmt: skip


def test_what_is_not_said() -> None:
    found = network()
    assert found.warm_up_s == 10.0
    assert found.radio == RadioSettings(
        rate_bps=2_000_000, basic_rate_bps=1_000_000, range_m=250.0, carrier_sense_m=550.0,
        queue_pkts=50, capture_db=0, retry_limit=7, rts_threshold_bytes=None, long_retry_limit=4,
    )  # fmt: skip
    assert found.routing == Routing(protocol="aodv", link_breaks="link-layer", options={})
    assert (found.mobility.start, found.mobility.ends) == ("steady-state", "move")


def test_nodes_that_stay_have_no_speed() -> None:
    assert network(STILL).mobility == Mobility(
        model="stationary", width_mm=700_000, height_mm=100_000, min_speed_mps=0.0,
        max_speed_mps=0.0, pause_s=0.0, start="steady-state", ends="stay",
    )  # fmt: skip


def test_constants_of_ns_2() -> None:
    found = network(("protocol: aodv", "protocol: aodv, constants: ns-2.35"))
    assert found.routing.options == dict(NS235)
    assert found.routing.options["active_route_timeout_s"] == "10"


MESH = Routing(protocol="batman-adv", link_breaks="none", options={})
#: What AODV alone has, in a study that goes from it to batman-adv.
WRITTEN = ("protocol: aodv", "protocol: aodv, link_breaks: hello, constants: ns-2.35")
AODV = Routing(protocol="aodv", link_breaks="hello", options=dict(NS235))


def test_others_have_nothing_to_choose() -> None:
    assert network(("protocol: aodv", "protocol: batman-adv")).routing == MESH
    babel = network(("protocol: aodv", "protocol: babel"))
    assert babel.routing == dataclasses.replace(MESH, protocol="babel")
    assert babel.warm_up_s == 10.0, "as of any other"


def test_keys_of_aodv_say_nothing_where_a_sweep_goes_to_batman_adv() -> None:
    swept = (SWEPT, "network.routing.protocol: [aodv, batman-adv, babel]")
    found = [one.ad_hoc.routing for one in cells(WRITTEN, swept) if one.ad_hoc]
    assert found == [AODV, MESH, dataclasses.replace(MESH, protocol="babel")]


@pytest.mark.parametrize(
    ("edit", "by"),
    [
        ((SWEPT, "network.routing.protocol: [babel]"), "babel"),
        ((SWEPT, "network.routing.protocol: [babel, batman-adv]"), "babel or batman-adv"),
        (("sweep:\n  " + SWEPT, "points:\n  - {network.routing.protocol: babel}"), "babel"),
    ],
)
def test_keys_of_aodv_are_refused_where_no_point_has_it(edit: Edit, by: str) -> None:
    found = problems(WRITTEN, edit)
    assert [one.split(": ", 2)[1:] for one in found] == [
        [f"network.routing.{key}", (f"routing by {by} has no such key: wanted no such key, or"
         f" protocol: aodv, got {value} (see docs/guides/routing.md)")]
        for key, value in (("constants", "ns-2.35"), ("link_breaks", "hello"))
    ]  # fmt: skip


def test_keys_of_aodv_are_refused_where_no_alternative_has_it() -> None:
    assumed = (
        "metrics:",
        (
            "assumptions:\n  - {id: r, text: T., why: W., alternatives:"
            " [{network.routing.protocol: batman-adv}]}\nmetrics:"
        ),
    )
    written = ("protocol: aodv", "protocol: babel, link_breaks: hello")
    (found,) = problems(written, assumed)
    assert "network.routing.link_breaks: routing by babel or batman-adv has no such key" in found


def test_a_swept_key_of_aodv_is_refused_where_no_point_has_it() -> None:
    swept = f"network.routing.protocol: [babel]\n  {SWEPT}"
    edits = (SWEPT, f"{swept}\n  network.routing.link_breaks: [hello]")
    (found,) = problems(edits)
    assert "network.routing.link_breaks: routing by babel has no such key" in found


def test_keys_of_aodv_say_nothing_where_an_alternative_is_batman_adv() -> None:
    assumed = (
        "metrics:",
        (
            "assumptions:\n  - {id: r, text: T., why: W., alternatives:"
            " [{network.routing.protocol: batman-adv}]}\nmetrics:"
        ),
    )
    made = study(WRITTEN, assumed)
    (other,) = made.alternatives.points
    found = resolve_cell(made, other, seed=1, replicate=1, lab={}, pcap=False).ad_hoc
    assert found is not None
    assert found.routing == MESH
    assert [one.ad_hoc.routing for one in cells(WRITTEN, assumed) if one.ad_hoc] == [AODV]


def test_pair_k_is_of_nodes_2k_minus_1_and_2k() -> None:
    found = network(("pairs: 2", "pairs: 3"))
    assert found.node_names() == ("n1", "n2", "n3", "n4", "n5", "n6")
    assert found.source_names() == ("n1", "n3", "n5")
    assert found.destination_names() == ("n2", "n4", "n6")
    assert (found.sources, found.destinations) == (3, 3)
    behind = network()
    assert (behind.source_names(), behind.destination_names()) == (("n1", "n3"), ("n2", "n4"))
    flows = cell().flows
    assert [(flow.source, flow.destination) for flow in flows] == [(0, 0), (1, 1)]


@pytest.mark.parametrize("pcap", [False, True])
def test_a_cell_is_the_same_read_again(pcap: bool) -> None:
    (one,) = cells(pcap=pcap)
    assert from_dict(to_dict(one)) == one
    assert cell_id(from_dict(to_dict(one))) == cell_id(one)
    assert '"topology": "ad-hoc"' in cell_json(one)
    assert one.ad_hoc is one.network
    assert one.carried_bps() == 2_000_000
    assert one.left_to_chance() == ("movements",)
    assert one.collect.pcap == pcap
    assert one.collect.queue_s == 0.0, "a radio's queue is no qdisc's"


def test_a_network_of_radios_has_no_links() -> None:
    with pytest.raises(TypeError, match="no links in a network of topology ad-hoc"):
        _ = cell().wired


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nodes: 6", "nodes: 5"),
        ("range: 250 m", "range: 249 m"),
        ("carrier_sense: 550 m", "carrier_sense: 551 m"),
        ("range: 250 m", "range: 250 m, rts_threshold: 0 bytes"),
        ("range: 250 m", "range: 250 m, long_attempts: 7"),
        ("protocol: aodv", "protocol: aodv, link_breaks: hello"),
        ("protocol: aodv", "protocol: aodv, constants: ns-2.35"),
        ("protocol: aodv", "protocol: batman-adv"),
        ("protocol: aodv", "protocol: babel"),
        ("max: 5 m/s", "max: 6 m/s"),
        ("pause: 0 s", "pause: 0 s\n    ends: stay"),
        ("  routing:", "  warm_up: 9 s\n  routing:"),
    ],
)
def test_what_matters_makes_another_cell(old: str, new: str) -> None:
    assert cell_id(cell((old, new))) != cell_id(cell())


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"nodes": "6"}, "cell.network.nodes: wanted int, got '6'"),
        ({"warm_up_s": None}, "cell.network.warm_up_s: wanted float, got None"),
        ({"topology": "dumbbell"}, "cell.network.topology: wanted one of ad-hoc, got 'dumbbell'"),
        ({"queue": 1}, "cell.network: wanted keys"),
        ({"routing": {}}, "cell.network.routing: wanted keys"),
    ],
)
def test_a_damaged_cell_names_its_key(damage: dict[str, object], said: str) -> None:
    data = to_dict(cell())
    data["network"] |= damage
    with pytest.raises(ValueError, match=said.replace("[", r"\[")):
        from_dict(data)


@pytest.mark.parametrize("data", [None, [], "ad-hoc", {}, {"nodes": 6}])
def test_a_network_of_no_kind_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match=r"cell\.network: wanted keys"):
        from_dict({**to_dict(cell()), "network": data})


@pytest.mark.parametrize(
    ("swept", "values"),
    [
        ("network.mobility.speed.max: [5 m/s, 10 m/s]", [5.0, 10.0]),
        ("network.mobility.pause: [0 s, 1 min]", [0.0, 60.0]),
        ("network.mobility.model: [stationary, random-waypoint]",
         ["stationary", "random-waypoint"]),
        ("network.mobility.field.width: [700 m, 1 km]", [700.0, 1000.0]),
        ("network.mobility.ends: [move, stay]", ["move", "stay"]),
        ("network.nodes: [4, 6]", [4, 6]),
        ("network.radio.range: [200 m, 250 m]", [200.0, 250.0]),
        ("network.radio.queue: [50 packets, 90 packets]", [50, 90]),
        ("network.radio.rts_threshold: [none, 0 bytes, 400 B]", ["none", 0, 400]),
        ("network.radio.long_attempts: [4, 7]", [4, 7]),
        ("network.routing.link_breaks: [link-layer, hello]", ["link-layer", "hello"]),
        ("network.routing.constants: [rfc3561, ns-2.35]", ["rfc3561", "ns-2.35"]),
        ("network.routing.protocol: [aodv, batman-adv]", ["aodv", "batman-adv"]),
        ("network.warm_up: [5 s, 10 s]", [5.0, 10.0]),
    ],
)  # fmt: skip
def test_sweeps(swept: str, values: list[object]) -> None:
    found = study((SWEPT, swept))
    assert [next(iter(point.values.values())) for point in found.points] == values
    networks = [one.network for one in cells((SWEPT, swept))]
    assert networks[0] != networks[1]


def test_a_swept_threshold_of_rts_is_that_of_each_cell() -> None:
    swept = "network.radio.rts_threshold: [none, 0 bytes]"
    without, always = (one.ad_hoc for one in cells((SWEPT, swept)))
    assert without is not None
    assert always is not None
    assert without == network()
    assert always.radio == dataclasses.replace(without.radio, rts_threshold_bytes=0)


def test_a_cell_from_before_radios_had_rts_is_one_without() -> None:
    data = to_dict(cell())
    assert not {"rts_threshold_bytes", "long_retry_limit"} & set(data["network"]["radio"])
    assert from_dict(data) == cell()


def test_a_swept_speed_is_that_of_each_cell() -> None:
    slow, fast = cells((SWEPT, "network.mobility.speed.max: [2 m/s, 20 m/s]"))
    assert slow.ad_hoc is not None
    assert fast.ad_hoc is not None
    mobility = slow.ad_hoc.mobility
    assert (mobility.max_speed_mps, fast.ad_hoc.mobility.max_speed_mps) == (2.0, 20.0)
    assert dataclasses.replace(mobility, max_speed_mps=20.0) == fast.ad_hoc.mobility


THRESHOLD = "a size such as '1448 bytes', or none"
NO_RTS = "none: no RTS at all; '0 bytes': before every frame to one radio"
NO_SUCH = "a network of topology {} has no such key: wanted no such key, or topology: {}"


@pytest.mark.parametrize(
    ("old", "new", "part", "said"),
    [
        ("  nodes: 6\n", "", "network:",
         "nodes: missing key: wanted of ad-hoc: a number of nodes, those of pairs included"),
        ("  radio: {rate: 2 Mbit/s, range: 250 m, carrier_sense: 550 m}\n", "", "network:",
         "radio: missing key: wanted of ad-hoc: every node's radio"),
        ("  routing: {protocol: aodv}\n", "", "network:",
         "routing: missing key: wanted of ad-hoc: who finds the ways"),
        (", range: 250 m", "", "radio:", ("radio.range: missing key: wanted a length such as"
         " '250 m'")),
        (", carrier_sense: 550 m", "", "radio:",
         ("radio.carrier_sense: missing key: wanted a length such as '550 m', no less than the"
         " range")),
        ("    pause: 0 s\n", "", "mobility:",
         "mobility.pause: missing key: wanted a time between trips such as '30 s', or '0 s'"),
        ("  routing:", "  shared_destination: true\n  routing:", "shared_destination",
         "shared_destination: " + NO_SUCH.format("ad-hoc", "dumbbell or two-paths")),
        ("  routing:", f"  {BOTTLENECK}\n  routing:", "bottleneck",
         "bottleneck: " + NO_SUCH.format("ad-hoc", "dumbbell or two-paths")),
        ("  routing:", f"  source_access: {LINK}}}\n  routing:", "source_access",
         "source_access: " + NO_SUCH.format("ad-hoc", "dumbbell or two-paths")),
        ("  routing:", "  second_path: {}\n  routing:", "second_path",
         ("second_path: the topology has one path: wanted topology two-paths, or no such key, got"
         " topology ad-hoc")),
        ("pairs: 2", "pairs: 4", "pairs:", ("pairs: more pairs than there are nodes for: wanted at"
         " most 3 (6 nodes), got 4")),
        ("nodes: 6", "nodes: 1", "nodes:", "nodes: out of range: wanted at least 2, got 1"),
        ("nodes: 6", "nodes: 101", "nodes:", "nodes: out of range: wanted at most 100, got 101"),
        ("carrier_sense: 550 m", "carrier_sense: 249 m", "radio:",
         "radio.carrier_sense: less than the range: wanted at least 250 m (range), got 249 m"),
        ("rate: 2 Mbit/s", "rate: 3 Mbit/s", "radio:",
         ("radio.rate: a rate that no such radio has: wanted one of 1 Mbit/s, 2 Mbit/s,"
         " 5.5 Mbit/s, 11 Mbit/s, got 3 Mbit/s")),
        ("rate: 2 Mbit/s", "rate: 11 Mbit/s, basic_rate: 5.5 Mbit/s", "radio:",
         ("radio.basic_rate: a rate that no such radio has: wanted one of 1 Mbit/s, 2 Mbit/s,"
         " got 5.5 Mbit/s")),
        ("rate: 2 Mbit/s", "rate: 1 Mbit/s, basic_rate: 2 Mbit/s", "radio:",
         ("radio.basic_rate: more than the rate of data: wanted at most 1 Mbit/s (rate), got"
         " 2 Mbit/s")),
        ("range: 250 m", "range: 250.5 m", "radio:",
         ("radio.range: not a range of the medium's: wanted whole metres, from 1 m to 100 km, got"
         " 250.5 m")),
        ("carrier_sense: 550 m", "carrier_sense: 101 km", "radio:",
         ("radio.carrier_sense: not a range of the medium's: wanted whole metres, from 1 m to"
         " 100 km, got 101000 m")),
        ("range: 250 m", "range: 250", "radio:",
         "radio.range: no unit: wanted a length such as '250 m', got 250"),
        ("range: 250 m", "range: 250 m, queue: 91 packets", "radio:",
         ("radio.queue: more than the medium takes over: wanted at most 90 packets, got 91"
         " packets")),
        ("range: 250 m", "range: 250 m, attempts: 1", "radio:",
         "radio.attempts: out of range: wanted at least 2, got 1"),
        ("range: 250 m", "range: 250 m, long_attempts: 1", "radio:",
         "radio.long_attempts: out of range: wanted at least 2, got 1"),
        ("range: 250 m", "range: 250 m, rts_threshold: 0", "radio:",
         f"radio.rts_threshold: no unit: wanted {THRESHOLD}, got 0 ({NO_RTS})"),
        ("range: 250 m", "range: 250 m, rts_threshold: 3001 bytes", "radio:",
         ("radio.rts_threshold: out of range: wanted at most 3000 bytes, or none, got '3001 bytes'"
          f" ({NO_RTS})")),
        ("range: 250 m", "range: 250 m, rts_threshold: None", "radio:",
         f"radio.rts_threshold: not a size: wanted {THRESHOLD}, got 'None' ({NO_RTS})"),
        ("range: 250 m", "range: 250 m, rts_threshold: null", "radio:",
         f"radio.rts_threshold: wrong kind: wanted {THRESHOLD}, got nothing ({NO_RTS})"),
        ("range: 250 m", "range: 250 m, capture_db: 101", "radio:",
         "radio.capture_db: out of range: wanted at most 100, got 101"),
        ("range: 250 m", "range: 250 m, power: 3", "radio:", "radio.power: unknown key"),
        ("protocol: aodv", "protocol: olsr", "routing:",
         "routing.protocol: unknown protocol: wanted one of aodv, batman-adv, babel, got 'olsr'"),
        ("protocol: aodv", "protocol: aodv, link_breaks: maybe", "routing:",
         "routing.link_breaks: unknown link_breaks: wanted one of link-layer, hello, got 'maybe'"),
        ("protocol: aodv", "protocol: aodv, constants: ns2", "routing:",
         "routing.constants: unknown constants: wanted one of rfc3561, ns-2.35, got 'ns2'"),
        ("protocol: aodv", "protocol: batman-adv, link_breaks: hello", "routing:",
         ("routing.link_breaks: routing by batman-adv has no such key: wanted no such key, or"
         " protocol: aodv, got hello (see docs/guides/routing.md)")),
        ("protocol: aodv", "protocol: batman-adv, constants: rfc3561", "routing:",
         ("routing.constants: routing by batman-adv has no such key: wanted no such key, or"
         " protocol: aodv, got rfc3561 (see docs/guides/routing.md)")),
        ("protocol: aodv", "protocol: babel, link_breaks: hello", "routing:",
         ("routing.link_breaks: routing by babel has no such key: wanted no such key, or"
         " protocol: aodv, got hello (see docs/guides/routing.md)")),
        ("protocol: aodv", "protocol: babel, constants: ns-2.35", "routing:",
         ("routing.constants: routing by babel has no such key: wanted no such key, or"
         " protocol: aodv, got ns-2.35 (see docs/guides/routing.md)")),
        ("  routing:", "  warm_up: -1 s\n  routing:", "warm_up",
         "warm_up: negative: wanted a time such as '250 ms', got '-1 s'"),
        ("max: 5 m/s", "max: 0.5 m/s", "speed:",
         "mobility.speed.max: less than the minimum: wanted at least 1 m/s (min), got 0.5 m/s"),
    ],
)  # fmt: skip
def test_what_is_refused_of_the_network(old: str, new: str, part: str, said: str) -> None:
    (found,) = problems((old, new))
    where = f"a.yaml:{line_of(edited((old, new)), part)}: network."
    assert found.startswith(where + said), found


def test_keys_of_radios_are_refused_on_links() -> None:
    found = problems(("topology: ad-hoc", "topology: two-paths\n  warm_up: 5 s"))
    missing = [line.split(": ")[1] for line in found if "missing key" in line]
    assert missing == [
        f"network.{key}"
        for key in ("shared_destination", "source_access", "bottleneck", "destination_access")
    ]
    refused = [line.removeprefix("a.yaml:") for line in found if "missing key" not in line]
    no_such = NO_SUCH.format("two-paths", "ad-hoc")
    assert refused == [
        f"18: network.warm_up: {no_such}", f"20: network.nodes: {no_such}",
        f"21: network.radio: {no_such}", f"22: network.routing: {no_such}",
        f"23: network.mobility: {no_such}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("groups:", "collect: {captures: true}\ngroups:",
         ("a.yaml:30: collect.captures: captures follow packets over links: wanted none, got"
         " topology ad-hoc (--pcap of groundtruth run records the medium: raw/radio/medium.pcap.gz"
         " of each cell)")),
        ("groups:", "collect: {captures_at: [{flows.main.protocol: tcp}]}\ngroups:",
         ("a.yaml:30: collect.captures_at: captures follow packets over links: wanted none, got"
         " topology ad-hoc (--pcap of groundtruth run records the medium: raw/radio/medium.pcap.gz"
         " of each cell)")),
        ("groups:", "drops: {main: {data_packets: [8]}, cbr: {data_packets: [8]}}\ngroups:",
         ("a.yaml:30: drops: packets are numbered on links only: wanted no drops by number,"
         " got topology ad-hoc")),
        ("protocol: tcp, pair: 1", "protocol: tcp, generator: iperf3, pair: 1",
         ("a.yaml:28: flows.main.generator: only probes send from node to node: wanted generator"
         " probe, got generator iperf3 (topology ad-hoc has no other)")),
        ("protocol: tcp, pair: 1", "protocol: sctp, addresses: both, pair: 1",
         ("a.yaml:28: flows.main.addresses: nodes have one radio: wanted multihoming same-channel"
         " or two-networks of the network, or first, got multihoming none")),
        ("pair: 2", "pair: 3",
         "a.yaml:29: flows.cbr.pair: no such pair: wanted at most 2 (network.pairs), got 3"),
        (SWEPT, "network.mobility.speed.max: [5 m/s, 0.5 m/s]",
         ("a.yaml:32: network.mobility.speed.max: less than the minimum: wanted at least 1 m/s"
         " (min), got 0.5 m/s")),
        (SWEPT, "network.nodes: [6, 3]",
         ("a.yaml:18: network.pairs: more pairs than there are nodes for: wanted at most 1"
         " (3 nodes), got 2 (at nodes=3)")),
        (SWEPT, "network.radio.rate: [2 Mbit/s, 3 Mbit/s]",
         ("a.yaml:32: network.radio.rate: a rate that no such radio has: wanted one of 1 Mbit/s,"
         " 2 Mbit/s, 5.5 Mbit/s, 11 Mbit/s, got 3 Mbit/s")),
    ],
)  # fmt: skip
def test_what_is_refused_of_the_rest(old: str, new: str, said: str) -> None:
    assert problems((old, new)) == [said]


NO_MEMORY = "        sysctl: {net.ipv4.tcp_no_metrics_save: 1}\n"
CANNOT = "an option of routes that a routing daemon cannot set"


@pytest.mark.parametrize(
    ("route", "wanted"),
    [
        ("ssthresh: 45", "one of advmss, initcwnd, initrwnd, mtu, quickack, rto_min, window"),
        ("congctl: reno", "one of advmss, initcwnd, initrwnd, mtu, quickack, rto_min, window"),
        ("initcwnd: lock 3", "a value of its own"),
        ("rto_min: floor 1 s", "a value of its own"),
    ],
)
def test_options_of_routes_that_no_daemon_sets(route: str, wanted: str) -> None:
    (found,) = problems((NO_MEMORY, f"{NO_MEMORY}        route_sender: {{{route}}}\n"))
    got = f"route {route.replace(':', '')} in profile 'plain'"
    assert found == (
        f"a.yaml:6: hosts: {CANNOT}: wanted {wanted}, got {got} (see docs/guides/manet.md)"
    )


def test_no_option_of_routes_is_babelds_to_set() -> None:
    asked = (NO_MEMORY, f"{NO_MEMORY}        route: {{initcwnd: 3}}\n")
    swept = (SWEPT, "network.routing.protocol: [aodv, babel]")
    (found,) = problems(asked, swept)
    assert f"{CANNOT}: wanted none (routing by babel), got route initcwnd 3" in found
    assert study(asked, (SWEPT, "network.routing.protocol: [aodv, batman-adv]")).points


HYPOTHESIS = """\
hypotheses:
  - id: one
    text: It is so.
    restores: no memory
    route_sender: {{{}}}
"""


def test_a_hypothesis_sets_no_such_option_either() -> None:
    asked = edited(("sweep:", HYPOTHESIS.format("ssthresh: 45, initcwnd: 3") + "sweep:"))
    (found,) = problems(("sweep:", HYPOTHESIS.format("ssthresh: 45, initcwnd: 3") + "sweep:"))
    wanted = "one of advmss, initcwnd, initrwnd, mtu, quickack, rto_min, window"
    assert found == (
        f"a.yaml:{line_of(asked, 'ssthresh')}: hypotheses.one.route_sender.ssthresh: {CANNOT}:"
        f" wanted {wanted}, got 45 (see docs/guides/manet.md)"
    )
    assert study(("sweep:", HYPOTHESIS.format("initcwnd: 3") + "sweep:")).points
    swept = (SWEPT, "network.routing.protocol: [aodv, babel]")
    (found,) = problems(("sweep:", HYPOTHESIS.format("initcwnd: 3") + "sweep:"), swept)
    assert f"{CANNOT}: wanted none (routing by babel), got 3" in found


def test_options_of_routes_that_a_daemon_sets() -> None:
    asked = "route_sender: {initcwnd: 3, rto_min: 200ms}"
    found = cell((NO_MEMORY, f"{NO_MEMORY}        {asked}\n")).hosts.entries[0].knobs
    assert [(k.name, k.value, k.side) for k in found if k.kind == "route"] == [
        ("initcwnd", "3", "sender"), ("rto_min", "200ms", "sender"),
    ]  # fmt: skip


def test_iperf3_is_refused_where_it_is_asked_for() -> None:
    (found,) = problems(("generator: probe", "generator: iperf3"))
    assert found.startswith("a.yaml:8: generator: only probes send from node to node")
    own = [("message: 1400 bytes", "message: 1400 bytes, generator: iperf3"),
           ("message: 512 bytes", "message: 512 bytes, generator: iperf3")]  # fmt: skip
    assert [line.split(": ")[1] for line in problems(*own)] == ["flows.main.generator",
                                                                "flows.cbr.generator"]  # fmt: skip
    assert len(problems(("generator: probe", "generator: iperf3"), own[0])) == 2
    of_each = ("message: 1400 bytes", "message: 1400 bytes, generator: probe")
    other = ("message: 512 bytes", "message: 512 bytes, generator: probe")
    assert study(("generator: probe", "generator: iperf3"), of_each, other).points


def test_a_misspelt_key_is_not_missing_as_well() -> None:
    (found,) = problems(("groups:", "drops: {main: {data: [8]}}\ngroups:"))
    assert found == "a.yaml:30: drops.main.data: unknown key: wanted data_packets"
    (found,) = problems(("range: 250 m", "ranges: 250 m"))
    assert "network.radio.ranges: unknown key" in found
    assert "(did you mean range?)" in found
    two = problems(("range: 250 m", "power: 250 m"))
    assert [line.split(": ")[2] for line in two] == ["missing key", "unknown key"]


def test_a_key_there_is_none_of_is_told_once_of_all_points() -> None:
    points = "points:\n  - {network.radio.bogus: 1}\n  - {network.radio.bogus: 2}\n"
    (found,) = problems(("sweep:\n  flows.main.protocol: [tcp]\n", points))
    assert found.startswith("a.yaml:32: network.radio.bogus: unknown key: wanted one of rate")


def test_nothing_happens_to_links_that_are_not_there() -> None:
    cut = "events:\n  - {id: cut, at: 5 s, link: bottleneck, set: down}\ngroups:"
    (found,) = problems(("groups:", cut))
    assert found.startswith(
        "a.yaml:31: events.cut.link: there are no links to change: wanted no events, got topology"
        " ad-hoc"
    )


def test_all_the_edits_start_from_a_study_that_is_right() -> None:
    assert study().points
    assert ad_hoc_study.TEXT.count("ad-hoc") == 1


def test_more_trips_than_a_movement_may_have_are_refused_before_anything_runs() -> None:
    (found,) = problems(
        ("{width: 700 m, height: 100 m}", "{width: 1 mm, height: 1 mm}"),
        ("{min: 1 m/s, max: 5 m/s}", "{min: 1 m/s, max: 340 m/s}"),
    )
    assert "network.mobility: nodes would make too many trips: wanted at most 1000000 in" in found
    assert "a larger field, slower nodes, or longer pauses" in found
