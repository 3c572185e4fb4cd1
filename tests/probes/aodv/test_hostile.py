"""Messages nobody should send: counted, dropped, without a trace; then thousands at random."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.support.aodv.messages import HelloInterval, Rrep, RrepAck, Rreq, Unreachable
from tests.support.aodv.node import (
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
    request,
)  # fmt: skip

NewNode = Callable[..., AodvNode]
REPLY = Rrep(destination=FARTHER, destination_seq=3, originator=ME, lifetime_ms=1000)
ERROR = error(Unreachable(destination=FAR, seq=9))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "truncated"),
        (b"\x00" * 24, "unknown_type"),
        (b"\x05" + bytes(23), "unknown_type"),
        *((bytes(request())[:length], "truncated") for length in (1, 4, 23)),
        *((bytes(REPLY)[:length], "truncated") for length in (1, 19)),
        *((bytes(ERROR)[:length], "truncated") for length in (1, 3, 4, 11)),
        (bytes(ERROR) + b"\x00", "wrong_length"),
        (b"\x03\x00\x00\x00", "no_destinations"),
        (b"\x03\x00\x00\xff" + bytes(100), "truncated"),
        (b"\x04", "truncated"),
        (bytes(RrepAck()) + b"\x00", "wrong_length"),
        (bytes(request()) + b"\x01", "truncated"),
        (bytes(request()) + b"\x07\x05abcd", "truncated"),
        (bytes(request()) + b"\x80\x00", "unknown_extension"),
        (bytes(request()) + b"\x07\xe8" + bytes(232), "wrong_length"),
        (bytes(REPLY) + bytes(HelloInterval(length=3))[:5], "wrong_length"),
        (bytes(request(hops=255)), "hop_count"),
        (bytes(request(originator="224.0.0.1")), "wrong_address"),
        (bytes(request(destination="255.255.255.255")), "wrong_address"),
        (bytes(request(originator="0.0.0.0")), "wrong_address"),
        (bytes(request(originator="127.0.0.1")), "wrong_address"),
        (bytes(request(originator=ME)), "own"),
        (bytes(Rrep(destination=ME, originator=FAR, lifetime_ms=9)), "own"),
        (bytes(Rrep(destination="0.0.0.0", originator=ME)), "wrong_address"),
        (bytes(Rrep(hops=255, destination=FAR, originator=ME, lifetime_ms=9)), "hop_count"),
    ],
)
def test_a_wrong_message_is_counted_and_dropped(node: NewNode, message: bytes, reason: str) -> None:
    me = node()
    assert me.receive(0, message).sent() == []
    assert me.dropped() == {reason: 1}
    assert me.route(FAR)["known"] is me.route(FARTHER)["known"] is False


def test_an_extension_that_may_be_skipped_travels_on(node: NewNode) -> None:
    message = bytes(request()) + b"\x07\x03abc"
    action, _ = node().receive(0, message).one_sent()
    assert action["hex"].endswith(b"\x07\x03abc".hex())


@pytest.mark.parametrize("sender", ["0.0.0.0", "224.0.0.1", "255.255.255.255", "127.0.0.1"])
def test_a_wrong_sender_gets_no_route(node: NewNode, sender: str) -> None:
    me = node()
    me.receive(0, request(), sender=sender)
    assert me.dropped() == {"wrong_address": 1}


def test_nothing_can_make_two_routes_that_lead_to_each_other_go_round(node: NewNode) -> None:
    me = node()
    me.learn(0, A, seq=9, hops=3, sender=B)
    me.learn(1, B, seq=9, hops=3, sender=A)
    me.used(2, A, B)
    me.advance(200 * S)
    assert me.route(A)["valid"] == me.route(B)["valid"] == 0


def test_the_table_is_bounded_and_valid_routes_stay(node: NewNode) -> None:
    me = node(ttl_threshold_hops=7)
    for number in range(1100):
        me.learn(number, f"10.9.{number // 250}.{number % 250 + 1}", sender=A)
    assert me.dropped()["table_full"] == 1100 - 1023
    assert me.route("10.9.0.1")["valid"] == 1


def seeds() -> list[bytes]:
    """Return one right message of each kind, with extensions and several destinations."""
    several = [Unreachable(destination=f"10.0.0.{last}", seq=last) for last in range(2, 30)]
    return [
        bytes(message)
        for message in (
            request(), request(destination=ME, unknown=0, destination_seq=1 << 31),
            Rreq(gratuitous=1, destination=FARTHER, originator=C, originator_seq=0xFFFFFFFF),
            REPLY, Rrep(ack=1, hops=3, destination=FAR, originator=FARTHER, lifetime_ms=1 << 31),
            Rrep(destination=A, originator=A, lifetime_ms=2000) / HelloInterval(),
            ERROR, error(*several), error(*several[:3], no_delete=1), RrepAck(),
        )
    ]  # fmt: skip


def mutated(draw: random.Random, message: bytes) -> bytes:
    """Return it with fields set to what matters, bytes changed, cut off or added."""
    data = bytearray(message)
    for _ in range(draw.randrange(4)):
        match draw.randrange(4):
            case 0 if data:
                data[draw.randrange(len(data))] = draw.choice((0, 1, 127, 128, 254, 255))
            case 1 if len(data) >= 8:
                place = draw.randrange(len(data) // 4) * 4
                data[place : place + 4] = draw.choice(
                    (b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02", b"\x0a\x00\x00\x09", b"\xff" * 4)
                )
            case 2:
                del data[draw.randrange(len(data) + 1) :]
            case _:
                data += bytes(draw.randrange(256) for _ in range(draw.randrange(9)))
    return bytes(data)


@pytest.mark.parametrize("seed", range(6))
def test_thousands_of_messages_at_random_harm_nothing(node: NewNode, seed: int) -> None:
    """The sanitizers judge memory; here: time goes on, what is sent can be dissected."""
    draw, corpus = random.Random(seed), seeds()
    me = node(
        interfaces=(ME, "10.0.1.1"), jitter_ns=10 * MS, hello=seed % 2, local_repair=seed // 2 % 2,
        ask_rrep_ack=seed // 3 % 2, gratuitous=1, seed=seed,
    )  # fmt: skip
    t_ns = 0
    for _ in range(1500):
        t_ns += draw.choice((0, 1, MS, 100 * MS, S))
        sender = draw.choice((A, B, C, FAR, ME, "255.255.255.255"))
        match draw.randrange(10):
            case 0:
                done = me.want(t_ns, draw.choice((A, FAR, FARTHER, "10.0.0.200")))
            case 1:
                done = me.link_broken(t_ns, sender, FAR, FARTHER)
            case 2:
                done = me.transit(t_ns, FAR, draw.choice((FARTHER, B, "10.0.0.201")))
            case _:
                done = me.receive(
                    t_ns, mutated(draw, draw.choice(corpus)), sender=sender,
                    broadcast=draw.random() < 0.5, ttl=draw.choice((0, 1, 2, 35, 255)),
                    interface=draw.randrange(2),
                )  # fmt: skip
        # What is due at once is done by then: a daemon never wakes up for nothing again and again.
        assert done.next_ns >= t_ns
        assert me.advance(t_ns).next_ns > t_ns
        for action, message in done.sent():
            assert message.type in (1, 2, 3, 4)
            assert action["to"] != ME
    me.advance(t_ns + 1000 * S)


def test_equal_events_give_equal_bytes(node: NewNode) -> None:
    def story() -> list[str]:
        me = node(jitter_ns=10 * MS, seed=5)
        said = []
        for number in range(40):
            done = me.receive(number * MS, request(id=number), sender=(A, B, C)[number % 3])
            said += [str(done.actions), str(done.next_ns)]
        return [*said, str(me.advance(S).actions)]

    assert story() == story()
