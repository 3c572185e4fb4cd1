"""Route requests, rule by rule: RFC 3561, sections 5.1, 6.1 to 6.6."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.aodv.messages import Rrep, Rreq
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
    request,
)  # fmt: skip

NewNode = Callable[..., AodvNode]


def test_5_1_a_request_is_these_24_bytes(node: NewNode) -> None:
    action, sent = node(gratuitous=1, destination_only=1).want(0, FAR).one_sent()
    assert action["hex"] == "01380000000000010a000009000000000a00000100000001"
    assert bytes(sent) == bytes(
        Rreq(gratuitous=1, destination_only=1, unknown=1, id=1, destination=FAR,
             originator=ME, originator_seq=1)
    )  # fmt: skip


def test_6_1_the_own_number_grows_before_each_discovery(node: NewNode) -> None:
    me = node()
    assert [me.want(0, there).one_sent()[1].originator_seq for there in (FAR, C)] == [1, 2]


def test_6_1_the_own_number_rolls_over_to_zero(node: NewNode) -> None:
    me = node()
    me.set_own_seq(0xFFFFFFFF)
    assert me.want(0, FAR).one_sent()[1].originator_seq == 0


@pytest.mark.parametrize(
    ("known", "offered", "taken"),
    [(5, 6, True), (5, 4, False), (0xFFFFFFFF, 0, True), (0, 0xFFFFFFFF, False),
     (0x7FFFFFFF, 0x80000000, True)],
)  # fmt: skip
def test_6_1_numbers_are_compared_as_signed(
    node: NewNode, known: int, offered: int, taken: bool
) -> None:
    me = node()
    me.receive(0, request(originator_seq=known, id=1), sender=A)
    me.receive(1, request(originator_seq=offered, id=2), sender=B)
    route = me.route(FAR)
    assert (route["next_hop"], route["seq"]) == ((B, offered) if taken else (A, known))


def test_6_2_an_equal_number_needs_a_shorter_way(node: NewNode) -> None:
    me = node()
    me.receive(0, request(hops=3, id=1), sender=A)
    me.receive(1, request(hops=3, id=2), sender=B)
    assert me.route(FAR)["next_hop"] == A
    me.receive(2, request(hops=2, id=3), sender=B)
    assert (me.route(FAR)["next_hop"], me.route(FAR)["hops"]) == (B, 3)


def test_6_3_an_unknown_number_is_flagged_and_a_known_one_copied(node: NewNode) -> None:
    me = node()
    assert me.want(0, C).one_sent()[1].unknown == 1
    me.learn(0, FAR, seq=41)
    me.link_broken(1, A)
    sent = me.want(2, FAR).one_sent()[1]
    assert (sent.unknown, sent.destination_seq) == (0, 42)


def test_6_3_an_own_request_that_comes_back_is_not_forwarded(node: NewNode) -> None:
    me = node()
    sent = me.want(0, FAR).one_sent()[1]
    sent.hops = 1
    assert me.receive(1, sent).sent() == []
    assert me.dropped() == {"own": 1}


@pytest.mark.parametrize("of_node", [{"originator": C}, {"destination": C}])
def test_what_begins_or_ends_at_another_router_of_the_node_is_not_passed_on(
    node: NewNode, of_node: dict[str, str]
) -> None:
    me = node(others=(C,))
    assert me.receive(0, request(**of_node), sender=A).sent() == []
    assert me.dropped() == {"own": 1}
    assert me.receive(1, request(id=2), sender=A).one_sent()[1].hops == 2, "others' requests are"


def test_6_3_only_one_discovery_for_a_destination(node: NewNode) -> None:
    me = node()
    assert len(me.want(0, FAR).sent()) == 1
    assert me.want(1, FAR).sent() == []


def test_6_3_no_more_requests_a_second_than_the_limit(node: NewNode) -> None:
    me = node(ttl_start_hops=35)
    sent = [len(me.want(0, f"10.1.0.{last}").sent()) for last in range(1, 13)]
    assert sent == [1] * 10 + [0] * 2
    assert me.advance(S - 1).sent() == []
    later = [message.destination for _, message in me.advance(S).sent()]
    assert later == ["10.1.0.11", "10.1.0.12"]
    assert me.counts()["rreqs_delayed"] == 2


def test_6_3_and_6_4_rings_then_a_wait_that_doubles(node: NewNode) -> None:
    """TTLs 1, 3, 5, 7 and 35, 35; waits 2 * 40 ms * (TTL + 2), then 2.8 s and 5.6 s."""
    me = node()
    done = me.want(0, FAR)
    seen = []
    t_ns = 0
    while done.sent():
        action, message = done.one_sent()
        seen.append((action["ttl"], message.id, (done.next_ns - t_ns) // MS))
        t_ns = done.next_ns
        done = me.advance(t_ns)
    assert seen == [
        (1, 1, 240), (3, 2, 400), (5, 3, 560), (7, 4, 720), (35, 5, 2800), (35, 6, 5600),
    ]  # fmt: skip
    assert done.all("give_up") == [{"do": "give_up", "destination": FAR}]
    assert "discovery_failed" in done.events()


def test_6_3_without_rings_there_are_retries_besides_the_first(node: NewNode) -> None:
    me = node(ttl_start_hops=35, ttl_increment_hops=35)
    done, waits, t_ns = me.want(0, FAR), [], 0
    while done.sent():
        waits.append((done.next_ns - t_ns) // MS)
        t_ns = done.next_ns
        done = me.advance(t_ns)
    assert waits == [2800, 5600, 11200]


def test_6_4_a_ring_begins_beyond_the_last_known_distance(node: NewNode) -> None:
    me = node()
    me.learn(0, FAR, hops=4)
    me.link_broken(1, A)
    assert me.want(2, FAR).one_sent()[0]["ttl"] == 4 + 2


def test_6_4_a_reply_ends_the_search_and_lets_packets_go(node: NewNode) -> None:
    me = node()
    me.want(0, FAR)
    done = me.learn(100 * MS, FAR)
    assert done.all("release") == [{"do": "release", "destination": FAR}]
    assert done.events()[-1] == "discovery_found"
    assert me.advance(20 * S).sent() == []


def test_6_5_the_previous_hop_gets_a_route_without_a_number(node: NewNode) -> None:
    me = node()
    me.receive(0, request(), sender=A)
    route = me.route(A)
    assert (route["next_hop"], route["hops"], route["seq_valid"]) == (A, 1, 0)


def test_6_5_a_second_copy_is_discarded_until_the_path_discovery_time(node: NewNode) -> None:
    me = node()
    assert len(me.receive(0, request()).sent()) == 1
    assert me.receive(5600 * MS - 1, request(), sender=B).sent() == []
    assert me.dropped() == {"duplicate": 1}
    assert len(me.receive(5600 * MS, request(), sender=B).sent()) == 1


def test_6_5_forwarding_counts_the_hop_and_takes_one_of_the_ttl(node: NewNode) -> None:
    action, sent = node().receive(0, request(hops=1), ttl=9).one_sent()
    assert (action["ttl"], action["to"], sent.hops) == (8, BROADCAST, 2)
    assert (sent.originator, sent.id, sent.originator_seq) == (FAR, 1, 7)


def test_6_5_a_ttl_of_one_goes_no_further(node: NewNode) -> None:
    me = node()
    assert me.receive(0, request(), ttl=1).sent() == []
    assert me.dropped() == {"ttl": 1}
    assert me.route(FAR)["valid"] == 1


def test_6_5_the_reverse_route_lives_long_enough_for_the_reply(node: NewNode) -> None:
    """Now + 2 * 2.8 s - 2 * hops * 40 ms, hops counted with this one."""
    me = node()
    me.receive(0, request(hops=2))
    assert me.route(FAR)["until_ns"] == 5600 * MS - 2 * 3 * 40 * MS


def test_6_5_a_forwarded_request_asks_for_the_freshest_number_known(node: NewNode) -> None:
    me = node()
    me.learn(0, FARTHER, seq=30)
    me.link_broken(1, A)
    sent = me.receive(2, request(unknown=0, destination_seq=12), sender=B).one_sent()[1]
    assert (sent.unknown, sent.destination_seq) == (0, 31)
    sent = me.receive(3, request(unknown=0, destination_seq=50, id=2), sender=B).one_sent()[1]
    assert sent.destination_seq == 50
    assert me.route(FARTHER)["seq"] == 31


def test_6_6_1_the_destination_replies_with_zero_hops(node: NewNode) -> None:
    me = node()
    me.set_own_seq(20)
    action, sent = me.receive(0, request(destination=ME), sender=A).one_sent()
    assert (action["to"], bytes(sent)) == (
        A,
        bytes(Rrep(destination=ME, destination_seq=20, originator=FAR, lifetime_ms=11_200)),
    )


@pytest.mark.parametrize(("asked", "answered"), [(20, 20), (21, 21), (19, 20), (30, 30)])
def test_6_6_1_and_6_1_the_own_number_is_never_below_what_is_asked(
    node: NewNode, asked: int, answered: int
) -> None:
    me = node()
    me.set_own_seq(20)
    wanted = request(destination=ME, unknown=0, destination_seq=asked)
    assert me.receive(0, wanted).one_sent()[1].destination_seq == answered


def test_6_6_2_an_intermediate_node_replies_and_knows_who_depends_on_it(node: NewNode) -> None:
    me = node()
    me.learn(0, FARTHER, seq=30, hops=3, sender=B)
    action, sent = me.receive(S, request(), sender=A).one_sent()
    assert (action["to"], sent.type, sent.hops) == (A, 2, 3)
    assert (sent.destination, sent.destination_seq, sent.originator) == (FARTHER, 30, FAR)
    assert sent.lifetime_ms == 59_000
    assert me.route(FARTHER)["precursors"] == [A]
    assert me.route(FAR)["precursors"] == [B]


@pytest.mark.parametrize("asked", [{"destination_only": 1}, {"unknown": 0, "destination_seq": 31}])
def test_6_6_no_reply_when_only_it_may_or_the_number_is_older(
    node: NewNode, asked: dict[str, int]
) -> None:
    me = node()
    me.learn(0, FARTHER, seq=30, sender=B)
    assert me.receive(1, request(**asked), sender=A).one_sent()[1].type == 1


def test_6_6_2_the_lifetime_counts_what_the_route_carried_since(node: NewNode) -> None:
    me = node(active_route_timeout_ns=90 * S)
    me.learn(0, FARTHER, seq=30, sender=B)
    me.used(10 * S, ME, FARTHER)
    assert me.receive(20 * S, request(), sender=A).one_sent()[1].lifetime_ms == 80_000


def test_6_6_3_a_gratuitous_reply_tells_the_destination_the_way_back(node: NewNode) -> None:
    me = node()
    me.learn(0, FARTHER, seq=30, sender=B)
    (to_source, _), (to_destination, sent) = me.receive(
        1, request(gratuitous=1, hops=1), sender=A
    ).sent()
    assert (to_source["to"], to_destination["to"]) == (A, B)
    assert (sent.hops, sent.destination, sent.destination_seq) == (2, FAR, 7)
    assert (sent.originator, sent.lifetime_ms) == (FARTHER, (5600 * MS - 160 * MS) // MS)


def test_6_8_nobody_on_the_blacklist_is_answered(node: NewNode) -> None:
    me = node()
    me.reply_failed(0, A)
    assert me.receive(16_800 * MS - 1, request(), sender=A).sent() == []
    assert me.dropped() == {"blacklisted": 1}
    assert len(me.receive(16_800 * MS, request(), sender=A).sent()) == 1


def test_6_14_a_request_leaves_on_all_interfaces(node: NewNode) -> None:
    me = node(interfaces=(ME, "10.0.1.1"))
    assert [action["interface"] for action, _ in me.receive(0, request()).sent()] == [0, 1]
    assert me.route(FAR)["interface"] == 0
    me.receive(1, request(id=2, originator="10.0.0.77"), sender=B, interface=1)
    assert me.route("10.0.0.77")["interface"] == 1


def test_a_seed_decides_the_jitter_and_nothing_else_does(node: NewNode) -> None:
    def due(seed: int) -> int:
        return node(jitter_ns=10 * MS, seed=seed).receive(0, request()).next_ns

    assert due(1) == due(1) != due(2)
    assert 0 <= due(1) < 10 * MS


def test_6_14_own_requests_leave_other_interfaces_after_a_drawn_delay(node: NewNode) -> None:
    """Two radios of one channel that began at one instant would destroy each other's."""
    me = node(interfaces=(ME, "10.0.1.1", "10.0.2.1"), jitter_ns=10 * MS)
    first = me.want(0, FAR)
    assert [action["interface"] for action in first.all("send")] == [0]
    assert 0 < first.next_ns < 10 * MS
    later = me.advance(10 * MS)
    assert sorted(action["interface"] for action in later.all("send")) == [1, 2]
    assert {action["hex"] for action in later.all("send")} == {first.all("send")[0]["hex"]}
    assert me.counts()["sent"][:1] == [3]
