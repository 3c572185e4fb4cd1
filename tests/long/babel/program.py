"""babeld over a row of four radios: ways, what it sends, and a way that breaks.

Run as ``cells.py`` beside this.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mininet_topos.baselines.babel import PORT, link_local
from mininet_topos.radio.audit import mistakes
from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.lab.baselines.conftest import VERSION
from tests.support.dissectors.ipv6_on_air import HOP_OPTIONS, ICMPV6, UDP, packets

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

NAMES = ("n1", "n2", "n3", "n4")
MACS = [f"02:00:00:00:00:{index:02x}" for index in range(4)]
ADDRESSES = [f"10.0.0.{index + 1}" for index in range(4)]
#: How many nodes each was ever in hearing of: at the end the fourth is beside the second.
NEIGHBOURS = (1, 3, 2, 2)
#: Of a machine with much else to do.
WALL_S = 400.0


@pytest.fixture(scope="session")
def radio_lab() -> VirtualLab:
    """A lab whose kernel has IPv6 beside radios; built when it is not there."""
    return virtual_lab.ensure(f"{VERSION}+ipv6+radio", lambda _what, _done: None)


@pytest.fixture(scope="module")
def ran(program: Callable[..., Path]) -> Path:
    return program("babel", wall_s=WALL_S)


@pytest.fixture(scope="module")
def said(ran: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ran / "said.json").read_text())
    return found


def test_every_way_leads_over_the_neighbour_on_its_side(said: dict[str, Any]) -> None:
    for here, name in enumerate(NAMES):
        node = said["before"][name]
        assert node["routes"] == {
            address: ADDRESSES[here + (1 if there > here else -1)]
            for there, address in enumerate(ADDRESSES)
            if there != here
        }


def test_each_announces_its_own_address_and_hears_its_neighbours(said: dict[str, Any]) -> None:
    for here, name in enumerate(NAMES):
        answer = said["before"][name]["answer"]
        assert answer["announced"] == [f"{ADDRESSES[here]}/32"]
        beside = [mac for there, mac in enumerate(MACS) if abs(there - here) == 1]
        heard = [one for one in answer["neighbours"] if one["cost"] < 0xFFFF]
        assert [one["address"] for one in heard] == [link_local(mac) for mac in beside]
        installed = {way["prefix"]: way for way in answer["ways"] if way["is_installed"]}
        for there, address in enumerate(ADDRESSES):
            if there != here:
                assert installed[f"{address}/32"]["metric"] >= 256 * abs(there - here)


def test_packets_arrive_over_three_hops(ran: Path) -> None:
    for stem in ("far", "back"):
        text = (ran / f"{stem}.jsonl").read_text()
        assert "10 packets transmitted, 10 received" in text
        assert "ttl=62" in text, "two nodes passed it on"


def test_what_was_counted_is_what_was_on_the_air(ran: Path, said: dict[str, Any]) -> None:
    packet_counts: Counter[str] = Counter()
    byte_counts: Counter[str] = Counter()
    for sent in packets((ran / "pcap").read_bytes()):
        if sent.header == UDP and sent.port == PORT:
            packet_counts[sent.mac] += 1
            byte_counts[sent.mac] += sent.ip_bytes
    for name, mac in zip(NAMES, MACS, strict=True):
        assert said["sent"][name] == {
            "packets": packet_counts[mac], "ip_bytes": byte_counts[mac],
        }  # fmt: skip
        assert packet_counts[mac] > 300 / 4, "a hello every four seconds"


def test_the_kernel_adds_little_and_nothing_of_routers(ran: Path, said: dict[str, Any]) -> None:
    """Reports of multicast groups, which begin with options, and neighbour discovery."""
    added: Counter[str] = Counter()
    for sent in packets((ran / "pcap").read_bytes()):
        if sent.header in (HOP_OPTIONS, ICMPV6):
            added[sent.mac] += 1
        else:
            assert (sent.header, sent.port) == (UDP, PORT)
    for here, (name, mac) in enumerate(zip(NAMES, MACS, strict=True)):

        def counted(what: str, *, of: dict[str, int] = said["kernel"][name]) -> int:
            return of[f"Icmp6{what}"]

        reports, asked = counted("OutMLDv2Reports"), counted("OutNeighborSolicits")
        assert reports == 6
        assert counted("OutNeighborAdvertisements") == counted("InNeighborSolicits")
        in_vain = asked - counted("InNeighborAdvertisements")
        assert in_vain in (0, 3), "a neighbour that went is asked for three times"
        assert asked - in_vain <= NEIGHBOURS[here], "once for each that there was"
        assert added[mac] == reports + asked + counted("OutNeighborAdvertisements")
        assert counted("OutRouterSolicits") == 0


def test_a_connection_may_begin_before_there_is_a_way(said: dict[str, Any]) -> None:
    assert 0.5 < said["connect_s"] < 40
    assert said["nowhere"]["n1"]["tx"]["packets"] > 0
    assert said["nowhere"]["n3"]["tx"]["packets"] == 0


def test_a_way_that_was_withdrawn_is_an_error_to_others_alone(
    ran: Path, said: dict[str, Any]
) -> None:
    """Own packets are lost silently; of those passed on the sender is told, once a second."""
    own, passed_on = ((ran / f"{stem}.jsonl").read_text() for stem in ("own", "passed-on"))
    assert "10 packets transmitted, 0 received, 100% packet loss" in own
    assert "errors" not in own
    assert (ran / "own.err").read_text() == ""
    told = passed_on.count("From 10.0.0.2")
    assert 1 <= told == passed_on.count("Destination Net Unreachable")
    assert f"10 packets transmitted, 0 received, +{told} errors" in passed_on
    assert said["nowhere"]["n2"]["tx"]["packets"] == 10


def test_a_way_that_breaks_is_replaced(ran: Path, said: dict[str, Any]) -> None:
    after = said["after"]
    assert after["n1"]["routes"] == {"10.0.0.2": "10.0.0.2", "10.0.0.4": "10.0.0.2"}
    assert after["n4"]["routes"] == {"10.0.0.2": "10.0.0.2", "10.0.0.1": "10.0.0.2"}
    replies = [
        int(line.split("icmp_seq=")[1].split()[0])
        for line in (ran / "broken.jsonl").read_text().splitlines()
        if "icmp_seq=" in line and "ttl=" in line
    ]
    assert 1 < replies[0] <= 80, "within 40 s, ten intervals of hellos"
    assert replies == list(range(replies[0], 201))


def test_it_ends_in_order_and_takes_its_routes_along(ran: Path, said: dict[str, Any]) -> None:
    assert said["left"] == {name: {} for name in NAMES}
    for name in NAMES:
        assert (ran / f"{name}.err").read_text() == ""


def test_all_that_was_on_the_air_adds_up(ran: Path) -> None:
    assert mistakes(json.loads((ran / "totals.json").read_text())) == []


def test_same_run_is_the_same_to_the_byte(ran: Path, program: Callable[..., Path]) -> None:
    again = program("babel", label="again", wall_s=WALL_S)
    for name in ("pcap", "said.json", "far.jsonl", "broken.jsonl"):
        assert (again / name).read_bytes() == (ran / name).read_bytes()
