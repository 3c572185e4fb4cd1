"""Bisections of made-up histories: by hand, and of random ones with one commit that turns."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.planning.bisection import (
    Found,
    History,
    Outcome,
    Try,
    chain,
    more_seeds,
    next_step,
    outcome_of,
    rounds_of,
    unproved_parents,
)

#: Eight commits in a row, the last of them the bad one.
EIGHT = chain(list("abcdefgh"))
#: A side branch b1, b2 beside a1, a2, a3; both begin behind the good commit, m merges them.
MERGED = History(
    {
        "a1": (),
        "b1": (),
        "a2": ("a1",),
        "b2": ("b1",),
        "a3": ("a2",),
        "m": ("a3", "b2"),
        "t": ("m",),
    }
)


def bisect(history: History, outcome: Mapping[str, Outcome]) -> tuple[Found, list[str]]:
    """Return what a bisection finds, and what it tries on the way."""
    known: dict[str, Outcome] = {}
    tried = []
    while isinstance(step := next_step(history, known), Try):
        assert step.commit not in known
        known[step.commit] = outcome[step.commit]
        tried.append(step.commit)
    return step, tried


def outcomes(history: History, culprit: str, skipped: Collection[str] = ()) -> dict[str, Outcome]:
    """Return what every commit gives where one turns it for all that come after."""
    return {
        one: "skipped" if one in skipped else "bad" if culprit in history.behind([one]) else "good"
        for one in history.parents
    }


def test_by_hand() -> None:
    assert next_step(EIGHT, {}) == Try(commit="d", suspects=8, steps=3)
    assert next_step(EIGHT, {"d": "good"}) == Try(commit="f", suspects=4, steps=2)
    assert next_step(EIGHT, {"d": "good", "f": "bad"}) == Try(commit="e", suspects=2, steps=1)
    assert next_step(EIGHT, {"d": "good", "f": "bad", "e": "good"}) == Found(candidates=("f",))
    assert next_step(EIGHT, {"d": "bad", "b": "bad", "a": "bad"}) == Found(candidates=("a",))


def test_neighbours_need_no_step() -> None:
    assert next_step(chain(["7.3"]), {}) == Found(candidates=("7.3",))


def test_a_merge_by_hand() -> None:
    # Seven suspects: a3 leaves 3 or 4, whichever way it goes; b2 leaves 2 or 5.
    assert next_step(MERGED, {}) == Try(commit="a3", suspects=7, steps=3)
    # Were a3 good, b1, b2, m and t are left.
    assert bisect(MERGED, outcomes(MERGED, "b2")) == (
        Found(candidates=("b2",)), ["a3", "b2", "b1"]
    )  # fmt: skip
    assert bisect(MERGED, outcomes(MERGED, "m")) == (Found(candidates=("m",)), ["a3", "b2", "m"])


def test_skipped_commits_are_passed_by_ever_further() -> None:
    assert next_step(EIGHT, {"d": "skipped"}) == Try(commit="e", suspects=8, steps=3)
    found, tried = bisect(EIGHT, outcomes(EIGHT, "g", "cde"))
    assert (found, tried[0]) == (Found(candidates=("g",)), "d")
    assert "c" not in tried


def test_where_only_skipped_ones_remain_all_are_named() -> None:
    found, _ = bisect(EIGHT, outcomes(EIGHT, "e", "cde"))
    assert found == Found(candidates=("c", "d", "e", "f"))
    assert bisect(EIGHT, outcomes(EIGHT, "a", "abcdefg"))[0] == Found(candidates=tuple("abcdefgh"))


def test_a_history_in_the_wrong_order_is_none() -> None:
    with pytest.raises(ValueError, match="t is before its parents"):
        History({"t": ("m",), "m": ()})


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Return a random history whose last commit comes after all others."""
    number = draw(st.integers(1, 40))
    parents: dict[str, tuple[str, ...]] = {}
    for index in range(number):
        before = [str(one) for one in range(index)]
        most = min(3, index)
        chosen = draw(st.sets(st.sampled_from(before), max_size=most)) if before else set()
        parents[str(index)] = tuple(sorted(chosen, key=int))
    asked = {one for those in parents.values() for one in those}
    parents["tip"] = tuple(one for one in parents if one not in asked)
    return History(parents)


@given(histories(), st.data())
def test_the_answer_is_the_culprit(history: History, data: st.DataObject) -> None:
    culprit = data.draw(st.sampled_from(list(history.parents)))
    found, tried = bisect(history, outcomes(history, culprit))
    assert found == Found(candidates=(culprit,))
    assert len(tried) < len(history.parents)
    # All that is not of the answer was cleared by a run of its own or of what comes after it.
    assert unproved_parents(found, (), {}) == []


@given(histories(), st.data())
def test_the_culprit_is_always_among_the_candidates(history: History, data: st.DataObject) -> None:
    every = list(history.parents)
    culprit = data.draw(st.sampled_from(every))
    skipped = data.draw(st.sets(st.sampled_from(every)))
    outcome = outcomes(history, culprit, skipped - {history.bad})
    found, tried = bisect(history, outcome)
    assert culprit in found.candidates
    assert len(tried) == len(set(tried)) < len(every)
    # Besides the commit at their end, which is bad, only skipped ones are in doubt.
    assert sum(outcome[one] != "skipped" for one in found.candidates) <= 1


@given(st.integers(1, 300), st.data())
def test_a_row_of_commits_takes_no_more_than_its_logarithm(
    number: int, data: st.DataObject
) -> None:
    history = chain([str(one) for one in range(number)])
    culprit = str(data.draw(st.integers(0, number - 1)))
    first = next_step(history, {})
    found, tried = bisect(history, outcomes(history, culprit))
    assert found == Found(candidates=(culprit,))
    assert len(tried) <= math.ceil(math.log2(number))
    assert len(tried) <= (first.steps if isinstance(first, Try) else 0)


def test_what_a_verdict_makes_of_a_commit() -> None:
    assert [outcome_of(verdict, "holds", "refuted") for verdict in (
        "holds", "refuted", "undecided", "not run"
    )] == ["good", "bad", "skipped", "skipped"]  # fmt: skip
    assert outcome_of("holds", "refuted", "holds") == "bad"


def test_undecided_gets_twice_the_seeds_and_twice_again() -> None:
    rounds = rounds_of(5)
    assert rounds == (5, 10, 20)
    assert [more_seeds("undecided", had, rounds) for had in rounds] == [10, 20, None]
    assert more_seeds("holds", 5, rounds) is None
    assert more_seeds("refuted", 10, rounds) is None
    # What a kernel's runs cannot say at all, more of them do not say.
    assert more_seeds("untested", 5, rounds) is None
    # One that was interrupted between two of them goes on to the next.
    assert more_seeds("undecided", 7, rounds) == 10


def test_a_parent_that_a_later_commit_cleared_is_run_itself() -> None:
    # b2, which comes after b1, is good: so is b1, and m's own parents are a3 and b2.
    found = Found(candidates=("m",))
    assert unproved_parents(found, ("a3", "b2"), {"b2": "good"}) == ["a3"]
    assert unproved_parents(found, ("a3", "b2"), {"b2": "good", "a3": "bad"}) == []
    assert unproved_parents(Found(candidates=("d", "e")), ("c",), {}) == []
