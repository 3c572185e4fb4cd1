"""A simulator's run beside a kernel's: what its report says, taken over point by point. Pure."""

from __future__ import annotations

from model.errors import StudyError
from model.run_files.comparing.simulated import (
    Simulated,
    SimulatedClaim,
    SimulatedMetric,
    SimulatedPoint,
)
from reports.store.run import Run
from reports.verdict.summary import Summary


def taken(summary: Summary, run: Run, name: str, manifest_sha256: str) -> Simulated:
    """Return what a simulator's run gave.

    Raises:
        StudyError: it has no finished cell of a simulator.
    """
    called = dict.fromkeys(
        str(cell.env["kernel_release"]) for cell in run.finished if cell.cell.simulated()
    )
    if len(called) != 1 or not all(cell.cell.simulated() for cell in run.finished):
        raise StudyError(
            "not a run of one simulator", where=name, wanted="cells of a simulator, all alike",
            got=", ".join(called) or "none",
        )  # fmt: skip
    return Simulated(
        simulator=next(iter(called)), run=name, manifest_sha256=manifest_sha256,
        points=tuple(
            SimulatedPoint(
                point=point.point,
                metrics=tuple(
                    SimulatedMetric(
                        metric=metric, mean=found.estimate.mean, ci95=found.estimate.ci95,
                        n=found.estimate.n, published_in_pi95=found.published_in_pi95,
                    )
                    for metric, found in point.metrics.items()
                ),
            )
            for point in summary.points
        ),
        claims=tuple(
            SimulatedClaim(id=one.id, verdict=one.verdict, evidence=one.evidence)
            for one in summary.verdicts
        ),
    )  # fmt: skip
