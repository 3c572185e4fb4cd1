"""Events of a published figure, laid over the kernel's diagram of such a loss. Pure.

Invariant: the publication's clock begins elsewhere, and its numbers may: so its times are moved by
what makes its loss detection the kernel's, and its segments by what makes its lost one the
kernel's. Both are said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from model.run_files.figures import PublishedLoss, PublishedMark
from reports.figures.chart import INK, PUBLISHED, Key, drawn

NAME = "published"
_MARK = {"type": "point", "shape": "diamond", "size": 64, "filled": False, "strokeWidth": 1.6,
         "opacity": 1, "color": PUBLISHED}  # fmt: skip
_LABEL = {"type": "text", "align": "left", "dx": 5, "fontSize": 11,
          "color": INK}  # fmt: skip
#: What was sent is named above its mark, what was acknowledged below: often both are there.
_ABOVE, _BELOW = {**_LABEL, "baseline": "bottom", "dy": -3}, {**_LABEL, "baseline": "top", "dy": 3}
KEY = Key(NAME, _MARK)


@dataclass(frozen=True)
class Detected:
    """The kernel's loss: when its sender acted, and the number of the lost segment."""

    at_s: float
    segment: int | None


@dataclass(frozen=True)
class Marks:
    """What a publication marks of a loss, and the kernel's loss it is laid over."""

    loss: PublishedLoss
    detected: Detected


@dataclass(frozen=True)
class Laid:
    """One mark in the kernel's diagram; ``kernel`` says what the kernel did, in words."""

    mark: PublishedMark
    t_s: float
    height: float
    kernel: str


def moved_s(mark: PublishedMark, marks: Marks) -> float:
    """Return when a published event would be by the kernel's clock."""
    return round(marks.detected.at_s + mark.at_s - marks.loss.detected_s, 6)


def moved_segment(mark: PublishedMark, marks: Marks) -> float:
    """Return the kernel's number of a published segment, sent or acknowledged."""
    printed = mark.segment if mark.segment is not None else mark.acked_segment or 0.0
    return printed + _renumbered(marks)


def _renumbered(marks: Marks) -> int:
    """Return what is added to published numbers of segments."""
    lost, printed = marks.detected.segment, marks.loss.lost_segment
    return 0 if lost is None or printed is None else lost - printed


def layers(laid: Sequence[Laid], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Return the marks and their labels; ``y`` is the axis of the column ``height``."""
    rows = pl.DataFrame(
        {
            "t_s": [one.t_s for one in laid],
            "height": [round(one.height, 4) for one in laid],
            "label": [one.mark.label or "" for one in laid],
            "printed_s": [one.mark.at_s for one in laid],
            "kernel": [one.kernel for one in laid],
            "below": [one.mark.acked_segment is not None for one in laid],
        }
    )
    words = [
        alt.Tooltip("label:N", title="published"),
        alt.Tooltip("printed_s:Q", title="at, as printed (s)"),
        alt.Tooltip("height:Q", title="at the height of"),
        alt.Tooltip("kernel:N", title="the kernel"),
    ]
    return [
        *(
            drawn(rows, mark).transform_filter(which).encode(x, y, text="label:N")
            for mark, which in ((_ABOVE, "!datum.below"), (_BELOW, "datum.below"))
        ),
        drawn(rows, _MARK).encode(x, y, tooltip=words),
    ]


def caption(laid: Sequence[Laid], marks: Marks) -> str:
    """Return what a figure says of its marks: how they were moved, and each beside the kernel."""
    loss, detected, numbers = marks.loss, marks.detected, ""
    if _renumbered(marks):
        numbers = f", and its segment {loss.lost_segment} the kernel's {detected.segment}"
    told = "; ".join(
        f"{_named(one.mark)} at {since(one.mark.at_s, loss.detected_s)}, {one.kernel}"
        for one in laid
    )
    return (
        f"Diamonds: published, moved by {detected.at_s - loss.detected_s:+.3f} s, which makes its "
        f"loss detection at {loss.detected_s:.10g} s the kernel's at {detected.at_s:.3f} s"
        f"{numbers}. Since the detection: {told}."
    )


def since(at_s: float, detected_s: float) -> str:
    """Return how long after the detection an event was."""
    return f"{round(at_s - detected_s, 3) + 0.0:+.3f} s"  # no -0.000


def _named(mark: PublishedMark) -> str:
    if mark.segment is not None:
        height = f"segment {mark.segment:g} sent"
    elif mark.acked_segment is not None:
        height = f"acknowledged up to {mark.acked_segment:g}"
    elif mark.cwnd_bytes is not None:
        height = f"{mark.cwnd_bytes:g} bytes"
    else:
        height = f"{mark.cwnd_segments:g} segments"
    said = mark.label is None or mark.label.isdecimal()
    return height if said else f"{mark.label} ({height})"
