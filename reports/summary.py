"""From a run to its summary: per point and metric what the kernel says beside what was published.

Pure. Invariant: only finished cells without a failed check or calibration are averaged.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from reports.claims import Verdict, Words, judge
from reports.contradicted import rows_in_doubt, table_contradictions, tables_in_doubt
from reports.equal_loss import LossAdjustment
from reports.happened import GroupStory, stories
from reports.increase_adjusted import INCREASE, adjusted_increases, doubts
from reports.metrics import Metric, Value, asked_metrics_of, evaluate, metrics_of
from reports.published import Contradiction, contradictions
from reports.published_episodes import EpisodeClaim, claims
from reports.published_tables import TableContradiction
from reports.records import Compare, Group, Parameter, Point, PublishedRow, RunWarning, Study
from reports.replication import Replication, looks, replication
from reports.run import FinishedCell, Run
from reports.run_values import estimated, estimated_ratio
from reports.sample import Sample
from reports.sensitivity import NO_SENSITIVITY, Sensitivity, sensitivity, turning
from reports.statistics import Estimate, inside
from reports.trust import DAMAGED, collect_warnings, exclusions, point_words
from testbed.errors import ParseError

#: Below this Student's t makes the interval of one further run more than 3.6 sd wide either way.
ENOUGH_RUNS = 4


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """One metric at one point: the estimate, the published value, and where that lies in it.

    ``published`` keeps its printed digits; ``simulated`` is for a live simulator run and is null
    until one is attached; ``reason`` says why something is null, or which cells are missing.
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
    simulated: float | None
    reason: str | None


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
    happened: tuple[GroupStory, ...]
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


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The outcome of a run. ``headline`` names the metrics the study asks for, in its order.

    ``points`` and ``cells`` are of the study itself; what its variations gave is ``sensitivity``.
    """

    study: str
    title: str
    parameters: tuple[Parameter, ...]
    groups: tuple[Group, ...]
    compare: Compare | None
    flows: tuple[str, ...]
    headline: tuple[str, ...]
    published_where: str | None
    points: tuple[PointSummary, ...]
    cells: tuple[CellSummary, ...]
    warnings: tuple[RunWarning, ...]
    loss_adjustment: LossAdjustment | None = None
    contradictions: tuple[TableContradiction, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    replication: Replication | None = None
    sensitivity: Sensitivity = NO_SENSITIVITY

    @property
    def damaged(self) -> tuple[tuple[str, str], ...]:
        """Place and reason of every finished cell that was left out because it was changed."""
        return tuple((w.where, w.text) for w in self.warnings if w.rule == DAMAGED)

    def tables_of(self, metric: str) -> str:
        """Return the names of the tables a metric's published values are from; empty if none."""
        found = (point.metrics[metric].published_where for point in self.points)
        return "; ".join(dict.fromkeys(where for where in found if where))

    def metric_table(self) -> dict[str, Metric]:
        """Return every metric of the study by name, for labels and units."""
        asked = asked_metrics_of(self.groups, self.flows)
        known = metrics_of(self.groups, self.compare)
        measured = (name for point in self.points[:1] for name in point.metrics)
        return {**known, **{name: asked[name] for name in measured if name in asked}}


def _ordered_metrics(study: Study) -> dict[str, Metric]:
    known = metrics_of(study.groups, study.compare)
    asked = asked_metrics_of(study.groups, study.flows)
    claimed = study.claimed_metrics
    known |= {name: asked[name] for name in (*study.metrics, *claimed) if name in asked}
    published = [name for row in study.published.rows for name in row.values] if (
        study.published
    ) else []  # fmt: skip
    unknown = [name for name in (*study.metrics, *published, *claimed) if name not in known]
    if unknown:
        raise ParseError(
            "unknown metrics",
            where="resolved.json: metrics, published, claims",
            wanted=f"some of {', '.join(known)}",
            got=", ".join(dict.fromkeys(unknown)),
        )
    return {name: known[name] for name in dict.fromkeys((*study.metrics, *known))}


def _sample(study: Study, cell: FinishedCell) -> Sample:
    return Sample(
        flows=cell.flows,
        groups=study.groups,
        compare=study.compare,
        bottleneck_rate_bps=cell.cell.network.bottleneck.forward.rate_bps,
        paths=cell.evidence.paths,
        audit=cell.evidence.rows,
        delivered_segments=cell.delivered_segments,
        episodes=cell.episodes,
        variation_pct=cell.variation_pct,
        spans=cell.spans,
        path=study.paths.get(cell.plan.point),
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
        simulated=None,
        reason="; ".join(reasons) or None,
    )


