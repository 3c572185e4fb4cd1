"""When nodes are in range: worked by hand, and against sampling."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from model.movement.closeness import Change, Contact, changes, contacts, links
from model.movement.paths import Movement, Path, Row

S = 1_000_000_000
ORIGIN = Path((Row(0, 0, 0),))


def across(y_mm: int) -> Path:
    """Return a path from left to right, 1 m per second, above or through the origin."""
    return Path((Row(0, -50_000, y_mm), Row(100 * S, 50_000, y_mm)))


@pytest.mark.parametrize(
    ("path", "range_mm", "wanted"),
    [
        (across(0), 10_000, (Contact(40 * S, 60 * S),)),
        (across(30_000), 50_000, (Contact(10 * S, 90 * S),)),  # 40 m aside, by 3, 4 and 5
        (across(30_000), 29_999, ()),
        (across(30_000), 30_000, ()),  # touches, for no time
        (across(0), 60_000, (Contact(0, 100 * S),)),
        (Path((Row(0, 6_000, 8_000),)), 10_000, (Contact(0, 100 * S),)),  # at its edge is within
        (Path((Row(0, 6_000, 8_000),)), 9_999, ()),
        # There and back, a pause within: one contact, whatever rows there are in it.
        (
            Path((Row(0, 20_000, 0), Row(20 * S, 0, 0), Row(30 * S, 0, 0), Row(50 * S, 20_000, 0))),
            10_000,
            (Contact(10 * S, 40 * S),),
        ),
        # Comes to the edge, turns: what only touches is none.
        (Path((Row(0, 20_000, 0), Row(10 * S, 10_000, 0), Row(20 * S, 20_000, 0))), 10_000, ()),
        # Leaves and returns: two.
        (
            Path((Row(0, 0, 0), Row(20 * S, 20_000, 0), Row(40 * S, 0, 0))),
            10_000,
            (Contact(0, 10 * S), Contact(30 * S, 100 * S)),
        ),
    ],
)
def test_contacts_worked_by_hand(path: Path, range_mm: int, wanted: tuple[Contact, ...]) -> None:
    assert contacts(ORIGIN, path, range_mm, 100 * S) == wanted
    assert contacts(path, ORIGIN, range_mm, 100 * S) == wanted


def test_two_that_move_meet_at_the_time_of_the_quadratic() -> None:
    # Towards each other from 100 m, 3 and 2 m/s: 30 m apart after 70/5 s, again after 130/5 s.
    one = Path((Row(0, 0, 0), Row(100 * S, 300_000, 0)))
    other = Path((Row(0, 100_000, 0), Row(50 * S, 0, 0), Row(100 * S, 0, 0)))
    assert contacts(one, other, 30_000, 100 * S) == (Contact(14 * S, 26 * S),)


def test_together_for_ever() -> None:
    assert contacts(across(0), across(5), 5, 100 * S) == (Contact(0, 100 * S),)


def test_changes_by_time() -> None:
    three = Movement((ORIGIN, across(0), Path((Row(0, 5_000, 0),))))
    found = links(three, 10_000, 100 * S)
    assert found.contacts == {
        (0, 1): (Contact(40 * S, 60 * S),),
        (0, 2): (Contact(0, 100 * S),),
        (1, 2): (Contact(45 * S, 65 * S),),
    }
    assert list(changes(found)) == [
        Change(0, ((0, 2),), ()),
        Change(40 * S, ((0, 1),), ()),
        Change(45 * S, ((1, 2),), ()),
        Change(60 * S, (), ((0, 1),)),
        Change(65 * S, (), ((1, 2),)),
    ]


places = st.tuples(st.integers(0, 1_000_000), st.integers(0, 300_000))
paths = st.dictionaries(st.integers(0, 1000), places, min_size=1, max_size=5).map(
    lambda rows: Path(tuple(Row(at * S // 10, *rows[at]) for at in sorted(rows)))
)
#: How far from the edge of the range a sample must be to say on which side it is.
NEAR_MM = 1.0


@given(paths, paths, st.integers(1000, 400_000))
@example(ORIGIN, ORIGIN, 1000)
def test_samples_agree(one: Path, other: Path, range_mm: int) -> None:
    both = Movement((one, other))
    found = contacts(one, other, range_mm, 100 * S)
    for before, after in pairwise(found):
        assert before.to_ns < after.from_ns
    for t_ns in range(0, 100 * S, S // 3):
        apart_mm = both.distance_mm(0, 1, t_ns)
        if abs(apart_mm - range_mm) > NEAR_MM:
            inside = any(contact.from_ns <= t_ns < contact.to_ns for contact in found)
            assert inside == (apart_mm < range_mm)


@given(paths, paths, st.integers(1000, 400_000))
def test_at_the_ends_of_a_contact_nodes_are_as_far_apart_as_the_range(
    one: Path, other: Path, range_mm: int
) -> None:
    both = Movement((one, other))
    for contact in contacts(one, other, range_mm, 100 * S):
        for t_ns in (contact.from_ns, contact.to_ns):
            if 0 < t_ns < 100 * S:
                # Of the whole nanoseconds around it one is before the edge, another behind.
                ends = [both.distance_mm(0, 1, t) for t in (t_ns - 1, t_ns, t_ns + 1)]
                assert min(ends) - 0.01 <= range_mm <= max(ends) + 0.01
