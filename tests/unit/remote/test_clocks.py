"""Clocks of machines as their answers tell them: what is known, how well, and what is not."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.labs.remote import clocks
from testbed.labs.remote.clocks import Clock, Exchange

S = 1_000_000_000


def exchange(
    asked_ns: int, offset_ns: int, *, out_ns: int = 100_000, back_ns: int = 100_000
) -> Exchange:
    there_ns = asked_ns + out_ns
    return Exchange(
        asked_ns=asked_ns, heard_ns=there_ns + back_ns, clock_ns=there_ns + offset_ns, ahead_ns=7
    )


def test_a_clock_is_told_from_its_quickest_exchanges() -> None:
    slow = [exchange(i * S, 5 * S, out_ns=40_000_000) for i in range(1, 50)]
    clock = clocks.fit([*slow, exchange(0, 5 * S), exchange(60 * S, 5 * S)])
    assert clock.shows(30 * S) == 35 * S
    assert clock.within_ns == pytest.approx(100_000 * clocks.BEYOND)
    assert (clock.ahead_ns, clock.exchanges) == (7, 51)


def test_drift_is_told_over_long_times_alone() -> None:
    def drifting(t_ns: int) -> Exchange:
        return exchange(t_ns, 1000 * S + t_ns // 50_000)  # 20 ppm

    clock = clocks.fit([drifting(i * S) for i in range(101)])
    assert clock.drift == pytest.approx(20e-6, rel=1e-3)
    assert clock.shows(50 * S) == pytest.approx(1050 * S + 1_000_000, abs=5_000)
    assert clocks.fit([drifting(i * S // 10) for i in range(50)]).drift == 0.0


def test_drift_is_told_where_all_that_was_quick_is_of_one_moment() -> None:
    """A machine that was busy ever after: at its end the clock is known as well as that tells."""

    def drifting(t_ns: int, way_ns: int) -> Exchange:
        return exchange(t_ns, t_ns // 500, out_ns=way_ns, back_ns=way_ns // 2)  # 2000 ppm

    quick = [drifting(i * S // 20, 1_000_000) for i in range(20)]
    clock = clocks.fit([*quick, *(drifting(i * S, 6_000_000) for i in range(2, 60))])
    assert clock.drift == pytest.approx(0.002, rel=0.05)
    off_ns = [abs(clock.shows(i * S) - i * S - i * S // 500) for i in range(60)]
    assert max(off_ns) <= clock.within_ns < 8_000_000


def test_a_date_that_was_set_meanwhile_is_not_known() -> None:
    made = [exchange(i * S, 0) for i in range(20)]
    later = [dataclasses.replace(one, ahead_ns=3_000_007) for one in made[15:]]
    assert clocks.fit([*made[:15], *later]).within_ns >= 3_000_000


def test_a_clock_that_was_slewed_for_a_while_is_not_known_as_quick_answers_tell() -> None:
    """Quick answers before and after, when it ran as usual; between them only late ones."""

    def slewed(t_ns: int, way_ns: int) -> Exchange:
        up_ns = max(0, min(t_ns, 40 * S) - 20 * S) - max(0, min(t_ns, 60 * S) - 40 * S)
        return exchange(t_ns, up_ns // 2000, out_ns=way_ns, back_ns=way_ns // 2)  # 500 ppm

    busy = [slewed(i * S, 3_000_000) for i in range(15, 65)]
    quick = [slewed(i * S, 100_000) for i in (*range(15), *range(65, 80))]
    clock = clocks.fit(sorted([*quick, *busy], key=lambda one: one.asked_ns))
    assert clock.within_ns >= 10_000_000  # what it was ahead in the middle
    # Late answers that say nothing against the line change nothing.
    late = [exchange(i * S, 0, out_ns=6_000_000, back_ns=0) for i in range(15, 65)]
    quick = [exchange(i * S, 0) for i in (*range(15), *range(65, 80))]
    assert clocks.fit([*quick, *late]).within_ns == clocks.fit(quick).within_ns


def test_all_of_a_line_is_within_what_is_told() -> None:
    """Ways that are one-sided here and there bend the line; it is so near wherever one looks."""
    sides = [(180_000, 0), (0, 150_000), (60_000, 60_000)]
    made = [
        exchange(i * S, i * 30_000, out_ns=sides[i % 7 % 3][0], back_ns=sides[i % 7 % 3][1])
        for i in range(40)
    ]
    clock = clocks.fit(made)
    off_ns = [abs(clock.shows(i * S) - i * S - i * 30_000) for i in range(40)]
    assert max(off_ns) <= clock.within_ns


def test_one_sided_ways_are_within_what_is_told() -> None:
    """All of the time on the way out: the offset is wrong by half of it, and that is told."""
    clock = clocks.fit([exchange(i * S, 0, out_ns=1_000_000, back_ns=0) for i in range(20)])
    assert abs(clock.shows(5 * S) - 5 * S) == pytest.approx(500_000, abs=10)
    assert clock.within_ns >= 500_000


@given(
    st.integers(0, 10**15), st.integers(-(10**14), 10**14), st.floats(-1e-4, 1e-4),
    st.integers(0, 10**13),
)  # fmt: skip
def test_times_go_there_and_back(at_ns: int, offset_ns: int, drift: float, since_ns: int) -> None:
    clock = Clock(
        at_ns=at_ns, offset_ns=offset_ns, drift=drift, within_ns=0, ahead_ns=0, exchanges=1
    )
    assert abs(clock.ours(clock.shows(at_ns + since_ns)) - at_ns - since_ns) <= 2
