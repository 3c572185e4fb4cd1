"""Frames over the radio medium: who hears whom, what is repeated, and that all adds up."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mininet_topos.radio.audit import mistakes

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

#: The first packets to a neighbour are lost while mac80211 comes to know it.
KNOWN = ["ping", "-c", "4", "-i", "0.2", "-W", "1"]


def ping(node: str, address: str, count: int = 5) -> list[str]:
    return [node, "ping", "-c", str(count), "-i", "0.2", "-W", "1", address]


def test_one_hop_and_out_of_range(run_radios: Any) -> None:
    ran = run_radios(
        [[0, 0], [250, 0], [501, 0]],
        [["n0", *KNOWN, "10.0.0.2"], ping("n0", "10.0.0.2"), ping("n0", "10.0.0.3", 2)],
    )
    assert " 0% packet loss" in ran.said[2]
    assert " 100% packet loss" in ran.said[3]
    assert mistakes(ran.totals) == []
    assert ran.totals["refused_messages"] == 0


def test_two_hops_by_static_routes(run_radios: Any) -> None:
    route = ["ip", "route", "add"]
    ran = run_radios(
        [[0, 0], [200, 0], [400, 0]],
        [
            ["n0", *route, "10.0.0.3/32", "via", "10.0.0.2"],
            ["n2", *route, "10.0.0.1/32", "via", "10.0.0.2"],
            ["n1", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"],
            ["n1", *KNOWN, "10.0.0.1"],
            ["n1", *KNOWN, "10.0.0.3"],
            ping("n0", "10.0.0.3"),
        ],
    )
    assert " 0% packet loss" in ran.said[6]
    assert "ttl=63" in ran.said[6]
    assert mistakes(ran.totals) == []


def test_moving_out_of_range_ends_in_retries(run_radios: Any) -> None:
    # 100 m away until second 3, then away at 400 m/s: out of range for good.
    movement = (
        "t_ns,node,x_mm,y_mm\n0,0,0,0\n0,1,100000,0\n3000000000,1,100000,0\n4000000000,1,500000,0\n"
    )
    ran = run_radios(
        [[0, 0], [0, 0]],
        [["n0", *KNOWN, "10.0.0.2"], ping("n0", "10.0.0.2", 30)],
        movement=movement,
    )
    received = int(ran.said[2].split(" received")[0].split()[-1])
    assert 5 <= received <= 20
    totals = ran.totals
    assert totals["given_up"][0] > 0
    tries = Counter(line.split("\t")[5] for line in ran.frames() if "out_of_range" in line)
    assert tries["7"] == sum(totals["given_up"])
    assert tries["8"] == 0
    assert mistakes(totals) == []


def test_lost_ack_is_a_retry_and_no_second_frame(run_radios: Any) -> None:
    # n0 sends short frames to n1, n2 long ones to n3; n0 and n2 begin at one instant now and then.
    # n1 does not hear n2 and answers; n0 does, and cannot decode the answer.
    send = ["/gt/code/bin/udp_send", "--port=9000", "--rate-bps=3000000", "--duration-s=2"]
    receive = ["/gt/code/bin/udp_recv", "--port=9000", "--idle-s=2", "&"]
    ran = run_radios(
        [[0, 0], [250, 0], [-200, 0], [-400, 0]],
        [
            ["n1", *receive],
            ["n3", *receive],
            ["n0", *KNOWN, "10.0.0.2"],
            ["n2", *KNOWN, "10.0.0.4"],
            ["n0", *send, "--host=10.0.0.2", "--message-bytes=64", "&"],
            ["n2", *send, "--host=10.0.0.4", "--message-bytes=1400", "&"],
        ],
        options={"carrier-sense-m": 300},
    )
    totals = ran.totals
    lost = totals["ack_collided"][1] + totals["ack_receiver_sending"][1]
    assert lost > 0
    assert 0 < totals["unicast_duplicate"][0] <= lost <= totals["retries"][0]
    assert totals["acks_due"][1] == totals["unicast_delivered"][0] + totals["unicast_duplicate"][0]
    assert mistakes(totals) == []


def test_same_run_is_the_same_to_the_byte(run_radios: Any) -> None:
    places = [[0, 0], [150, 0], [0, 150], [150, 150]]
    steps = [["n0", *KNOWN, "10.0.0.4"], ping("n1", "10.0.0.3"), ping("n2", "10.0.0.1")]
    first, second = (run_radios(places, steps) for _ in range(2))
    for name in ("pcap", "frames", "medium.jsonl"):
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()
    other = run_radios(places, steps, options={"seed": 2})
    assert (other.folder / "frames").read_bytes() != (first.folder / "frames").read_bytes()
