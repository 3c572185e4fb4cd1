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
from numpy.typing import NDArray

from collectors.audit.packet_balance import Evidence, Stretch, compare
from collectors.trace.drops import BY_FILTER, CONGESTED, NUMBERED
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
#: Disciplines that drop packets as they would let them go.
DROPPING_LATER = frozenset({"codel", "fq_codel"})


@dataclass(frozen=True, kw_only=True)
class Told:
    """``drops.parquet``, and whether this kernel says at which qdisc a packet was dropped."""

    rows: pl.DataFrame
    placed: bool

    def of_stretch(self, stretch: Stretch, *, dropping_later: bool = False) -> pl.DataFrame:
        """Return the drops at a stretch's devices, by its qdisc or by number.

        Those of a queue that drops packets as it would let them go have no place: they are this
        stretch's where none ``dropping_later`` dropped any but it.
        """
        told = (pl.col("event") == "qdisc_drop") | (pl.col("role") == NUMBERED)
        here = told & pl.col("device").is_in(stretch.devices) & (pl.col("node") == stretch.node)
        if dropping_later:
            here |= (pl.col("event") == "kfree_skb") & (pl.col("reason") == CONGESTED)
        return self.rows.filter(here.fill_null(value=False))


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
        (pl.col("event") == "qdisc_drop") | pl.col("reason").is_in((*REFUSED, BY_FILTER, CONGESTED))
    ).height
    later = _dropping_later(cell, evidence)
    tells = told.placed or not later  # kernels without reasons of qdiscs say nothing of such drops
    found = [
        compare("dropped by kernel events", "all qdiscs", everywhere, events if tells else None,
                PKTS)
    ]  # fmt: skip
    for stretch in evidence.stretches:
        if not stretch.name.startswith("bottleneck"):
            continue  # an access link's two stages share a device, and one tells no place
        alone = later == [stretch]
        known = told.placed and (alone or stretch not in later)
        count = told.of_stretch(stretch, dropping_later=alone).height if known else None
        dropped = evidence.through(stretch).dropped_pkts
        found.append(compare("dropped by kernel events", stretch.where(), dropped, count, PKTS))
        if stretch.direction == "data":
            rows = _rows_dropped(cell, stretch, audit)
            here = [
                s for s in evidence.stretches if (s.name, s.direction) == (stretch.name, "data")
            ]
            all_paths = None
            if told.placed and (not later or alone or not {*here} & {*later}):
                all_paths = sum(
                    told.of_stretch(one, dropping_later=alone and one == stretch).height
                    for one in here
                )
            if stretch == here[0]:  # of several paths, audit rows say the sum
                found.append(
                    compare("dropped by the audit", stretch.where(), all_paths, rows, PKTS)
                )
            if captured is not None and known:
                managed = _manages(cell, stretch)
                events_s = told.of_stretch(stretch, dropping_later=alone)["t_s"].to_numpy()
                found.append(
                    _times(stretch, captured, events_s, tolerances.event_s, managed=managed)
                )
    return found


def _rows_dropped(cell: Cell, stretch: Stretch, audit: Sequence[AuditRow]) -> int | None:
    """Return what the flows' audit rows say a stretch dropped, if only flows pass there."""
    if any(flow.generator != "probe" for flow in cell.flows):
        return None
    counts = [getattr(row, COLUMNS[stretch.name]) for row in audit if row.direction == "data"]
    return None if None in counts else sum(counts)


def _dropping_later(cell: Cell, evidence: Evidence) -> list[Stretch]:
    """Return the buffers that dropped packets and may do so as they would let them go."""
    paths = cell.wired.paths()
    return [
        stretch
        for stretch in evidence.stretches
        if stretch.name == "bottleneck buffer"
        and paths[stretch.path - 1].bottleneck.forward.discipline.kind in DROPPING_LATER
        and evidence.through(stretch).dropped_pkts
    ]


def _manages(cell: Cell, stretch: Stretch) -> bool:
    """Return whether packets may be dropped there long after they came."""
    bottleneck = cell.wired.paths()[stretch.path - 1].bottleneck
    return stretch.name == "bottleneck buffer" and bottleneck.forward.discipline.is_active


def _times(
    stretch: Stretch,
    captured: pl.DataFrame,
    events_s: NDArray[np.float64],
    most_s: float,
    *,
    managed: bool,
) -> Check:
    """Each packet captured before a qdisc and never after was dropped when the kernel says.

    A qdisc decides on a packet when it arrives, which is when the capture before it sees it; one
    that manages its queue then or later, so that the first n drops are after the first n arrivals.
    """
    data = captured.lazy().filter(
        pl.col("packet").is_not_null(), direction="data", path=stretch.path
    )
    passed = data.filter(point=stretch.passed_at).select("packet")
    before = data.filter(point=stretch.offered_at)
    missing = before.join(passed, on="packet", how="anti").select("t_s").collect()
    missing_s = np.sort(missing["t_s"].to_numpy())
    events_s = np.sort(events_s)
    when = "when it was captured last, or later" if managed else "when it was captured last"
    wanted = f"{len(missing_s)} packets, each {when}"
    if len(missing_s) != len(events_s):
        got, agrees = f"{len(events_s)} packets", False
    else:
        early_s = missing_s - events_s
        apart_s = float((early_s if managed else np.abs(early_s)).max(initial=0.0))
        agrees = apart_s <= most_s
        got = wanted if agrees else f"up to {apart_s:.9f} s apart"
    return Check(
        check="when dropped, by kernel events", where=stretch.where(), wanted=wanted, got=got,
        agrees=agrees,
    )  # fmt: skip
