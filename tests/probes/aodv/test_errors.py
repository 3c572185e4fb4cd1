"""Routes that break, expire and are repaired: RFC 3561, sections 5.3, 6.2, 6.10 to 6.13."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.aodv.messages import Rrep, Unreachable
from tests.support.aodv.node import (
    BROADCAST,
    FAR,
    FARTHER,
    ME,
    MS,
    A,
    AodvNode,
    B,
    C,
    S,
    error,
    on_the_way,
    request,
)  # fmt: skip

NewNode = Callable[..., AodvNode]


def test_6_2_a_packet_prolongs_source_destination_and_both_next_hops(node: NewNode) -> None:
    me = on_the_way(node)
    me.used(9 * S, FAR, FARTHER)
    me.advance(10 * S + 1)
    assert {me.route(there)["until_ns"] for there in (FARTHER, B)} == {12 * S}
    assert me.route(FARTHER)["valid"] == 1


def test_6_4_an_unused_route_expires_and_is_deleted_later(node: NewNode) -> None:
    me = node()
    me.learn(0, FAR, seq=5, hops=3)
    assert "route_expired" in me.advance(60 * S).events()
    route = me.route(FAR)
    assert (route["valid"], route["hops"], route["seq"]) == (0, 3, 6)
    me.advance(75 * S - 1)
    assert me.route(FAR)["known"] is True
    me.advance(75 * S)
    assert me.route(FAR)["known"] is False


def test_6_11_i_a_break_invalidates_all_over_the_neighbour(node: NewNode) -> None:
    me = on_the_way(node)
    done = me.link_broken(S, B)
    assert {action["destination"] for action in done.all("route_clear")} == {B, FARTHER}
    route = me.route(FARTHER)
    assert (route["valid"], route["seq"], route["until_ns"]) == (0, 31, S + 15 * S)


def test_5_3_and_6_11_one_precursor_gets_the_error_alone(node: NewNode) -> None:
    action, sent = on_the_way(node).link_broken(S, B).one_sent()
    assert action["to"] == A
    named = [(each.destination, each.seq) for each in sent.unreachable]
    assert (FARTHER, 31) in named
    assert sent.no_delete == 0
    assert action["hex"].startswith("0300000")


def test_6_11_more_precursors_get_a_broadcast_of_one_hop(node: NewNode) -> None:
    me = on_the_way(node)
    me.receive(2, request(originator="10.0.0.11", id=4), sender=C)
    action, _ = me.link_broken(S, B).one_sent()
    assert (action["to"], action["ttl"]) == (BROADCAST, 1)


def test_6_11_no_error_for_who_has_no_precursors(node: NewNode) -> None:
    me = node()
    me.learn(0, FAR, sender=A)
    assert me.link_broken(1, A).sent() == []


def test_6_2_who_was_told_of_a_lost_route_is_no_precursor_of_the_next(node: NewNode) -> None:
    """The next is this node's own: nobody asked for it, so nobody hears that it breaks."""
    me = on_the_way(node)
    assert me.route(FARTHER)["precursors"] == me.route(B)["precursors"] == [A]
    me.link_broken(S, B)
    assert me.route(FARTHER)["precursors"] == me.route(B)["precursors"] == []
    me.learn(S + 1, FARTHER, seq=32, sender=C)
    assert me.route(FARTHER)["valid"] == 1
    assert me.link_broken(2 * S, C).sent() == []


def test_6_12_who_was_told_of_a_longer_way_is_still_a_precursor_of_it(node: NewNode) -> None:
    me = on_the_way(node)
    me.receive(S, error(Unreachable(destination=FARTHER, seq=44), no_delete=1), sender=B)
    assert me.route(FARTHER)["precursors"] == [A]
    action, sent = me.link_broken(2 * S, B).one_sent()
    assert (action["to"], FARTHER in [each.destination for each in sent.unreachable]) == (A, True)


def test_6_11_a_second_break_of_the_same_link_is_silent(node: NewNode) -> None:
    me = on_the_way(node)
    me.link_broken(S, B)
    assert me.link_broken(S + 1, B).actions == []


def test_6_11_ii_a_packet_without_route_is_an_error_to_where_it_came_from(node: NewNode) -> None:
    me = node()
    me.receive(0, request(), sender=A)
    done = me.transit(S, FAR, C)
    action, sent = done.one_sent()
    assert done.all("verdict")[0]["verdict"] == "drop"
    assert (action["to"], [(u.destination, u.seq) for u in sent.unreachable]) == (A, [(C, 0)])


