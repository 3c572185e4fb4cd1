"""What a plan costs, in words: the study itself, then its variations. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from testbed.plan import Expectation, Plan, PlannedCell, expected
from testbed.progress import duration_text

#: Measured on two cores for the wireless study, see benchmarks/README.md; only plan's estimate
#: rests on them, never a result.
VIRTUAL_S_PER_WALL_S = 480.0
CELL_SETUP_WALL_S = 1.2


def cost_lines(plan: Plan, jobs: int) -> list[str]:
    """Return what a plan costs; for one that adds seeds, the least and the most."""
    base = plan.cells[: plan.base_cells]
    least = [planned for planned in plan.first if planned not in plan.varied]
    lines = [_cost([least, base] if plan.precision else [base], jobs)]
    if plan.varied:
        lines.append(f"and {_cost([plan.varied], jobs)}: sensitivity to assumptions")
    elif plan.study.variations and not plan.sensitivity:
        lines.append(f"left out: sensitivity to assumptions ({len(plan.study.variations)})")
    return lines


def _cost(bounds: Sequence[Sequence[PlannedCell]], jobs: int) -> str:
    """Return the cost of the least and the most cells there may be; they differ in replicates."""
    found = [_expected(cells, jobs) for cells in bounds]
    measuring = [sum(p.cell.purpose == "measure" for p in cells) for cells in bounds]
    calibrations = len(bounds[0]) - measuring[0]
    plural = "" if calibrations == 1 else "s"
    return (
        f"{_to(map(str, measuring))} measuring cells and {calibrations} calibration{plural}, "
        f"{_to(duration_text(e.virtual_s) for e in found)} of virtual time, "
        f"about {_to(duration_text(e.wall_s) for e in found)} on {jobs} cores"
    )


def _to(bounds: Iterable[str]) -> str:
    return " to ".join(dict.fromkeys(bounds))


def _expected(cells: Sequence[PlannedCell], jobs: int) -> Expectation:
    return expected(
        cells,
        jobs=jobs,
        virtual_s_per_wall_s=VIRTUAL_S_PER_WALL_S,
        setup_wall_s=CELL_SETUP_WALL_S,
    )


def seeds_words(plan: Plan) -> tuple[str, str]:
    """Return which seeds each point of a study gets, and how many cells that is."""
    if plan.precision is None:
        return _seeds_text(plan.seeds), str(len(plan.seeds))
    least, most = plan.precision.at_least, plan.precision.at_most
    return f"{_seeds_text(plan.seeds[:least])}; at most {most}", f"{least} to {most}"


def _seeds_text(seeds: Sequence[int]) -> str:
    if len(seeds) > 3 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(str(seed) for seed in seeds)
