"""From the claims in ``resolved.json`` to records. Pure; every complaint names file and key."""

from __future__ import annotations

from collections.abc import Collection

from model.errors import ParseError
from reports.store.json_document import Doc
from reports.store.records import Claim, Compare, Comparison, Point, Versus

#: By how many per cent the compared groups' goodputs differ: a quotient of means, judged as one.
INCREASE = "pct_increase"


def parse_claims(doc: Doc, points: Collection[Point], compare: Compare | None) -> tuple[Claim, ...]:
    """Return a study's claims; raise ``ParseError`` if one is at no point of the study."""
    return tuple(_claim(item, points, compare) for item in doc.items())


def _claim(doc: Doc, points: Collection[Point], compare: Compare | None) -> Claim:
    untested, suspects = doc.maybe("untested"), doc.maybe("suspects")
    comparisons = doc.get("comparisons").items()
    if bool(comparisons) == bool(untested):
        raise ParseError(
            "unexpected value", where=doc.where, wanted="comparisons, or why it is untested",
            got="both" if untested else "neither",
        )  # fmt: skip
    return Claim(
        id=doc.get("id").name(),
        text=doc.get("text").text(),
        where=doc.get("where").text(),
        untested=untested.text() if untested else None,
        comparisons=tuple(_comparison(item, points, compare) for item in comparisons),
        suspects=tuple(item.text() for item in suspects.items()) if suspects else (),
    )


def _comparison(doc: Doc, points: Collection[Point], compare: Compare | None) -> Comparison:
    versus, low, high = doc.maybe("versus"), doc.maybe("low"), doc.maybe("high")
    metric, relative = doc.get("metric").text(), doc.get("relative").truth() is True
    if low is None and high is None:
        raise ParseError("no bound", where=doc.where, wanted="low, high, or both")
    if relative and versus is None:
        raise ParseError("relative to nothing", where=doc.where, wanted="versus")
    quotient = None
    if metric == INCREASE and versus is None and compare:
        quotient = (f"goodput_{compare.of}_bps", f"goodput_{compare.over}_bps")
    return Comparison(
        metric=metric,
        point=_point(doc.get("point"), points),
        versus=Versus(
            metric=versus.get("metric").text(), point=_point(versus.get("point"), points)
        ) if versus else None,
        relative=relative,
        low=low.number() if low else None,
        high=high.number() if high else None,
        strict=doc.get("strict").truth() is True,
        quotient=quotient,
    )  # fmt: skip


def _point(doc: Doc, points: Collection[Point]) -> Point:
    point = Point.of(doc.scalars())
    if point not in points:
        got = str(point.as_dict())
        raise ParseError("a claim lies at no point of the study", where=doc.where, got=got)
    return point