def test_6_11_ii_starts_no_discovery_and_keeps_the_entry_longer(node: NewNode) -> None:
    me = on_the_way(node)
    me.link_broken(S, B)
    done = me.transit(5 * S, FAR, FARTHER)
    assert [message.type for _, message in done.sent()] == [3]
    assert me.route(FARTHER)["until_ns"] == 5 * S + 15 * S


def test_6_11_iii_only_what_leads_over_the_sender_is_lost(node: NewNode) -> None:
    me = on_the_way(node)
    lost = Unreachable(destination=FARTHER, seq=44)
    assert me.receive(S, error(lost), sender=C).sent() == []
    assert me.route(FARTHER)["valid"] == 1
    action, sent = me.receive(S, error(lost), sender=B).one_sent()
    assert (action["to"], sent.unreachable[0].seq) == (A, 44)
    assert (me.route(FARTHER)["valid"], me.route(FARTHER)["seq"]) == (0, 44)


def test_6_1_an_error_older_than_what_is_known_is_stale(node: NewNode) -> None:
    me = on_the_way(node)
    me.receive(S, error(Unreachable(destination=FARTHER, seq=29)), sender=B)
    assert me.route(FARTHER)["valid"] == 1
    assert me.dropped() == {"stale": 1}


def test_6_11_iii_a_next_hop_that_has_forgotten_the_route_ends_it(node: NewNode) -> None:
    """It knows no number, so its error says 0; what asks next wants a fresher one all the same."""
    me, forgetful = on_the_way(node), node(interfaces=(B,))
    forgetful.receive(0, request(hops=2), sender=ME)
    action, sent = forgetful.transit(S, FAR, FARTHER).one_sent()
    assert (action["to"], sent.unreachable[0].seq) == (ME, 0)
    action, sent = me.receive(S, sent, sender=B).one_sent()
    named = [(each.destination, each.seq) for each in sent.unreachable]
    assert (action["to"], named) == (A, [(FARTHER, 31)])
    assert (me.route(FARTHER)["valid"], me.route(FARTHER)["seq"]) == (0, 31)
    assert me.dropped() == {}
    _, asked = me.want(2 * S, FARTHER).one_sent()
    assert (asked.unknown, asked.destination_seq) == (0, 31)


@pytest.mark.parametrize("seq", [1, 0x7FFFFFFF, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF])
def test_6_1_no_number_is_neither_newer_nor_older_than_one(node: NewNode, seq: int) -> None:
    me = node()
    me.learn(0, FARTHER, seq=seq, sender=B)
    me.receive(S, error(Unreachable(destination=FARTHER, seq=0)), sender=B)
    route = me.route(FARTHER)
    assert (route["valid"], route["seq"]) == (0, (seq + 1) % (1 << 32))


def test_6_11_iii_no_number_remains_none(node: NewNode) -> None:
    me = node()
    me.receive(0, request(), sender=A)
    assert (me.route(A)["valid"], me.route(A)["seq_valid"]) == (1, 0)
    me.receive(S, error(Unreachable(destination=A, seq=0)), sender=A)
    assert (me.route(A)["valid"], me.route(A)["seq_valid"]) == (0, 0)
    assert me.want(2 * S, A).one_sent()[1].unknown == 1


def test_6_11_an_error_says_0_of_whom_no_number_is_known(node: NewNode) -> None:
    """Of a neighbour that was only heard: by a break, by its own error, and for a packet."""
    broken, told = on_the_way(node), on_the_way(node)
    assert (broken.route(B)["seq_valid"], broken.route(B)["precursors"]) == (0, [A])
    for done in (
        broken.link_broken(S, B),
        told.receive(S, error(Unreachable(destination=B, seq=0)), sender=B),
        told.transit(2 * S, FAR, B),
    ):
        action, sent = done.one_sent()
        assert action["to"] == A
        assert {each.destination: each.seq for each in sent.unreachable}[B] == 0


def test_6_11_no_more_errors_a_second_than_the_limit(node: NewNode) -> None:
    me = node()
    me.receive(0, request(), sender=A)
    sent = [len(me.transit(1, FAR, f"10.1.0.{last}").sent()) for last in range(1, 13)]
    assert sent == [1] * 10 + [0] * 2
    assert me.counts()["rerrs_suppressed"] == 2
    assert len(me.transit(S + 1, FAR, C).sent()) == 1


def test_6_12_a_repair_asks_around_with_a_larger_number(node: NewNode) -> None:
    """TTL: the last known 3 hops, or half of those to the source, and LOCAL_ADD_TTL."""
    me = on_the_way(node, local_repair=1)
    action, sent = me.link_broken(S, B, FAR, FARTHER).one_sent()
    assert (sent.type, action["ttl"], sent.destination_seq, sent.unknown) == (1, 3 + 2, 31, 0)
    assert me.transit(S + 1, FAR, FARTHER).all("verdict")[0]["verdict"] == "keep"


