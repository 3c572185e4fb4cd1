"""Metrics of flows and of times in a study file, and rows of several published tables."""

from __future__ import annotations

import json

import pytest

from testbed.findings.find import find
from testbed.planning.plan import make_plan
from testbed.planning.resolved import resolved_json
from tests.support.study_file import SWEEP, UNPUBLISHED, edited, line_of, problems, study


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("flow_goodput_X_bps", ("unknown metric: got 'flow_goodput_X_bps'"
         " (did you mean flow_goodput_T_bps?)")),
        ("delivered_S_segments", ("delivered_S_segments needs the key 'delivered':"
         " wanted delivered: {from, to}")),
    ],
)  # fmt: skip
def test_metrics_of_flows_and_times_need_them(metric: str, message: str) -> None:
    text = edited(("metrics: [", f"metrics: [{metric}, "))
    assert problems(text)[0] == f"w.yaml:{line_of(text, 'metrics: [')}: metrics[0]: {message}"


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ("{from: 50.5 s, to: 60 s}", ("from: not the bound of a receiver's interval: wanted a"
         " multiple of 1 s, got 50.5 s")),
        ("{from: 50 s, to: 1001 s}", ("to: after the end of the run: wanted at most 1000 s"
         " (duration), got 1001 s")),
        ("{from: 50 s, to: 50 s}", ("from: ends before it begins: wanted less than 50 s (its to),"
         " got 50 s")),
    ],
)  # fmt: skip
def test_delivered_segments_are_counted_in_whole_intervals(times: str, message: str) -> None:
    text = edited(("metrics: [", f"delivered: {times}\nmetrics: [delivered_T_segments, "))
    assert problems(text) == [f"w.yaml:{line_of(text, 'delivered: ')}: delivered.{message}"]


def test_a_metric_of_a_flow_needs_the_flow_at_every_point() -> None:
    text = edited(
        UNPUBLISHED, ("pairs: 2", "pairs: 3"), ("pair: 1\n", "pair: 1\n    copies: 2\n"),
        ("pair: 2\n", "pair: 3\n"), ("metrics: [", "metrics: [flow_goodput_T2_bps, "),
        (SWEEP, "  flows.T.copies: [2, 1]\n"),
    )  # fmt: skip
    assert problems(text) == [
        (f"w.yaml:{line_of(text, 'metrics: [')}: metrics[0]: unknown metric: got"
        " 'flow_goodput_T2_bps' (at copies=1)")
    ]  # fmt: skip


def test_rows_of_several_tables_and_of_all_points() -> None:
    row = "    - at: {network.bottleneck.loss.data: 0.8 %}\n"
    two = f"{SWEEP}  duration: [10 s, 20 s]\n"
    rows = (
        "published:\n  where: Table 2\n  rows:\n"
        f"{row}      points: all\n      values: {{pct_increase: 6.1}}\n"
        f"{row}      points: all\n      where: Table 3\n      values: {{utilisation_pct: 20.9}}\n"
    )
    loaded = study(UNPUBLISHED, (SWEEP, two), ("assumptions:", f"{rows}assumptions:"))
    assert loaded.published_points == ((0, 1), (0, 1))
    lab = {"name": "virtual"}
    plan = make_plan(loaded, seeds=(1,), lab=lab)
    record = json.loads(resolved_json(plan, find(loaded, seeds=(1,))))
    assert [(r["where"], r["point"]["duration_s"], r["values"]) for r in (
        record["published"]["rows"]
    )] == [
        ("Table 2", 10, {"pct_increase": 6.1}),
        ("Table 2", 20, {"pct_increase": 6.1}),
        ("Table 3", 10, {"utilisation_pct": 20.9}),
        ("Table 3", 20, {"utilisation_pct": 20.9}),
    ]  # fmt: skip
    assert (record["flows"], record["delivered"]) == (["T", "S"], None)
