"""Goodput, one-way delay or jitter of flows over time, in bins; several runs over each other. Pure.

Invariants: a packet counts in the bin in which it arrives. Delays are those of packets with data
from the sender to the receiver; jitter is the difference of the delays of consecutive arrivals, as
in the metrics of the same name. A bin without arrivals has no delay and no jitter, and goodput 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from model.cell import Flow
from reports.figures.chart import NEAR, Figure, Key, drawn, layered, look
from reports.figures.goodput_bins import ARRIVALS, Bins, Chunks, binned, from_intervals, new_data
from reports.store.bins import in_bins

GOODPUT, DELAY, JITTER = "goodput", "delay", "jitter"
#: What each is called, and what its axis counts.
WORDS = {
    GOODPUT: ("Goodput", "kbit/s"),
    DELAY: ("One-way delay", "ms"),
    JITTER: ("Jitter", "ms"),
}
#: The y axis goes this far above the highest value.
HEADROOM = 1.06

MS_PER_S = 1e3
_LINE = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.3}


@dataclass(frozen=True)
class Series:
    """One flow's curve: its name in the legend, and per bin ``start_s``, ``end_s``, ``value``.

    ``low`` and ``high`` are the extremes among the bin's packets, null where a bin has no packets
    and for goodput.
    """

    flow: Flow
    name: str
    rows: pl.DataFrame

    @property
    def highest(self) -> float:
        """Return the highest value, 0 if there is none."""
        return float(str(self.rows["value"].max() or 0.0))


def goodput(
    packets: pl.DataFrame, flow: Flow, chunks: Chunks, from_s: float, to_s: float, bin_s: float
) -> pl.DataFrame:
    """Return the rows of a flow's goodput in kbit/s: data that came out of the bottleneck."""
    news = new_data(packets, flow, chunks, ARRIVALS)
    return _without_extremes(binned(news, "", from_s, to_s, bin_s))


def handed_on(
    intervals: pl.DataFrame, flow: Flow, from_s: float, to_s: float, bin_s: float
) -> pl.DataFrame | str:
    """Return the rows of what a flow's receiver counted, in kbit/s, or why there are none."""
    found = from_intervals(intervals.filter(flow=flow.id), from_s, to_s, bin_s)
    if isinstance(found, str):
        return found
    return _without_extremes(found)


def _without_extremes(found: Bins) -> pl.DataFrame:
    unknown = pl.lit(None, dtype=pl.Float64)
    return found.rows.rename({"goodput_kbps": "value"}).with_columns(low=unknown, high=unknown)


def delays(packets: pl.DataFrame, flow: Flow) -> pl.DataFrame:
    """Return the one-way delays of a flow's packets with data, as they arrived.

    ``t_s`` is when, ``packet`` which one, ``ms`` the delay.
    """
    data = packets.filter(
        pl.col("packet").is_not_null(), pl.col("payload_bytes") > 0, flow=flow.id, direction="data"
    )
    left, arrived = (
        data.filter(point=point).select("packet", "t_s") for point in ("sent", "delivered")
    )
    both = arrived.join(left, on="packet", suffix="_left").sort("t_s", maintain_order=True)
    return both.select("t_s", "packet", ms=(pl.col("t_s") - pl.col("t_s_left")) * MS_PER_S)


def jitter(delayed: pl.DataFrame) -> pl.DataFrame:
    """Return how much each delay differs from that of the arrival before."""
    return delayed.with_columns(pl.col("ms").diff().abs()).drop_nulls()


def per_bin(values: pl.DataFrame, from_s: float, to_s: float, bin_s: float) -> pl.DataFrame:
    """Return the mean, lowest and highest of ``ms`` in every bin between two times."""
    ms = pl.col("ms")
    return in_bins(
        values, from_s, to_s, bin_s,
        ms.mean().round(3).alias("value"), ms.min().round(3).alias("low"),
        ms.max().round(3).alias("high"),
    )  # fmt: skip


