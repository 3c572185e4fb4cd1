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

Parse = Callable[[object], float]


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.parse_rate_bps, "10 Mbit/s", 10_000_000),
        (units.parse_rate_bps, "512 kbit/s", 512_000),
        (units.parse_rate_bps, "1.5 Gbit/s", 1_500_000_000),
        (units.parse_rate_bps, "0.2 Mbit/s", 200_000),
        (units.parse_rate_bps, "8 bit/s", 8),
        (units.parse_time_s, "250 ms", 0.25),
        (units.parse_time_s, "250ms", 0.25),
        (units.parse_time_s, "  250   ms  ", 0.25),
        (units.parse_time_s, "1000 s", 1000.0),
        (units.parse_time_s, "2 us", 2e-6),
        (units.parse_time_s, "1 ns", 1e-9),
        (units.parse_time_s, "15 min", 900.0),
        (units.parse_time_s, "0 s", 0.0),
        (units.parse_size_bytes, "1448 bytes", 1448),
        (units.parse_size_bytes, "1 byte", 1),
        (units.parse_size_bytes, "64 kB", 64_000),
        (units.parse_size_bytes, "64 KiB", 65_536),
        (units.parse_size_bytes, "1.5 KiB", 1536),
        (units.parse_size_bytes, "1 MiB", 1_048_576),
        (units.parse_count_pkts, "10 packets", 10),
        (units.parse_count_pkts, "1 packet", 1),
        (units.parse_frac, "0.8 %", 0.008),
        (units.parse_frac, "0.8%", 0.008),
        (units.parse_frac, "2.5 %", 0.025),
        (units.parse_frac, "100 %", 1.0),
        (units.parse_frac, "0 %", 0.0),
    ],
)
def test_a_quantity_in_base_units(parse: Parse, text: str, value: float) -> None:
    assert parse(text) == value
    assert type(parse(text)) is type(value)


