"""What a published table says against itself, exactly, with the rounding of print allowed for."""

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.run_files.point import Point
from model.run_files.publication import PublishedRow
from model.run_files.study import Compare, Group
from model.run_files.summary_points import Contradiction
from reports.published.rounding import contradictions, increase_span, rounding_span
from tests.support.runs.report_run import LOSSES, METRICS, PUBLISHED

GROUPS = (Group(id="T", label="TCP SACK"), Group(id="S", label="SCTP"))
COMPARE = Compare(of="S", over="T")


def printed_row(values: dict[str, str]) -> PublishedRow:
    return PublishedRow(
        point=Point.of({"loss_frac": 0.01}),
        where="Table 2",
        values={name: Decimal(text) for name, text in values.items()},
    )


def found_in(values: dict[str, str]) -> tuple[Contradiction, ...]:
    return contradictions(printed_row(values), GROUPS, COMPARE)


WIRELESS = {
    loss: {name: str(value) for name, value in zip(METRICS, row, strict=True)}
    for loss, row in zip(LOSSES, PUBLISHED, strict=True)
}


@pytest.mark.parametrize(
    ("loss", "low", "high"),
    [
        # lowest: smallest S over largest T; highest: largest S over smallest T
        (0.008, 0.6018, 1.0050),  # 50.15 / 49.85 and 50.25 / 49.75; printed 6.1
        (0.009, 13.9037, 14.3623),  # 53.25 / 46.75 and 53.35 / 46.65; printed 13.3
        (0.010, 28.5714, 29.0951),  # 56.25 / 43.75 and 56.35 / 43.65; printed 27.6
        (0.015, 26.5006, 27.0148),  # 55.85 / 44.15 and 55.95 / 44.05; printed 25.6
        (0.020, 18.1025, 18.5792),  # 54.15 / 45.85 and 54.25 / 45.75; printed 17.0
        (0.025, 13.9037, 14.3623),  # as at 0.009; printed 13.3
        (0.030, 13.4472, 13.9037),  # 53.15 / 46.85 and 53.25 / 46.75; printed 12.7
    ],
)
def test_every_row_of_the_wireless_table_contradicts_itself(
    loss: float, low: float, high: float
) -> None:
    (found,) = found_in(WIRELESS[loss])
    assert found.rule == "increase-against-shares"
    assert found.metrics == ("pct_increase", "share_S_pct", "share_T_pct")
    assert found.implied_range == pytest.approx((low, high), abs=1e-4)
    assert not low - 0.05 <= float(found.printed) <= high + 0.05


def test_the_arithmetic_is_shown() -> None:
    (found,) = found_in(WIRELESS[0.008])
    assert found.printed == Decimal("6.1")
    assert found.implied == pytest.approx(0.80321, abs=1e-5)
    assert found.text == (
        "printed increase 6.1 %, but the printed shares give (50.2 - 49.8) / 49.8 = 0.8 % "
        "(0.60 to 1.01 % allowing for rounding)"
    )


@pytest.mark.parametrize("increase", ["28.6", "28.8", "29.1"])
def test_any_increase_that_rounding_allows_is_fine(increase: str) -> None:
    # 43.7 and 56.3 allow 28.571 to 29.095, so 28.6 (from 28.55) to 29.1 (from 29.05) can be printed
    row = {"share_T_pct": "43.7", "share_S_pct": "56.3", "pct_increase": increase}
    assert found_in(row) == ()


@pytest.mark.parametrize("increase", ["28.5", "29.2"])
def test_the_next_digit_is_a_contradiction(increase: str) -> None:
    row = {"share_T_pct": "43.7", "share_S_pct": "56.3", "pct_increase": increase}
    assert len(found_in(row)) == 1


@pytest.mark.parametrize(
    ("share_t", "share_s", "contradicts"),
    [
        ("43.7", "56.3", False),
        ("43.7", "56.4", False),  # 100.1: 43.65 + 56.35 = 100.0 is possible
        ("43.7", "56.5", True),  # 100.2: at least 100.1
        ("43.7", "56.1", True),  # 99.8: at most 99.9
        ("44", "57", False),  # whole per cents: 43.5 + 56.5 = 100 is possible
        ("44", "58", True),  # 102: at least 101
    ],
)
def test_shares_add_to_100_within_rounding(share_t: str, share_s: str, contradicts: bool) -> None:
    found = found_in({"share_T_pct": share_t, "share_S_pct": share_s})
    assert [c.rule for c in found] == (["shares-add-to-100"] if contradicts else [])


