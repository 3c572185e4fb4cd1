"""Counters of qdiscs from the kernel's own netlink answers."""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path

import pytest

from collectors.recording import netlink, queue_sampler
from collectors.recording.queue_sampler import Counters, Place
from model.errors import RunError
from tests.support.fake_lab import Here
from tests.support.recorded import DATA, value

ANSWER = (DATA / "trace-7.3" / "qdiscs.netlink").read_bytes()
PLACES = [Place(**place) for place in value("trace-7.3/places.json")]


def ask(*datagrams: bytes) -> dict[tuple[int, int], Counters]:
    mine, kernels = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with mine, kernels:
        for datagram in datagrams:
            kernels.send(datagram)
        mine.setblocking(False)
        return queue_sampler.ask(mine, "r1")


def done() -> bytes:
    return netlink.HEADER.pack(20, netlink.NLMSG_DONE, 2, 1, 0) + bytes(4)


def test_a_recorded_answer() -> None:
    found = ask(ANSWER)
    mine = [place for place in PLACES if place.node == "r1"]
    assert {(place.ifindex, place.handle) for place in mine} <= set(found)
    # What tc showed of r1-bottleneck at the end of that run: 643 packets, 14 dropped.
    assert found[mine[0].ifindex, mine[0].handle] == Counters(
        backlog_pkts=0, backlog_bytes=0, dropped_pkts=14, sent_pkts=643
    )


def test_an_answer_may_come_in_parts() -> None:
    whole = list(netlink.messages(ANSWER, "r1"))
    first = netlink.HEADER.unpack_from(ANSWER)[0]
    assert ask(ANSWER[:first], ANSWER[first:]) == ask(ANSWER)
    assert whole[-1].kind == netlink.NLMSG_DONE
    assert ask(done()) == {}


def test_a_refusal_is_named() -> None:
    refusal = netlink.HEADER.pack(36, netlink.NLMSG_ERROR, 0, 1, 0) + struct.pack("<i", -1)
    with pytest.raises(RunError, match=r"^r1: the kernel refuses to answer: got error -1"):
        ask(refusal + bytes(16))


def test_silence_is_named() -> None:
    with pytest.raises(RunError, match=r"^r1: the kernel does not answer"):
        ask(ANSWER[: netlink.HEADER.unpack_from(ANSWER)[0]])


def test_handles_are_the_kernels_numbers() -> None:
    numbers = [queue_sampler.handle_number(text) for text in ("10:", "1:", "1:1", "ffff:")]
    assert numbers == [0x100000, 0x10000, 0x10001, 0xFFFF0000]


def test_places_have_the_nodes_own_interface_numbers() -> None:
    number = socket.if_nametoindex("lo")
    (place,) = queue_sampler.find_places(Here("r1"), [("lo", "10:", "shaper")])
    assert place == Place(node="r1", device="lo", ifindex=number, handle=0x100000, role="shaper")


def test_a_sample_is_a_line_of_columns_in_the_order_of_the_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ask(ANSWER)
    monkeypatch.setattr(queue_sampler, "ask", lambda connection, node: found)
    mine = [place for place in PLACES if place.node == "r1"]
    sampler = queue_sampler.start([Here("r1")], mine, tmp_path / "queue.jsonl")
    queue_sampler.take(sampler, 7)
    queue_sampler.stop(sampler)
    sample = json.loads((tmp_path / "queue.jsonl").read_text())
    assert sample["t_ns"] == 7
    assert sample["dropped_pkts"] == [14] + [0] * (len(mine) - 1)
    assert len(sample["sent_pkts"]) == len(mine)


def test_a_qdisc_that_is_gone_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_sampler, "ask", lambda connection, node: {})
    sampler = queue_sampler.start([Here("r1")], PLACES[:1], tmp_path / "queue.jsonl")
    with pytest.raises(RunError, match=r"^r1:r1-bottleneck 10:: a qdisc is gone"):
        queue_sampler.take(sampler, 7)
    queue_sampler.stop(sampler)
