"""What a plan costs, in words: the study itself, then its variations. Pure.

How long a cell takes is estimated from its settings alone; the constants are a least-squares fit to
measured cells (benchmarks/README.md). Nothing but these words rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from model.cell import Cell, Flow
from testbed.campaign.progress import duration_text
from testbed.planning.plan import CALIBRATION_VIRTUAL_S, Expectation, Plan, PlannedCell, expected

#: On two cores.
IMAGE_BUILD_S, KERNEL_BUILD_S = 150.0, 210.0
#: Boot, building the network, and reading everything back, on one core.
SETUP_S = 0.57
PER_VIRTUAL_S = 0.00026
PER_FLOW_S = 0.15
#: Through the lab and its tables.
PER_PACKET_S = 28e-6
#: More, where captures see each packet at every point.
PER_CAPTURED_PACKET_S = 55e-6
#: A calibration sends so many packets that its virtual time says it, whatever flows there are.
PER_CALIBRATING_S = 0.0032
#: Reading a run, drawing its figures and writing its page; then what each cell adds.
REPORT_S, REPORT_PER_CELL_S = 4.0, 0.15

_PACKET_BITS = 12_000.0
#: Packets a bulk flow keeps in flight at most: the hosts' usual window of 64 KB.
_WINDOW_PKTS = 45.0


def cost_lines(plans: Sequence[Plan], jobs: int) -> list[str]:
    """Return what plans cost together; for those that add seeds, the least and the most."""
    base = [cell for plan in plans for cell in plan.cells[: plan.base_cells]]
    alternatives = [cell for plan in plans for cell in plan.of_variations]
    least = [
        planned
        for plan in plans
        for planned in (plan.first if plan.precision else plan.cells[: plan.base_cells])
        if planned not in plan.of_variations
    ]
    adding = any(plan.precision for plan in plans)
    lines = [_cost([least, base] if adding else [base], jobs, len(plans))]
    if alternatives:
        lines.append(f"and {_cost([alternatives], jobs, 0)}: sensitivity to assumptions")
    left_out = sum(len(p.study.variations) for p in plans if not (p.of_variations or p.sensitivity))
    if left_out:
        lines.append(f"left out: sensitivity to assumptions ({left_out})")
    return lines


def kernels_line(plan: Plan) -> str:
    """Return on which kernels a plan's cells run."""
    base = dict.fromkeys(p.cell.lab["kernel"] for p in plan.cells[: plan.base_cells])
    more = [version for version in plan.kernels if version not in base]
    return f"kernel {', '.join(base)}" + (f"; sensitivity to it: {', '.join(more)}" * bool(more))


def build_line(kernels: Sequence[str], *, image: bool) -> str:
    """Return what is built first, and about how long that takes."""
    missing = ["lab image"] * image + [f"kernel {version}" for version in kernels]
    needed_s = IMAGE_BUILD_S * image + KERNEL_BUILD_S * len(kernels)
    return f"first built, once, about {math.ceil(needed_s / 60)} min: {', '.join(missing)}"


def _cost(bounds: Sequence[Sequence[PlannedCell]], jobs: int, reports: int) -> str:
    """Return the cost of the least and the most cells there may be; they differ in replicates."""
    found = [_expected(cells, jobs, reports) for cells in bounds]
    measuring = [sum(p.cell.purpose == "measure" for p in cells) for cells in bounds]
    calibrations = len(bounds[0]) - measuring[0]
    plural = "" if calibrations == 1 else "s"
    return (
        f"{_to(map(str, measuring))} measuring cells and {calibrations} calibration{plural}, "
        f"{_to(duration_text(e.virtual_s) for e in found)} of virtual time, "
        f"about {_to(duration_text(e.wall_s) for e in found)} on {jobs} cores"
    )


def _expected(cells: Sequence[PlannedCell], jobs: int, reports: int) -> Expectation:
    """Return the cost of cells and of so many reports, which are written side by side."""
    found = expected(cells, jobs=jobs, wall_s=cell_wall_s)
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


def cell_wall_s(cell: Cell) -> float:
    """Return how long one core is busy with a cell, tables included."""
    if cell.purpose == "calibrate":
        return SETUP_S + PER_CALIBRATING_S * CALIBRATION_VIRTUAL_S
    per_packet_s = PER_PACKET_S + (PER_CAPTURED_PACKET_S if cell.collect.pcap else 0.0)
    return (
        SETUP_S
        + PER_VIRTUAL_S * cell.duration_s
        + PER_FLOW_S * len(cell.flows)
        + per_packet_s * expected_packets(cell)
    )


def report_wall_s(cells: int) -> float:
    """Return how long one core is busy with the report of so many cells."""
    return REPORT_S + REPORT_PER_CELL_S * cells


def expected_packets(cell: Cell) -> float:
    """Return about how many data packets a cell's flows send.

    A bulk flow sends what the least of three allows: its share of the bottleneck, a window per
    round trip, and the square-root law of random loss.
    """
    forward = cell.network.bottleneck.forward
    rtt_s = max(cell.network.base_rtt_s(), 1e-3)
    bulk = [flow for flow in cell.flows if flow.rate_bps == 0]
    rated_bps = sum(flow.rate_bps for flow in cell.flows)
    left_bps = max(0.0, forward.rate_bps - rated_bps)
    allowed = [left_bps / _PACKET_BITS / max(1, len(bulk)), _WINDOW_PKTS / rtt_s]
    if forward.loss.loss_frac > 0:
        allowed.append(math.sqrt(1.5 / forward.loss.loss_frac) / rtt_s)
    return sum(_packets(flow, min(allowed)) for flow in cell.flows)


def _packets(flow: Flow, bulk_pps: float) -> float:
    """Return the packets of one flow; ``rate_bps`` is that of IP packets, 28 bytes of it heads."""
    pps = flow.rate_bps / 8 / (flow.message_bytes + 28) if flow.rate_bps else bulk_pps
    return pps * max(0.0, flow.stop_s - flow.start_s)
