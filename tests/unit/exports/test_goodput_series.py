"""Goodput on one grid: each value is an interval's, 0 is silence, None is not known."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from reports.exports.goodput_series import Interval, averaged, grid, on_grid, summed

SECOND = 10**9


def seconds(*rows: tuple[float, float, int]) -> list[Interval]:
    return [
        Interval(start_ns=round(a * SECOND), end_ns=round(b * SECOND), goodput_bytes=count)
        for a, b, count in rows
    ]


def at(places: list[float], rows: list[Interval], from_s: float, to_s: float) -> list[float | None]:
    whole = [round(place * SECOND) for place in places]
    return on_grid(whole, rows, round(from_s * SECOND), round(to_s * SECOND))


def test_a_value_stands_where_its_interval_ends() -> None:
    rows = seconds((0, 1, 125_000), (1, 2, 250_000))
    assert at([1, 2], rows, 0, 2) == [1.0, 2.0]


def test_zero_is_silence_while_the_flow_is_on_and_none_is_before_and_after() -> None:
    rows = seconds((2, 3, 125_000), (5, 6, 125_000))
    assert at([1, 2, 3, 4, 5, 6, 7, 8], rows, 1, 7) == [None, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, None]


def test_data_after_the_flows_end_are_shown_and_silence_then_is_not() -> None:
    rows = seconds((0, 1, 125_000), (2, 3, 250_000))
    assert at([1, 2, 3, 4], rows, 0, 1) == [1.0, None, 2.0, None]


def test_an_interval_cut_by_the_windows_bound_is_two() -> None:
    rows = seconds((0, 0.25, 125_000), (0.25, 1, 0))
    assert at([0.25, 1], rows, 0, 1) == [4.0, 0.0]


def test_anothers_bound_inside_an_interval_tells_nothing() -> None:
    assert at([0.5, 1, 1.5], seconds((0, 1, 125_000)), 0, 2) == [None, 1.0, 0.0]


def test_the_grid_has_intervals_without_data_too() -> None:
    assert grid(seconds((0.5, 0.75, 1)), 2 * SECOND, SECOND) == [
        SECOND * 3 // 4,
        SECOND,
        2 * SECOND,
    ]
    assert grid([], 2 * SECOND, 0) == []


def test_sums_and_means_are_of_what_is_known() -> None:
    series = {"a": [1.0, None, None], "b": [2.0, 3.0, None]}
    assert summed(series) == [3.0, 3.0, None]
    assert averaged(series) == [1.5, 3.0, None]


@given(st.integers(0, 2**50), st.integers(1, 10**13))
def test_a_rate_is_rounded_once(count: int, length_ns: int) -> None:
    found = Interval(start_ns=5, end_ns=5 + length_ns, goodput_bytes=count).mbps
    assert found == float(Fraction(count * 8, 10**6) / Fraction(length_ns, SECOND))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5), st.integers(0, 10**6)), max_size=12),
    st.integers(1, 7),
)
def test_all_that_arrived_is_on_the_grid(shape: list[tuple[int, int, int]], step: int) -> None:
    rows, end = [], 0
    for gap, length, count in shape:
        rows.append(Interval(start_ns=end + gap, end_ns=end + gap + length, goodput_bytes=count))
        end += gap + length
    places = grid(rows, end, step)
    found = dict(zip(places, on_grid(places, rows, 0, end), strict=True))
    for row in rows:
        assert found[row.end_ns] == row.mbps
    ends = {row.end_ns for row in rows}
    before = 0
    for place in places:
        if place not in ends:
            covered = any(row.start_ns < place and row.end_ns > before for row in rows)
            assert found[place] == (None if covered else 0.0)
        before = place
