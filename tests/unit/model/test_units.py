"""Quantities: exact values, exact messages, and back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model import units
from model.errors import StudyError
from tests.support.recorded import value

PARSE: dict[str, Callable[[object], float]] = {
    "rate": units.parse_rate_bps,
    "time": units.parse_time_s,
    "size": units.parse_size_bytes,
    "packets": units.parse_count_pkts,
    "fraction": units.parse_frac,
    "length": units.parse_length_m,
    "speed": units.parse_speed_mps,
}
QUANTITIES = value("cases/quantities.json")
EMPTY = ("rate", (), "wrong kind: wanted a rate such as '10 Mbit/s', got an empty list")


@pytest.mark.parametrize(("kind", "text", "wanted"), QUANTITIES["read"])
def test_a_quantity_in_base_units(kind: str, text: str, wanted: float) -> None:
    found = PARSE[kind](text)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(("kind", "text", "message"), [*QUANTITIES["refused"], EMPTY])
def test_what_is_no_quantity_says_what_was_wanted(kind: str, text: object, message: str) -> None:
    with pytest.raises(units.UnitError) as caught:
        PARSE[kind](text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("bounds", "text", "message"),
    [
        ({"more_than": "0 s"}, "0 ms", "out of range: wanted more than 0 s, got '0 ms'"),
        ({"at_least": "1 s"}, "999 ms", "out of range: wanted at least 1 s, got '999 ms'"),
        ({"at_most": "1 min"}, "61 s", "out of range: wanted at most 1 min, got '61 s'"),
    ],
)
def test_bounds_are_quantities(bounds: dict[str, str], text: str, message: str) -> None:
    with pytest.raises(units.UnitError) as caught:
        units.parse_time_s(text, **bounds)
    assert str(caught.value) == message
    assert units.parse_time_s("1 s", at_least="1 s", at_most="1 s", more_than="0 s") == 1.0


def test_long_texts_are_shortened() -> None:
    assert units.shown("x" * 100) == repr("x" * 40 + "...")
    assert units.shown(10**100) == "1" + "0" * 39 + "..."


def test_minus_nothing_is_nothing() -> None:
    assert str(units.parse_time_s("-0 s")) == "0.0"


@pytest.mark.parametrize(("kind", "number", "options", "wanted"), QUANTITIES["shown"])
def test_a_quantity_for_people(
    kind: str, number: float, options: dict[str, int], wanted: str
) -> None:
    assert getattr(units, f"format_{kind}")(number, **options) == wanted


def test_conversions() -> None:
    assert units.seconds_to_ns(0.1) == 100_000_000
    assert units.seconds_to_ns(0.1 + 0.2) == 300_000_000
    assert units.ns_to_seconds(250_000_000) == 0.25
    assert units.bits(1500) == 12_000
    assert units.bytes_in_flight(3_000_000, 0.508) == 190_500
    assert units.average_rate_bps(125_000, 2) == 500_000
    assert units.metres_to_mm(0.1 + 0.2) == 300


@given(st.integers(0, 10**12))
def test_a_rate_survives_the_round_trip(rate_bps: int) -> None:
    assert units.parse_rate_bps(units.format_rate(rate_bps)) == rate_bps


@given(st.integers(0, 10**12))
def test_a_time_survives_the_round_trip(time_ns: int) -> None:
    time_s = units.ns_to_seconds(time_ns)
    assert units.parse_time_s(units.format_time(time_s)) == time_s
    assert units.seconds_to_ns(time_s) == time_ns


@given(st.integers(0, 10**12))
def test_a_length_and_a_speed_survive_the_round_trip(steps: int) -> None:
    length_m = steps / units.MM_PER_M
    assert units.parse_length_m(units.format_length(length_m, digits=18)) == length_m
    assert units.metres_to_mm(length_m) == steps
    assert units.parse_speed_mps(units.format_speed(length_m, digits=18)) == length_m


@given(st.integers(0, 10**10))
def test_a_percentage_is_the_decimal_it_says(steps: int) -> None:
    percent = Decimal(steps).scaleb(-8)
    assert units.parse_frac(f"{percent:f} %") == float(percent.scaleb(-2))


@given(st.one_of(st.text(), st.integers(), st.floats(), st.binary(), st.none(), st.booleans()))
def test_anything_else_is_a_study_error(anything: object) -> None:
    for kind in (
        units.RATE, units.TIME, units.SIZE, units.PACKETS, units.FRACTION, units.LENGTH,
        units.SPEED,
    ):  # fmt: skip
        with contextlib.suppress(StudyError):
            assert units.parse(anything, kind) >= 0
