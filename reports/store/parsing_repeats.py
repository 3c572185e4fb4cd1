"""From ``resolved.json``: a run's variations, and when it stops adding runs. Pure."""

from __future__ import annotations

from model.errors import ParseError
from reports.store.json_document import Doc
from reports.store.records import Parameter, Point, Precision, Repeats, Variation


def parse_repeats(doc: Doc, points: tuple[Point, ...]) -> tuple[tuple[Point, ...], Repeats]:
    """Return the study's own points, of all there are, and what is repeated how.

    Runs of older versions have neither variations nor a precision.
    """
    base, precision = doc.maybe("base_points"), doc.maybe("replication")
    own = base.integer() if base else len(points)
    return points[:own], Repeats(
        variations=tuple(_parse_variation(item, points) for item in _items(doc, "variations")),
        points=points[own:],
        parameters=parse_parameters(doc.maybe("variation_parameters")),
        left_out=tuple(item.text() for item in _items(doc, "left_out")),
        precision=_parse_precision(precision) if precision else None,
    )


def _items(doc: Doc, key: str) -> tuple[Doc, ...]:
    listed = doc.maybe(key)
    return listed.items() if listed else ()


def parse_parameters(doc: Doc | None) -> tuple[Parameter, ...]:
    """Return the settings in a list, or none where there is no list."""
    return tuple(
        Parameter(name=item.get("name").text(), path=item.get("path").text())
        for item in (doc.items() if doc else ())
    )


def _parse_variation(doc: Doc, points: tuple[Point, ...]) -> Variation:
    of, becomes, calibrated = (
        tuple(_point(item, points) for item in doc.get(key).items())
        for key in ("of", "points", "calibrated")
    )
    if not len(of) == len(becomes) == len(calibrated):
        got = f"{len(of)}, {len(becomes)} and {len(calibrated)}"
        wanted = "as many of, points and calibrated"
        raise ParseError("points do not belong together", where=doc.where, wanted=wanted, got=got)
    return Variation(
        assumption=doc.get("assumption").text(),
        words=doc.get("words").text(),
        settings=doc.get("settings").scalars(),
        of=of,
        points=becomes,
        calibrated=calibrated,
    )


def _point(doc: Doc, points: tuple[Point, ...]) -> Point:
    index = doc.integer()
    if not 0 <= index < len(points):
        wanted = f"from 0 to {len(points) - 1}"
        raise ParseError("no such point", where=doc.where, wanted=wanted, got=str(index))
    return points[index]


def _parse_precision(doc: Doc) -> Precision:
    metric, half, relative = (
        doc.maybe(key) for key in ("metric", "half_width", "relative_half_width")
    )
    return Precision(
        metric=metric.text() if metric else None,
        half_width=half.number() if half else None,
        relative_half_width=relative.number() if relative else None,
        at_least=doc.get("at_least").integer(),
        at_most=doc.get("at_most").integer(),
    )
