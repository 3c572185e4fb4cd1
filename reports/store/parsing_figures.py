"""From ``resolved.json``: the figures a study asks for. Pure.

Runs of older versions have fewer keys; one that is absent is one its kind does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from model.errors import ParseError
from reports.store.json_document import Doc
from reports.store.records import (
    Counted,
    FigureAsked,
    OverTime,
    Point,
    PublishedLoss,
    PublishedMark,
)


def parse_figure(doc: Doc) -> FigureAsked:
    """Return one figure."""
    together, published = doc.maybe("together"), doc.maybe("published")
    points = tuple(Point.of(item.scalars()) for item in doc.get("points").items())
    return FigureAsked(
        kind=doc.get("kind").text(),
        points=points,
        where=_parse_where(doc.maybe("where")),
        from_s=_number(doc, "from_s"),
        to_s=_number(doc, "to_s"),
        bin_s=_number(doc, "bin_s"),
        before_s=_number(doc, "before_s"),
        after_s=_number(doc, "after_s"),
        modulo_segments=_integer(doc, "modulo_segments"),
        together=bool(together and together.truth()),
        count=_word(doc, "count", Counted),
        of=_word(doc, "of", OverTime),
        overlay=_parse_overlay(doc, points),
        episode=_integer(doc, "episode"),
        published=dict(_parse_losses(published)) if published else {},
    )


def _parse_overlay(doc: Doc, points: Sequence[Point]) -> str | None:
    """Return the parameter that figures are laid over by: one that every point has."""
    found = doc.maybe("overlay")
    if found is None:
        return None
    if not all(found.text() in point.as_dict() for point in points):
        raise ParseError("not swept", where=found.where, got=found.text())
    return found.text()


def _parse_where(doc: Doc | None) -> str | Mapping[str, str] | None:
    if doc is None or isinstance(doc.value, str):
        return doc.text() if doc else None
    return {flow: words.text() for flow, words in doc.fields()}


def _parse_losses(doc: Doc) -> list[tuple[str, PublishedLoss]]:
    return [
        (
            flow,
            PublishedLoss(
                detected_s=loss.get("detected_s").number(),
                lost_segment=_integer(loss, "lost_segment"),
                marks=tuple(_parse_mark(item) for item in loss.get("marks").items()),
            ),
        )
        for flow, loss in doc.fields()
    ]


def _parse_mark(doc: Doc) -> PublishedMark:
    return PublishedMark(
        label=_text(doc, "label"),
        at_s=doc.get("at_s").number(),
        segment=_number(doc, "segment"),
        acked_segment=_number(doc, "acked_segment"),
        cwnd_segments=_number(doc, "cwnd_segments"),
        cwnd_bytes=_number(doc, "cwnd_bytes"),
    )


def _word(doc: Doc, key: str, known: Any) -> Any:
    """Return one of the words of a literal type, the first where the key is absent."""
    words, found = get_args(known), doc.maybe(key)
    if found is None:
        return words[0]
    if found.text() not in words:
        raise ParseError("unknown word", where=found.where, wanted=" or ".join(words),
                         got=found.text())  # fmt: skip
    return found.text()


def _number(doc: Doc, key: str) -> float | None:
    found = doc.maybe(key)
    return found.number() if found else None


def _integer(doc: Doc, key: str) -> int | None:
    found = doc.maybe(key)
    return found.integer() if found else None


def _text(doc: Doc, key: str) -> str | None:
    found = doc.maybe(key)
    return found.text() if found else None
