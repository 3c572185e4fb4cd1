"""Distributions of delays: steps worked out by hand, what is in them, and what is drawn unasked."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from model import run_folder
from model.run_files.tables import schema
from model.run_files.traffic_tables import IntervalRow, MessageRow
from reports.figures.chart import render_svg
from reports.figures.distribution import SHARES, Values, distribution_figure, steps
from reports.figures.unasked import unasked
from reports.store.run import read_run
from tests.support.runs.figure_run import POINT, build_figure_run, columns, recorded, sets
from tests.support.runs.report_run import only_cell

CDF = {"kind": "cdf", "from_s": 0.0, "to_s": 12.0, "points": POINT}


def test_a_curve_steps_up_where_values_are() -> None:
    found = steps(pl.Series([3.0, 1.0, 2.0, 2.0]))
    assert found.rows() == [(1.0, 0.25), (2.0, 0.75), (3.0, 1.0)]


def test_of_many_values_a_curve_keeps_its_ends_and_its_tail() -> None:
    values = np.random.default_rng(1).exponential(100, 50_000)
    found = steps(pl.Series(values))
    assert found.height <= len(SHARES) < 700
    assert found["share"].is_sorted()
    assert found["ms"].is_sorted()
    assert found["ms"][0] == pytest.approx(values.min(), abs=1e-4)
    assert found.row(-1) == (pytest.approx(values.max(), abs=1e-4), 1.0)
    for ms, share in found.rows():
        assert (values <= ms + 1e-4).mean() == pytest.approx(share, abs=1e-4)


def test_a_figure_has_a_curve_per_name_and_says_what_is_in_none() -> None:
    made = distribution_figure(
        [Values("TCP", pl.Series([1.0, 2.0, 3.0, 4.0]), 1), Values("SCTP", pl.Series([5.0]), 0)],
        of="delay", id="x", label="all", window_s=(0.0, 2.0),
    )  # fmt: skip
    curves = [layer for layer in made.spec["layer"] if layer["mark"]["type"] == "line"]
    assert columns(made, curves[0]) == {
        "ms": [1.0, 1.0, 2.0, 3.0, 4.0], "share": [0.0, 0.25, 0.5, 0.75, 1.0]
    }  # fmt: skip
    assert (
        "TCP: median 2.0 ms, 95 % 4.0 ms, 99 % 4.0 ms, at most 4.0 ms; 4 packets, 1 lost."
        in made.caption
    )
    assert "SCTP: median 5.0 ms" in made.caption


@pytest.mark.parametrize(
    ("least", "foot"), [(0.5, 0.0), (0.6, 0.5), (0.9, 0.7), (0.95, 0.9), (0.99, 0.9), (0.995, 0.99)]
)
def test_the_axis_begins_where_the_first_curve_leaves_its_least_value(
    least: float, foot: float
) -> None:
    bent = pl.Series([41.0] * round(1000 * least) + [200.0] * round(1000 * (1 - least)))
    even = pl.Series([41.0] * 999 + [300.0])
    made = distribution_figure(
        [Values("TCP", bent, 0), Values("SCTP", even, 0)],
        of="delay", id="x", label="all", window_s=(0.0, 2.0),
    )  # fmt: skip
    curve = next(layer for layer in made.spec["layer"] if layer["mark"]["type"] == "line")
    assert curve["encoding"]["y"]["scale"]["domain"] == [foot, 1]
    assert (f"The axis begins at {foot:.0%}." in made.caption) == bool(foot)


def test_the_axis_of_many_values_far_apart_begins_at_zero() -> None:
    spread = pl.Series([0.0, *np.linspace(500.0, 1000.0, 5000)])
    made = distribution_figure(
        [Values("TCP", spread, 0)], of="delay", id="x", label="all", window_s=(0.0, 2.0)
    )
    (curve,) = [layer for layer in made.spec["layer"] if layer["mark"]["type"] == "line"][:1]
    assert curve["encoding"]["y"]["scale"]["domain"] == [0.0, 1]


@pytest.mark.parametrize("number_of", range(1, 13))
def test_every_entry_of_the_legend_is_inside_the_picture(number_of: int) -> None:
    made = distribution_figure(
        [Values(f"SCTP, number {i}", pl.Series([1.0, 3.0 + i]), 0) for i in range(number_of)],
        of="delay", id="x", label="all", window_s=(0.0, 1.0),
    )  # fmt: skip
    drawn = render_svg(made)
    plot_px = int(re.findall(r'transform="translate\(\d+,(\d+)\)"', drawn)[0])
    places = re.findall(r'translate\([\d.]+,-([\d.]+)\)"[^>]*>SCTP', drawn)
    assert len(places) == number_of
    assert max(map(float, places)) < plot_px - 5


@pytest.mark.parametrize("of", ["delay", "jitter"])
def test_delays_are_of_packets_that_left_in_the_window(tmp_path: Path, of: str) -> None:
    window = (2.0, 7.0)
    wanted = {**CDF, "of": of, "from_s": window[0], "to_s": window[1]}
    (found,) = sets(build_figure_run(tmp_path / "run", [wanted]))
    (figure,) = found.figures
    assert (figure.id, found.missing) == (f"{of}_cdf-loss_frac_0.01", ())
    table = recorded("packets").filter(pl.col("payload_bytes") > 0, direction="data", flow="T")
    sent = table.filter(pl.col("t_s").is_between(*window, closed="left"), point="sent")
    arrived = table.filter(point="delivered").rename({"t_s": "at_s"})
    both = sent.join(arrived.select("packet", "at_s"), on="packet")
    lost = sent.height - both.height
    assert lost > 0
    assert f"{both.height} packets, {lost} lost." in figure.caption
    if of == "delay":
        ms = (both["at_s"] - both["t_s"]) * 1e3
        assert f"at most {float(str(ms.max())):.1f} ms; {both.height} packets" in figure.caption


def messages(cell: Path, *delays_s: float | None) -> None:
    rows = [
        {"flow": "S", "message": number, "stream": 0, "ordered": True, "sent_s": float(number),
         "accepted_s": float(number), "left_s": None, "arrived_s": None, "delay_s": delay_s,
         "delivered_s": None if delay_s is None else number + delay_s, "wait_s": None}
        for number, delay_s in enumerate(delays_s, start=1)
    ]  # fmt: skip
    (cell / run_folder.MESSAGES_TABLE).parent.mkdir(exist_ok=True)
    pl.DataFrame(rows, schema=schema(MessageRow)).write_parquet(cell / run_folder.MESSAGES_TABLE)


def test_delays_of_messages_are_of_those_ready_in_the_window(tmp_path: Path) -> None:
    wanted = {**CDF, "of": "message_delay", "from_s": 2.0}
    run = build_figure_run(tmp_path / "run", [wanted])
    (found,) = sets(run)
    (missing,) = found.missing
    assert missing.startswith("this run recorded no messages (collect: {messages: true}): ")
    messages(only_cell(run, loss=0.01, seed=1), 9.0, 0.2, 0.4, None)
    (found,) = sets(run)
    (figure,) = found.figures
    assert "at most 400.0 ms; 2 messages, 1 not delivered." in figure.caption
    assert found.missing == ("TCP SACK: nothing arrived, bottleneck loss, data 1 %, seed 1",)


def test_runs_over_each_other_are_named_by_what_differs(tmp_path: Path) -> None:
    points = [{"loss_frac": 0.008}, *POINT]
    run = build_figure_run(
        tmp_path / "run", [{**CDF, "of": "delay", "overlay": "loss_frac", "points": points}]
    )
    recorded("packets").write_parquet(only_cell(run, loss=0.008) / run_folder.PACKETS_TABLE)
    (found,) = sets(run)
    (figure,) = found.figures
    assert "TCP SACK, 0.8 %: median" in figure.caption
    assert "SCTP, 1 %: median" in figure.caption


def collecting(run: Path, **collect: Any) -> Any:
    """Return a run as if its cells had collected this."""
    found = read_run(run)
    finished = tuple(
        replace(one, cell=replace(one.cell, collect=replace(one.cell.collect, **collect)))
        for one in found.finished
    )
    return replace(found, finished=finished)


def test_a_study_that_asks_for_none_gets_what_its_runs_recorded(tmp_path: Path) -> None:
    run = build_figure_run(tmp_path / "run", [])
    nothing = {"pcap": False, "messages": False}
    for collect, kinds in (
        ({}, [("over_time", "goodput")]),
        ({"pcap": True}, [("over_time", "goodput"), ("cdf", "delay")]),
        ({"messages": True}, [("over_time", "goodput"), ("cdf", "message_delay")]),
    ):
        wanted = unasked(collecting(run, **{**nothing, **collect}))
        assert [(one.kind, one.of) for one in wanted] == kinds
    points = read_run(run).study.points
    assert all(one.points == (points[0], points[-1]) for one in wanted)


def test_goodput_over_time_comes_from_the_receivers_without_captures(tmp_path: Path) -> None:
    wanted = {"kind": "over_time", "of": "goodput", "bin_s": 2.0, "from_s": 0.0, "to_s": 10.0,
              "together": True, "points": POINT}  # fmt: skip
    run = build_figure_run(tmp_path / "run", [wanted, {**wanted, "bin_s": 0.5}])
    cell = only_cell(run, loss=0.01, seed=1)
    (cell / run_folder.PACKETS_TABLE).unlink()
    rows = [
        {"flow": flow, "start_s": float(second), "end_s": second + 1.0, "goodput_bytes": size}
        for flow, size in (("T", 1000), ("S", 3000))
        for second in range(10)
    ]
    table = pl.DataFrame(rows, schema=schema(IntervalRow))
    table.write_parquet(cell / run_folder.INTERVALS_TABLE)
    found, finer = sets(run)
    (figure,) = found.figures
    assert figure.caption.startswith("What receivers handed to their applications, per bin of 2 s.")
    assert "TCP SACK (flow T): mean of the bins 8.0 kbit/s" in figure.caption
    assert "SCTP (flow S): mean of the bins 24.0 kbit/s" in figure.caption
    assert finer.figures == ()
    assert "bins of 0.5 s need captures" in finer.missing[0]
