"""AODV's messages as tshark has them: those the state machine builds, and what it makes of others.

tshark's dissector and the state machine share nothing; scapy, which has no AODV, only wraps
messages into packets. What tshark must show is written out by hand.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw
from scapy.utils import PcapWriter

from tests.support.aodv.messages import HelloInterval, Rrep, Rreq, Unreachable
from tests.support.aodv.node import FAR, FARTHER, ME, MS, A, AodvNode, B, C, S, error, request
from tests.support.dissectors.tshark import shown

NewNode = Callable[..., AodvNode]
Shown = dict[str, str]

IPV4_LINK, PORT = 228, 654
RREQ_FLAGS = tuple(
    f"aodv.flags.rreq_{name}"
    for name in ("join", "repair", "gratuitous", "destinationonly", "unknown")
)
FIELDS = (
    "aodv.type", "aodv.hopcount", "aodv.rreq_id", "aodv.dest_ip", "aodv.dest_seqno",
    "aodv.orig_ip", "aodv.orig_seqno", *RREQ_FLAGS, "aodv.flags.rrep_repair",
    "aodv.flags.rrep_ack", "aodv.flags.rerr_nodelete", "aodv.prefix_sz", "aodv.lifetime",
    "aodv.destcount", "aodv.unreach_dest_ip", "aodv.ext_type", "aodv.ext_length",
    "aodv.ext_length.invalid", "aodv.ext_type.unknown", "_ws.malformed",
)  # fmt: skip


def tsharks(folder: Path, messages: Sequence[bytes]) -> list[Shown]:
    """Return what tshark says of messages, each in a packet of its own; empty fields left out."""
    file = folder / "aodv.pcap"
    with PcapWriter(str(file), linktype=IPV4_LINK) as writer:
        for message in messages:
            udp = UDP(sport=PORT, dport=PORT) / Raw(message)
            writer.write(IP(src=A, dst="255.255.255.255", ttl=1) / udp)
    found = shown(file, FIELDS)
    assert len(found) == len(messages)
    return [{name: value for name, value in one.items() if value} for one in found]


def rreq(flags: str = "", **fields: object) -> Shown:
    """Return what tshark must show of a request; flags by their letters in RFC 3561."""
    said = {"aodv.type": 1, "aodv.hopcount": 0, "aodv.dest_seqno": 0, **fields}
    letters = zip("JRGDU", RREQ_FLAGS, strict=True)
    said |= {name: int(letter in flags) for letter, name in letters}
    return {name: str(value) for name, value in said.items()}


def rrep(flags: str = "", **fields: object) -> Shown:
    said = {
        "aodv.type": 2, "aodv.prefix_sz": 0, "aodv.hopcount": 0,
        "aodv.flags.rrep_repair": int("R" in flags), "aodv.flags.rrep_ack": int("A" in flags),
        **fields,
    }  # fmt: skip
    return {name: str(value) for name, value in said.items()}


def rerr(flags: str, destinations: Sequence[tuple[str, int]]) -> Shown:
    return {
        "aodv.type": "3", "aodv.flags.rerr_nodelete": str(int("N" in flags)),
        "aodv.destcount": str(len(destinations)),
        "aodv.unreach_dest_ip": "|".join(address for address, _ in destinations),
        "aodv.dest_seqno": "|".join(str(seq) for _, seq in destinations),
    }  # fmt: skip


def sent(done: Any) -> bytes:
    (action,) = done.all("send")
    return bytes.fromhex(action["hex"])


def test_requests(node: NewNode, tmp_path: Path) -> None:
    knowing = node()
    knowing.learn(0, FAR, seq=4_000_000_000)
    knowing.link_broken(S, A)
    built = [
        sent(node().want(0, FAR)),
        sent(node(gratuitous=1, destination_only=1).want(0, FARTHER)),
        sent(knowing.want(2 * S, FAR)),
        sent(
            node().receive(0, request(join=1, repair=1, id=77, hops=4, originator_seq=0xFFFFFFFF))
        ),
    ]
    own = {"aodv.rreq_id": 1, "aodv.orig_ip": ME, "aodv.orig_seqno": 1}
    assert tsharks(tmp_path, built) == [
        rreq("U", **{**own, "aodv.dest_ip": FAR}),
        rreq("GDU", **{**own, "aodv.dest_ip": FARTHER}),
        rreq("", **{**own, "aodv.dest_ip": FAR, "aodv.dest_seqno": 4_000_000_001}),
        rreq(
            "JRU",
            **{
                "aodv.rreq_id": 77, "aodv.hopcount": 5, "aodv.dest_ip": FARTHER,
                "aodv.orig_ip": FAR, "aodv.orig_seqno": 0xFFFFFFFF,
            },
        ),
    ]  # fmt: skip


def test_replies_and_their_acknowledgement(node: NewNode, tmp_path: Path) -> None:
    forwarding = node()
    forwarding.receive(0, request(destination=FARTHER), sender=A)
    through = Rrep(
        repair=1, hops=3, destination=FARTHER, destination_seq=9, originator=FAR, lifetime_ms=2500
    )
    asked = Rrep(ack=1, destination=B, destination_seq=1, originator=ME, lifetime_ms=1000)
    built = [
        sent(node().receive(0, request(destination=ME, unknown=0, destination_seq=41))),
        sent(node(ask_rrep_ack=1).receive(0, request(destination=ME))),
        sent(forwarding.receive(1, through, sender=B)),
        sent(node().receive(0, asked, sender=B)),
    ]
    assert tsharks(tmp_path, built) == [
        rrep("", **{"aodv.dest_ip": ME, "aodv.dest_seqno": 41, "aodv.orig_ip": FAR,
                "aodv.lifetime": 11_200}),
        rrep("A", **{"aodv.dest_ip": ME, "aodv.dest_seqno": 0, "aodv.orig_ip": FAR,
                     "aodv.lifetime": 11_200}),
        rrep("R", **{"aodv.hopcount": 4, "aodv.dest_ip": FARTHER, "aodv.dest_seqno": 9,
                     "aodv.orig_ip": FAR, "aodv.lifetime": 2500}),
        {"aodv.type": "4"},
    ]  # fmt: skip


def between(node: NewNode, *farther: tuple[str, int], **config: int) -> AodvNode:
    """A node over which A's side reaches B's: FAR these destinations, of these numbers."""
    me = node(**config)
    for number, (there, seq) in enumerate(farther):
        me.receive(number, request(destination=there, id=number), sender=A)
        reply = Rrep(
            hops=2, destination=there, destination_seq=seq, originator=FAR, lifetime_ms=60_000
        )
        me.receive(number, reply, sender=B)
    return me


def test_hello_has_the_interval_as_an_extension(node: NewNode, tmp_path: Path) -> None:
    """tshark 4.0 shows no interval: it takes type 2 for one, which is 1 in RFC 3561, 9.1."""
    me = between(node, (FARTHER, 5), hello=1, hello_interval_ns=250 * MS)
    assert tsharks(tmp_path, [sent(me.advance(S))]) == [
        rrep(
            "",
            **{
                "aodv.dest_ip": ME, "aodv.dest_seqno": 0, "aodv.orig_ip": ME, "aodv.lifetime": 500,
                "aodv.ext_type": 1, "aodv.ext_length": 4,
            }
        )
    ]  # fmt: skip


def test_errors(node: NewNode, tmp_path: Path) -> None:
    two = ((FARTHER, 5), (C, 0xFFFFFFFE))
    repairing = between(node, (FARTHER, 5), local_repair=1)
    repairing.link_broken(S, B, FAR, FARTHER)
    longer = Rrep(hops=4, destination=FARTHER, destination_seq=7, originator=ME, lifetime_ms=9000)
    built = [
        sent(between(node, (FARTHER, 5)).link_broken(S, B)),
        sent(between(node, *two).link_broken(S, B)),
        sent(repairing.receive(S + 1, longer, sender=C)),
    ]
    assert tsharks(tmp_path, built) == [
        rerr("", [(B, 0), (FARTHER, 6)]),
        rerr("", [(B, 0), (FARTHER, 6), (C, 0xFFFFFFFF)]),
        rerr("N", [(FARTHER, 7)]),
    ]


def number(draw: random.Random) -> int:
    return draw.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, draw.getrandbits(32)))


def one_hop_on(before: Shown) -> Shown:
    return {**before, "aodv.hopcount": str(int(before["aodv.hopcount"]) + 1)}


def test_requests_of_others_are_read_as_tshark_reads_them(node: NewNode, tmp_path: Path) -> None:
    """Whatever their fields, each goes on with all of them; who asked is known by its number."""
    draw = random.Random(1)
    crafted = [
        bytes(
            Rreq(
                destination=f"172.16.{draw.getrandbits(8)}.{draw.getrandbits(8)}",
                originator=f"192.168.{index}.{draw.getrandbits(8)}", hops=draw.randrange(30),
                destination_seq=number(draw), originator_seq=number(draw), id=number(draw),
                **{
                    name: draw.getrandbits(1)
                    for name in ("join", "repair", "gratuitous", "destination_only", "unknown")
                },
            )
        )
        for index in range(60)
    ]  # fmt: skip
    before = tsharks(tmp_path, crafted)
    me = node(rreq_per_s=1000)
    after = tsharks(
        tmp_path, [sent(me.receive(at, one)) for at, one in enumerate(crafted)]
    )  # fmt: skip
    assert after == [one_hop_on(one) for one in before]
    for one in before:
        route = me.route(one["aodv.orig_ip"])
        assert (str(route["seq"]), str(route["hops"] - 1)) == (
            one["aodv.orig_seqno"], one["aodv.hopcount"],
        )  # fmt: skip


def test_replies_of_others_are_read_as_tshark_reads_them(node: NewNode, tmp_path: Path) -> None:
    draw = random.Random(2)
    me = node(rreq_per_s=1000)
    me.receive(0, request(), sender=A)
    crafted = [
        bytes(
            Rrep(
                destination=f"172.16.{index}.{draw.getrandbits(8)}", originator=FAR,
                hops=draw.randrange(30), destination_seq=number(draw),
                lifetime_ms=draw.randrange(1, 1 << 31), repair=draw.getrandbits(1),
            )
            / (HelloInterval(interval_ms=draw.randrange(1, 1 << 32)) if index % 3 == 0 else b"")
        )
        for index in range(60)
    ]  # fmt: skip
    before = tsharks(tmp_path, crafted)
    passed = [sent(me.receive(at, one, sender=B)) for at, one in enumerate(crafted)]
    assert tsharks(tmp_path, passed) == [one_hop_on(one) for one in before]
    assert [one.get("aodv.ext_type") for one in before[:4]] == ["1", None, None, "1"]
    for at, one in enumerate(before):
        route = me.route(one["aodv.dest_ip"])
        assert str(route["seq"]) == one["aodv.dest_seqno"]
        assert route["until_ns"] == at + int(one["aodv.lifetime"]) * MS


def test_errors_of_others_are_read_as_tshark_reads_them(node: NewNode, tmp_path: Path) -> None:
    draw = random.Random(3)
    lost = [(f"172.16.0.{last}", draw.randrange(100, 1 << 31)) for last in range(1, 31)]
    me = between(node, *((there, 9) for there, _ in lost))
    crafted = error(*(Unreachable(destination=there, seq=seq) for there, seq in lost))
    (before,) = tsharks(tmp_path, [bytes(crafted)])
    assert before == rerr("", lost)
    (after,) = tsharks(tmp_path, [sent(me.receive(S, crafted, sender=B))])
    assert after == before
    assert [(me.route(there)["valid"], me.route(there)["seq"]) for there, _ in lost] == [
        (0, seq) for _, seq in lost
    ]


@pytest.mark.parametrize(
    "message",
    [
        bytes(request())[:20],
        bytes(Rrep(destination=FAR, originator=ME))[:16],
        bytes(error(Unreachable(destination=FAR, seq=9)))[:8],
    ],
    ids=["request", "reply", "error"],
)
def test_what_tshark_finds_cut_off_is_dropped(
    node: NewNode, tmp_path: Path, message: bytes
) -> None:
    (said,) = tsharks(tmp_path, [message])
    assert "_ws.malformed" in said
    me = node()
    assert me.receive(0, message).all("send") == []
    assert me.dropped() == {"truncated": 1}


def test_prefix_of_a_reply_is_read_as_tshark_reads_it(node: NewNode, tmp_path: Path) -> None:
    reply = bytes(Rrep(destination=FAR, originator=ME, prefix=24, lifetime_ms=1))
    assert tsharks(tmp_path, [reply])[0]["aodv.prefix_sz"] == "24"
    me = node()
    me.receive(0, reply)
    assert me.dropped() == {"subnet": 1}
