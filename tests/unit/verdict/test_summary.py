"""The summary of a run with known numbers, its files, and the published schema."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

from model import run_folder
from model.errors import ParseError
from model.run_files.summary_fields import rounded
from reports.store.run import read_run
from reports.verdict.files import summary_csv, summary_json
from reports.verdict.summary import summarise
from tests.support.runs.report_run import (
    LOSSES,
    METRICS,
    PUBLISHED,
    build_run,
    only_cell,
    write_json,
)

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "docs/schemas/summary.schema.json").read_text())


def written(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(summary_json(summarise(read_run(run))))
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    return found


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_run(tmp_path_factory.mktemp("run"))


def test_known_numbers(whole_run: Path) -> None:
    point = written(whole_run)["points"][2]
    assert point["point"] == {"loss_frac": 0.01}
    assert (point["cells_planned"], point["cells_counted"]) == (5, 5)
    # T: 98, 99, 100, 101, 102 kbit/s: mean 100, s = sqrt(10 / 4) = 1.5811, t(4) = 2.776445,
    # CI +- 2.776445 x 1.5811 / sqrt(5) = 1.9632; PI +- 2.776445 x 1.5811 x sqrt(1.2) = 4.8089
    goodput = point["metrics"]["goodput_T_bps"]
    assert goodput["mean"] == 100_000
    assert goodput["sd"] == pytest.approx(1581.139, abs=1e-3)
    assert goodput["ci95"] == pytest.approx([98_036.76, 101_963.24], abs=0.01)
    assert goodput["pi95"] == pytest.approx([95_191.06, 104_808.94], abs=0.01)
    # S: 114 kbit/s in every run; increases 114 / (98 ... 102) - 1, the mean of five ratios
    wanted = sum(114 / t - 1 for t in (98, 99, 100, 101, 102)) * 100 / 5
    assert point["metrics"]["pct_increase"]["mean"] == pytest.approx(wanted, rel=1e-9)
    # (100 + 114) kbit/s of 3 Mbit/s = 7.1333 %
    assert point["metrics"]["utilisation_pct"]["mean"] == pytest.approx(7.133333, abs=1e-6)
    assert point["metrics"]["loss_S_frac"]["mean"] == pytest.approx(0.01)


def test_published_values_lie_beside_and_are_judged(whole_run: Path) -> None:
    points = written(whole_run)["points"]
    for point, row in zip(points, PUBLISHED, strict=True):
        assert [point["metrics"][name]["published"] for name in METRICS] == list(row)
    # 2 %: mean 18.03 %, s about 1.9: 17.0 is in both intervals; 1 %: 27.6 is in neither
    at_2, at_1 = points[4]["metrics"]["pct_increase"], points[2]["metrics"]["pct_increase"]
    assert (at_2["published_in_ci95"], at_2["published_in_pi95"]) == (True, True)
    assert (at_1["published_in_ci95"], at_1["published_in_pi95"]) == (False, False)
    assert points[0]["metrics"]["jain_flows"]["published_in_pi95"] is None


def test_contradictions_are_in_the_file_and_in_the_warnings(whole_run: Path) -> None:
    found = written(whole_run)
    assert [len(point["contradictions"]) for point in found["points"]] == [1] * 7
    assert found["points"][0]["contradictions"][0]["printed"] == 6.1
    assert found["warnings"][-1]["rule"] == "published-contradicts-itself"
    assert found["warnings"][-1]["text"].startswith("7 of 7 published rows")


def test_single_runs_are_kept(whole_run: Path) -> None:
    cells = written(whole_run)["cells"]
    assert [cell["point"]["loss_frac"] for cell in cells] == [x for x in LOSSES for _ in range(5)]
    assert [cell["metrics"]["goodput_T_bps"] for cell in cells[:5]] == [
        98e3,
        99e3,
        1e5,
        101e3,
        102e3,
    ]
    assert all(cell["counted"] and cell["excluded"] is None for cell in cells)


def test_headline_metrics_come_first(whole_run: Path) -> None:
    found = written(whole_run)
    assert found["headline_metrics"] == list(METRICS)
    assert list(found["points"][0]["metrics"])[:4] == list(METRICS)


def test_excluded_cells_are_kept_but_not_averaged(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.01,), seeds=3)
    verify = json.loads((only_cell(run, seed=3) / run_folder.VERIFY).read_text())
    verify["checks"][0]["agrees"] = False
    write_json(only_cell(run, seed=3) / run_folder.VERIFY, verify)
    found = written(run)
    (point,) = found["points"]
    assert point["metrics"]["goodput_T_bps"]["mean"] == 98_500  # seeds 1 and 2: 98 and 99 kbit/s
    assert point["metrics"]["goodput_T_bps"]["n"] == 2
    assert point["metrics"]["goodput_T_bps"]["reason"] == "2 of 3 planned cells count"
    assert [cell["counted"] for cell in found["cells"]] == [True, True, False]
    assert found["cells"][2]["excluded"].startswith("rtt at t1->t2")
    assert "few-runs" in {warning["rule"] for warning in found["warnings"]}


def test_a_null_metric_of_one_cell_leaves_no_mean_of_the_others(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.01,), seeds=3)
    path = only_cell(run, seed=1) / run_folder.FLOWS_TABLE
    pl.read_parquet(path).with_columns(loss_dropped_pkts=None).write_parquet(path)
    found = written(run)
    loss = found["points"][0]["metrics"]["loss_T_frac"]
    reason = "loss of TCP SACK is not known for every flow"
    assert (loss["n"], loss["mean"], loss["sd"], loss["ci95"], loss["pi95"]) == (2, *[None] * 4)
    assert (loss["ratio_of_means"], loss["ratio_reason"]) == (None, loss["reason"])
    assert loss["reason"] == f"null in 1 of 3 cells: {reason}"
    assert found["cells"][0]["metrics"]["loss_T_frac"] is None
    assert found["cells"][0]["reasons"]["loss_T_frac"] == reason
    increase = found["points"][0]["metrics"]["pct_increase"]
    assert (increase["n"], increase["adjusted"]) == (3, None)
    assert increase["mean"] is not None
    assert increase["adjusted_reason"] == (
        "a group's realised loss is 0 or not known in 1 of 3 runs"
    )


def test_quotients_have_a_ratio_of_means_beside_the_mean_of_ratios(tmp_path: Path) -> None:
    metrics = written(build_run(tmp_path, losses=(0.01,), seeds=3))["points"][0]["metrics"]
    increase = metrics["pct_increase"]
    # T: 98, 99, 100 kbit/s, S: 110 in each: 110 / 99 against the mean of 110/98, 110/99, 110/100.
    assert increase["ratio_of_means"] == pytest.approx(100 * (110 / 99 - 1))
    assert increase["mean"] == pytest.approx(100 * (110 / 98 + 110 / 99 + 110 / 100 - 3) / 3)
    # Fieller, b = 99, s_b = 1, s_ab = 0, s_a = 0, t(2)^2 / 3 = 6.170942: with r = a / b,
    # r (1 +- sqrt(g)) / (1 - g), g = 6.170942 / 99^2.
    g = 6.170942 / 99**2
    ends = [100 * (110 / 99 * (1 + sign * g**0.5) / (1 - g) - 1) for sign in (-1, 1)]
    assert increase["ratio_ci95"] == pytest.approx(ends, rel=1e-5)
    assert increase["ratio_reason"] is None
    for name in ("goodput_T_bps", "utilisation_pct", "jain_flows"):
        assert [metrics[name][key] for key in ("ratio_of_means", "ratio_ci95", "ratio_reason")] == (
            [None] * 3
        )


def test_the_increase_at_equal_loss(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.01,), seeds=5)
    # Losses of T are 1, 2, 1, 1/2, 1 times those of S.
    for seed, dropped_of_t in enumerate((100, 200, 100, 50, 100), 1):
        path = only_cell(run, seed=seed) / run_folder.FLOWS_TABLE
        table = pl.read_parquet(path).with_columns(
            loss_dropped_pkts=pl.Series([dropped_of_t, 100]),
            goodput_bps=pl.Series([100_000.0, 120_000.0 + 100 * dropped_of_t]),
        )
        table.write_parquet(path)
    found = written(run)
    increase = found["points"][0]["metrics"]["pct_increase"]
    # Increases 30, 40, 30, 25, 30 at 0, ln 2, 0, -ln 2, 0: the slope is
    # 15 ln 2 / (2 ln 2 ln 2) = 7.5 / ln 2. The mean of the logarithms is 0: nothing to adjust.
    assert (increase["mean"], increase["adjusted"]) == (31, 31)
    assert found["loss_adjustment"]["slope"] == pytest.approx(7.5 / 0.6931472, rel=1e-6)
    assert found["loss_adjustment"]["degrees_of_freedom"] == 3
    # Left over: -1, 1.5, -1, 1.5, -1 squares to 7.5: sd sqrt(2.5), t(3) = 3.182446.
    half = 3.182446 * (2.5 / 5) ** 0.5
    assert increase["adjusted_ci95"] == pytest.approx([31 - half, 31 + half], rel=1e-6)
    assert increase["adjusted_reason"] is None


def test_one_run_and_no_run(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.01,), seeds=1)
    increase = written(run)["points"][0]["metrics"]["pct_increase"]
    assert increase["mean"] is not None
    assert (increase["ci95"], increase["pi95"], increase["published_in_pi95"]) == (None,) * 3
    (only_cell(run) / run_folder.DONE).unlink()
    increase = written(run)["points"][0]["metrics"]["pct_increase"]
    assert (increase["n"], increase["mean"], increase["reason"]) == (0, None, "no run counts")
    assert increase["published"] == 27.6


def test_runs_that_are_all_alike_are_suspicious(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.01,), seeds=4)
    same = (only_cell(run, seed=1) / run_folder.FLOWS_TABLE).read_bytes()
    for seed in (2, 3, 4):
        (only_cell(run, seed=seed) / run_folder.FLOWS_TABLE).write_bytes(same)
    assert "seeds-change-nothing" in {w["rule"] for w in written(run)["warnings"]}


def test_where_nothing_is_left_to_chance_one_run_is_all_there_is(tmp_path: Path) -> None:
    found = written(build_run(tmp_path / "one", losses=(0.0,), seeds=1))
    goodput = found["points"][0]["metrics"]["goodput_T_bps"]
    assert (goodput["n"], goodput["ci95"]) == (1, None)
    assert goodput["reason"] == "one run is all there is: nothing is left to chance"
    alike = build_run(tmp_path / "alike", losses=(0.0,), seeds=4)
    for seed in range(2, 5):
        table = (only_cell(alike, loss=0.0, seed=1) / run_folder.FLOWS_TABLE).read_bytes()
        (only_cell(alike, loss=0.0, seed=seed) / run_folder.FLOWS_TABLE).write_bytes(table)
    for rules in ({w["rule"] for w in found["warnings"]},
                  {w["rule"] for w in written(alike)["warnings"]}):  # fmt: skip
        assert rules.isdisjoint({"few-runs", "seeds-change-nothing"})


def test_what_was_run_tells_how_long_runs_are_where_points_differ(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.01, 0.02), seeds=2)
    assert summarise(read_run(run)).ran.startswith("4 runs of 1000 s at 2 points on Linux ")
    lengths_s = {0.01: 300.0, 0.02: 20.0}
    for path in (run / run_folder.RESOLVED, run / run_folder.PLAN,
                 *run.glob(f"cells/*/{run_folder.CELL}")):  # fmt: skip
        content = json.loads(path.read_text())
        at = content.get("points") or [c["point"] for c in content.get("cells", [content])]
        for point in at:
            point["duration_s"] = lengths_s[point["loss_frac"]]
        write_json(path, content)
    assert " of 20 to 300 s at 2 points" in summarise(read_run(run)).ran


def test_an_unknown_metric_is_refused(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.01,), seeds=1, changes={"metrics": ["speed"]})
    with pytest.raises(ParseError, match="speed"):
        summarise(read_run(run))


def test_csv_has_one_row_per_point_and_metric(whole_run: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(summary_csv(summarise(read_run(whole_run))))))
    assert len(rows) == 7 * 28
    first = rows[2]
    assert (first["study"], first["loss_frac"], first["metric"]) == (
        "wireless",
        "0.008",
        "pct_increase",
    )
    assert (first["published"], first["published_contradicted"], first["n"]) == ("6.1", "true", "5")
    assert rows[3]["published_contradicted"] == "false"
    assert (first["simulated"], first["reason"]) == ("", "")
    assert rows[4]["published"] == ""


def test_equal_runs_give_equal_bytes(whole_run: Path, tmp_path: Path) -> None:
    other = build_run(tmp_path / "elsewhere")
    one, two = summarise(read_run(whole_run)), summarise(read_run(other))
    assert summary_json(one) == summary_json(two)
    assert summary_csv(one) == summary_csv(two)


def test_floats_are_rounded_to_ten_digits() -> None:
    assert rounded(100 / 3) == 33.33333333
    assert rounded(1.6e-11) == 1.6e-11
    assert rounded(None) is None
