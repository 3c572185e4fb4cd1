"""Which sets of mechanisms are run: enough to tell each mechanism from the others."""

from __future__ import annotations

import itertools

import pytest

from reports.explanation.contrasts import balanced, signs
from testbed.planning.mechanism_sets import design, mechanism_sets, name_of

NAMES = tuple("abcdefgh")


@pytest.mark.parametrize("count", range(1, 9))
def test_a_design_has_none_and_all_and_each_mechanism_in_half_of_it(count: int) -> None:
    names = NAMES[:count]
    found = design(names)
    assert len(found) == len(set(found)) == 2 ** min(count, 4)
    assert {frozenset(), frozenset(names)} <= set(found)
    assert all(sum(name in one for one in found) == len(found) // 2 for name in names)
    assert balanced(found, names)


@pytest.mark.parametrize("count", range(5, 9))
def test_no_mechanism_is_taken_for_a_pair_of_others(count: int) -> None:
    names = NAMES[:count]
    found = design(names)
    single = {signs(found, frozenset(name)) for name in names}
    pairs = {signs(found, frozenset(pair)) for pair in itertools.combinations(names, 2)}
    assert len(single) == count
    assert not single & pairs


def test_what_is_run_begins_with_none_and_ends_with_all() -> None:
    assert mechanism_sets("ab") == [frozenset(), frozenset("a"), frozenset("b"), frozenset("ab")]
    runs = mechanism_sets(NAMES[:7])
    assert [len(one) for one in runs[:8]] == [0] + 7 * [1]
    assert runs[-1] == frozenset(NAMES[:7])
    # Sixteen of the design, and seven alone that are not in it.
    assert len(runs) == len(set(runs)) == 23
    names = [name_of(one, NAMES[:7]) for one in runs]
    assert len(set(names)) == 23
    assert (names[0], names[1], names[-1]) == ("unchanged", "a", "all")
    assert name_of(frozenset("ce"), NAMES[:7]) == "mechanisms-3-5"


def test_more_than_eight_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 8"):
        design([*NAMES, "i"])
