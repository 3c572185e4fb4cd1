"""What the cells of a point say: each cell's values, each metric's estimate, what was published.

Pure. Invariant: only finished cells without a failed check or calibration are averaged.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from model.errors import ParseError
from model.run_files.comparing.simulated import SimulatedMetric
from model.run_files.point import Point
from model.run_files.publication import PublishedRow
from model.run_files.study import Study
from model.run_files.summary_points import (
    Contradiction,
    EpisodeClaim,
    GroupStory,
    TableContradiction,
)
from reports.inference.estimates import estimated, estimated_ratio
from reports.inference.increase_at_equal_loss import INCREASE
from reports.inference.statistics import Estimate, inside
from reports.measures.metrics import Metric, Value, evaluate, metrics_of, study_metrics_of
from reports.published.episodes import claims
from reports.published.rounding import contradictions
from reports.store.run import FinishedCell, Run
from reports.store.sample import Sample
from reports.verdict.causes import stories
from reports.verdict.trust import exclusions


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """One metric at one point: the estimate, the published value, and where that lies in it.

    ``published`` keeps its printed digits; ``live`` is what a live simulator's run gave, null where
    none is beside this one; ``reason`` says why something is null, or which cells are missing.
    ``ratio_of_means`` is of metrics that are a quotient, ``adjusted`` of the increase: the one at
    equal realised loss.
    """

    estimate: Estimate
    ratio_of_means: Estimate | None = None
    adjusted: Estimate | None = None
    published: Decimal | None
    published_where: str | None
    published_in_ci95: bool | None
    published_in_pi95: bool | None
    reason: str | None
    live: SimulatedMetric | None = None

    @property
    def simulated(self) -> float | None:
        """The mean of the live simulator's runs."""
        return None if self.live is None else self.live.mean


@dataclass(frozen=True, kw_only=True)
class PointSummary:
    """One point of the sweep; ``chance`` is whether its cells leave anything to it.

    ``doubted`` are the metrics whose published values contradict those of other rows or tables.
    """

    point: Point
    cells_planned: int
    cells_counted: int
    chance: bool
    metrics: Mapping[str, MetricSummary]
    contradictions: tuple[Contradiction, ...]
    causes: tuple[GroupStory, ...]
    episode_claims: tuple[EpisodeClaim, ...]
    doubted: frozenset[str] = frozenset()

    def contradicted(self, metric: str) -> bool:
        """Return whether the published value of this metric is part of a contradiction."""
        return metric in self.doubted or any(metric in one.metrics for one in self.contradictions)


@dataclass(frozen=True, kw_only=True)
class CellSummary:
    """One finished measuring cell; ``excluded`` says why it does not count, else None."""

    id: str
    point: Point
    replicate: int
    seed: int
    excluded: str | None
    values: Mapping[str, Value]


def ordered_metrics(study: Study) -> dict[str, Metric]:
    """Return the metrics of a study, those it asks for first; ``ParseError`` if one is unknown."""
    names = metrics_of(study.groups, study.compare)
    wanted = study_metrics_of(study.groups, study.flows)
    claimed = study.claimed_metrics
    names |= {name: wanted[name] for name in (*study.metrics, *claimed) if name in wanted}
    published = [name for row in study.published.rows for name in row.values] if (
        study.published
    ) else []  # fmt: skip
    unknown = [name for name in (*study.metrics, *published, *claimed) if name not in names]
    if unknown:
        raise ParseError(
            "unknown metrics",
            where="resolved.json: metrics, published, claims",
            wanted=f"some of {', '.join(names)}",
            got=", ".join(dict.fromkeys(unknown)),
        )
    return {name: names[name] for name in dict.fromkeys((*study.metrics, *names))}


