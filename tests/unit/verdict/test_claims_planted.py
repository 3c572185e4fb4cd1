"""Effects planted in a run's tables come out as verdicts of the claims a study file makes.

All of the way: the file's claims, the plan's ``resolved.json``, tables of cells, ``summary.json``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reports.store.run import read_run
from reports.verdict.files import summary_json
from reports.verdict.summary import summarise
from testbed.planning.findings import find
from testbed.planning.plan import make_plan
from testbed.planning.resolved import resolved_json
from tests.support.runs.report_run import build_run
from tests.support.study_file import SWEEP, UNPUBLISHED, study

LOSSES = (0.008, 0.01, 0.02)
RUNS = 8
CLAIMS = """\
claims:
  - {id: ahead, text: S leads., where: x, metric: pct_increase, is: {above: 0}}
  - {id: peak, text: Most at 1 %., where: x, metric: pct_increase,
     along: network.bottleneck.loss.data, is: {peak: 1 %}}
  - {id: falls, text: Use falls., where: x, metric: utilisation_pct,
     along: network.bottleneck.loss.data, is: falling}
  - {id: near, text: Within 5 %., where: x, metric: goodput_S_bps, relative: true,
     versus: {metric: goodput_T_bps}, is: {equal_within: 5}}
assumptions:"""


def verdicts(
    folder: Path, rng: np.random.Generator, ahead: Sequence[float], t_bps: Sequence[float]
) -> dict[str, str]:
    """Return what summary.json says of runs with S so much ahead of T at each loss, sd 2 %."""
    sweep = "  network.bottleneck.loss.data: [0.8 %, 1 %, 2 %]\n"
    read = study(UNPUBLISHED, (SWEEP, sweep), ("assumptions:", CLAIMS))
    plan = make_plan(read, seeds=range(1, RUNS + 1), lab={})
    claims = json.loads(resolved_json(plan, find(read, seeds=plan.seeds)))["claims"]
    noise = rng.normal(1, 0.02, (2, len(LOSSES), RUNS))

    def goodputs(index: int, seed: int) -> dict[str, float]:
        t, s = noise[:, index, seed - 1]
        return {
            "T": float(t_bps[index] * t),
            "S": float(t_bps[index] * ahead[index] * s),
        }

    run = build_run(
        folder, losses=LOSSES, seeds=RUNS, changes={"claims": claims}, goodputs=goodputs
    )
    found = json.loads(summary_json(summarise(read_run(run))))
    return {one["id"]: one["verdict"] for one in found["claims"]}


def test_planted_effects_are_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    assert verdicts(tmp_path / "for", rng, (1.1, 1.25, 1.1), (300e3, 250e3, 150e3)) == {
        "ahead": "holds", "peak": "holds", "falls": "holds", "near": "refuted",
    }  # fmt: skip
    assert verdicts(tmp_path / "against", rng, (1.1, 1.0, 0.9), (150e3, 250e3, 300e3)) == {
        "ahead": "refuted", "peak": "refuted", "falls": "refuted", "near": "refuted",
    }  # fmt: skip
    assert verdicts(tmp_path / "alike", rng, (1.0, 1.0, 1.0), (200e3, 200e3, 200e3))["near"] == (
        "holds"
    )


def test_none_is_found_where_there_is_none(tmp_path: Path) -> None:
    """S and T have one mean at all points, so three of the claims are false: none may hold."""
    rng = np.random.default_rng(2)
    for number in range(12):
        found = verdicts(tmp_path / str(number), rng, (1.0,) * 3, (200e3,) * 3)
        assert "holds" not in (found["ahead"], found["peak"], found["falls"])
        assert found["near"] != "refuted"
