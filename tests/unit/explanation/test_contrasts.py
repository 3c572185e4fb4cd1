"""Effects of mechanisms from runs with sets of them, by hand and against a model's coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.explanation.contrasts import balanced, contrasts, signs
from testbed.planning.mechanism_sets import design

A, B, C = (frozenset(name) for name in "abc")
SMALL = st.floats(-100, 100).map(lambda x: round(x, 6))


def test_two_mechanisms_by_hand() -> None:
    # Alone a adds 4 and b adds 2; together they add 12, 6 more than one by one.
    values = {
        frozenset(): np.array([10.0, 20.0]), A: np.array([14.0, 24.0]),
        B: np.array([12.0, 22.0]), A | B: np.array([22.0, 32.0]),
    }  # fmt: skip
    single, pairs = contrasts(values, "ab")
    assert [one.sets for one in single] == [(A,), (B,)]
    # (4 + 10) / 2 and (2 + 8) / 2; half of 10 - 4.
    assert single[0].by_seed == pytest.approx([7.0, 7.0])
    assert single[1].by_seed == pytest.approx([5.0, 5.0])
    assert pairs[0].by_seed == pytest.approx([3.0, 3.0])
    assert signs(list(values), A) == (-1, 1, -1, 1)
    assert signs(list(values), A | B) == (1, -1, -1, 1)


@given(st.lists(SMALL, min_size=7, max_size=7), SMALL)
def test_seven_in_sixteen_runs_give_each_its_own_effect(alone: list[float], both: float) -> None:
    """What a and b do together counts half for each, and nothing for any other."""
    names = "abcdefg"
    runs = design(names)

    def value(run: frozenset[str]) -> float:
        own = sum(effect for name, effect in zip(names, alone, strict=True) if name in run)
        return own + (both if {"a", "b"} <= run else 0.0)

    single, pairs = contrasts({run: np.array([value(run)]) for run in runs}, names)
    wanted = [
        effect + (both / 2 if name in "ab" else 0)
        for name, effect in zip(names, alone, strict=True)
    ]
    assert [one.by_seed[0] for one in single] == pytest.approx(wanted, abs=1e-9)
    named = next(one for one in pairs if A | B in one.sets)
    # e goes with a, b, c and f with b, c, d: g and f go together as a and b do, and c and e.
    assert set(named.sets) == {A | B, frozenset("ce"), frozenset("fg")}
    assert named.by_seed[0] == pytest.approx(both / 2, abs=1e-9)
    others = [one.by_seed[0] for one in pairs if one is not named]
    assert others == pytest.approx([0.0] * len(others), abs=1e-9)


def test_runs_that_tell_nothing_apart_are_not_balanced() -> None:
    whole = [frozenset(), A, B, A | B]
    assert balanced(whole, "ab")
    assert not balanced([], "ab")
    assert not balanced(whole[:3], "ab")
    assert not balanced([frozenset(), A | B], "ab")
    # Of three in four runs each is taken for a pair of the others.
    half = [frozenset(), A | B, A | C, B | C]
    assert not balanced(half, "abc")
