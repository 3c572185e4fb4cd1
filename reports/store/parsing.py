"""From the JSON of a run folder to records. Pure; every complaint names file and key."""

from __future__ import annotations

from decimal import Decimal

from model.check import Check
from model.errors import ParseError
from reports.store.json_document import Doc
from reports.store.parsing_claims import parse_claims
from reports.store.parsing_figures import parse_figure
from reports.store.parsing_repeats import parse_parameters, parse_repeats
from reports.store.point_paths import PointPath, parse_path
from reports.store.records import (
    Acknowledged,
    Assumption,
    Bins,
    Compare,
    Group,
    KnobReading,
    LedgerReading,
    PlannedCell,
    Point,
    Published,
    PublishedEpisode,
    PublishedRow,
    RunWarning,
    Source,
    Span,
    Study,
)

SCHEMA = 1
#: Of a printed number; what is computed with it is a float.
MOST_DIGITS = 30


def parse_point(doc: Doc) -> Point:
    """Return the point in an object of settings."""
    return Point.of(doc.scalars())


def parse_warning(doc: Doc) -> RunWarning:
    """Return one warning."""
    return RunWarning(
        rule=doc.get("rule").text(), where=doc.get("where").text(), text=doc.get("text").text()
    )


def _as_printed(doc: Doc) -> Decimal:
    """Return a number with the digits of the file; needs ``parse_float=Decimal``."""
    if not isinstance(doc.value, int | Decimal) or isinstance(doc.value, bool):
        got = repr(doc.value)
        raise ParseError("unexpected value", where=doc.where, wanted="a number", got=got)
    value = Decimal(doc.value)
    if value and abs(value.adjusted()) > MOST_DIGITS:
        wanted = f"a number with up to {MOST_DIGITS} digits before or after the point"
        raise ParseError("unexpected value", where=doc.where, wanted=wanted, got=f"{value:.3e}")
    return value


def _parse_exact_point(doc: Doc) -> Point:
    """Return the point in an object of settings that was read with exact decimals."""
    return Point.of(
        {
            name: float(value.value) if isinstance(value.value, Decimal) else value.scalar()
            for name, value in doc.fields()
        }
    )


def _parse_published(doc: Doc) -> Published:
    rows, where = [], doc.get("where").text()
    for row in doc.get("rows").items():
        values = {name: _as_printed(value) for name, value in row.get("values").fields()}
        own = row.maybe("where")  # runs of older versions have one table
        rows.append(
            PublishedRow(
                point=_parse_exact_point(row.get("point")),
                where=own.text() if own else where,
                values=values,
            )
        )
    listed = doc.maybe("episodes")
    episodes = tuple(_parse_episode(item) for item in listed.items()) if listed else ()
    return Published(where=where, rows=tuple(rows), episodes=episodes)


def _parse_episode(doc: Doc) -> PublishedEpisode:
    grown = doc.maybe("grown_s")
    return PublishedEpisode(
        flow=doc.get("flow").text(),
        episode=doc.get("episode").integer(),
        where=doc.get("where").text(),
        points=tuple(_parse_exact_point(item) for item in doc.get("points").items()),
        grown_s=None if grown is None else float(_as_printed(grown)),
        values={name: _as_printed(value) for name, value in doc.get("values").fields()},
    )


def _parse_groups(doc: Doc) -> tuple[Group, ...]:
    return tuple(
        Group(id=item.get("id").name(), label=item.get("label").text()) for item in doc.items()
    )


def _parse_span(doc: Doc | None) -> Span | None:
    if doc is None:
        return None
    return Span(from_s=doc.get("from_s").number(), to_s=doc.get("to_s").number())


def _parse_bins(doc: Doc | None) -> Bins | None:
    span = _parse_span(doc)
    if doc is None or span is None:
        return None
    return Bins(from_s=span.from_s, to_s=span.to_s, bin_s=doc.get("bin_s").number())


def _parse_compare(doc: Doc, groups: tuple[Group, ...]) -> Compare:
    known = [group.id for group in groups]
    for key in ("of", "over"):
        if doc.get(key).text() not in known:
            raise ParseError(
                "unknown group",
                where=doc.get(key).where,
                wanted=" or ".join(known),
                got=doc.get(key).text(),
            )
    return Compare(of=doc.get("of").text(), over=doc.get("over").text())


def _parse_source(doc: Doc) -> Source:
    return Source(
        authors=doc.get("authors").text(),
        publication=doc.get("publication").text(),
        year=year.integer() if (year := doc.maybe("year")) else None,
        simulator=doc.get("simulator").text(),
    )


def _parse_paths(doc: Doc) -> dict[Point, PointPath]:
    """Return the path of each point; none if the run is of a version that wrote none."""
    listed = doc.maybe("paths")
    items = listed.items() if listed else ()
    return {parse_point(item.get("point")): parse_path(item) for item in items}


