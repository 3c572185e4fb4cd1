"""What a plan costs, in words: the study itself, then its variations. Pure.

How long a cell takes is its lab's to say; nothing but these words rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from testbed.campaign.progress import duration_text
from testbed.labs.contract.lab import LabKind
from testbed.planning.plan import Expectation, Plan, PlannedCell, expected
from testbed.study.scaling import FULL

#: Reading a run, drawing its figures and writing its page; then what each cell adds.
REPORT_S, REPORT_PER_CELL_S = 4.0, 0.15


def cost_lines(plans: Sequence[Plan], jobs: int) -> list[str]:
    """Return what plans of one lab cost together; of those that add seeds, least and most."""
    base = [cell for plan in plans for cell in plan.cells[: plan.base_cells]]
    alternatives = [cell for plan in plans for cell in plan.of_variations]
    least = [
        planned
        for plan in plans
        for planned in (plan.first if plan.precision else plan.cells[: plan.base_cells])
        if planned not in plan.of_variations
    ]
    adding = any(plan.precision for plan in plans)
    kind = plans[0].lab_kind
    lines = [_cost(kind, [least, base] if adding else [base], jobs, len(plans))]
    if alternatives:
        lines.append(f"and {_cost(kind, [alternatives], jobs, 0)}: sensitivity to assumptions")
    left_out = sum(len(p.study.variations) for p in plans if not (p.of_variations or p.sensitivity))
    if left_out:
        lines.append(f"left out: sensitivity to assumptions ({left_out})")
    return lines


def real_time_line(scale: Decimal) -> str:
    """Return what to know of a plan whose cells take as long as they last."""
    shorter = "--scale 0.1 shortens it" if scale == FULL else f"--scale {scale} has shortened it"
    return f"in real time: a run takes as long as it lasts; {shorter}, and the report says so"


def kernels_line(plan: Plan) -> str:
    """Return on which kernels a plan's cells run."""
    base = dict.fromkeys(p.cell.lab["kernel"] for p in plan.cells[: plan.base_cells])
    more = [version for version in plan.kernels if version not in base]
    return f"kernel {', '.join(base)}" + (f"; sensitivity to it: {', '.join(more)}" * bool(more))


def _cost(kind: LabKind, bounds: Sequence[Sequence[PlannedCell]], jobs: int, reports: int) -> str:
    """Return the cost of the least and the most cells there may be; they differ in replicates."""
    found = [with_reports(kind, cells, jobs, reports) for cells in bounds]
    measuring = [sum(p.cell.purpose == "measure" for p in cells) for cells in bounds]
    calibrations = len(bounds[0]) - measuring[0]
    plural = "" if calibrations == 1 else "s"
    virtual = f"{_to(duration_text(e.virtual_s) for e in found)} of virtual time, "
    return (
        f"{_to(map(str, measuring))} measuring cells and {calibrations} calibration{plural}, "
        f"{virtual if kind.properties.clock == 'virtual' else ''}"
        f"about {_to(duration_text(e.wall_s) for e in found)} on {jobs} cores"
    )


def with_reports(
    kind: LabKind, cells: Sequence[PlannedCell], jobs: int, reports: int
) -> Expectation:
    """Return the cost of cells and of so many reports, which are written side by side."""
    found = expected(cells, jobs=jobs, wall_s=kind.cell_wall_s)
    each_s = report_wall_s(len(cells) // reports) if reports else 0.0
    rounds = -(-reports // jobs)
    return Expectation(virtual_s=found.virtual_s, wall_s=found.wall_s + rounds * each_s)


def _to(bounds: Iterable[str]) -> str:
    return " to ".join(dict.fromkeys(bounds))


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


def report_wall_s(cells: int) -> float:
    """Return how long one core is busy with the report of so many cells."""
    return REPORT_S + REPORT_PER_CELL_S * cells
