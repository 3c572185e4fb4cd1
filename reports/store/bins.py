"""Cuts a window of time into bins, and says what falls into each. Pure.

Invariants: bins are whole nanoseconds long, the last one ends with the window, and each is there
whatever falls into it; a row belongs to the bin that begins at or before it.
"""

from __future__ import annotations

import polars as pl

_NS_PER_S = 10**9


def in_bins(
    rows: pl.DataFrame, from_s: float, to_s: float, bin_s: float, *values: pl.Expr
) -> pl.DataFrame:
    """Return ``start_s`` and ``end_s`` of every bin, and ``values`` of the rows in it, or null.

    ``rows``: ``t_s`` and what ``values`` are made of.
    """
    bin_ns, from_ns, to_ns = (round(time * _NS_PER_S) for time in (bin_s, from_s, to_s))
    starts = pl.DataFrame({"at": range(from_ns, to_ns, bin_ns)}, schema={"at": pl.Int64})
    found = (
        rows.with_columns(at=(pl.col("t_s") * _NS_PER_S).round().cast(pl.Int64))
        .filter(pl.col("at").is_between(from_ns, to_ns, closed="left"))
        .group_by((pl.col("at") - from_ns) // bin_ns * bin_ns + from_ns)
        .agg(*values)
    )
    end = pl.min_horizontal(pl.col("at") + bin_ns, pl.lit(to_ns))
    return starts.join(found, on="at", how="left", maintain_order="left").select(
        (pl.col("at") / _NS_PER_S).round(9).alias("start_s"),
        (end / _NS_PER_S).round(9).alias("end_s"),
        pl.exclude("at"),
    )
