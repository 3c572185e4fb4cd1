"""Distribution functions of the delays, jitter and message delays of groups of flows. Pure.

Invariants: a curve has all flows of its group together, and is the share of values that are at
most so large: it steps up where values are. Delays and jitter are those of packets with data that
left the sender in the window and arrived, message delays those of messages that were ready in it
and were delivered; what never arrived is in no curve, and counted in the caption.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
import polars as pl

from model.cell import Flow
from model.run_files.figures import DrawnOf
from reports.figures.chart import NEAR, Figure, Key, drawn, layered, look
from reports.figures.over_time import MS_PER_S, delays, jitter
from reports.figures.shown_run import Shown

NO_MESSAGES = "this run recorded no messages (collect: {messages: true})"
#: What each is called.
TITLES = {"delay": "one-way delay", "jitter": "jitter", "message_delay": "message delay"}
#: Shares at which a curve is drawn that has more values: a step per half pixel of a print, and the
#: tail as fine again.
SHARES = np.unique(np.concatenate([np.linspace(0, 1, 501), np.linspace(0.98, 1, 101)]))
QUANTILES = {"median": 0.5, "95 %": 0.95, "99 %": 0.99}
#: Where the axis of shares may begin besides 0: at the highest that all curves jump over at once.
FEET = (0.99, 0.9, 0.7, 0.5)
#: What share of the axis of values is "at once".
AT_ONCE = 0.02
_LINE = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5}


@dataclass(frozen=True)
class Values:
    """A curve's name in the legend, its values in ms, and how many there might have been more."""

    name: str
    ms: pl.Series
    missing: int


def grouped_values(
    shown: Shown,
    table: pl.DataFrame,
    of: DrawnOf,
    window_s: tuple[float, float],
    overlay: str | None,
) -> Iterator[Values]:
    """Yield the values of each group of TCP and SCTP flows of a run, from packets or messages."""
    by_group: dict[str, list[Flow]] = {}
    for flow in shown.numbered:
        by_group.setdefault(flow.group, []).append(flow)
    value = shown.overlaid(overlay) if overlay else ""
    for flows in by_group.values():
        label = shown.group(flows[0])
        name = f"{label}, {value}" if value and len(by_group) > 1 else value or label
        each = [_values(table, of, flow, window_s) for flow in flows]
        yield Values(name, pl.concat([ms for ms, _ in each]), sum(missing for _, missing in each))


def _values(
    table: pl.DataFrame, of: DrawnOf, flow: Flow, window_s: tuple[float, float]
) -> tuple[pl.Series, int]:
    """Return a flow's values in ms, and of how many packets or messages there is none."""
    if of == "message_delay":
        inside = pl.col("sent_s").is_between(*window_s, closed="left")
        found = table.filter(inside, flow=flow.id)["delay_s"]
        return found.drop_nulls() * MS_PER_S, found.null_count()
    sent = table.filter(
        pl.col("packet").is_not_null(), pl.col("payload_bytes") > 0,
        pl.col("t_s").is_between(*window_s, closed="left"),
        flow=flow.id, direction="data", point="sent",
    )  # fmt: skip
    arrived = delays(table, flow)
    values = (jitter(arrived) if of == "jitter" else arrived).join(sent, on="packet", how="semi")
    lost = sent.join(arrived, on="packet", how="anti").height
    return values["ms"], lost


def steps(ms: pl.Series) -> pl.DataFrame:
    """Return where the curve of some values steps up, and to what share: ``ms``, ``share``."""
    values = np.sort(ms.to_numpy())
    if len(values) > len(SHARES):
        share = SHARES
        at = np.quantile(values, share, method="inverted_cdf")
    else:
        at, counts = np.unique(values, return_counts=True)
        share = np.cumsum(counts) / len(values)
    rows = pl.DataFrame({"ms": at.round(4), "share": share.round(6)})
    # Several shares at one value are one step, up to the largest.
    return rows.group_by("ms", maintain_order=True).agg(pl.col("share").max())


def distribution_figure(
    found: Sequence[Values], *, of: str, id: str, label: str, window_s: tuple[float, float]
) -> Figure:
    """Return the curves of some values that are not empty."""
    title = TITLES[of]
    lowest = min(float(str(one.ms.min())) for one in found)
    highest = max(map(_largest, found))
    scale = alt.Scale(domain=[lowest, highest if highest > lowest else lowest + 1], nice=True)
    x = alt.X("ms:Q", title=f"{title[:1].upper()}{title[1:]} (ms)", scale=scale)
    curves = [steps(one.ms) for one in found]
    foot = _foot(curves, AT_ONCE * (highest - lowest))
    share = alt.Scale(domain=[foot, 1], nice=False)
    y = alt.Y("share:Q", title="Share at most so long", scale=share, axis=alt.Axis(format="%"))
    layers, near, keys = [], [], []
    for number, (one, rows) in enumerate(zip(found, curves, strict=True)):
        style = {**_LINE, **look(number, one.name)}
        # From 0 at its least value.
        whole = pl.concat([rows.head(1).with_columns(share=pl.lit(0.0)), rows])
        layers.append(drawn(whole, style).encode(x, y))
        words = [
            alt.Tooltip("share:Q", title=f"{one.name}: at most so long", format=".2%"),
            alt.Tooltip("ms:Q", title=f"{title} (ms)", format=".2f"),
        ]
        near.append(drawn(rows, NEAR).encode(x, y, tooltip=words))
        keys.append(Key(one.name, style, "line"))
    spec, zoomable = layered(layers, keys, hover=near, reach={"y": (0.0, 1.0)})
    return Figure(
        id=id,
        title=f"Distribution of the {title} of {label}",
        caption=_caption(found, of, window_s, foot),
        spec=spec,
        zoomable=zoomable,
    )


def _foot(curves: Sequence[pl.DataFrame], at_once_ms: float) -> float:
    """Return where the axis of shares begins: where most values are one, their tails are seen."""
    reached = min(
        float(rows.filter(pl.col("ms") <= rows["ms"][0] + at_once_ms)["share"][-1])
        for rows in curves
    )
    return next((foot for foot in FEET if foot < reached), 0.0)


def _largest(one: Values) -> float:
    return float(str(one.ms.max()))


def _caption(found: Sequence[Values], of: str, window_s: tuple[float, float], foot: float) -> str:
    what, gone = ("messages", "not delivered") if of == "message_delay" else ("packets", "lost")
    begun = "ready" if of == "message_delay" else "sent"
    from_s, to_s = window_s
    when = f"{what} {begun} from {from_s:g} to {to_s:g} s"
    words = [f"Of {when}, the share whose {TITLES[of]} is at most so long."]
    if foot:
        words.append(f"The axis begins at {foot:.0%}.")
    for one in found:
        quantiles = ", ".join(
            f"{name} {np.quantile(one.ms.to_numpy(), share, method='inverted_cdf'):.1f} ms"
            for name, share in QUANTILES.items()
        )
        words.append(
            f"{one.name}: {quantiles}, at most {_largest(one):.1f} ms; {len(one.ms)} {what}, "
            f"{one.missing} {gone}."
        )
    return " ".join(words)
