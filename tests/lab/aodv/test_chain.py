"""The daemon on real sockets and routes: found over hops, a cut link, nothing left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP

from mininet_topos.aodv.driver import Totals, parse_totals
from tests.support.aodv.messages import MESSAGES

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

NODES = [f"n{number}" for number in range(1, 8)]
DEFAULT = "default dev aodv0 proto 191 scope link src 10.0.0.{} metric 4096"


@pytest.fixture(scope="module")
def chain(program: Callable[..., Path]) -> Path:
    return program("chain")


def totals(folder: Path, node: str) -> Totals:
    return parse_totals((folder / f"aodvd-{node}.jsonl").read_text(), node)


def events(folder: Path, node: str, *kinds: str) -> list[dict[str, Any]]:
    lines = (folder / f"{node}.events").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] in kinds]


def routes(folder: Path, name: str) -> list[str]:
    return [line.strip() for line in (folder / f"{name}.routes").read_text().splitlines()]


def test_the_first_packets_wait_and_arrive_in_order(chain: Path) -> None:
    said = (chain / "first.jsonl").read_text()
    assert "3 packets transmitted, 3 received" in said
    assert [said.index(f"icmp_seq={number} ttl=61") for number in (1, 2, 3)] == sorted(
        said.index(f"icmp_seq={number}") for number in (1, 2, 3)
    )
    assert totals(chain, "n1").counts["reinjected_packets"] >= 3


def test_discovery_leaves_routes_in_the_kernel(chain: Path) -> None:
    assert routes(chain, "before-n3") == [DEFAULT.format(3)]
    assert routes(chain, "during-n1") == [
        DEFAULT.format(1),
        "10.0.0.2 dev to-n2 proto 191 scope link src 10.0.0.1",
        "10.0.0.5 via 10.0.0.2 dev to-n2 proto 191 src 10.0.0.1 onlink",
    ]
    assert "10.0.0.1 via 10.0.0.2 dev to-n2 proto 191 src 10.0.0.3 onlink" in routes(
        chain, "during-n3"
    )


def test_all_routes_of_a_node_have_the_metrics_asked_for(chain: Path) -> None:
    """What has no way yet, too; rto_min counts for the kernel only where it is locked."""
    metrics = (
        "mtu 1200 window 30000 advmss 1000 initcwnd 3 rto_min lock 492ms initrwnd 5 quickack 1"
    )
    default, *found = routes(chain, "during-n4")
    assert default == f"{DEFAULT.format(4)} {metrics}"
    assert {line.split(" ")[0] for line in found} >= {"10.0.0.1", "10.0.0.3", "10.0.0.5"}
    assert all(line.endswith(f" {metrics}") for line in found)
    assert not any("initcwnd" in line for line in routes(chain, "during-n3"))


def test_rings_on_the_wire_are_those_of_section_6_4(chain: Path) -> None:
    sent = []
    for line in (chain / "wire.txt").read_text().splitlines():
        direction, packet = line.split()
        ip = IP(bytes.fromhex(packet))
        data = bytes(ip[UDP].payload)
        if direction == "sent" and data[0] == 1:
            message = MESSAGES[1](data)
            if message.originator == "10.0.0.1" and message.hops == 0:
                sent.append((message.destination, ip.ttl, ip.dst, ip[UDP].dport))
    first = [(ttl, to, port) for there, ttl, to, port in sent if there == "10.0.0.5"][:3]
    assert first == [(ttl, "255.255.255.255", 654) for ttl in (1, 3, 5)]
    assert [ttl for there, ttl, _, _ in sent if there == "10.0.0.99"] == [1, 3, 5, 7, 35, 35]


def test_a_cut_link_is_told_and_another_way_is_found(chain: Path) -> None:
    """The hellos of n3 are missed for 2 s, and pings all the while."""
    (broken,) = [
        event for event in events(chain, "n2", "link_broken") if event["destination"] == "10.0.0.3"
    ]
    assert broken["cause"] == "hello"
    (told,) = [
        event for event in events(chain, "n2", "rerr_sent") if event["t_ns"] == broken["t_ns"]
    ]
    assert told["broadcast"] is False
    lost = events(chain, "n1", "route_broken")
    assert "10.0.0.5" in {event["destination"] for event in lost}
    found = [e for e in events(chain, "n1", "discovery_found") if e["destination"] == "10.0.0.5"]
    assert len(found) == 2
    assert 0 <= found[1]["t_ns"] - broken["t_ns"] < 1_500_000_000
    assert any("via 10.0.0.6" in line for line in routes(chain, "rerouted-n2"))
    said = (chain / "cut.jsonl").read_text()
    assert "icmp_seq=48 ttl=60" in said
    received = int(said.split(" packets transmitted, ")[1].split()[0])
    assert 36 <= received < 48


def test_who_waits_for_nobody_is_told_by_icmp(chain: Path) -> None:
    assert "Destination Host Unreachable" in (chain / "nobody.jsonl").read_text()
    counts = totals(chain, "n1").counts
    assert counts["dropped_packets_no_route"] == counts["unreachables_sent"] == 1
    (failed,) = events(chain, "n1", "discovery_failed")
    assert (failed["rreqs"], failed["duration_ns"] // 1_000_000) == (6, 10_320)


def test_routes_nobody_uses_expire(chain: Path) -> None:
    assert routes(chain, "idle-n2") == [DEFAULT.format(2)]


def test_nothing_is_left_behind(chain: Path) -> None:
    for node in ("n1", "n2"):
        assert routes(chain, f"after-{node}") == []
        assert "aodv0" not in (chain / f"after-{node}.links").read_text()
    for node in NODES:
        assert (chain / f"aodvd-{node}.err").read_text() == ""


def test_what_one_node_sends_to_its_only_neighbour_is_what_that_hears(chain: Path) -> None:
    sent, heard = totals(chain, "n1").counts, totals(chain, "n2").counts
    assert sent["sent_hello_packets"] > 0
    assert sent["sent_rreq_packets"] <= heard["received_rreq_packets"]
    assert totals(chain, "n1").sent_ip_bytes() > 28 * totals(chain, "n1").sent_packets()


def test_the_same_seed_gives_the_same_bytes(chain: Path, program: Callable[..., Path]) -> None:
    again = program("chain", label="again")
    for name in ("wire.txt", "cut.jsonl", *(f"{node}.events" for node in NODES)):
        assert (again / name).read_bytes() == (chain / name).read_bytes()
