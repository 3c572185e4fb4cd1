"""What adapters of routing protocols make of radios. Pure parts."""

from __future__ import annotations

import dataclasses

import pytest

from mininet_topos.baselines import babel as babel_driver
from mininet_topos.baselines import mesh_counters
from mininet_topos.baselines.babel_ways import INFINITE, parse_dump
from model.errors import RunError
from testbed.guest.radio import layout, places
from testbed.guest.routing import adapter, babel, batman_adv
from testbed.guest.routing.registry import ADAPTERS, adapter_of
from tests.support.ad_hoc_study import network
from tests.support.recorded import DATA

AODV = network()
MESH = network(("protocol: aodv", "protocol: batman-adv"))
BABEL = network(("protocol: aodv", "protocol: babel"))
BOTH = dataclasses.replace(MESH, multihoming="same-channel")


def test_flows_see_the_mesh_and_radios_have_no_address() -> None:
    (one,) = layout.lay_out(MESH).interfaces("n3")
    assert (one.device, one.address, one.mac) == ("bat0", "10.0.2.1", "02:ba:00:00:00:02")
    assert {radio.address for radio in layout.wanted_radios(MESH)} == {None}
    assert [radio.mac for radio in layout.wanted_radios(MESH)] == [
        radio.mac for radio in layout.wanted_radios(AODV)
    ]


def test_two_radios_are_two_meshes_in_networks_of_their_own() -> None:
    first, second = layout.lay_out(BOTH).interfaces("n2")
    assert (first.device, second.device) == ("bat0", "bat1")
    assert (first.address, second.address) == ("10.0.1.1", "10.128.1.1")
    radios = [radio for radio in BOTH.radios() if radio.node == "n2"]
    assert [adapter.prefix(radio) for radio in radios] == ["10.0.0.0/9", "10.128.0.0/9"]
    made = batman_adv.mesh(radios[1], "02:00:00:00:00:07")
    assert (made.interfaces, made.name, made.address) == (("wlan1",), "bat1", "10.128.1.1/9")
    assert made.mac == "02:ba:00:00:00:07"
    assert not made.makes_route


def test_the_route_of_a_mesh_has_the_options_of_the_hosts() -> None:
    words = batman_adv.route_words(BOTH.radios()[0], {"initcwnd": "3", "mtu": "lock 1400"})
    assert " ".join(words) == (
        "ip route add 10.0.0.0/9 dev bat0 proto static scope link src 10.0.0.1"
        " initcwnd 3 mtu lock 1400"
    )


def test_radios_are_calibrated_alike_whatever_routes_in_the_study() -> None:
    """By AODV, whose packets have no headers of its own, and link-layer feedback."""
    hello = network(("protocol: aodv", "protocol: aodv, link_breaks: hello"))
    for one in (MESH, BABEL, AODV, hello):
        assert places.network(one).routing == places.ROUTING
        assert places.network(one) == places.network(AODV)


def test_babel_routes_packets_between_the_radios_own_addresses() -> None:
    assert layout.lay_out(BABEL) == layout.lay_out(AODV)
    assert layout.wanted_radios(BABEL) == layout.wanted_radios(AODV)


def test_a_daemon_of_babel_tells_of_its_radios_address_alone() -> None:
    made = babel.daemon(BABEL, BABEL.radios()[2:3])
    assert (made.addresses, made.networks) == ({"wlan0": "10.0.2.1"}, {})
    assert (made.router_id, str(made.place)) == ("02:00:00:00:00:02", "/run/babel/n3")
    assert made.others == ("10.0.0.1", "10.0.1.1", "10.0.3.1", "10.0.4.1", "10.0.5.1")


def test_a_daemon_of_two_radios_tells_them_apart() -> None:
    both = dataclasses.replace(BABEL, multihoming="same-channel")
    made = babel.daemon(both, [radio for radio in both.radios() if radio.node == "n2"])
    assert made.addresses == {"wlan0": "10.0.1.1", "wlan1": "10.128.1.1"}
    assert made.networks == {"wlan0": "10.0.0.0/9", "wlan1": "10.128.0.0/9"}
    assert made.router_id == "02:00:00:00:00:01"
    sources = babel_driver.nowhere_sources(made)
    assert {to: sources.pop(to) for to in ("default", "10.0.0.0/9", "10.128.0.0/9")} == {
        "default": "10.0.1.1", "10.0.0.0/9": "10.0.1.1", "10.128.0.0/9": "10.128.1.1",
    }  # fmt: skip
    others = [radio for radio in both.radios() if radio.node != "n2"]
    assert sources == {
        radio.address: made.addresses[radio.device] for radio in others
    }  # fmt: skip