def parse_study(doc: Doc, digits: Doc) -> Study:
    """Return the study in ``resolved.json``; ``digits`` is the same file with exact decimals."""
    doc.require_schema(SCHEMA)
    compare, published = doc.maybe("compare"), digits.maybe("published")
    groups = _parse_groups(doc.get("groups"))
    # Runs of older versions have no such keys.
    asked, flows = (doc.maybe(key) for key in ("figures", "flows"))
    claims, comparing = doc.maybe("claims"), _parse_compare(compare, groups) if compare else None
    points, repeats = parse_repeats(doc, tuple(parse_point(p) for p in doc.get("points").items()))
    return Study(
        id=doc.get("study").name(),
        title=doc.get("title").text(),
        source=_parse_source(source) if (source := doc.maybe("source")) else None,
        duration_s=doc.get("duration_s").number(),
        seeds=tuple(item.integer() for item in doc.get("seeds").items()),
        hosts=doc.get("hosts").text(),
        generator=doc.get("generator").text(),
        groups=groups,
        compare=comparing,
        parameters=parse_parameters(doc.get("parameters")),
        points=points,
        paths=_parse_paths(doc),
        metrics=tuple(item.text() for item in doc.get("metrics").items()),
        flows=tuple(item.name() for item in flows.items()) if flows else (),
        delivered=_parse_span(doc.maybe("delivered")),
        windows=_parse_span(doc.maybe("windows")),
        bins=_parse_bins(doc.maybe("bins")),
        published=_parse_published(published) if published else None,
        figures=tuple(parse_figure(item) for item in asked.items()) if asked else (),
        assumptions=tuple(
            Assumption(
                id=item.get("id").text(), text=item.get("text").text(), why=item.get("why").text()
            )
            for item in doc.get("assumptions").items()
        ),
        warnings=tuple(parse_warning(item) for item in doc.get("warnings").items()),
        acknowledged=tuple(
            Acknowledged(
                rule=item.get("rule").text(),
                where=item.get("where").text(),
                text=item.get("text").text(),
                why=item.get("why").text(),
            )
            for item in doc.get("acknowledged").items()
        ),
        claims=parse_claims(claims, points, comparing) if claims else (),
        repeats=repeats,
    )


def _parse_planned(doc: Doc) -> PlannedCell:
    purpose = doc.get("purpose").text()
    if purpose not in ("measure", "calibrate"):
        raise ParseError(
            "unknown purpose", where=doc.where, wanted="measure or calibrate", got=purpose
        )
    return PlannedCell(
        id=doc.get("id").name(),
        purpose="measure" if purpose == "measure" else "calibrate",
        point=parse_point(doc.get("point")),
        replicate=doc.get("replicate").integer(),
        seed=doc.get("seed").integer(),
    )


def parse_plan(doc: Doc, study: Study) -> tuple[PlannedCell, ...]:
    """Return ``plan.json``'s cells ordered by point, replicate and seed.

    Raises ``ParseError`` if a measuring cell lies at no point of the study.
    """
    doc.require_schema(SCHEMA)
    rank = {point: index for index, point in enumerate(study.all_points)}
    cells = []
    for item in doc.get("cells").items():
        cell = _parse_planned(item)
        if cell.purpose == "measure" and cell.point not in rank:
            raise ParseError(
                "a cell lies at no point of the study",
                where=item.where,
                got=str(cell.point.as_dict()),
            )
        cells.append(cell)
    return tuple(
        sorted(
            cells,
            key=lambda c: (rank.get(c.point, -1), c.purpose, c.replicate, c.seed, c.id),
        )
    )


def parse_checks(doc: Doc) -> tuple[Check, ...]:
    """Return the checks of ``verify.json``."""
    doc.require_schema(SCHEMA)
    return tuple(
        Check(
            check=item.get("check").text(),
            where=item.get("where").text(),
            wanted=item.get("wanted").text(),
            got=item.get("got").text(),
            agrees=item.get("agrees").truth(),
        )
        for item in doc.get("checks").items()
    )


def _parse_knob(doc: Doc) -> KnobReading:
    return KnobReading(
        kind=doc.get("kind").text(),
        name=doc.get("name").text(),
        value=doc.get("value").text(),
        side=doc.get("side").text(),
        read_back=tuple(
            (place, str(value.scalar())) for place, value in doc.get("read_back").fields()
        ),
        agrees=doc.get("agrees").truth(),
    )


def parse_ledger(doc: Doc) -> tuple[LedgerReading, ...]:
    """Return the entries of ``raw/ledger.json``."""
    return tuple(
        LedgerReading(
            parameter=item.get("parameter").text(),
            published=item.get("published").text(),
            fidelity=item.get("fidelity").text(),
            note=item.get("note").text(),
            knobs=tuple(_parse_knob(knob) for knob in item.get("knobs").items()),
        )
        for item in doc.items()
    )
