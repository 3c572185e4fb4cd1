"""Values from several published tables, of single flows and between two times, in one summary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

from model import run_folder
from reports.figures.plain.multiples import multiple
from reports.figures.plain.offsets import offsets
from reports.page.grid import plain
from reports.page.result_tables import result
from reports.store.run import read_run
from reports.verdict.files import summary_json
from reports.verdict.summary import Summary, summarise
from tests.support.runs.report_run import build_run, only_cell

ROOT = Path(__file__).parents[3]
POINT = {"loss_frac": 0.01}
ROWS: list[dict[str, Any]] = [
    {"point": POINT, "values": {"pct_increase": 27.6}},  # as runs of older versions have it
    {"point": POINT, "where": "Figure 3", "values": {"delivered_T_segments": 3}},
    {"point": POINT, "where": "Table 3", "values": {"flow_goodput_S_bps": 114000}},
]
WANTED = {
    "metrics": ["pct_increase", "delivered_T_segments", "flow_goodput_S_bps"],
    "flows": ["T", "S"],
    "delivered": {"from_s": 50, "to_s": 150},
    "published": {"where": "Table 2", "rows": ROWS},
}
#: Of these T's at 50 and 149.5 s count: 1448 and 2896 bytes.
INTERVALS = pl.DataFrame(
    [("T", 49.0, 50.0, 7), ("T", 50.0, 51.0, 1448), ("S", 60.0, 61.0, 1),
     ("T", 149.5, 150.0, 2896), ("T", 150.0, 151.0, 9), ("T", 49.5, 50.5, 100)],
    schema=["flow", "start_s", "end_s", "goodput_bytes"], orient="row",
)  # fmt: skip


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    run = tmp_path_factory.mktemp("run")
    build_run(run, losses=(0.01,), seeds=2, changes=WANTED)
    for seed in (1, 2):
        INTERVALS.write_parquet(only_cell(run, seed=seed) / run_folder.INTERVALS_TABLE)
    return summarise(read_run(run))


def test_each_value_names_its_table(summary: Summary) -> None:
    assert summary.published_where == "Table 2; Figure 3; Table 3"
    assert [summary.tables_of(name) for name in (*summary.headline, "utilisation_pct")] == [
        "Table 2", "Figure 3", "Table 3", "",
    ]  # fmt: skip
    metrics = summary.points[0].metrics
    assert metrics["delivered_T_segments"].published_where == "Figure 3"
    assert metrics["utilisation_pct"].published_where is None
    table = result(summary, summary.metric_table()["flow_goodput_S_bps"]).grid
    assert table.caption == "Goodput of flow S in kbit/s: published (Table 3) beside measured"
    assert plain(table.rows[0][1]) == "114"


def test_segments_between_two_times_are_whole_intervals(summary: Summary) -> None:
    assert summary.points[0].metrics["delivered_T_segments"].estimate.mean == 3.0


def test_metrics_of_flows_are_there_if_asked_for(summary: Summary) -> None:
    metrics = summary.points[0].metrics
    assert metrics["flow_goodput_S_bps"].estimate.mean == 110_000.0
    others = {name for name in metrics if name.startswith(("flow_", "delivered_"))}
    assert others == {"delivered_T_segments", "flow_goodput_S_bps"}
    assert set(summary.metric_table()) == set(metrics)


def test_the_files_fit_their_schema(summary: Summary) -> None:
    schema = json.loads((ROOT / "docs/schemas/summary.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(summary_json(summary)))


def test_tables_and_figures_call_points_by_their_labels(tmp_path: Path) -> None:
    path, labels = "network.bottleneck.loss.data", {0.01: "a little loss", 0.02: "much loss"}
    label = [{"value": value, "text": text} for value, text in labels.items()]
    changes = {"parameters": [{"name": "loss_frac", "path": path, "label": label}]}
    run = build_run(tmp_path / "run", losses=tuple(labels), seeds=2, changes=changes)
    summary = summarise(read_run(run))
    metric = summary.metric_table()["pct_increase"]
    assert [plain(row[0]) for row in result(summary, metric).grid.rows] == [*labels.values()]
    assert [one.place for one in offsets(summary)[0].offsets] == [*labels.values()]
    assert "much loss: kernel" in str(multiple(summary, metric))
    few = next(one for one in summary.warnings if one.rule == "few-runs")
    assert few.where == "a little loss; much loss"