def _sample(study: Study, cell: FinishedCell) -> Sample:
    return Sample(
        flows=cell.flows,
        groups=study.groups,
        compare=study.compare,
        bottleneck_rate_bps=(
            None if cell.cell.ad_hoc else cell.cell.wired.bottleneck.forward.rate_bps
        ),
        radios=cell.evidence.radios,
        airtime=cell.evidence.airtime,
        paths=cell.evidence.paths,
        audit=cell.evidence.rows,
        acknowledgements=cell.evidence.acknowledgements,
        delivered_segments=cell.delivered_segments,
        episodes=cell.episodes,
        variation_pct=cell.variation_pct,
        spans=cell.spans,
        messages=cell.messages,
        failovers=cell.failovers,
        path=study.path_at(cell.plan.point),
        duration_s=cell.cell.duration_s,
    )


def _summarise_metric(
    name: str, cells: list[CellSummary], planned: int, row: PublishedRow | None, *, chance: bool
) -> MetricSummary:
    published = row.values[name] if row else None
    values = [cell.values[name] for cell in cells]
    result = estimated(values, chance=chance)
    reasons = [result.reason] if result.reason else []
    if len(cells) < planned and cells:
        reasons.append(f"{len(cells)} of {planned} planned cells count")
    printed = None if published is None else float(published)
    return MetricSummary(
        estimate=result,
        ratio_of_means=estimated_ratio(values, chance=chance),
        published=published,
        published_where=row.where if row else None,
        published_in_ci95=inside(printed, result.ci95),
        published_in_pi95=inside(printed, result.pi95),
        reason="; ".join(reasons) or None,
    )


def summarise_point(
    run: Run, point: Point, metrics: Mapping[str, Metric], cells: tuple[CellSummary, ...]
) -> PointSummary:
    """Return what a point's finished cells, and the publication, say of it."""
    study = run.study
    planned = sum(cell.purpose == "measure" and cell.point == point for cell in run.plan)
    counted = [cell for cell in cells if cell.point == point and cell.excluded is None]
    ids = {cell.id for cell in counted}
    runs = [cell for cell in run.measured() if cell.plan.id in ids]
    live = run.simulated
    rows = study.published.rows_at(point) if study.published else ()
    path = study.path_at(point)
    flows = len(path.flows) if path else None
    found = [c for row in rows for c in contradictions(row, study.groups, study.compare, flows)]
    printed = {name: row for row in rows for name in row.values}
    ran = [cell.cell for cell in run.measured() if cell.plan.point == point]
    chance = not ran or any(cell.left_to_chance() for cell in ran)
    return PointSummary(
        point=point,
        cells_planned=planned,
        cells_counted=len(counted),
        chance=chance,
        metrics={
            name: dataclasses.replace(
                _summarise_metric(name, counted, planned, printed.get(name), chance=chance),
                live=live.metric_at(point, name) if live else None,
            )
            for name in metrics
        },
        contradictions=tuple(found),
        causes=stories(runs, study.groups),
        episode_claims=claims(study.published.episodes if study.published else (), point, runs),
    )


def in_context(
    point: PointSummary, adjusted: Estimate | None, against: tuple[TableContradiction, ...]
) -> PointSummary:
    """Return the point with what only all points together tell."""
    here = (one.metrics for one in against if point.point in one.points)
    doubted = frozenset(name for names in here for name in names)
    metrics = dict(point.metrics)
    if adjusted is not None:
        metrics[INCREASE] = dataclasses.replace(metrics[INCREASE], adjusted=adjusted)
    return dataclasses.replace(point, metrics=metrics, doubted=doubted)


def summarise_cells(run: Run, metrics: Mapping[str, Metric]) -> tuple[CellSummary, ...]:
    """Return every finished measuring cell with its values."""
    excluded = exclusions(run)
    return tuple(
        CellSummary(
            id=cell.plan.id,
            point=cell.plan.point,
            replicate=cell.plan.replicate,
            seed=cell.plan.seed,
            excluded=excluded.get(cell.plan.id),
            values={
                name: evaluate(metric, _sample(run.study, cell)) for name, metric in metrics.items()
            },
        )
        for cell in run.measured()
    )
