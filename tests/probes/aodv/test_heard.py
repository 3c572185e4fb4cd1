"""Requests that were heard before may be kept from the state machine: it does the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.aodv.node import (
    FAR,
    FARTHER,
    ME,
    MS,
    A,
    AodvNode,
    B,
    C,
    Done,
    S,
    request,
)  # fmt: skip

NewNode = Callable[..., AodvNode]

#: What a filter is told, and the clearing of routes that ended long ago: at any waking will do.
ASIDE = ("seen", "watch", "unwatch", "done")
DELETED = 4


def test_a_request_and_its_sender_are_told_to_the_filter(node: NewNode) -> None:
    done = node().receive(7, request(id=3), sender=A, interface=0)
    (seen,) = done.all("seen")
    assert (seen["originator"], seen["id"], seen["until_ns"]) == (FAR, 3, 7 + 5600 * MS)
    assert [watch["destination"] for watch in done.all("watch")] == [A]


def test_a_neighbour_is_watched_no_more_once_its_link_is_lost(node: NewNode) -> None:
    me = node()
    me.receive(0, request(), sender=A)
    gone = me.link_broken(S, A).all("unwatch")
    assert {action["destination"] for action in gone} == {A, FAR}


def test_a_blacklisted_neighbour_is_not_watched(node: NewNode) -> None:
    me = node()
    me.receive(0, request(), sender=A)
    assert [action["destination"] for action in me.reply_failed(1, A).all("unwatch")] == [A]
    assert not me.learn(2, FARTHER, sender=A).all("watch")


def test_what_was_kept_prolongs_the_route_and_is_counted(node: NewNode) -> None:
    me = node()
    me.receive(0, request(), sender=A)
    me.heard(S, A, FAR)
    assert me.advance(S).next_ns > 3 * S
    assert me.route(A)["until_ns"] == 4 * S
    assert me.dropped() == {"duplicate": 1}
    assert me.counts()["received"][0] == 2
    me.heard(S, A, ME)
    assert me.dropped() == {"duplicate": 1, "own": 1}


def matters(done: Done) -> list[dict[str, Any]]:
    return [
        action
        for action in done.actions
        if action["do"] not in ASIDE and action.get("kind") != DELETED
    ]


class Side:
    """A node, behind a filter that keeps from it what it may or behind none."""

    def __init__(self, node: AodvNode, *, filters: bool) -> None:
        self.node, self.filters = node, filters
        self.seen: dict[tuple[str, int], int] = {}
        self.watched: set[str] = set()
        self.kept = 0
        self.next_ns = 0

    def _did(self, done: Done) -> list[dict[str, Any]]:
        for action in done.actions:
            if action["do"] == "seen":
                self.seen[action["originator"], action["id"]] = action["until_ns"]
            elif action["do"] == "watch":
                self.watched.add(action["destination"])
            elif action["do"] == "unwatch":
                self.watched.discard(action["destination"])
        self.next_ns = done.next_ns
        return matters(done)

    def until(self, t_ns: int) -> list[dict[str, Any]]:
        """Return what it did by itself till then: it is awake whenever something is due."""
        did = []
        while self.next_ns <= t_ns:
            did += self._did(self.node.advance(self.next_ns))
        return did

    def hear(self, t_ns: int, sender: str, originator: str, number: int) -> list[dict[str, Any]]:
        did = self.until(t_ns)
        seen = self.seen.get((originator, number), 0) > t_ns
        if self.filters and seen and sender in self.watched:
            self.kept += 1
            return did + self._did(self.node.heard(t_ns, sender, originator))
        message = request(originator=originator, id=number, originator_seq=number)
        return did + self._did(self.node.receive(t_ns, message, sender=sender))

    def reply(self, t_ns: int, sender: str, seq: int) -> list[dict[str, Any]]:
        return self.until(t_ns) + self._did(self.node.learn(t_ns, FAR, seq=seq, sender=sender))

    def broken(self, t_ns: int, sender: str) -> list[dict[str, Any]]:
        return self.until(t_ns) + self._did(self.node.link_broken(t_ns, sender))

    def unanswered(self, t_ns: int, sender: str) -> list[dict[str, Any]]:
        return self.until(t_ns) + self._did(self.node.reply_failed(t_ns, sender))


@pytest.mark.parametrize("seed", range(8))
def test_the_same_is_done_with_and_without_a_filter(node: NewNode, seed: int) -> None:
    draw = random.Random(seed)
    sides = [Side(node(), filters=True), Side(node(), filters=False)]
    t_ns = 0
    for step in range(600):
        t_ns += draw.choice([MS, 20 * MS, 100 * MS, 300 * MS] + [2 * S] * (step % 9 == 0))
        words: list[Any] = [t_ns, draw.choice([A, B, C])]
        what = draw.choices(["hear", "reply", "broken", "unanswered"], [90, 5, 3, 2])[0]
        if what == "hear":
            words += [draw.choice([FAR, FARTHER, ME, B]), t_ns // (3 * S)]
        elif what == "reply":
            words.append(draw.randrange(9))
        one, other = (getattr(side, what)(*words) for side in sides)
        assert one == other
    assert sides[0].kept > 60
    assert sides[0].node.counts() == sides[1].node.counts()
