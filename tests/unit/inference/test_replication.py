"""When a run that adds seeds stops: hand-worked half-widths, and what stopping does to coverage."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from docs.generate.claim_errors import added
from model.run_files.point import Point
from model.run_files.study import Study, parse_study
from model.run_files.summary import PointReplication
from reports.inference.replication import looks, next_runs, replication
from reports.inference.statistics import student_t
from reports.measures.metrics import Value
from reports.verdict.files import replication_record
from tests.support.runs.report_run import METRICS, resolved

POINT = Point.of({"loss_frac": 0.008})


@dataclass(frozen=True)
class Run:
    """A finished cell with made-up values."""

    point: Point
    replicate: int
    excluded: str | None
    values: dict[str, Value]


def run(replicate: int, value: float | None, **others: float) -> Run:
    values = {name: Value(others.get(name, 50.0), None) for name in METRICS}
    reason = "no packet was sent" if value is None else None
    return Run(POINT, replicate, None, {**values, "pct_increase": Value(value, reason)})


def study(**precision: object) -> Study:
    asked = {
        "metric": "pct_increase", "half_width": 3.0, "relative_half_width": None,
        "at_least": 3, "at_most": 40, **precision,
    }  # fmt: skip
    record = {**resolved(losses=(0.008,)), "replication": asked}
    return parse_study(json.dumps(record), "resolved.json")


def state(values: list[float | None], planned: int | None = None, **precision: object) -> (
    PointReplication
):  # fmt: skip
    cells = [run(i, value) for i, value in enumerate(values, 1)]
    found = replication(study(**precision), cells, {POINT: planned or len(values)})
    assert found is not None
    return found.points[0]


def test_a_run_with_a_fixed_number_of_seeds_has_none() -> None:
    assert replication(parse_study(json.dumps(resolved()), "resolved.json"), [], {}) is None


def test_a_point_stops_when_its_interval_is_narrow_enough() -> None:
    # sd 1, t(2) = 4.303: 4.303 / sqrt(3) = 2.484.
    found = state([9.0, 10.0, 11.0])
    assert found.half_width == pytest.approx(2.484, abs=0.001)
    assert (found.wanted, found.stopped, found.more, found.runs) == (3.0, "precise", 0, 3)


def test_a_point_goes_on_with_twice_as_many_runs() -> None:
    found = state([8.5, 10.0, 11.5])  # sd 1.5
    assert found.half_width == pytest.approx(3.726, abs=0.001)
    assert (found.stopped, found.more) == (None, 3)
    assert state([0.0, 10.0, 20.0], at_most=4).more == 1


def test_a_point_gives_up_at_its_limit() -> None:
    found = state([0.0, 10.0, 20.0], at_most=3)
    assert (found.stopped, found.more) == ("limit", 0)
    assert found.half_width == pytest.approx(24.84, abs=0.01)


def test_what_an_interval_says_never_matters() -> None:
    far, near = state([108.5, 110.0, 111.5]), state([-1.5, 0.0, 1.5])
    assert (far.stopped, far.more, far.half_width) == (near.stopped, near.more, near.half_width)


def test_a_part_of_the_mean() -> None:
    wanted: dict[str, Any] = {"half_width": None, "relative_half_width": 0.05}
    assert state([99.0, 100.0, 101.0], **wanted).stopped == "precise"
    assert state([99.0, 100.0, 101.0], **wanted).wanted == pytest.approx(5.0)
    assert state([-1.0, 0.0, 1.0], **wanted).more == 3  # no part of nothing is wide enough


def test_runs_that_are_missing_or_do_not_count() -> None:
    found = state([9.0, None, 11.0])
    assert (found.stopped, found.words) == (
        "unmeasured",
        "not measured in 1 of 3 runs: no packet was sent",
    )
    assert state([], planned=0).more == 3  # it has yet to begin
    assert (state([9.0], planned=3).stopped, state([9.0], planned=3).more) == (None, 3)
    assert state([9.0], planned=3, at_most=3).stopped == "limit"
    assert state([7.0, 7.0, 7.0]).words == "all runs equal"


def test_without_a_metric_the_first_that_differs_in_the_first_round() -> None:
    unsaid = {"metric": None, "half_width": None, "relative_half_width": 0.05}
    cells = [run(i, 10.0 + i, share_S_pct=50.0 + i) for i in (1, 2, 3)]
    cells.append(run(4, 10.0, share_T_pct=9.0, share_S_pct=51.0))  # differs too late
    found = replication(study(**unsaid), cells, {POINT: 4})
    assert found is not None
    assert (found.metric, found.chosen) == ("share_S_pct", True)
    # One that is missing somewhere will not do.
    missing = Run(POINT, 2, None, {**cells[1].values, "share_S_pct": Value(None, "lost")})
    found = replication(study(**unsaid), [cells[0], missing, cells[2]], {POINT: 3})
    assert found is not None
    assert found.metric == "pct_increase"
    found = replication(study(**unsaid), [run(i, 7.0) for i in (1, 2, 3)], {POINT: 3})
    assert found is not None
    assert (found.metric, found.points[0].stopped) == (None, "equal")


def test_the_record() -> None:
    cells = [run(i, value) for i, value in enumerate((9.0, 10.0, 11.0), 1)]
    found = replication(study(), cells, {POINT: 3})
    assert found is not None
    record = replication_record(found)
    assert record["metric"] == "pct_increase"
    assert record["points"] == [
        {
            "point": {"loss_frac": 0.008},
            "runs": 3,
            "half_width": 2.484137712,
            "wanted": 3.0,
            "stopped": "precise",
            "more": 0,
            "words": "as narrow as wanted",
        }
    ]


@pytest.mark.parametrize(("runs", "at_most", "then"), [(5, 40, 10), (20, 25, 25), (20, 40, 40)])
def test_rounds(runs: int, at_most: int, then: int) -> None:
    assert next_runs(runs, at_most) == then


def test_looks_are_the_numbers_of_runs_at_which_a_point_may_have_stopped() -> None:
    doc = study(at_least=5, at_most=40).precision
    assert looks(None, [7]) == 1
    assert looks(doc, [5, 40, 10]) == 4  # 5, 10, 20, 40
    assert looks(doc, [5, 13]) == 36  # of an older version, or interrupted: 5, 6, ... 40


def covered(sd: float, draws: int) -> tuple[float, float]:
    """Return how often the interval holds the mean, 0, and how many runs it takes; wanted is 1."""
    values = np.random.default_rng(4).normal(0.0, sd, (draws, 40))
    runs = added(values, 1.0)
    hits = np.array([abs(row[:n].mean()) <= student_t(n - 1) * row[:n].std(ddof=1) / math.sqrt(n)
                     for row, n in zip(values, runs, strict=True)])  # fmt: skip
    return float(hits.mean()), float(runs.mean())


@pytest.mark.parametrize("sd", [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 5.0])
def test_stopping_costs_a_little_coverage_and_no_more(sd: float) -> None:
    """docs/replication.md says 92 %; three standard errors of 3000 draws are 1.5 points."""
    share, runs = covered(sd, 3000)
    assert share > 0.92 - 0.015
    assert 5 <= runs <= 40