def over_time_figure(
    found: Sequence[Series], *, of: str, id: str, label: str, window_s: tuple[float, float],
    bin_s: float, top: float, by_receivers: bool = False,
) -> Figure:  # fmt: skip
    """Return a figure of some series; where several have one name, of each and of their mean.

    ``top`` is where the y axis ends: more than one figure may have the same. ``by_receivers``:
    goodput is what the receivers counted.
    """
    title, unit = WORDS[of]
    x = alt.X("start_s:Q", title="Time (s)", scale=alt.Scale(domain=list(window_s), nice=False))
    scale = alt.Scale(domain=[0, round(top * HEADROOM, 3) or 1], nice=False)
    y = alt.Y("value:Q", title=f"{title} per {bin_s:g} s ({unit})", scale=scale)
    named = {one.name: [each for each in found if each.name == one.name] for one in found}
    layers, bold, near, keys = [], [], [], []
    for number, (name, series) in enumerate(named.items()):
        style = {**_LINE, **look(number, name)}
        if len(series) > 1:
            faint = {**style, "strokeWidth": 0.8, "opacity": 0.35}
            layers += [drawn(_stepped(one.rows), faint).encode(x, y) for one in series]
        curve = _mean(series)
        bold.append(drawn(_stepped(curve), style).encode(x, y))
        near.append(_near(curve, name, of).encode(x, y))
        mean = f", mean of {len(series)}" if len(series) > 1 else ""
        keys.append(Key(f"{name}{mean}", style, "line"))
    spec, zoomable = layered([*layers, *bold], keys, hover=near)
    of_flows = {one.flow.id for one in found}
    return Figure(
        id=id,
        title=f"{title} over time of {label}",
        caption=_caption(named, of, bin_s, _RECEIVED if by_receivers else _MEANING[of]),
        spec=spec,
        zoomable=zoomable,
        flow=of_flows.pop() if len(of_flows) == 1 else None,
    )


def _mean(series: Sequence[Series]) -> pl.DataFrame:
    """Return the one series, or the mean of several in each bin that any has a value in."""
    if len(series) == 1:
        return series[0].rows
    rows = pl.concat([one.rows for one in series])
    return rows.group_by("start_s", "end_s", maintain_order=True).agg(
        pl.col("value").mean().round(3), pl.col("low").min(), pl.col("high").max()
    )


def _stepped(rows: pl.DataFrame) -> pl.DataFrame:
    """Return what a step curve needs: one row more carries it to the end of the last bin."""
    steps = rows.select("start_s", "value")
    return pl.concat([steps, rows.tail(1).select(start_s="end_s", value="value")])


def _near(rows: pl.DataFrame, name: str, of: str) -> alt.Chart:
    """Return what the pointer finds of a curve: the bin's value, and extremes among packets."""
    title, unit = WORDS[of]
    fields = {"value": title.lower()}
    if of != GOODPUT:
        fields |= {"low": "lowest", "high": "highest"}
    words = [
        alt.Tooltip("start_s:Q", title=f"{name}: from (s)", format=".1f"),
        *(alt.Tooltip(f"{field}:Q", title=f"{word} ({unit})", format=".2f")
          for field, word in fields.items()),
    ]  # fmt: skip
    return drawn(rows.select("start_s", *fields), NEAR).encode(tooltip=words)


_RECEIVED = "What receivers handed to their applications, per bin of {bin_s:g} s."
_MEANING = {
    GOODPUT: "Data that came out of the bottleneck, each once, per bin of {bin_s:g} s.",
    DELAY: (
        "Means per bin of {bin_s:g} s of the delays of packets with data, by when they arrived; "
        "the pointer shows the extremes."
    ),
    JITTER: (
        "Means per bin of {bin_s:g} s of the difference of the delays of consecutive arrivals; "
        "the pointer shows the extremes."
    ),
}


def _caption(named: Mapping[str, Sequence[Series]], of: str, bin_s: float, meaning: str) -> str:
    unit = WORDS[of][1]
    words = [meaning.format(bin_s=bin_s)]
    if any(len(series) > 1 for series in named.values()):
        words.append("Faint lines are single flows.")
    for name, series in named.items():
        rows = pl.concat([one.rows for one in series])
        values, lows, highs = (rows[which].drop_nulls() for which in ("value", "low", "high"))
        if values.is_empty():
            words.append(f"{name}: nothing arrived.")
            continue
        what = "bins" if lows.is_empty() else "packets"
        lowest, highest = _end(lows, values, min), _end(highs, values, max)
        words.append(
            f"{name}: mean of the bins {values.sum() / len(values):.1f} {unit}; single {what} "
            f"{lowest:.1f} to {highest:.1f}."
        )
    return " ".join(words)


def _end(ends: pl.Series, values: pl.Series, of: Callable[[list[float]], float]) -> float:
    """Return the extreme among packets, or among bins where packets have none."""
    return of((ends if len(ends) else values).to_list())
