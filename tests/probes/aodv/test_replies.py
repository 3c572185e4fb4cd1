"""Route replies and hellos, rule by rule: RFC 3561, sections 5.2, 5.4, 6.7 to 6.9 and 9.1."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.aodv.messages import HelloInterval, Rrep, RrepAck
from tests.support.aodv.node import (
    BROADCAST,
    FAR,
    FARTHER,
    ME,
    MS,
    A,
    AodvNode,
    B,
    S,
    request,
)  # fmt: skip

NewNode = Callable[..., AodvNode]


def reply(**fields: object) -> Rrep:
    """FARTHER's reply to FAR, two hops from it."""
    values: dict[str, object] = {
        "hops": 1, "destination": FARTHER, "destination_seq": 30, "originator": FAR,
        "lifetime_ms": 10_000, **fields,
    }  # fmt: skip
    return Rrep(**values)


def between(node: NewNode, **config: int) -> AodvNode:
    """A node that forwarded FAR's request, which came from A."""
    me = node(**config)
    me.receive(0, request(), sender=A)
    return me


def test_6_7_the_forward_route_is_what_the_reply_says(node: NewNode) -> None:
    me = between(node)
    me.receive(S, reply(), sender=B)
    route = me.route(FARTHER)
    assert (route["next_hop"], route["hops"], route["seq"], route["seq_valid"]) == (B, 2, 30, 1)
    assert route["until_ns"] == S + 10 * S


def test_6_7_a_reply_is_forwarded_along_the_reverse_route(node: NewNode) -> None:
    action, sent = between(node).receive(S, reply(), sender=B).one_sent()
    assert (action["to"], action["hex"]) == (A, bytes(reply(hops=2)).hex())
    assert sent.ack == 0


def test_6_7_precursors_of_the_destination_and_of_the_next_hop(node: NewNode) -> None:
    me = between(node)
    me.receive(S, reply(), sender=B)
    assert me.route(FARTHER)["precursors"] == [A]
    assert me.route(B)["precursors"] == [A]


def test_6_7_the_reverse_route_lives_on(node: NewNode) -> None:
    me = between(node)
    me.receive(5 * S, reply(), sender=B)
    assert me.route(FAR)["until_ns"] == 5 * S + 3 * S


@pytest.mark.parametrize(
    ("seq", "hops", "taken"), [(31, 9, True), (30, 0, True), (30, 1, False), (29, 0, False)]
)
def test_6_7_only_news_change_the_forward_route(
    node: NewNode, seq: int, hops: int, taken: bool
) -> None:
    me = between(node)
    me.receive(1, reply(), sender=B)
    sent = me.receive(2, reply(destination_seq=seq, hops=hops), sender="10.0.0.5").sent()
    assert (me.route(FARTHER)["next_hop"] == "10.0.0.5") == taken
    assert bool(sent) == taken


def test_6_7_an_equal_number_revives_an_inactive_route(node: NewNode) -> None:
    me = between(node)
    me.receive(1, reply(), sender=B)
    me.link_broken(2, B)
    assert me.route(FARTHER)["seq"] == 31
    me.receive(3, reply(destination_seq=30), sender="10.0.0.5")
    assert me.route(FARTHER)["valid"] == 0
    me.receive(4, reply(destination_seq=31), sender="10.0.0.5")
    assert me.route(FARTHER)["valid"] == 1


def test_6_7_without_a_reverse_route_a_reply_ends_here(node: NewNode) -> None:
    me = node()
    assert me.receive(0, reply(), sender=B).sent() == []
    assert me.dropped() == {"no_reverse_route": 1}
    assert me.route(FARTHER)["valid"] == 1


def test_5_4_and_6_7_an_acknowledgement_for_who_asks(node: NewNode) -> None:
    me = node()
    action, _ = me.receive(0, reply(originator=ME, ack=1), sender=B).one_sent()
    assert (action["to"], action["hex"]) == (B, "0400")


def test_6_8_a_reply_without_acknowledgement_blacklists(node: NewNode) -> None:
    """NEXT_HOP_WAIT is NODE_TRAVERSAL_TIME + 10 ms."""
    me = node(ask_rrep_ack=1)
    done = me.receive(0, request(destination=ME), sender=A)
    assert done.one_sent()[1].ack == 1
    assert done.next_ns == 50 * MS
    assert me.advance(50 * MS).events() == ["link_blacklisted"]


