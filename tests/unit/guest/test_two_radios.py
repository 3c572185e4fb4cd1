"""Nodes with two radios: which they are, their networks, rules and daemons. Pure parts."""

from __future__ import annotations

import dataclasses
import ipaddress
from typing import Any

import pytest

from mininet_topos.radio.medium import table
from model import ad_hoc
from model.ad_hoc import AdHoc, Multihoming
from testbed.guest.radio import layout, places, second_radios
from testbed.guest.routing import aodv_by_radio
from tests.support.ad_hoc_study import network

DEVICES = ("wlan0", "wlan1")


def two(multihoming: Multihoming) -> AdHoc:
    return dataclasses.replace(network(), multihoming=multihoming)


def test_second_addresses_are_apart_from_first_ones() -> None:
    seconds = ipaddress.ip_network(ad_hoc.SECOND_ADDRESSES)
    for number in range(1000):
        first, second = (ad_hoc.address(number, radio) for radio in (0, 1))
        assert ipaddress.ip_address(first) not in seconds
        assert ipaddress.ip_address(second) in seconds
        assert (ad_hoc.path_of_address(first), ad_hoc.path_of_address(second)) == (1, 2)
    assert ad_hoc.address(1, 1) == "10.128.1.1"


@pytest.mark.parametrize("text", ["", "10.0.0", "11.0.0.1", "10.x.0.1", "10.0.0.1.1"])
def test_an_address_that_no_node_has(text: str) -> None:
    with pytest.raises(ValueError, match="is no node's address"):
        ad_hoc.path_of_address(text)


@pytest.mark.parametrize(
    ("multihoming", "seconds", "channels"),
    [("none", [], 1), ("same-channel", ["n1", "n2"], 1),
     ("two-networks", ["n1", "n2", "n3", "n4", "n5", "n6"], 2)],
)  # fmt: skip
def test_who_has_a_second_radio(
    multihoming: Multihoming, seconds: list[str], channels: int
) -> None:
    found = two(multihoming)
    radios = found.radios()
    assert found.channels == channels
    assert [radio.node for radio in radios[:6]] == list(found.node_names())
    assert [radio.node for radio in radios[6:]] == seconds
    assert {radio.device for radio in radios[6:]} <= {"wlan1"}
    assert not any(radio.is_apart for radio in radios[:6])
    assert {radio.is_apart for radio in radios[6:]} <= {channels == 2}


def test_second_radios_have_addresses_of_their_own() -> None:
    laid_out = layout.lay_out(two("same-channel"))
    assert laid_out.devices("n1") == laid_out.devices("n2") == DEVICES
    assert laid_out.devices("n3") == ("wlan0",)
    assert [one.address for one in laid_out.interfaces("n2")] == ["10.0.1.1", "10.128.1.1"]
    assert laid_out.interface("n2").address == "10.0.1.1"
    macs = [one.mac for node in laid_out.radios.values() for one in node]
    assert len(macs) == len(set(macs)) == 8


def test_one_channel_is_one_network() -> None:
    cells = {radio.cell for radio in layout.wanted_radios(two("same-channel"))}
    assert len(cells) == 1


def test_two_networks_share_no_channel_and_no_name() -> None:
    radios = layout.wanted_radios(two("two-networks"))
    first, second = radios[0].cell, radios[6].cell
    assert {radio.cell for radio in radios[:6]} == {first}
    assert {radio.cell for radio in radios[6:]} == {second}
    assert (first.freq_mhz, second.freq_mhz) == (2412, 2437)
    assert first.ssid != second.ssid
    assert first.bssid != second.bssid
    assert dataclasses.replace(second, **{
        name: getattr(first, name) for name in second_radios.SECOND_NETWORK
    }) == first  # fmt: skip


def test_the_mediums_file_has_two_radios_at_one_node() -> None:
    found = two("same-channel")
    rows = table(layout.wanted_radios(found), found.node_names()).splitlines()
    assert rows[0] == "radio,node,mac,freq_mhz"
    assert rows[1] == "0,0,02:00:00:00:00:00,2412"
    assert rows[7:] == ["6,0,02:00:00:00:00:06,2412", "7,1,02:00:00:00:00:07,2412"]


def test_calibration_is_of_one_radio_a_node() -> None:
    measured = places.network(two("two-networks"))
    assert measured.multihoming == "none"
    assert len(measured.radios()) == measured.nodes == 6


def test_a_daemon_beside_another() -> None:
    first, *_, second = (one for one in two("same-channel").radios() if one.node == "n1")
    assert aodv_by_radio.daemon_options(first, [first]) == {}
    assert aodv_by_radio.daemon_options(first, [first, second]) == {
        "tun": "aodv0", "table": "1", "other_addresses": "10.128.0.1",
    }  # fmt: skip
    assert aodv_by_radio.daemon_options(second, [first, second]) == {
        "tun": "aodv1", "table": "2", "other_addresses": "10.0.0.1",
    }  # fmt: skip


def test_rules() -> None:
    assert aodv_by_radio.rule_lines(DEVICES).splitlines() == [
        "rule add pref 100 iif wlan0 lookup 1",
        "rule add pref 101 iif wlan1 lookup 2",
        "rule add pref 102 fwmark 0x1 lookup 1",
        "rule add pref 103 fwmark 0x2 lookup 2",
        "rule add pref 104 to 10.128.0.0/9 lookup 2",
        "rule add pref 105 from all lookup 1",
    ]


#: As iproute2 6.15 shows them.
SHOWN: list[dict[str, Any]] = [
    {"priority": 0, "src": "all", "table": "local"},
    {"priority": 100, "src": "all", "iif": "wlan0", "table": "1"},
    {"priority": 101, "src": "all", "iif": "wlan1", "table": "2"},
    {"priority": 102, "src": "all", "fwmark": "0x1", "table": "1"},
    {"priority": 103, "src": "all", "fwmark": "0x2", "table": "2"},
    {"priority": 104, "src": "all", "dst": "10.128.0.0", "dstlen": 9, "table": "2"},
    {"priority": 105, "src": "all", "table": "1"},
    {"priority": 32766, "src": "all", "table": "main"},
]


def test_rules_read_back() -> None:
    found = aodv_by_radio.rule_check("n1", DEVICES, SHOWN)
    assert found.agrees
    assert found.got == (
        "iif wlan0: 1; iif wlan1: 2; fwmark 0x1: 1; fwmark 0x2: 2; to 10.128.0.0/9: 2; from all: 1"
    )


@pytest.mark.parametrize("missing", range(1, 7))
def test_a_rule_that_is_not_there(missing: int) -> None:
    shown = [rule for number, rule in enumerate(SHOWN) if number != missing]
    assert not aodv_by_radio.rule_check("n1", DEVICES, shown).agrees


@pytest.mark.parametrize(
    ("number", "change"),
    [(1, {"iif": "wlan1"}), (2, {"table": "1"}), (5, {"dstlen": 16}), (6, {"table": "main"})],
)
def test_a_rule_that_is_another(number: int, change: dict[str, Any]) -> None:
    shown = [dict(rule) for rule in SHOWN]
    shown[number] |= change
    assert not aodv_by_radio.rule_check("n1", DEVICES, shown).agrees
