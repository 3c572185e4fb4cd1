"""Whether a real machine's netem let packets go when it should have: seen by captures.

Between the capture points before and after the bottleneck's channel a packet stays exactly the
channel's delay; what it stays longer, the machine was late. Computing and captures included.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from collectors.packets.tally import Journeys
from model import run_folder, tolerances
from model.cell import Cell
from model.check import Check

WHERE = "the machine"
FROM, TO = "loss_offered", "loss_passed"


def read_checks(folder: Path, cell: Cell) -> list[Check]:
    """Return the comparison for a finished cell with captures."""
    return checks(cell, pl.read_parquet(folder / run_folder.PACKETS_TABLE))


def checks(cell: Cell, packets: pl.DataFrame) -> list[Check]:
    """Compare how late packets left the bottleneck's channel with what the path can bear."""
    most_s = tolerances.most_late_s(cell.wired.base_rtt_s())
    late_s = np.concatenate(
        [
            Journeys(packets, "data", path).times_s(FROM, TO) - network.bottleneck.forward.owd_s
            for path, network in enumerate(cell.wired.paths(), 1)
        ]
    )
    wanted = f"{tolerances.IN_TIME_FRAC:.0%} at most {most_s * 1e3:.2f} ms late"
    if not len(late_s):
        return [
            Check(check="netem in time", where=WHERE, wanted=wanted, got="no packet", agrees=None)
        ]
    late, latest = (float(np.quantile(late_s, part)) for part in (tolerances.IN_TIME_FRAC, 1.0))
    return [
        Check(
            check="netem in time", where=WHERE, wanted=wanted, agrees=late <= most_s,
            got=f"{late * 1e3:.2f} ms, all of {len(late_s)} at most {latest * 1e3:.2f} ms",
        )
    ]  # fmt: skip
