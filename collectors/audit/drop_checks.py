"""The kernel's own events of drops against qdiscs' counters, the audit and captures. Pure.

The counters' span is the longer one: they are read before the trace starts and after it ends. At
both ends the network is silent (the agent waits for it), so no drop lies between, and all
comparisons are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from collectors.audit.packet_balance import Evidence, Stretch, compare
from collectors.trace.drops import BY_FILTER, NUMBERED
from model.cell import Cell
from model.check import Check
from model.run_files.traffic_tables import AuditRow
from model.tolerances import EXACT, Tolerances

#: What the kernel calls the freeing of a packet that a qdisc refused; the second where netem's
#: child did, see docs/data-format.md. Packets dropped by number are on the qdisc's device.
REFUSED = ("QDISC_DROP", "NOT_SPECIFIED")
#: The audit's column that counts what a stretch of the data's way dropped.
COLUMNS = {
    "source access": "access_dropped_pkts",
    "bottleneck buffer": "queue_dropped_pkts",
    "bottleneck channel": "loss_dropped_pkts",
    "destination access": "exit_dropped_pkts",
}
PKTS = "packets"


@dataclass(frozen=True, kw_only=True)
class Told:
    """``drops.parquet``, and whether this kernel says at which qdisc a packet was dropped."""

    rows: pl.DataFrame
    placed: bool

    def of_stretch(self, stretch: Stretch) -> pl.DataFrame:
        """Return the drops at a stretch's devices, by its qdisc or by number."""
        return self.rows.filter(
            (pl.col("event") == "qdisc_drop") | (pl.col("role") == NUMBERED),
            pl.col("device").is_in(stretch.devices),
            node=stretch.node,
        )


def drop_checks(
    cell: Cell,
    evidence: Evidence,
    told: Told,
    audit: Sequence[AuditRow],
    captured: pl.DataFrame | None,
    tolerances: Tolerances = EXACT,
) -> list[Check]:
    """Return all comparisons of a cell's drop events."""
    everywhere = sum(evidence.through(stretch).dropped_pkts for stretch in evidence.stretches)
    events = told.rows.filter(
        (pl.col("event") == "qdisc_drop") | pl.col("reason").is_in((*REFUSED, BY_FILTER))
    ).height
    found = [compare("dropped by kernel events", "all qdiscs", everywhere, events, PKTS)]
    for stretch in evidence.stretches:
        if not stretch.name.startswith("bottleneck"):
            continue  # an access link's two stages share a device, and one tells no place
        count = told.of_stretch(stretch).height if told.placed else None
        dropped = evidence.through(stretch).dropped_pkts
        found.append(compare("dropped by kernel events", stretch.where(), dropped, count, PKTS))
        if stretch.direction == "data":
            rows = _rows_dropped(cell, stretch, audit)
            here = [
                s for s in evidence.stretches if (s.name, s.direction) == (stretch.name, "data")
            ]
            all_paths = sum(told.of_stretch(one).height for one in here) if told.placed else None
            if stretch == here[0]:  # of several paths, audit rows say the sum
                found.append(
                    compare("dropped by the audit", stretch.where(), all_paths, rows, PKTS)
                )
            if captured is not None and told.placed:
                found.append(_times(stretch, captured, told, tolerances.event_s))
    return found


def _rows_dropped(cell: Cell, stretch: Stretch, audit: Sequence[AuditRow]) -> int | None:
    """Return what the flows' audit rows say a stretch dropped, if only flows pass there."""
    if any(flow.generator != "probe" for flow in cell.flows):
        return None
    counts = [getattr(row, COLUMNS[stretch.name]) for row in audit if row.direction == "data"]
    return None if None in counts else sum(counts)


def _times(stretch: Stretch, captured: pl.DataFrame, told: Told, most_s: float) -> Check:
    """Each packet captured before a qdisc and never after was dropped when the kernel says.

    A qdisc decides on a packet when it arrives, which is when the capture before it sees it.
    """
    data = captured.lazy().filter(
        pl.col("packet").is_not_null(), direction="data", path=stretch.path
    )
    passed = data.filter(point=stretch.passed_at).select("packet")
    before = data.filter(point=stretch.offered_at)
    missing = before.join(passed, on="packet", how="anti").select("t_s").collect()
    missing_s = np.sort(missing["t_s"].to_numpy())
    events_s = np.sort(told.of_stretch(stretch)["t_s"].to_numpy())
    wanted = f"{len(missing_s)} packets, each when it was captured last"
    if len(missing_s) != len(events_s):
        got, agrees = f"{len(events_s)} packets", False
    else:
        apart_s = float(np.abs(missing_s - events_s).max(initial=0.0))
        agrees = apart_s <= most_s
        got = wanted if agrees else f"up to {apart_s:.9f} s apart"
    return Check(
        check="when dropped, by kernel events", where=stretch.where(), wanted=wanted, got=got,
        agrees=agrees,
    )  # fmt: skip
