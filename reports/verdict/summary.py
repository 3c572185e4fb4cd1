"""From a run to its summary: per point and metric what the kernel says beside what was published.

Pure. What its points say is :mod:`reports.verdict.points`; here all of them are looked at together.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from model.errors import ParseError
from model.run_files.cells import RunWarning
from model.run_files.comparing.simulated import Simulated
from model.run_files.study import Compare, Group, Parameter, Study
from model.run_files.summary_points import LossAdjustment, TableContradiction
from model.words import how_many
from reports.inference.increase_at_equal_loss import adjusted_increases, doubts
from reports.inference.replication import Replication, looks, replication
from reports.measures.metrics import Metric, metrics_of, study_metrics_of
from reports.measures.quantities import point_words
from reports.published.contradictions import rows_in_doubt, table_contradictions, tables_in_doubt
from reports.store.run import Run
from reports.verdict.points import (
    CellSummary,
    PointSummary,
    in_context,
    ordered_metrics,
    summarise_cells,
    summarise_point,
)
from reports.verdict.sensitivity import NO_SENSITIVITY, Sensitivity, sensitivity, turning
from reports.verdict.trust import DAMAGED, collect_warnings, lengths_s
from reports.verdict.verdicts import Verdict, judge
from reports.verdict.words import Words

#: Below this Student's t makes the interval of one further run more than 3.6 sd wide either way.
ENOUGH_RUNS = 4


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The outcome of a run. ``headline`` names the metrics the study asks for, in its order.

    ``points`` and ``cells`` are of the study itself; what its variations gave is ``sensitivity``.
    ``scale`` is what the times of the experiment were multiplied by;
    ``ran`` says in words what ran, ``system`` what that is, "kernel" or "simulator";
    ``simulated`` is what a live simulator's run gave beside a kernel's.
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
    scale: float = 1.0
    ran: str = ""
    system: str = "kernel"
    simulated: Simulated | None = None

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
        wanted = study_metrics_of(self.groups, self.flows)
        names = metrics_of(self.groups, self.compare)
        measured = (name for point in self.points[:1] for name in point.metrics)
        return {**names, **{name: wanted[name] for name in measured if name in wanted}}


def _late_warnings(study: Study, points: tuple[PointSummary, ...]) -> list[RunWarning]:
    found: list[RunWarning] = []
    if study.published:
        contradicted = {point.point: bool(point.contradictions) for point in points}
        found += rows_in_doubt(study.published, contradicted)
    drawn = [point for point in points if point.chance]
    few = [
        point_words(point.point, study.parameters)
        for point in drawn
        if 0 < point.cells_counted < ENOUGH_RUNS
    ]
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
        point_words(point.point, study.parameters)
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
    """Return the summary of a run.

    Raises:
        ParseError: the study names an unknown metric, or a cell's table holds what is no count,
            share or name.
    """
    try:
        return _summarise(run)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        raise ParseError(
            "unsound values in the tables of cells",
            where=".".join(map(str, wrong["loc"])), wanted=wrong["msg"],
            got=f"{wrong['input']!r:.60}",
        ) from error  # fmt: skip


def _summarise(run: Run) -> Summary:
    study = run.study
    metrics = ordered_metrics(study)
    every = summarise_cells(run, metrics)
    every_point = {point: summarise_point(run, point, metrics, every) for point in study.all_points}
    cells = tuple(cell for cell in every if cell.point in study.points)
    adjustment, adjusted = adjusted_increases(study, cells)
    against = table_contradictions(study)
    points = tuple(
        in_context(every_point[point], adjusted.get(point), against) for point in study.points
    )
    words = Words(metrics, (*study.parameters, *study.variation_parameters))
    planned = {point.point: point.cells_planned for point in points}
    judged = functools.partial(
        judge, study.claims, tuple(every_point.values()), every, words=words,
        looks=len(study.rounds) or looks(study.precision, planned.values()),
    )  # fmt: skip
    tried = sensitivity(study, every_point, every, lambda moved: judged(moved=moved))
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
        scale=study.scale,
        ran=_ran(run, points, variations=len(tried.cells)),
        system=_system(run),
        simulated=run.simulated,
    )


def _system(run: Run) -> str:
    return "simulator" if any(one.cell.simulated() for one in run.finished) else "kernel"


def _ran(run: Run, points: Sequence[PointSummary], *, variations: int) -> str:
    """Return in words what was run: how much of what, on which kernels."""
    counted = sum(point.cells_counted for point in points)
    planned = sum(point.cells_planned for point in points)
    runs = (
        how_many(planned, "run")
        if counted == planned
        else f"{counted} of {how_many(planned, 'run')}"
    )
    long = " to ".join(f"{one_s:g}" for one_s in lengths_s(run.study))
    words = f"{runs} of {long} s at {how_many(len(points), 'point')}"
    own = {point.point for point in points}
    kernels = {str(c.env["kernel_release"]) for c in run.finished if c.plan.point in own}
    others = {str(cell.env["kernel_release"]) for cell in run.finished} - kernels
    on = "on Linux" if _system(run) == "kernel" else "on"
    words += f" {on} {', '.join(sorted(kernels))}" * bool(kernels)
    if variations:
        words += f", {how_many(variations, 'run')} of variations"
        words += f", some on Linux {', '.join(sorted(others))}" * bool(others)
    return words
