"""Published events laid over the kernel's loss: their places, and what stands beside each."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from model.run_files.figures import PublishedLoss, PublishedMark
from reports.figures import published_marks
from reports.figures.chart import render_pdf, render_svg
from reports.figures.congestion import Curve, congestion_figure, mark_heights, window_marks
from reports.figures.published_marks import Detected, Marks
from reports.figures.sequence import Diagram, segment_marks, sequence_figure
from tests.support.runs.figure_run import columns
from tests.support.runs.report_run import make_cell

T = make_cell("measure", 0.01, 1).flows[0]


def mark(at_s: float, label: str | None = None, **height: float) -> PublishedMark:
    none = dict.fromkeys(("segment", "acked_segment", "cwnd_segments", "cwnd_bytes"))
    return PublishedMark(label=label, at_s=at_s, **{**none, **height})


def marks(*found: PublishedMark, lost: int | None = None, segment: int | None = 12) -> Marks:
    """Return marks of a loss that was printed at 2.88 s, and that the kernel detected at 5 s."""
    loss = PublishedLoss(detected_s=2.88, lost_segment=lost, marks=found)
    return Marks(loss, Detected(5.0, segment))


#: The window is 9 until the loss is detected at 5 s, 8 then 4 soon after, and 5 from 5.6 s on.
CURVE = Curve(
    T,
    pl.DataFrame(
        {"t_s": [4.0, 5.0, 5.2, 5.6, 6.0], "cwnd": [9.0, 9.0, 8.0, 4.0, 5.0],
         "ssthresh": [45.0, 45.0, 4.0, 4.0, 4.0], "cwnd_bytes": [None] * 5,
         "ssthresh_bytes": [None] * 5, "flight_bytes": [None] * 5}
    ),
    1448, 6.0, 5, thinned=False,
)  # fmt: skip


def test_a_published_window_is_moved_to_the_kernels_detection() -> None:
    found = window_marks(
        CURVE,
        marks(
            mark(2.88, "M", cwnd_segments=9),
            mark(2.88, "N", cwnd_segments=4),
            mark(3.28, cwnd_segments=4.25),
            mark(9.0, cwnd_bytes=7240),
        ),
    )
    assert [(one.t_s, one.height) for one in found] == [
        (5.0, 9.0), (5.0, 4.0), (5.4, 4.25), (11.12, 5.0)
    ]  # fmt: skip
    # Of two at one time the first is beside what was there before the event.
    assert [one.kernel for one in found] == ["kernel 9", "kernel 8", "kernel 4", "kernel not known"]


#: Segment 12 is lost; on the duplicates at 4.9 s and 5 s come 21 and the repetition.
DIAGRAM = Diagram(
    flow=T, segment_bytes=1448,
    sent=pl.DataFrame(
        {"t_s": [4.0, 4.9, 5.0, 5.1], "segment": [12, 21, 12, 22], "packet": [1, 2, 3, 4],
         "again": [False, False, True, False], "lost_at": ["queue", None, None, None]}
    ),
    acked=pl.DataFrame({"t_s": [4.8, 5.5, 5.6], "segment": [11.0, 19.0, 20.0]}),
    sacked=pl.DataFrame({"t_s": [4.9, 5.0], "low": [12.5, 12.5], "high": [13.5, 14.5]}),
    first_sent_pkts=3,
)  # fmt: skip


def test_published_segments_are_numbered_from_the_lost_one() -> None:
    found = segment_marks(
        DIAGRAM,
        marks(
            mark(2.87, acked_segment=7),
            mark(2.88, segment=8),
            mark(2.9, segment=18),
            mark(3.4, acked_segment=16),
            mark(3.5, segment=40),
            lost=8,
        ),
    )
    assert [one.height for one in found] == [11, 12, 22, 20, 44]
    assert [round(one.t_s, 6) for one in found] == [4.99, 5.0, 5.02, 5.52, 5.62]
    assert [one.kernel for one in found] == [
        "kernel at +0.000 s",  # the duplicate next to it, not the acknowledgement before
        "kernel at +0.000 s",  # sent again, not first
        "kernel at +0.100 s",
        "kernel at +0.600 s",  # when it was acknowledged
        "the kernel not in sight",
    ]


def test_without_the_lost_segments_number_published_numbers_stay() -> None:
    (found,) = segment_marks(DIAGRAM, marks(mark(2.9, segment=21)))
    assert found.height == 21
    (found,) = segment_marks(DIAGRAM, marks(mark(2.9, segment=21), lost=8, segment=None))
    assert found.height == 21


def test_the_caption_says_how_events_were_moved_and_what_the_kernel_did() -> None:
    events = marks(
        mark(2.898, "17", segment=17), mark(3.413, "recovered", acked_segment=16), lost=8
    )
    assert published_marks.caption(segment_marks(DIAGRAM, events), events) == (
        "Diamonds: published, moved by +2.120 s, which makes its loss detection at 2.88 s the "
        "kernel's at 5.000 s, and its segment 8 the kernel's 12. Since the detection: segment 17 "
        "sent at +0.018 s, kernel at -0.100 s; recovered (acknowledged up to 16) at +0.533 s, "
        "kernel at +0.600 s."
    )


def layer(figure: Any, shape: str) -> dict[str, list[Any]]:
    (found,) = (one for one in figure.spec["layer"]
                if one["mark"].get("shape") == shape and "name" in one["data"])  # fmt: skip
    return columns(figure, found)


def test_marks_are_drawn_and_the_axis_reaches_them() -> None:
    events = marks(mark(2.88, "M", cwnd_segments=30))
    figure = congestion_figure(
        CURVE, id="x", label="T", top=1.12 * max(mark_heights(CURVE, events)),
        window_s=(4.0, 6.0), episodes=None, marks=events,
    )  # fmt: skip
    drawn = layer(figure, "diamond")
    assert (drawn["t_s"], drawn["height"], drawn["label"]) == ([5.0], [30.0], ["M"])
    assert figure.spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 33.6]
    assert "M (30 segments) at +0.000 s" in figure.caption
    events = marks(mark(2.88, segment=8), lost=8)
    figure = sequence_figure(
        DIAGRAM, id="x", label="T", window_s=(4.0, 6.0), span=12.0, marks=events
    )
    assert layer(figure, "diamond")["height"] == [12]


def test_a_moment_before_the_detection_is_not_minus_nothing() -> None:
    assert published_marks.since(2.8799, 2.88) == "+0.000 s"
    assert published_marks.since(2.869, 2.88) == "-0.011 s"


def test_without_published_events_nothing_is_drawn_of_them() -> None:
    figure = sequence_figure(DIAGRAM, id="x", label="T", window_s=(4.0, 6.0), span=12.0)
    assert "diamond" not in str(figure.spec)
    assert "Diamonds" not in figure.caption


def test_a_picture_has_one_font_so_that_equal_pictures_are_equal() -> None:
    """The order of several fonts in a PDF is another each time it is drawn."""
    figure = sequence_figure(
        DIAGRAM, id="x", label="T", window_s=(4.0, 6.0), span=12.0,
        marks=marks(mark(2.88, "M", segment=8), lost=8),
    )  # fmt: skip
    drawn = render_pdf(render_svg(figure))
    assert len(set(re.findall(rb"/BaseFont /\w+\+([\w-]+)", drawn))) == 1
