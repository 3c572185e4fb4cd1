"""The figures of single runs that a study gets which asks for none. Pure.

Invariant: only what its runs have recorded is asked for.
"""

from __future__ import annotations

import math

from model.cell import Cell
from model.run_files.figures import FigureWanted
from reports.store.run import Run

#: A print can show so many bins of a run well.
BINS = 50
#: Of more points only the first and the last are drawn.
MOST_POINTS = 4


def unasked(run: Run) -> list[FigureWanted]:
    """Return goodput over time and distributions of delays, at each point or the two ends."""
    points = run.study.points
    if len(points) > MOST_POINTS:
        points = (points[0], points[-1])
    cells = [found.cell for found in run.measured() if found.plan.point in points]
    if not any(flow.protocol != "udp" for cell in cells for flow in cell.flows):
        return []
    wanted = [
        FigureWanted(
            kind="over_time", of="goodput", together=True, from_s=0.0, points=points,
            bin_s=max(map(_bin_s, cells)),
        )
    ]  # fmt: skip
    if any(cell.collect.messages for cell in cells):
        wanted.append(FigureWanted(kind="cdf", of="message_delay", from_s=0.0, points=points))
    if any(cell.collect.pcap for cell in cells):
        wanted.append(FigureWanted(kind="cdf", of="delay", from_s=0.0, points=points))
    return wanted


def _bin_s(cell: Cell) -> float:
    """Return a time of whole intervals of the receivers that is in a run about so often."""
    interval_s = cell.collect.interval_s
    return round(math.ceil(cell.duration_s / BINS / interval_s) * interval_s, 9)
