"""Speeds, neighbours, changes and hops: worked by hand, and hops against all paths tried."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.movement.closeness import Contact, Links, links
from model.movement.measures import (
    Hops,
    connected_frac,
    hops_over_time,
    link_changes_per_s,
    mean_hops,
    mean_neighbours,
    speeds,
)
from model.movement.paths import Movement, Path, Row

S = 1_000_000_000
STILL = Path((Row(0, 0, 0),))
#: 10 s at 4 m/s, then it stays.
GOES = Path((Row(0, 0, 0), Row(10 * S, 40_000, 0)))


def test_means_are_weighted_with_time() -> None:
    both = Movement((STILL, GOES))
    found = speeds(both, 0, 40 * S)
    assert found.mean_mps == 0.5  # 40 m in 80 s
    assert found.paused_frac == 0.875  # 70 s of 80
    assert found.moving_mps == 4.0
    assert speeds(both, 0, 10 * S).mean_mps == 2.0
    assert speeds(both, 5 * S, 15 * S).mean_mps == 1.0
    assert speeds(Movement((STILL,)), 0, S).moving_mps is None


def chain(*spans: tuple[int, int, int, int]) -> Links:
    """Return links of 4 nodes over 10 s: pairs, with from and to in seconds."""
    found: dict[tuple[int, int], tuple[Contact, ...]] = {}
    for one, other, from_s, to_s in spans:
        contact = Contact(from_s * S, to_s * S)
        found[one, other] = (*found.get((one, other), ()), contact)
    return Links(nodes=4, until_ns=10 * S, contacts=found)


#: 0-1-2-3 is there from 1 to 6, with 0-2 from 2 to 3; 0-3 from 8 on.
CHAIN = chain((0, 1, 0, 6), (1, 2, 1, 10), (2, 3, 0, 7), (0, 2, 2, 3), (0, 3, 8, 10))


def test_links_worked_by_hand() -> None:
    # 6 + 9 + 7 + 1 + 2 s of links, each of which both ends have.
    assert mean_neighbours(CHAIN) == 2 * 25 / (4 * 10)
    # Begin at 1, 2, 8; end at 3, 6, 7. What is there at 0, or at the end, does not change.
    assert link_changes_per_s(CHAIN) == 0.6


def test_hops_worked_by_hand() -> None:
    steps = hops_over_time(CHAIN, 0, 3)
    assert steps == (
        Hops(0, None), Hops(1 * S, 3), Hops(2 * S, 2), Hops(3 * S, 3), Hops(6 * S, None),
        Hops(8 * S, 1),
    )  # fmt: skip
    assert connected_frac(steps, CHAIN.until_ns) == 0.7
    assert mean_hops(steps, CHAIN.until_ns) == pytest.approx((3 * 4 + 2 * 1 + 1 * 2) / 7)
    assert hops_over_time(CHAIN, 3, 0) == steps
    assert hops_over_time(CHAIN, 2, 2) == (Hops(0, 0),)


def test_nodes_that_never_meet() -> None:
    steps = hops_over_time(chain(), 0, 3)
    assert steps == (Hops(0, None),)
    assert connected_frac(steps, 10 * S) == 0.0
    assert mean_hops(steps, 10 * S) is None
    assert mean_neighbours(chain()) == link_changes_per_s(chain()) == 0.0


pairs = st.sampled_from(list(itertools.combinations(range(5), 2)))


@given(st.sets(pairs))
def test_no_way_is_shorter(there: set[tuple[int, int]]) -> None:
    found = Links(nodes=5, until_ns=S, contacts={pair: (Contact(0, S),) for pair in there})
    ways = [
        len(between) + 1
        for length in range(4)
        for between in itertools.permutations((1, 2, 3), length)
        if all(
            tuple(sorted(step)) in there
            for step in itertools.pairwise((0, *between, 4))
        )
    ]  # fmt: skip
    assert hops_over_time(found, 0, 4) == (Hops(0, min(ways, default=None)),)


def test_from_paths_to_hops() -> None:
    # The ends stand 150 m apart, each hears 100 m; a third walks by between them.
    ends = [Path((Row(0, 0, 0),)), Path((Row(0, 150_000, 0),))]
    walker = Path((Row(0, -25_000, 0), Row(200 * S, 175_000, 0)))
    found = links(Movement((*ends, walker)), 100_000, 200 * S)
    # It hears the first until it is 100 m on, after 125 s; the second from 50 m on, after 75 s.
    assert hops_over_time(found, 0, 1) == (Hops(0, None), Hops(75 * S, 2), Hops(125 * S, None))
