"""Metrics of flows and of times in a study file, and rows of several published tables."""

from __future__ import annotations

import json

from testbed.findings.find import find
from testbed.planning.plan import make_plan
from testbed.planning.resolved import resolved_json
from tests.support.study_file import SWEEP, UNPUBLISHED, study


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