def _summarise_point(
    run: Run, point: Point, metrics: Mapping[str, Metric], cells: tuple[CellSummary, ...]
) -> PointSummary:
    study = run.study
    planned = sum(cell.purpose == "measure" and cell.point == point for cell in run.plan)
    counted = [cell for cell in cells if cell.point == point and cell.excluded is None]
    ids = {cell.id for cell in counted}
    runs = [cell for cell in run.measured() if cell.plan.id in ids]
    rows = study.published.rows_at(point) if study.published else ()
    path = study.paths.get(point)
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
            name: _summarise_metric(name, counted, planned, printed.get(name), chance=chance)
            for name in metrics
        },
        contradictions=tuple(found),
        happened=stories(runs, study.groups),
        episode_claims=claims(study.published.episodes if study.published else (), point, runs),
    )


def _in_context(
    point: PointSummary, adjusted: Estimate | None, against: tuple[TableContradiction, ...]
) -> PointSummary:
    """Return the point with what only all points together tell."""
    here = (one.metrics for one in against if point.point in one.points)
    doubted = frozenset(name for names in here for name in names)
    metrics = dict(point.metrics)
    if adjusted is not None:
        metrics[INCREASE] = dataclasses.replace(metrics[INCREASE], adjusted=adjusted)
    return dataclasses.replace(point, metrics=metrics, doubted=doubted)


def _late_warnings(study: Study, points: tuple[PointSummary, ...]) -> list[RunWarning]:
    found: list[RunWarning] = []
    if study.published:
        contradicted = {point.point: bool(point.contradictions) for point in points}
        found += rows_in_doubt(study.published, contradicted)
    drawn = [point for point in points if point.chance]
    few = [point_words(point.point) for point in drawn if 0 < point.cells_counted < ENOUGH_RUNS]
    if few:
        found.append(
            RunWarning(
                rule="few-runs",
                where="; ".join(few),
                text=f"Fewer than {ENOUGH_RUNS} runs count: intervals are missing, or so wide that "
                "they judge little.",
            )
        )
    rigid = [
        point_words(point.point)
        for point in drawn
        if point.cells_counted > 1
        and {m.estimate.sd for m in point.metrics.values()} - {None} == {0}
    ]
    if rigid:
        found.append(
            RunWarning(
                rule="seeds-change-nothing",
                where="; ".join(rigid),
                text="All runs gave the same numbers: the seeds seem to have no effect, so the "
                "intervals mean nothing.",
            )
        )
    return found


def summarise(run: Run) -> Summary:
    """Return the summary of a run; raise ``ParseError`` if the study names an unknown metric."""
    study = run.study
    metrics = _ordered_metrics(study)
    excluded = exclusions(run)
    every = tuple(
        CellSummary(
            id=cell.plan.id,
            point=cell.plan.point,
            replicate=cell.plan.replicate,
            seed=cell.plan.seed,
            excluded=excluded.get(cell.plan.id),
            values={
                name: evaluate(metric, _sample(study, cell)) for name, metric in metrics.items()
            },
        )
        for cell in run.measured()
    )
    every_point = {
        point: _summarise_point(run, point, metrics, every) for point in study.all_points
    }
    cells = tuple(cell for cell in every if cell.point in study.points)
    adjustment, adjusted = adjusted_increases(study, cells)
    against = table_contradictions(study)
    points = tuple(
        _in_context(every_point[point], adjusted.get(point), against) for point in study.points
    )
    words = Words(metrics, (*study.parameters, *study.repeats.parameters))
    planned = {point.point: point.cells_planned for point in points}
    judged = functools.partial(
        judge, study.claims, tuple(every_point.values()), every, words=words,
        looks=looks(study.repeats.precision, planned.values()),
    )  # fmt: skip
    tried = sensitivity(study.repeats, every_point, every, lambda at: judged(at=at))
    return Summary(
        study=study.id,
        title=study.title,
        parameters=study.parameters,
        groups=study.groups,
        compare=study.compare,
        flows=study.flows,
        headline=study.metrics,
        published_where=study.published.tables if study.published else None,
        points=points,
        cells=cells,
        warnings=(
            *turning(tried),
            *collect_warnings(run),
            *_late_warnings(study, points),
            *tables_in_doubt(against),
            *doubts(adjustment),
        ),
        loss_adjustment=adjustment,
        contradictions=against,
        verdicts=judged(),
        replication=replication(study, cells, planned),
        sensitivity=tried,
    )
