"""The figures a study asks for, drawn from its runs, and for each that cannot be drawn the reason.

Invariants: the run shown is the first seed of the point that counts; nothing asked for is left out
in silence; a table that is there and cannot be read raises ``ParseError``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.run.figures import FigureWanted
from model.run.point import Point
from reports.figures import over_time
from reports.figures.chart import Figure
from reports.figures.kinds import KINDS
from reports.figures.shown_run import Shown, first_counted, settings, told, value_words
from reports.store.run import Run
from reports.verdict.summary import Summary


@dataclass(frozen=True, kw_only=True)
class FigureSet:
    """One asked figure at one point: what is drawn, of which run, and what is missing and why.

    ``where`` names the published figures it is the counterpart of, or is None.
    """

    title: str
    run: str
    where: str | None
    figures: tuple[Figure, ...]
    missing: tuple[str, ...]


def asked_figures(folder: Path, run: Run, summary: Summary) -> tuple[FigureSet, ...]:
    """Return what the study asks for of single runs, in its order, point by point."""
    shown: dict[Point, Shown | None] = {}
    names: set[str] = set()
    found = []
    for asked in run.study.figures:
        if asked.kind not in KINDS:
            continue
        for points in _laid_over(asked):
            for point in points:
                if point not in shown:
                    shown[point] = first_counted(folder, run, summary, point)
            found.append(_set(asked, run, points, [shown[point] for point in points], names))
    return tuple(found)


def asked_metrics(run: Run) -> dict[str, str | None]:
    """Return the metrics whose figures the study asks for besides its headline metrics.

    Each with the published figure that its own is the counterpart of, or None.
    """
    of = run.study.compare.of if run.study.compare else None
    return {
        f"share_{of}_pct": asked.where if isinstance(asked.where, str) else None
        for asked in run.study.figures
        if asked.kind == "share" and of
    }


def _laid_over(asked: FigureWanted) -> list[tuple[Point, ...]]:
    """Return the points of each figure: one, or those that differ in what is laid over."""
    if asked.overlay is None:
        return [(point,) for point in asked.points]
    found: dict[tuple[object, ...], list[Point]] = {}
    for point in asked.points:
        found.setdefault(_others(point, asked.overlay), []).append(point)
    return [tuple(points) for points in found.values()]


def _others(point: Point, but: str | None) -> tuple[tuple[str, object], ...]:
    return tuple((name, value) for name, value in point.settings if name != but)


def _set(
    asked: FigureWanted,
    run: Run,
    points: Sequence[Point],
    shown: Sequence[Shown | None],
    names: set[str],
) -> FigureSet:
    title, draw = KINDS[asked.kind]
    runs = [one for one in shown if one is not None]
    missing = tuple(_no_run(asked, run, points, shown))
    if asked.kind == "over_time":
        title = f"{over_time.WORDS[asked.of][0]} over time"
    stem = _free("-".join([_stem(asked), *_slugs(points[0], asked.overlay)]), names)
    drawn = list(draw(asked, runs, stem)) if runs else []
    return FigureSet(
        title=title,
        run=told(runs, asked.overlay) if runs else _only(run, points[0]),
        where=_where(asked),
        figures=tuple(_placed(found, asked) for found in drawn if isinstance(found, Figure)),
        missing=(*missing, *(found for found in drawn if isinstance(found, str))),
    )


def _no_run(
    asked: FigureWanted, run: Run, points: Sequence[Point], shown: Sequence[Shown | None]
) -> Iterator[str]:
    for point, one in zip(points, shown, strict=True):
        if one is None:
            value = point.as_dict()[asked.overlay] if asked.overlay else None
            of = "" if value is None else f" of {value_words(str(asked.overlay), value)}"
            yield f"no run{of} here counts"


def _only(run: Run, point: Point) -> str:
    return ", ".join(settings(run, point).values()) or "the study's only point"


def _where(asked: FigureWanted) -> str | None:
    if asked.where is None or isinstance(asked.where, str):
        return asked.where
    return ", ".join(dict.fromkeys(asked.where.values()))


def _placed(figure: Figure, asked: FigureWanted) -> Figure:
    """Return a figure that says which published figure it is the counterpart of."""
    where = asked.where
    if where is not None and not isinstance(where, str):
        where = where.get(figure.flow or "")
    return figure if where is None else dataclasses.replace(figure, where=where)


def _stem(asked: FigureWanted) -> str:
    kind = f"{asked.of}_over_time" if asked.kind == "over_time" else asked.kind
    return f"{kind}-all" if asked.together else kind


def _slugs(point: Point, but: str | None) -> list[str]:
    return [
        re.sub(r"[^A-Za-z0-9.]+", "_", f"{name}_{value}") for name, value in _others(point, but)
    ]


def _free(stem: str, names: set[str]) -> str:
    """Return the stem, numbered if it is taken."""
    number, found = 1, stem
    while found in names:
        number += 1
        found = f"{stem}-{number}"
    names.add(found)
    return found