RATE = "wanted a rate such as '10 Mbit/s'"
TIME = "wanted a time such as '250 ms'"
SIZE = "wanted a size such as '1448 bytes'"
PACKETS = "wanted a number of packets such as '10 packets'"
RATE_UNITS = "known units: bit/s, kbit/s, Mbit/s, Gbit/s"
AMBIGUOUS = "ambiguous: write kB for 1000 bytes, KiB for 1024"
FRACTION = "wanted a percentage such as '0.8 %'"


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (units.parse_rate_bps, 10, f"no unit: {RATE}, got 10"),
        (units.parse_rate_bps, "10", f"no unit: {RATE}, got '10'"),
        (units.parse_rate_bps, -1.5, f"no unit: {RATE}, got -1.5"),
        (units.parse_rate_bps, None, f"wrong kind: {RATE}, got nothing"),
        (units.parse_rate_bps, True, f"wrong kind: {RATE}, got true"),
        (units.parse_rate_bps, (), f"wrong kind: {RATE}, got an empty list"),
        (units.parse_rate_bps, {"a": 1}, f"wrong kind: {RATE}, got a mapping"),
        (units.parse_rate_bps, "", f"not a rate: {RATE}, got ''"),
        (units.parse_rate_bps, "fast", f"not a rate: {RATE}, got 'fast'"),
        (units.parse_rate_bps, "nan bit/s", f"not a rate: {RATE}, got 'nan bit/s'"),
        (units.parse_rate_bps, "inf bit/s", f"not a rate: {RATE}, got 'inf bit/s'"),
        (units.parse_rate_bps, "1e3 bit/s", f"not a rate: {RATE}, got '1e3 bit/s'"),
        (units.parse_rate_bps, "1,5 Mbit/s", f"not a rate: {RATE}, got '1,5 Mbit/s'"),
        (units.parse_rate_bps, ".5 Mbit/s", f"not a rate: {RATE}, got '.5 Mbit/s'"),
        (units.parse_rate_bps, "1_000 bit/s", f"not a rate: {RATE}, got '1_000 bit/s'"),
        (units.parse_rate_bps, "٣ Mbit/s", f"not a rate: {RATE}, got '٣ Mbit/s'"),
        (
            units.parse_rate_bps,
            "10 Mbps",
            f"unknown unit 'Mbps': {RATE}, got '10 Mbps' (did you mean Mbit/s?)",
        ),
        (
            units.parse_rate_bps,
            "10 mbit/s",
            f"unknown unit 'mbit/s': {RATE}, got '10 mbit/s' (did you mean Mbit/s? m is milli)",
        ),
        (
            units.parse_rate_bps,
            "1 MB/s",
            f"unknown unit 'MB/s': {RATE}, got '1 MB/s' (rates are in bits: 1 MB/s is 8 Mbit/s)",
        ),
        (
            units.parse_rate_bps,
            "1 parsec",
            f"unknown unit 'parsec': {RATE}, got '1 parsec' ({RATE_UNITS})",
        ),
        (units.parse_rate_bps, "0.5 bit/s", f"not whole bit/s: {RATE}, got '0.5 bit/s'"),
        (units.parse_rate_bps, "-3 Mbit/s", f"negative: {RATE}, got '-3 Mbit/s'"),
        (units.parse_time_s, "-250 ms", f"negative: {TIME}, got '-250 ms'"),
        (units.parse_time_s, "0.5 ns", f"not whole nanoseconds: {TIME}, got '0.5 ns'"),
        (
            units.parse_time_s,
            "250 m",
            f"unknown unit 'm': {TIME}, got '250 m' (write min for minutes, ms for milliseconds)",
        ),
        (
            units.parse_size_bytes,
            "64 KB",
            f"unknown unit 'KB': {SIZE}, got '64 KB' ({AMBIGUOUS})",
        ),
        (units.parse_size_bytes, "1.5 bytes", f"not whole bytes: {SIZE}, got '1.5 bytes'"),
        (units.parse_count_pkts, "0.5 packets", f"not whole packets: {PACKETS}, got '0.5 packets'"),
        (
            units.parse_count_pkts,
            "10 packages",
            f"unknown unit 'packages': {PACKETS}, got '10 packages' (did you mean packets?)",
        ),
        (
            units.parse_frac,
            0.008,
            f"no unit: {FRACTION}, got 0.008 (a fraction is written in percent)",
        ),
        (
            units.parse_frac,
            "0.008",
            f"no unit: {FRACTION}, got '0.008' (a fraction is written in percent)",
        ),
    ],
)
def test_what_is_no_quantity_says_what_was_wanted(parse: Parse, text: object, message: str) -> None:
    with pytest.raises(units.UnitError) as caught:
        parse(text)
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


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (units.format_rate(10_000_000), "10 Mbit/s"),
        (units.format_rate(512_000), "512 kbit/s"),
        (units.format_rate(0), "0 bit/s"),
        (units.format_rate(1_234_567), "1.234567 Mbit/s"),
        (units.format_rate(1_234_567, digits=3), "1.23 Mbit/s"),
        (units.format_time(0.25), "250 ms"),
        (units.format_time(0), "0 s"),
        (units.format_time(1000), "1000 s"),
        (units.format_time(2e-6), "2 us"),
        (units.format_size(1448), "1448 bytes"),
        (units.format_size(1), "1 byte"),
        (units.format_size(0), "0 bytes"),
        (units.format_size(65536), "64 KiB"),
        (units.format_size(64000), "64000 bytes"),
        (units.format_packets(1), "1 packet"),
        (units.format_packets(10), "10 packets"),
        (units.format_frac(0.008), "0.8 %"),
        (units.format_frac(1), "100 %"),
        (units.format_frac(1 / 3, digits=3), "33.3 %"),
    ],
)
def test_a_quantity_for_people(text: str, wanted: str) -> None:
    assert text == wanted


def test_conversions() -> None:
    assert units.seconds_to_ns(0.1) == 100_000_000
    assert units.seconds_to_ns(0.1 + 0.2) == 300_000_000
    assert units.ns_to_seconds(250_000_000) == 0.25
    assert units.bits(1500) == 12_000
    assert units.bytes_in_flight(3_000_000, 0.508) == 190_500
    assert units.average_rate_bps(125_000, 2) == 500_000


@given(st.integers(0, 10**12))
def test_a_rate_survives_the_round_trip(rate_bps: int) -> None:
    assert units.parse_rate_bps(units.format_rate(rate_bps)) == rate_bps


@given(st.integers(0, 10**12))
def test_a_time_survives_the_round_trip(time_ns: int) -> None:
    time_s = units.ns_to_seconds(time_ns)
    assert units.parse_time_s(units.format_time(time_s)) == time_s
    assert units.seconds_to_ns(time_s) == time_ns


@given(st.integers(0, 10**10))
def test_a_percentage_is_the_decimal_it_says(steps: int) -> None:
    percent = Decimal(steps).scaleb(-8)
    assert units.parse_frac(f"{percent:f} %") == float(percent.scaleb(-2))


@given(st.one_of(st.text(), st.integers(), st.floats(), st.binary(), st.none(), st.booleans()))
def test_anything_else_is_a_study_error(anything: object) -> None:
    for kind in (units.RATE, units.TIME, units.SIZE, units.PACKETS, units.FRACTION):
        with contextlib.suppress(StudyError):
            assert units.parse(anything, kind) >= 0
