"""Does what a publication says in words agree with its own tables? Pure.

A claim is a predicate over metrics; where all the numbers a comparison needs are printed, they can
be put into it. It is contradicted only if no values that round to the printed ones satisfy it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from reports.display import setting
from reports.published import Span, increase_span, rounding_span
from reports.published_tables import Printed, TableContradiction, places
from reports.records import Claim, Comparison, Point, Study


def claims_against_tables(
    study: Study, printed: tuple[Printed, ...]
) -> Iterator[TableContradiction]:
    """Find claims that the printed numbers refute, one finding for each claim."""
    at = {one.point: one for one in printed}
    for claim in study.claims:
        wrong = [
            (comparison, span)
            for comparison in claim.comparisons
            if (span := _printed(comparison, at)) is not None and not _allows(comparison, span)
        ]
        if wrong:
            yield _finding(study, claim, [one for one, _ in wrong], at)


def _printed(comparison: Comparison, at: dict[Point, Printed]) -> Span | None:
    """Return the values that what is compared may have by the printed numbers."""
    this = _span(comparison.metric, comparison.point, at)
    if this is None or comparison.versus is None:
        return this
    other = _span(comparison.versus.metric, comparison.versus.point, at)
    if other is None:
        return None
    return increase_span(this, other) if comparison.relative else (
        this[0] - other[1], this[1] - other[0]
    )  # fmt: skip


def _span(metric: str, point: Point, at: dict[Point, Printed]) -> Span | None:
    value = at[point].values.get(metric) if point in at else None
    return None if value is None else rounding_span(value)


def _allows(comparison: Comparison, span: Span) -> bool:
    low = None if comparison.low is None else Fraction(str(comparison.low))
    high = None if comparison.high is None else Fraction(str(comparison.high))
    return (low is None or span[1] >= low) and (high is None or span[0] <= high)


def _finding(
    study: Study, claim: Claim, wrong: list[Comparison], at: dict[Point, Printed]
) -> TableContradiction:
    tested = len(claim.comparisons)
    shown = "; ".join(_said(study, comparison, at) for comparison in wrong)
    points = tuple(dict.fromkeys(comparison.point for comparison in wrong))
    return TableContradiction(
        rule="claim-against-table",
        where=f"{claim.where}; {places(at[point] for point in points)}",
        points=points,
        metrics=tuple(dict.fromkeys(comparison.metric for comparison in wrong)),
        title="the words say otherwise than the tables",
        text=f"the text says: {claim.text} Its own numbers say otherwise in {len(wrong)} of "
        f"{tested}: {shown}",
    )


def _said(study: Study, comparison: Comparison, at: dict[Point, Printed]) -> str:
    at_point = comparison.point.as_dict().items()
    settings = ", ".join(f"{name} {setting(name, value)}" for name, value in at_point)
    words = f"{comparison.metric} {at[comparison.point].values[comparison.metric]}"
    if comparison.versus is not None:
        other = comparison.versus
        words += f" against {at[other.point].values[other.metric]}"
    return f"{words} ({settings})" if settings and len(study.points) > 1 else words
