"""Leaves out what a drawing would not show, and says how much. Pure.

Invariants: rows that change nothing of a step curve go first, which loses nothing. What is left out
beyond that hides behind what stays in at the size of a print: per stretch of time the first, last,
lowest and highest row stay. Rows keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

#: Rows a curve may have, and stretches of time it is looked at in beyond that.
MOST_ROWS, STRETCHES = 4000, 1000


def held_until(rows: pl.DataFrame, values: Sequence[str]) -> pl.DataFrame:
    """Return the last row of each run of equal values, and the very first row.

    A step curve that holds each row's values since the row before is the same curve after it.
    """
    changes = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(-1)) for name in values)
    number = pl.int_range(pl.len())
    return rows.filter(changes | (number == 0) | (number == pl.len() - 1))


def outline(
    rows: pl.DataFrame, x: str, y: str, most: int = MOST_ROWS, stretches: int = STRETCHES
) -> pl.DataFrame:
    """Return at most four rows per stretch of ``x``, if there are more than ``most`` rows."""
    if rows.height <= most:
        return rows
    numbered = rows.with_row_index("_row")
    first, last = numbered[x].min(), numbered[x].max()
    span = pl.lit(last) - pl.lit(first)
    stretch = ((pl.col(x) - pl.lit(first)) / span * stretches).floor().clip(0, stretches - 1)
    kept = numbered.group_by(stretch.alias("_stretch")).agg(
        first=pl.col("_row").first(),
        last=pl.col("_row").last(),
        low=pl.col("_row").sort_by(y).first(),
        high=pl.col("_row").sort_by(y).last(),
    )
    wanted = pl.concat([kept[name] for name in ("first", "last", "low", "high")]).unique()
    return numbered.filter(pl.col("_row").is_in(wanted.implode())).drop("_row")
