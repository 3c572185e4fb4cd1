"""Does what a publication says in words agree with its own numbers? Pure.

A claim is a predicate over metrics; where all the numbers a comparison needs are printed, they can
be put into it. It is contradicted only if no values that round to the printed ones satisfy it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from model.run_files.point import Point
from model.run_files.publication import Claim, Comparison
from model.run_files.study import Study
from model.run_files.summary_points import TableContradiction
from reports.measures.quantities import point_words
from reports.published.printed_values import Said, printed_metrics
from reports.published.rounding import Span, increase_span
from reports.published.tables import Printed

_Printed = Mapping[tuple[Point, str], Said]
_Wrong = tuple[Comparison, tuple[Said, ...]]


def claims_against_numbers(
    study: Study, printed: tuple[Printed, ...]
) -> Iterator[TableContradiction]:
    """Find claims that the printed numbers refute, one finding for each claim."""
    said = printed_metrics(study, printed)
    for claim in study.claims:
        put = [(one, _needed(one, said)) for one in claim.comparisons]
        wrong = [(one, said) for one, said in put if said and not _allows(one, _span(one, said))]
        if wrong:
            yield _finding(study, claim, wrong, sum(bool(said) for _, said in put))


def _needed(comparison: Comparison, said: _Printed) -> tuple[Said, ...]:
    """Return what is printed of the one or two metrics compared; nothing if one is not."""
    versus = comparison.versus
    keys = [(comparison.point, comparison.metric)]
    keys += [(versus.point, versus.metric)] if versus else []
    found = tuple(said[key] for key in keys if key in said)
    return found if len(found) == len(keys) else ()


def _span(comparison: Comparison, said: tuple[Said, ...]) -> Span | None:
    """Return the values that what is compared may have; None: any."""
    if comparison.per is not None:
        return None
    this = said[0].span
    if len(said) == 1:
        return this
    other = said[1].span
    if comparison.relative:
        return increase_span(this, other)
    return (this[0] - other[1], this[1] - other[0])


def _allows(comparison: Comparison, span: Span | None) -> bool:
    """Return whether some value satisfies it; the ends of a range may just not be in it."""
    if span is None:
        return True
    low = None if comparison.low is None else Fraction(str(comparison.low))
    high = None if comparison.high is None else Fraction(str(comparison.high))
    if comparison.strict and span[0] == span[1] and span[0] in (low, high):
        return False
    return (low is None or span[1] >= low) and (high is None or span[0] <= high)


def _finding(study: Study, claim: Claim, wrong: list[_Wrong], tested: int) -> TableContradiction:
    shown = "; ".join(_said(study, comparison, said) for comparison, said in wrong)
    example = any(one.example for _, said in wrong for one in said)
    where = dict.fromkeys(where for _, said in wrong for one in said for where in one.where)
    return TableContradiction(
        rule="claim-against-episode" if example else "claim-against-table",
        where=f"{claim.where}; {'; '.join(where)}",
        points=tuple(dict.fromkeys(comparison.point for comparison, _ in wrong)),
        metrics=tuple(dict.fromkeys(comparison.metric for comparison, _ in wrong)),
        title=f"the words say otherwise than the {'example' if example else 'tables'}",
        text=f"the text says: {claim.text} Its own numbers say otherwise in {len(wrong)} of "
        f"{tested}: {shown}",
    )


def _said(study: Study, comparison: Comparison, said: tuple[Said, ...]) -> str:
    settings = point_words(comparison.point, study.parameters)
    words = said[0].words
    if len(said) > 1:
        alike = said[0].shown.keys() == said[1].shown.keys()
        words += f" against {', '.join(said[1].shown.values()) if alike else said[1].words}"
    return f"{words} ({settings})" if len(study.points) > 1 else words