def test_shares_that_do_not_add_up_show_their_sum() -> None:
    (found,) = found_in({"share_T_pct": "43.7", "share_S_pct": "56.5"})
    assert found.text == (
        "printed shares 43.7 + 56.5 = 100.2 %, not 100 % (rounding allows 0.1 either way)"
    )


SATELLITE = [
    ("23.9", "0.988"), ("26.1", "0.986"), ("19.24", "0.992"), ("21.6", "0.989"),
    ("17.3", "0.994"), ("15.8", "0.995"), ("30.6", "0.983"), ("14.9", "0.995"),
]  # fmt: skip


def test_fairness_against_the_increase_in_the_satellite_study() -> None:
    found = {
        increase: found_in({"pct_increase": increase, "jain_protocols": fairness})
        for increase, fairness in SATELLITE
    }
    # r = 1.239: 0.98873, printed 0.988, which is it cut off; r = 1.306: 0.98270, printed 0.983.
    assert [increase for increase, wrong in found.items() if wrong] == ["21.6"]
    (wrong,) = found["21.6"]
    # r = 1.216: 2.216^2 / (2 (1 + 1.216^2)) = 4.910656 / 4.957312 = 0.990589
    assert wrong.rule == "fairness-against-increase"
    assert wrong.implied == pytest.approx(0.990589, abs=1e-6)
    assert wrong.text == (
        "printed fairness 0.989, but totals that differ by the printed increase 21.6 % have "
        "(1 + r)^2 / (2 (1 + r^2)) = 0.9906 with r = 1.216 (0.9905 to 0.9906 allowing for rounding)"
    )


def test_fairness_over_more_flows_than_two_is_only_bounded() -> None:
    """Flows of one protocol may differ, too: a lower index is no contradiction, a higher is."""

    def found(fairness: str, flows: int) -> tuple[Contradiction, ...]:
        row = printed_row({"pct_increase": "21.6", "jain_flows": fairness})
        return contradictions(row, GROUPS, COMPARE, flows)

    assert found("0.989", 8) == found("0.7", 8) == found("0.990", 2) == ()
    assert [one.rule for one in found("0.989", 2)] == ["fairness-against-increase"]
    (above,) = found("0.992", 8)
    assert "at most 0.9906 allowing for rounding, whatever the single flows" in above.text


@given(st.floats(-60, 300), st.integers(0, 3), st.integers(1, 5), st.booleans())
def test_fairness_and_increase_of_the_same_totals_never_contradict(
    increase: float, places: int, fairness_places: int, cut_off: bool
) -> None:
    r = 1 + increase / 100
    fairness = (1 + r) ** 2 / (2 * (1 + r * r))
    shown = Decimal(fairness).quantize(
        Decimal(1).scaleb(-fairness_places), ROUND_DOWN if cut_off else ROUND_HALF_EVEN
    )
    row = {"pct_increase": f"{increase:.{places}f}", "jain_protocols": str(shown)}
    assert found_in(row) == ()


def test_incomplete_rows_and_studies_without_comparison_are_left_alone() -> None:
    assert found_in({"share_T_pct": "43.7", "pct_increase": "99.0"}) == ()
    assert contradictions(printed_row(WIRELESS[0.008]), GROUPS, None) == ()


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("27.6", "27.55", "27.65"),
        ("17.0", "16.95", "17.05"),  # the printed zero counts
        ("96", "95.5", "96.5"),
        ("0.988", "0.9875", "0.9885"),
        ("-1.5", "-1.55", "-1.45"),
        ("0", "-0.5", "0.5"),
    ],
)
def test_rounding_span_is_half_the_last_printed_digit(text: str, low: str, high: str) -> None:
    assert rounding_span(Decimal(text)) == (Fraction(low), Fraction(high))


def test_only_finite_numbers_are_printed() -> None:
    with pytest.raises(ValueError, match="finite"):
        rounding_span(Decimal("inf"))


def test_a_share_that_may_be_zero_bounds_nothing() -> None:
    assert increase_span((Fraction(99), Fraction(100)), (Fraction(0), Fraction(1))) is None


@given(st.fractions(1, 99, max_denominator=10_000), st.integers(0, 2))
def test_a_table_printed_from_true_values_never_contradicts_itself(
    share_s: Fraction, decimals: int
) -> None:
    def printed(value: Fraction) -> str:
        return f"{Decimal(value.numerator) / Decimal(value.denominator):.{decimals}f}"

    share_t = 100 - share_s
    row = {
        "share_T_pct": printed(share_t),
        "share_S_pct": printed(share_s),
        "pct_increase": printed(100 * (share_s - share_t) / share_t),
    }
    assert found_in(row) == ()
