"""Reads how long the messages of a cell's flows took.

Invariant: the table is read only if a metric the study asks for, or claims something of, needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from model import run_folder
from model.cell import Cell
from model.run_files.study import Study
from model.run_files.traffic_tables import MessageRow
from reports.store.columns import read_columns
from reports.store.sample import NO_MESSAGES, MessageSpread

METRICS = ("message_delay_", "stream_delay_", "hol_")
KINDS = ("delay_s", "wait_s")
#: A message that waits for nobody is delivered within the receiver's computing time, which is
#: microseconds: from this wait on it waited for another.
BLOCKED_S = 0.001
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def read_messages(
    folder: Path, cell: Cell, study: Study
) -> Mapping[tuple[str, str], MessageSpread] | str:
    """Return how long messages that were ready inside the measuring window took, by flow and kind.

    Raises:
        ParseError: the table is broken.
    """
    path = folder / run_folder.MESSAGES_TABLE
    if not any(name.startswith(METRICS) for name in study.wanted_metrics) or not path.exists():
        return NO_MESSAGES
    inside = pl.col("sent_s").is_between(cell.measure_from_s, cell.measure_to_s, closed="left")
    rows = read_columns(path, MessageRow, ("flow", "stream", "sent_s", *KINDS), inside)
    return {
        (flow.id, kind): _spread(rows.filter(flow=flow.id), kind)
        for flow in cell.flows
        for kind in KINDS
    }


def _spread(rows: pl.DataFrame, kind: str) -> MessageSpread:
    values = rows[kind]
    known = values.drop_nulls().to_numpy()
    found: dict[str, float] = {}
    if len(known):
        found = {name: float(np.quantile(known, part)) for name, part in QUANTILES.items()}
        found["mean"] = float(known.mean())
        found["max"] = float(known.max())
        found["blocked"] = float((known >= BLOCKED_S).mean())
        streams = rows.group_by("stream").agg(pl.col(kind).mean())[kind].drop_nulls().to_numpy()
        found["stream_max"], found["stream_min"] = float(streams.max()), float(streams.min())
    return MessageSpread(messages=len(values), unknown=values.null_count(), statistics=found)
