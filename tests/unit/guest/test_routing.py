"""What adapters of routing protocols make of radios. Pure parts."""

from __future__ import annotations

import dataclasses

import pytest

from mininet_topos.baselines import mesh_counters
from model.errors import RunError
from testbed.guest.radio import layout, places
from testbed.guest.routing import batman_adv
from testbed.guest.routing.registry import ADAPTERS, CALIBRATES, adapter_of
from tests.support.ad_hoc_study import network

AODV = network()
MESH = network(("protocol: aodv", "protocol: batman-adv"))
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
    assert [batman_adv.prefix(radio) for radio in radios] == ["10.0.0.0/9", "10.128.0.0/9"]
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


def test_radios_are_calibrated_without_headers_that_theory_does_not_know() -> None:
    assert places.network(MESH).routing == CALIBRATES
    assert places.network(MESH) == places.network(AODV)
    hello = network(("protocol: aodv", "protocol: aodv, link_breaks: hello"))
    assert places.network(hello).routing == hello.routing


def test_what_routers_leave() -> None:
    assert set(ADAPTERS["aodv"].leaves) == {".jsonl", ".err", ".events"}
    assert set(adapter_of(MESH.routing).leaves) == {".jsonl"}


def test_what_a_mesh_counted_between_its_marks() -> None:
    marks = [(20, {"mgmt_tx": 5, "tt_request_tx": 1}), (40, {"mgmt_tx": 25, "tt_request_tx": 1})]
    assert batman_adv.between(marks) == {
        "from_ns": 20, "to_ns": 40, "mgmt_tx": 20, "tt_request_tx": 0,
    }  # fmt: skip
    assert batman_adv.between([]) == {}


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
