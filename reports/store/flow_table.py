"""Reads what the receivers of a cell counted: a row per flow, and what came between two times.

Whatever is not one sound row per flow raises ``ParseError``.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from model import cell as cells
from model.errors import ParseError
from model.run_files.study import Span
from model.run_files.traffic_tables import FlowRow, IntervalRow
from reports.store.columns import read_columns, read_rows


def read_flows(path: Path, cell: cells.Cell, groups: frozenset[str]) -> tuple[FlowRow, ...]:
    """Return one row per flow of the cell; raise ``ParseError`` naming the file."""
    rows = read_rows(path, FlowRow)
    wanted = sorted(flow.id for flow in cell.flows)
    got = sorted(str(row.flow) for row in rows)
    if got != wanted:
        raise ParseError(
            "not one row per flow", where=str(path), wanted=", ".join(wanted), got=", ".join(got)
        )
    for row in rows:
        if row.group not in groups:
            raise ParseError(f"flow {row.flow} has an unknown group", where=str(path),
                             wanted=", ".join(sorted(groups)), got=str(row.group))  # fmt: skip
        if row.goodput_bps is not None and not (0 <= row.goodput_bps < math.inf):
            raise ParseError(
                f"flow {row.flow}: goodput_bps is no rate",
                where=str(path),
                got=str(row.goodput_bps),
            )
    return rows


def read_delivered(path: Path, cell: cells.Cell, between: Span) -> Mapping[str, float]:
    """Return the messages' worth of new data each flow delivered between two times.

    Both are bounds of receivers' intervals; intervals without data are absent.
    """
    rows = read_columns(path, IntervalRow)
    inside = rows.filter(rows["start_s"] >= between.from_s, rows["end_s"] <= between.to_s)
    return {
        flow.id: int(inside.filter(flow=flow.id)["goodput_bytes"].sum()) / flow.message_bytes
        for flow in cell.flows
    }


#: Goodput over time is that of bins this long: many round trips, and many bins in a run.
BIN_S = 10.0


def read_variation(path: Path, cell: cells.Cell) -> Mapping[str, float]:
    """Return how the goodput of each group's flows together varies over time, in % of its mean.

    That is the sample standard deviation over the whole bins of ``BIN_S`` in the measuring window
    in which all of them run. Bins begin where an interval of the receiver does, at a whole second,
    so that each holds as many. A group with fewer than two, or without goodput, is absent.
    """
    rows = read_columns(path, IntervalRow)
    found = {}
    for group in dict.fromkeys(flow.group for flow in cell.flows):
        flows = [flow for flow in cell.flows if flow.group == group]
        from_s = math.ceil(max(cell.measure_from_s, *(flow.start_s for flow in flows)))
        to_s = min(cell.measure_to_s, *(flow.stop_s for flow in flows))
        bins = math.floor((to_s - from_s) / BIN_S)
        mine = rows.filter(
            pl.col("start_s") >= from_s,
            pl.col("end_s") <= from_s + bins * BIN_S,
            pl.col("flow").is_in([flow.id for flow in flows]),
        )
        number = ((mine["start_s"] - from_s) / BIN_S).floor().cast(pl.Int64)
        summed = mine.select("goodput_bytes").with_columns(bin=number).group_by("bin").sum()
        delivered = [int(value) for value in summed["goodput_bytes"]]
        delivered += [0] * (bins - len(delivered))  # intervals without data are absent
        if bins >= 2 and sum(delivered) > 0:
            found[group] = 100 * statistics.stdev(delivered) / statistics.mean(delivered)
    return found
