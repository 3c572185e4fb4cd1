"""Claims and the runs that judge them, made of plain numbers: no run folder, no study file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from model.run_files.point import Point
from model.run_files.publication import Claim, Comparison, Versus
from model.run_files.study import Compare, Group, Parameter
from reports.measures.metrics import Value, metrics_of, study_metrics_of
from reports.verdict.points import CellSummary, PointSummary
from reports.verdict.verdicts import Verdict, judge
from reports.verdict.words import Words

GROUPS = (Group(id="T", label="TCP SACK"), Group(id="S", label="SCTP"))
METRICS = {
    **metrics_of(GROUPS, Compare(of="S", over="T")),
    **study_metrics_of(GROUPS, ("T1", "S1")),
}
WORDS = Words(METRICS, (Parameter(name="loss_frac", path="network.bottleneck.loss.data"),))
GOODPUTS = ("goodput_S_bps", "goodput_T_bps")
#: By metric, by loss, a value per seed (1, 2, ...); None is missing.
Runs = Mapping[str, Mapping[float, Sequence[float | None]]]


def at_loss(loss: float) -> Point:
    return Point.of({"loss_frac": loss})


def comparison(
    metric: str = "utilisation_pct",
    loss: float = 0.01,
    *,
    low: float | None = None,
    high: float | None = None,
    strict: bool = True,
    versus: tuple[str, float] | None = None,
    relative: bool = False,
    per: str | None = None,
) -> Comparison:
    quotient = GOODPUTS if metric == "pct_increase" and versus is None else None
    return Comparison(
        metric=metric, point=at_loss(loss), relative=relative, per=per, low=low, high=high,
        strict=strict,
        versus=Versus(metric=versus[0], point=at_loss(versus[1])) if versus else None,
        quotient=quotient,
    )  # fmt: skip


def claim(*comparisons: Comparison, name: str = "one", untested: str | None = None) -> Claim:
    return Claim(
        id=name, text="It is so.", where="Section 4", untested=untested, comparisons=comparisons
    )


def cells_of(
    runs: Runs, excluded: Mapping[tuple[float, int], str] | None = None
) -> list[CellSummary]:
    """Return a cell per loss and seed."""
    losses = list(dict.fromkeys(loss for by_loss in runs.values() for loss in by_loss))
    found = []
    for loss in losses:
        count = max(len(by_loss[loss]) for by_loss in runs.values() if loss in by_loss)
        for seed in range(1, count + 1):
            values = {
                metric: Value(value, None if value is not None else "not captured")
                for metric, by_loss in runs.items()
                if loss in by_loss
                for value in [by_loss[loss][seed - 1]]
            }
            found.append(
                CellSummary(
                    id=f"{loss}-{seed}",
                    point=at_loss(loss),
                    replicate=seed,
                    seed=seed,
                    excluded=(excluded or {}).get((loss, seed)),
                    values=values,
                )
            )
    return found


def points_of(cells: Sequence[CellSummary], *, chance: bool = True) -> list[PointSummary]:
    """Return the points of some cells, as far as verdicts look at them."""
    return [
        PointSummary(
            point=point,
            cells_planned=0,
            cells_counted=0,
            chance=chance,
            metrics={},
            contradictions=(),
            causes=(),
            episode_claims=(),
        )
        for point in dict.fromkeys(cell.point for cell in cells)
    ]


def judged(
    claims: Sequence[Claim],
    runs: Runs,
    *,
    chance: bool = True,
    excluded: Mapping[tuple[float, int], str] | None = None,
    moved: Mapping[Point, Point] | None = None,
    looks: int = 1,
) -> tuple[Verdict, ...]:
    """Return the verdicts of these runs on these claims."""
    cells = cells_of(runs, excluded)
    points = points_of(cells, chance=chance)
    return judge(claims, points, cells, words=WORDS, moved=moved, looks=looks)
