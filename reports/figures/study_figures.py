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

from model.run_files.figures import FigureWanted
from model.run_files.point import Point
from reports.figures import over_time
from reports.figures.chart import Figure
from reports.figures.distribution import TITLES
from reports.figures.kinds import KINDS
from reports.figures.losses import beside_published
from reports.figures.shown_run import Shown, first_counted, settings, told, value_words
from reports.figures.unasked import unasked
from reports.store.run import Run
from reports.verdict.summary import Summary


@dataclass(frozen=True, kw_only=True)
class FigureSet:
    """One asked figure at one point: what is drawn, of which run, and what is missing and why.

    ``where`` names the published figures it is the counterpart of, or is None; ``points`` are those
    it is of.
    """

    title: str
    points: tuple[Point, ...]
    run: str
    where: str | None
    figures: tuple[Figure, ...]
    missing: tuple[str, ...]


def study_figures(folder: Path, run: Run, summary: Summary) -> tuple[FigureSet, ...]:
    """Return what the study asks for of single runs, in its order, point by point."""
    shown: dict[Point, Shown | None] = {}
    names: set[str] = set()
    found = []
    asked = [wanted for wanted in run.study.figures if wanted.kind in KINDS]
    for wanted in asked or unasked(run):
        for points in _laid_over(wanted):
            for point in points:
                if point not in shown:
                    shown[point] = first_counted(folder, run, summary, point)
            runs = [shown[point] for point in points]
            found.append(_set(wanted, run, summary, points, runs, names))
    return tuple(found)


def drawn_metrics(run: Run) -> dict[str, str | None]:
    """Return the metrics whose figures the study asks for besides its headline metrics.

    Each with the published figure that its own is the counterpart of, or None.
    """
    of = run.study.compare.of if run.study.compare else None
    return {
        f"share_{of}_pct": wanted.where if isinstance(wanted.where, str) else None
        for wanted in run.study.figures
        if wanted.kind == "share" and of
    }


def _laid_over(wanted: FigureWanted) -> list[tuple[Point, ...]]:
    """Return the points of each figure: one, or those that differ in what is laid over."""
    if wanted.overlay is None:
        return [(point,) for point in wanted.points]
    found: dict[tuple[object, ...], list[Point]] = {}
    for point in wanted.points:
        found.setdefault(_others(point, wanted.overlay), []).append(point)
    return [tuple(points) for points in found.values()]


def _others(point: Point, but: str | None) -> tuple[tuple[str, object], ...]:
    return tuple((name, value) for name, value in point.settings if name != but)


def _set(
    wanted: FigureWanted,
    run: Run,
    summary: Summary,
    points: Sequence[Point],
    shown: Sequence[Shown | None],
    names: set[str],
) -> FigureSet:
    title, draw = KINDS[wanted.kind]
    runs = [one for one in shown if one is not None]
    missing = tuple(_no_run(wanted, run, points, shown))
    if wanted.kind == "cdf":
        title = f"Distribution of the {TITLES[wanted.of]}"
    if wanted.kind == "over_time":
        title = f"{over_time.WORDS[wanted.of][0]} over time"
    stem = _free("-".join([_stem(wanted), *_slugs(points[0], wanted.overlay)]), names)
    drawn = list(draw(wanted, runs, stem)) if runs else []
    claims = [
        claim for one in summary.points if one.point in points for claim in one.episode_claims
    ]
    return FigureSet(
        title=title,
        points=tuple(points),
        run=told(runs, wanted.overlay) if runs else _only(run, points[0]),
        where=_where(wanted),
        figures=tuple(
            beside_published(_placed(found, wanted), wanted, runs[0], claims)
            for found in drawn
            if isinstance(found, Figure)
        ),
        missing=(*missing, *(found for found in drawn if isinstance(found, str))),
    )


def _no_run(
    wanted: FigureWanted, run: Run, points: Sequence[Point], shown: Sequence[Shown | None]
) -> Iterator[str]:
    for point, one in zip(points, shown, strict=True):
        if one is None:
            value = point.as_dict()[wanted.overlay] if wanted.overlay else None
            of = "" if value is None else f" of {value_words(str(wanted.overlay), value)}"
            yield f"no run{of} here counts"


def _only(run: Run, point: Point) -> str:
    return ", ".join(settings(run, point).values()) or "the study's only point"


def _where(wanted: FigureWanted) -> str | None:
    if wanted.where is None or isinstance(wanted.where, str):
        return wanted.where
    return ", ".join(dict.fromkeys(wanted.where.values()))


def _placed(figure: Figure, wanted: FigureWanted) -> Figure:
    """Return a figure that says which published figure it is the counterpart of."""
    where = wanted.where
    if where is not None and not isinstance(where, str):
        where = where.get(figure.flow or "")
    return figure if where is None else dataclasses.replace(figure, where=where)


def _stem(wanted: FigureWanted) -> str:
    kind = f"{wanted.of}_{wanted.kind}" if wanted.kind in ("over_time", "cdf") else wanted.kind
    return f"{kind}-all" if wanted.together else kind


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