@pytest.mark.parametrize(
    ("back", "forth", "ttl"), [(1, 3, 5), (6, 3, 5), (7, 3, 5), (8, 3, 6), (9, 3, 6), (20, 3, 12)]
)
def test_6_12_half_of_the_hops_to_the_source_if_those_are_more(
    node: NewNode, back: int, forth: int, ttl: int
) -> None:
    """MAX(MIN_REPAIR_TTL, 0.5 * #hops) + LOCAL_ADD_TTL, #hops being those back to the source."""
    me = node(local_repair=1)
    me.receive(0, request(hops=back - 1), sender=A)
    assert me.route(FAR)["hops"] == back
    me.learn(1, FARTHER, hops=forth, sender=B)
    action, sent = me.link_broken(S, B, FAR, FARTHER).one_sent()
    assert (sent.type, action["ttl"]) == (1, ttl)


def test_6_12_what_was_not_repaired_is_an_error_after_all(node: NewNode) -> None:
    me = on_the_way(node, local_repair=1)
    me.used(S, FAR, ME)
    me.link_broken(S, B, FAR, FARTHER)
    done = me.advance(S + 2800 * MS)
    action, sent = done.one_sent()
    assert (action["to"], sent.type, sent.unreachable[0].destination) == (A, 3, FARTHER)
    assert done.all("give_up_repair") == [{"do": "give_up_repair", "destination": FARTHER}]


def repaired(node: NewNode, hops: int) -> list[tuple[str, int]]:
    me = on_the_way(node, local_repair=1)
    me.link_broken(S, B, FAR, FARTHER)
    found = Rrep(
        hops=hops - 1, destination=FARTHER, destination_seq=32, originator=ME, lifetime_ms=9000
    )
    done = me.receive(S + 1, found, sender=C)
    assert done.all("release") == [{"do": "release", "destination": FARTHER}]
    return [(action["to"], message.no_delete) for action, message in done.sent()]


def test_6_12_a_longer_way_is_told_with_the_n_flag(node: NewNode) -> None:
    assert repaired(node, hops=4) == [(A, 1)]


def test_6_12_a_way_as_short_as_before_is_not(node: NewNode) -> None:
    assert repaired(node, hops=3) == []


def test_6_12_other_routes_are_repaired_once_a_packet_comes(node: NewNode) -> None:
    me = on_the_way(node, local_repair=1)
    me.link_broken(S, B, FAR, FARTHER)
    assert me.route(B)["repairable"] == 1
    done = me.transit(2 * S, FAR, B)
    assert done.all("verdict")[0]["verdict"] == "keep"
    assert [message.destination for _, message in done.sent()] == [B]


def test_6_12_too_far_away_to_be_repaired(node: NewNode) -> None:
    me = on_the_way(node, local_repair=1, max_repair_ttl_hops=2)
    sent = me.link_broken(S, B, FAR, FARTHER).sent()
    assert FARTHER in [each.destination for _, message in sent for each in message.unreachable]


def test_6_12_an_n_flag_deletes_nothing_and_goes_on(node: NewNode) -> None:
    me = on_the_way(node)
    lost = error(Unreachable(destination=FARTHER, seq=44), no_delete=1)
    action, sent = me.receive(S, lost, sender=B).one_sent()
    assert (action["to"], sent.no_delete) == (A, 1)
    assert (me.route(FARTHER)["valid"], me.route(FARTHER)["seq"]) == (1, 30)


def test_6_13_after_a_reboot_nothing_is_asked_or_forwarded_for_delete_period(
    node: NewNode,
) -> None:
    me = node(rebooted=1)
    assert me.want(0, FAR).sent() == []
    assert me.receive(1, request(), sender=A).sent() == []
    assert me.route(FAR)["valid"] == 1
    assert me.advance(15 * S - 1).sent() == []
    assert [message.type for _, message in me.receive(15 * S, request(id=3)).sent()] != []


def test_6_13_a_packet_for_another_is_an_error_to_all_and_restarts_the_wait(
    node: NewNode,
) -> None:
    me = node(rebooted=1)
    me.receive(0, request(), sender=A)
    action, sent = me.transit(10 * S, FAR, C).one_sent()
    assert (action["to"], sent.type) == (BROADCAST, 3)
    assert me.want(11 * S, C).sent() == []
    assert me.advance(25 * S - 1).sent() == []
    assert [message.destination for _, message in me.advance(25 * S).sent()] == [C]