def test_what_of_a_daemons_answer_is_of_one_radio() -> None:
    text = (DATA / "babeld-1.13" / "dump.txt").read_text()
    answer = parse_dump(text, "n2")
    found = babel.shown(answer, "wlan0")
    assert len(found["neighbours"]) == len(answer.neighbours) > 1
    assert [way["prefix"] for way in found["ways"]] == [
        way.prefix for way in answer.ways if way.is_installed
    ]
    assert babel.shown(answer, "wlan1") == {"neighbours": [], "ways": []}


def test_a_way_that_leads_nowhere_any_more_is_none() -> None:
    """A withdrawn one stays installed, as unreachable, with the metric of none."""
    text = (DATA / "babeld-1.13" / "dump.txt").read_text()
    taken = "prefix 10.0.0.4/32 from 0.0.0.0/0 installed yes"
    (line,) = [line for line in text.splitlines() if taken in line]
    gone = line.replace(" metric 512 ", " metric 65535 ")
    answer = parse_dump(text.replace(line, gone), "n2")
    assert any(way.is_installed and way.metric == INFINITE for way in answer.ways)
    prefixes = [way["prefix"] for way in babel.shown(answer, "wlan0")["ways"]]
    assert prefixes == ["10.0.0.1/32", "10.0.0.3/32"]


def test_what_routers_leave() -> None:
    assert set(ADAPTERS["aodv"].leaves) == {".jsonl", ".err", ".events.gz"}
    assert set(adapter_of(MESH.routing).leaves) == {".jsonl"}
    assert set(adapter_of(BABEL.routing).leaves) == {".jsonl", ".err"}


def test_what_a_mesh_counted_between_its_marks() -> None:
    marks = [(20, {"mgmt_tx": 5, "tt_request_tx": 1}), (40, {"mgmt_tx": 25, "tt_request_tx": 1})]
    assert adapter.between(marks) == {
        "from_ns": 20, "to_ns": 40, "mgmt_tx": 20, "tt_request_tx": 0,
    }  # fmt: skip
    assert adapter.between([]) == {}
    for wrong in (marks[:1], [*marks, marks[1]]):
        with pytest.raises(RunError, match=r"wanted 2 times, got [13]$"):
            adapter.between(wrong)


def test_whether_packets_are_passed_on_is_read_back_once_per_node() -> None:
    """The setting is of a node's namespace, whose radios are two."""

    class Node:
        name = "n2"

        def read_sysctl(self, name: str) -> str:
            return {adapter.FORWARDING: "0"}[name]

    both = dataclasses.replace(AODV, multihoming="same-channel")
    radios = tuple(radio for radio in both.radios() if radio.node == "n2")
    here = adapter.Here(
        network=both, node=Node(), radios=radios, folder=DATA, route_options={}  # type: ignore[arg-type]
    )  # fmt: skip
    check = adapter.forwarding_check(here)
    assert (check.where, check.wanted, check.got, check.agrees) == ("n2", "1", "0", False)
    assert ADAPTERS["aodv"].read_back_radio(here, radios[1]) == []


def test_counters_of_a_mesh_by_name() -> None:
    names = b"".join(name.ljust(32, b"\0") for name in (b"mgmt_tx", b"mgmt_tx_bytes"))
    values = (7).to_bytes(8, "little") + (1 << 40).to_bytes(8, "little")
    assert mesh_counters.parse(names, values, "n1 bat0") == {
        "mgmt_tx": 7, "mgmt_tx_bytes": 1 << 40,
    }  # fmt: skip


@pytest.mark.parametrize(("names", "values"), [(b"", b""), (bytes(32), bytes(16))])
def test_counters_that_do_not_fit(names: bytes, values: bytes) -> None:
    with pytest.raises(RunError, match="not as the kernel has them"):
        mesh_counters.parse(names, values, "n1 bat0")
