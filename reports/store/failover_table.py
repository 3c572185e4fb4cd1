"""Reads what became of a cell's flows when a link went down: times from its tables.

Invariant: what a table does not tell is a reason, never 0; a reason is a sentence's end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from model import run_folder
from model.cell import Cell, Flow
from model.run_files.path_tables import EventRow, PathStateRow
from model.run_files.study import Study
from model.run_files.traffic_tables import MessageRow
from reports.store.columns import read_columns, read_rows
from reports.store.sample import NO_MESSAGES, Failover

#: How the metrics begin that are of this.
METRICS = (
    "delivery_gap_", "outstanding_", "other_path_", "failover_", "path_timeouts_", "switchover_",
    "return_", "returned_",
)  # fmt: skip
#: What the kernel says of a path that new data no longer take.
GIVEN_UP = ("unreachable", "potentially_failed")
NO_DOWN = "no link went down"
ONE_PATH = "it has one path"
STAYED_DOWN, NEVER_CAME = "the link stayed down", "none came until the end"
PATHS = (1, 2)
MESSAGE_COLUMNS = ("flow", "sent_s", "delivered_s")


def read_failovers(folder: Path, cell: Cell, study: Study) -> Mapping[str, Failover] | str:
    """Return what became of each flow, or why that is not known; nothing unless a metric asks.

    Raises:
        ParseError: a table is broken.
    """
    if not any(name.startswith(METRICS) for name in study.wanted_metrics):
        return NO_DOWN
    path = folder / run_folder.EVENTS_TABLE
    if not path.exists():
        return NO_DOWN
    events = read_rows(path, EventRow)
    down = next((event for event in events if event.state == "down"), None)
    if down is None:
        return NO_DOWN
    messages, states = folder / run_folder.MESSAGES_TABLE, folder / run_folder.PATHS_TABLE
    sent = read_columns(messages, MessageRow, MESSAGE_COLUMNS) if messages.exists() else None
    seen = read_rows(states, PathStateRow) if states.exists() else ()
    up = next((e for e in events if (e.link, e.state) == (down.link, "up")), None)
    return {flow.id: _of_flow(flow, down, up, sent, seen) for flow in cell.flows}


def _of_flow(
    flow: Flow,
    down: EventRow,
    up: EventRow | None,
    sent: pl.DataFrame | None,
    seen: Sequence[PathStateRow],
) -> Failover:
    gap_s: float | str = NO_MESSAGES
    outstanding_s: float | str = NO_MESSAGES
    if sent is not None:
        mine = sent.filter(flow=flow.id)
        gap_s, outstanding_s = longest_gap_s(mine, down.t_s), outstanding(mine, down.t_s)
    rows = [row for row in seen if row.flow == flow.id]
    if not rows:
        return Failover(
            gap_s=gap_s, outstanding_s=outstanding_s, other_path_s=ONE_PATH, failover_s=ONE_PATH,
            timeouts=ONE_PATH, switchover_s=ONE_PATH, return_s=ONE_PATH, returned_frac=ONE_PATH,
        )  # fmt: skip
    given_up_s = given_up(rows, down)
    return_s = _came_over(rows, up.t_s, (down.path,)) if up else STAYED_DOWN
    return Failover(
        gap_s=gap_s,
        outstanding_s=outstanding_s,
        other_path_s=_came_over(rows, down.t_s, _others(down.path))
        if _was_on(rows, down)
        else "its data did not come over that path",
        failover_s=given_up_s,
        timeouts=timeouts(rows, down, given_up_s),
        switchover_s=switched(rows, down),
        return_s=return_s,
        returned_frac=return_s if return_s == STAYED_DOWN else float(return_s != NEVER_CAME),
    )


def _others(path: int) -> tuple[int, ...]:
    return tuple(other for other in PATHS if other != path)


def longest_gap_s(messages: pl.DataFrame, from_s: float) -> float | str:
    """Return the longest time without a delivery, that from the last one before included."""
    delivered = messages["delivered_s"].drop_nulls().sort()
    before, after = delivered.filter(delivered < from_s), delivered.filter(delivered >= from_s)
    if not len(before) or not len(after):
        return "nothing was delivered before or after the link went down"
    times = pl.concat([before.tail(1), after])
    gaps = times.diff().drop_nulls()
    return float(gaps.max())  # type: ignore[arg-type]  # of floats


def outstanding(messages: pl.DataFrame, from_s: float) -> float | str:
    """Return how long it took until all that was handed over before was delivered."""
    earlier = messages.filter(pl.col("sent_s") < from_s)
    if not earlier.height:
        return "nothing was handed over before"
    if earlier["delivered_s"].null_count():
        return f"{earlier['delivered_s'].null_count()} messages never were"
    last_s = float(earlier["delivered_s"].max())  # type: ignore[arg-type]  # of floats
    return max(0.0, last_s - from_s)


def _was_on(rows: Sequence[PathStateRow], down: EventRow) -> bool:
    """Return whether data came over a path just before its link went down."""
    before = [row for row in rows if row.event == "data_from" and row.t_s < down.t_s]
    return bool(before) and before[-1].path == down.path


def _came_over(rows: Sequence[PathStateRow], from_s: float, paths: Sequence[int]) -> float | str:
    found = [
        row.t_s - from_s
        for row in rows
        if row.event == "data_from" and row.t_s >= from_s and row.path in paths
    ]
    return found[0] if found else NEVER_CAME


def given_up(rows: Sequence[PathStateRow], down: EventRow) -> float | str:
    """Return how long it took until the kernel told that the path is not, or hardly, usable."""
    found = [
        row.t_s - down.t_s
        for row in rows
        if row.event in GIVEN_UP and row.path == down.path and row.t_s >= down.t_s
    ]
    return found[0] if found else "the path was never given up"


def switched(rows: Sequence[PathStateRow], down: EventRow) -> float | str:
    """Return how long it took until the kernel told that another path was made the primary."""
    found = [
        row.t_s - down.t_s
        for row in rows
        if row.event == "made_primary" and row.path != down.path and row.t_s >= down.t_s
    ]
    return found[0] if found else "the primary path stayed what it was"


def timeouts(rows: Sequence[PathStateRow], down: EventRow, given_up_s: float | str) -> float | str:
    """Return how often the path's timeout grew until it was given up."""
    if isinstance(given_up_s, str):
        return given_up_s
    looks = [row for row in rows if row.event == "look" and row.path == down.path]
    before = [row.backoffs or 0 for row in looks if row.t_s < down.t_s]
    after = [row.backoffs or 0 for row in looks if row.t_s >= down.t_s + given_up_s]
    if not before or not after:
        return "nobody looked at the path"
    return float(after[0] - before[-1])
