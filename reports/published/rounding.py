"""Checks a published table against itself: does one printed number rule out another?

A printed number stands for every value that rounds to it. Two printed numbers contradict each other
only if no pair of such values agrees, so the checks carry exact intervals (``Fraction``). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from model.run_files.publication import PublishedRow
from model.run_files.study import Compare, Group
from model.run_files.summary_points import Contradiction

#: The index over the groups' totals, and over the flows, which is never above that.
OF_TOTALS, OF_FLOWS = "jain_protocols", "jain_flows"

Span = tuple[Fraction, Fraction]


def printed_places(value: Decimal) -> int:
    """Return how many digits are printed after the point; negative for whole tens and so on."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError(f"a printed number is finite, got {value}")
    return -exponent


def rounding_span(value: Decimal) -> Span:
    """Return the values that are printed like this: the number +- half its last digit."""
    half = Fraction(10) ** -printed_places(value) / 2
    return (Fraction(value) - half, Fraction(value) + half)


def increase_span(of: Span, over: Span) -> Span | None:
    """Return the percentage increases two shares allow; None if the smaller may be zero.

    (of - over) / over x 100 rises with ``of`` and falls with ``over``, so the ends of the spans
    give the ends of the result. If two shares add to 100 exactly, these corners still do.
    """
    if over[0] <= 0:
        return None
    return (100 * (of[0] / over[1] - 1), 100 * (of[1] / over[0] - 1))


def _apart(one: Span, other: Span) -> bool:
    return one[1] < other[0] or other[1] < one[0]


def _range(span: Span) -> tuple[float, float]:
    return (float(span[0]), float(span[1]))


@dataclass(frozen=True)
class _Row:
    """A row with the rounding span of each number."""

    values: dict[str, Decimal]
    spans: dict[str, Span]


def _increase_from_shares(row: _Row, compare: Compare | None) -> list[Contradiction]:
    if compare is None:
        return []
    of, over = f"share_{compare.of}_pct", f"share_{compare.over}_pct"
    if not {of, over, "pct_increase"} <= set(row.values):
        return []
    allowed = increase_span(row.spans[of], row.spans[over])
    if allowed is None or not _apart(allowed, row.spans["pct_increase"]):
        return []
    share_of, share_over = row.values[of], row.values[over]
    implied = float(100 * (Fraction(share_of) / Fraction(share_over) - 1))
    low, high = _range(allowed)
    printed = row.values["pct_increase"]
    text = (
        f"printed increase {printed} %, but the printed shares give "
        f"({share_of} - {share_over}) / {share_over} = {implied:.1f} % "
        f"({low:.2f} to {high:.2f} % allowing for rounding)"
    )
    return [
        Contradiction(
            rule="increase-against-shares",
            metrics=("pct_increase", of, over),
            printed=printed,
            implied=implied,
            implied_range=(low, high),
            text=text,
        )
    ]


def _shares_add_up(row: _Row, groups: tuple[Group, ...]) -> list[Contradiction]:
    names = [f"share_{group.id}_pct" for group in groups]
    if len(names) < 2 or not set(names) <= set(row.values):
        return []
    total = (
        sum((row.spans[name][0] for name in names), Fraction(0)),
        sum((row.spans[name][1] for name in names), Fraction(0)),
    )
    if total[0] <= 100 <= total[1]:
        return []
    terms = " + ".join(str(row.values[name]) for name in names)
    printed = sum((row.values[name] for name in names), Decimal(0))
    slack = float(total[1] - total[0]) / 2
    text = f"printed shares {terms} = {printed} %, not 100 % (rounding allows {slack:g} either way)"
    return [
        Contradiction(
            rule="shares-add-to-100",
            metrics=tuple(names),
            printed=printed,
            implied=100.0,
            implied_range=(100 - slack, 100 + slack),
            text=text,
        )
    ]


def fairness_span(increase: Span) -> Span | None:
    """Return Jain's index over two totals, one so much per cent above the other, of every such.

    (1 + r)^2 / (2 (1 + r^2)) with r = 1 + increase / 100 falls on both sides of r = 1.
    """
    low, high = (1 + bound / 100 for bound in increase)
    if low <= 0:
        return None
    ends = [(1 + r) ** 2 / (2 * (1 + r * r)) for r in (low, high)]
    return (min(ends), Fraction(1) if low <= 1 <= high else max(ends))


def _fairness_from_increase(
    row: _Row, groups: tuple[Group, ...], flows: int | None
) -> list[Contradiction]:
    """Compare fairness with the increase; a fairness may be cut off, not rounded.

    The index over more flows than groups may be any below that of the totals.
    """
    fairness = OF_TOTALS if OF_TOTALS in row.values else OF_FLOWS
    if len(groups) != 2 or not {fairness, "pct_increase"} <= set(row.values):
        return []
    printed, increase = row.values[fairness], row.values["pct_increase"]
    allowed = fairness_span(row.spans["pct_increase"])
    rounded = row.spans[fairness]
    cut_off = (rounded[0], 2 * rounded[1] - Fraction(printed))
    if allowed is not None and fairness == OF_FLOWS and flows != len(groups):
        allowed = (Fraction(0), allowed[1])
    if allowed is None or not _apart(allowed, cut_off):
        return []
    r = 1 + Fraction(increase) / 100
    implied = float((1 + r) ** 2 / (2 * (1 + r * r)))
    low, high = _range(allowed)
    span = f"{low:.4f} to {high:.4f}" if low else f"at most {high:.4f}"
    text = (
        f"printed fairness {printed}, but totals that differ by the printed increase {increase} % "
        f"have (1 + r)^2 / (2 (1 + r^2)) = {implied:.4f} with r = {float(r):g} "
        f"({span} allowing for rounding{'' if low else ', whatever the single flows'})"
    )
    return [
        Contradiction(
            rule="fairness-against-increase",
            metrics=(fairness, "pct_increase"),
            printed=printed,
            implied=implied,
            implied_range=(low, high),
            text=text,
        )
    ]


def contradictions(
    row: PublishedRow, groups: tuple[Group, ...], compare: Compare | None, flows: int | None = None
) -> tuple[Contradiction, ...]:
    """Return how one row of the published table contradicts itself, in a stable order.

    ``flows`` is how many there are at its point, None if that is not known.
    """
    spans = {name: rounding_span(value) for name, value in row.values.items()}
    read = _Row(row.values, spans)
    return (
        *_increase_from_shares(read, compare),
        *_shares_add_up(read, groups),
        *(_fairness_from_increase(read, groups, flows) if compare else ()),
    )
