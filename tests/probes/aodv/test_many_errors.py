"""Route errors of more destinations than one message holds: RFC 3561, section 6.11."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.aodv.messages import Rrep, Unreachable
from tests.support.aodv.node import FAR, FARTHER, A, AodvNode, B, C, S, error, on_the_way, request

NewNode = Callable[..., AodvNode]


def between_many(node: NewNode, destinations: list[str], **config: int) -> AodvNode:
    """A node between FAR, over A, and all of these, over B."""
    me = on_the_way(node, **config)
    for there in destinations:
        found = Rrep(
            hops=2, destination=there, destination_seq=30, originator=FAR, lifetime_ms=10_000
        )
        me.receive(2, found, sender=B)
    return me


@pytest.mark.parametrize(("lost", "messages"), [(180, [180]), (181, [180, 1]), (255, [180, 75])])
def test_6_11_iii_more_than_fits_is_told_in_several_messages(
    node: NewNode, lost: int, messages: list[int]
) -> None:
    there = [f"10.1.0.{last}" for last in range(lost)]
    me = between_many(node, there)
    named = error(*(Unreachable(destination=each, seq=44) for each in there))
    sent = me.receive(S, named, sender=B).sent()
    assert [action["to"] for action, _ in sent] == [A] * len(messages)
    assert [message.count for _, message in sent] == messages
    told = [each.destination for _, message in sent for each in message.unreachable]
    assert told == there
    assert me.counts()["sent"][2] == len(messages)


def test_6_11_i_a_break_of_many_routes_is_told_in_several_messages(node: NewNode) -> None:
    there = [f"10.1.{last // 200}.{last % 200}" for last in range(400)]
    sent = between_many(node, there).link_broken(S, B).sent()
    told = [each.destination for _, message in sent for each in message.unreachable]
    assert sorted(told) == sorted([B, FARTHER, *there])
    assert [message.count for _, message in sent] == [180, 180, 42]


def test_6_11_each_of_several_messages_goes_to_its_own_precursors(node: NewNode) -> None:
    there = [f"10.1.0.{last}" for last in range(181)]
    me = between_many(node, there[:180])
    me.receive(3, request(originator="10.0.0.11", id=4), sender=C)
    last = Rrep(
        hops=2, destination=there[180], destination_seq=30, originator="10.0.0.11",
        lifetime_ms=10_000,
    )  # fmt: skip
    me.receive(4, last, sender=B)
    named = error(*(Unreachable(destination=each, seq=44) for each in there))
    sent = me.receive(S, named, sender=B).sent()
    assert [(action["to"], message.count) for action, message in sent] == [(A, 180), (C, 1)]


def test_6_11_each_of_several_messages_counts_against_the_limit(node: NewNode) -> None:
    there = [f"10.1.0.{last}" for last in range(255)]
    me = between_many(node, there, rerr_per_s=1)
    named = error(*(Unreachable(destination=each, seq=44) for each in there))
    assert len(me.receive(S, named, sender=B).sent()) == 1
    assert me.counts()["rerrs_suppressed"] == 1