def test_6_8_an_acknowledged_reply_does_not(node: NewNode) -> None:
    me = node(ask_rrep_ack=1)
    me.receive(0, request(destination=ME), sender=A)
    me.receive(49 * MS, RrepAck(), sender=A)
    me.advance(S)
    assert me.counts()["blacklistings"] == 0


def test_6_9_and_9_1_a_hello_is_a_reply_of_no_hops_with_its_interval(node: NewNode) -> None:
    """Only who is part of an active route says it: here FAR reached FARTHER over this node."""
    me = between(node, hello=1)
    me.receive(1, reply(), sender=B)
    action, _ = me.advance(S).one_sent()
    assert (action["to"], action["ttl"]) == (BROADCAST, 1)
    assert (
        action["hex"]
        == (
            bytes(Rrep(destination=ME, originator=ME, lifetime_ms=2000)) + bytes(HelloInterval())
        ).hex()
    )


def test_6_9_who_is_part_of_no_route_is_silent(node: NewNode) -> None:
    me = node(hello=1)
    me.receive(0, request(destination=ME), sender=A)
    assert me.advance(S).sent() == []


def test_6_9_a_broadcast_stands_for_a_hello(node: NewNode) -> None:
    me = between(node, hello=1)
    me.receive(1, reply(), sender=B)
    me.receive(500 * MS, request(id=9, destination="10.0.0.33"), sender=A)
    assert me.advance(S).sent() == []
    assert len(me.advance(2 * S).sent()) == 1


def hello(seq: int = 8, sender: str = A) -> bytes:
    return bytes(Rrep(destination=sender, destination_seq=seq, originator=sender, lifetime_ms=2000))


@pytest.mark.parametrize(
    ("first", "then", "latest"),
    [(8, 9, 9), (8, 8, 8), (8, 6, 8), (0xFFFFFFFF, 1, 1), (1, 0xFFFFFFFF, 1)],
)
def test_6_9_and_6_1_a_hello_makes_a_route_with_the_latest_number(
    node: NewNode, first: int, then: int, latest: int
) -> None:
    """An older hello says that its sender is there all the same."""
    me = node(hello=1)
    me.receive(0, hello(first), sender=A, broadcast=True, ttl=1)
    me.receive(S, hello(then), sender=A, broadcast=True, ttl=1)
    route = me.route(A)
    assert (route["next_hop"], route["hops"], route["seq"], route["valid"]) == (A, 1, latest, 1)
    assert route["until_ns"] == S + 3 * S
    assert "link_broken" not in me.advance(3 * S - 1).events()


def test_6_9_a_hello_gives_a_number_to_a_route_without_one(node: NewNode) -> None:
    me = node(hello=1)
    me.receive(0, request(), sender=A)
    assert me.route(A)["seq_valid"] == 0
    me.receive(1, hello(0xFFFFFFF0), sender=A, broadcast=True, ttl=1)
    assert (me.route(A)["seq_valid"], me.route(A)["seq"]) == (1, 0xFFFFFFF0)


def test_6_9_two_missed_hellos_are_a_broken_link(node: NewNode) -> None:
    me = node(hello=1)
    me.receive(0, hello(), sender=A, broadcast=True, ttl=1)
    me.learn(1, FAR, sender=A)
    assert me.route(FAR)["valid"] == 1
    assert "link_broken" not in me.advance(2 * S).events()
    done = me.advance(2 * S + 1)
    assert "link_broken" in done.events()
    assert me.route(FAR)["valid"] == 0


def test_9_1_a_neighbours_own_interval_counts(node: NewNode) -> None:
    me = node(hello=1)
    message = hello() + bytes(HelloInterval(interval_ms=5000))
    me.receive(0, message, sender=A, broadcast=True, ttl=1)
    assert me.route(A)["until_ns"] == 10 * S
    assert "link_broken" in me.advance(10 * S).events()


def test_7_a_reply_for_a_subnet_is_not_taken_for_one_of_a_host(node: NewNode) -> None:
    me = node()
    me.receive(0, reply(prefix=24, originator=ME), sender=B)
    assert me.dropped() == {"subnet": 1}
    assert me.route(FARTHER)["known"] is False
