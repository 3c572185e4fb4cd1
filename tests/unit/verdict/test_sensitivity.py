"""Variations in summary, page and terminal: what changes is named, and nothing is mixed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from rich.console import Console

from model import run_folder
from reports.page.grid import plain
from reports.page.repeats import repeats_page, variation_line
from reports.page.write import write_report
from reports.store.run import read_run
from reports.terminal.study_tables import print_summary
from reports.verdict.files import summary_csv, summary_json
from reports.verdict.sensitivity import DEPENDS
from reports.verdict.summary import Summary, summarise
from reports.verdict.trust import exclusions
from tests.support.runs.report_run import ENV, LOSSES, build_run, only_cell, write_json
from tests.support.runs.varied_run import build_varied

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "docs" / "schemas" / "summary.schema.json").read_text(
        encoding="utf-8"
    )
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_varied(tmp_path_factory.mktemp("varied"))


@pytest.fixture(scope="module")
def summary(run: Path) -> Summary:
    return summarise(read_run(run))


def test_the_studys_own_numbers_know_nothing_of_variations(summary: Summary) -> None:
    assert [point.point.as_dict() for point in summary.points] == [
        {"loss_frac": 0.008},
        {"loss_frac": 0.009},
    ]
    assert len(summary.cells) == 2 * 5
    assert len(summary.sensitivity.cells) == 5 * 5
    assert len(summary_csv(summary).splitlines()) == 1 + 2 * len(summary.points[0].metrics)


def test_each_claim_is_judged_as_assumed_and_as_varied(summary: Summary) -> None:
    far, near, other = summary.sensitivity.variations
    # 10 and 12 % as assumed; 20 and 22 %, 16 and 18 %, and (the first point alone) 14 %.
    assert [(c.as_assumed.id, c.as_assumed.verdict, c.as_varied.verdict) for c in far.claims] == [
        ("large", "refuted", "holds"),
        ("positive", "holds", "holds"),
        ("second", "holds", "holds"),
    ]
    assert [c.as_varied.verdict for c in near.claims] == ["undecided", "holds", "holds"]
    assert [c.as_assumed.id for c in other.claims] == ["large", "positive"]
    assert [c.changes for c in (*far.claims, *near.claims)] == [True] + [False] * 5


def test_as_assumed_is_where_the_variation_is(tmp_path: Path) -> None:
    """A claim refuted at another point only is not refuted where the alternative was tried."""
    claims = json.loads(json.dumps(read_claims(tmp_path / "a")))
    claims[0]["comparisons"][0]["low"] = 2.0  # holds at the first point, at the second does not
    found = summarise(read_run(build_varied(tmp_path / "b", claims=claims)))
    assert found.verdicts[0].verdict == "refuted"
    other = found.sensitivity.variations[2]
    assert other.claims[0].as_assumed.verdict == "holds"
    assert not other.claims[0].changes


def read_claims(run: Path) -> object:
    return json.loads((build_varied(run) / run_folder.RESOLVED).read_text())["claims"]


def test_a_conclusion_that_turns_is_the_first_warning(summary: Summary) -> None:
    first = summary.warnings[0]
    assert (first.rule, first.where) == (DEPENDS, "assumption loss")
    assert first.text == (
        "\N{LEFT DOUBLE QUOTATION MARK}The increase is above 16 %\N{RIGHT DOUBLE QUOTATION MARK} is"
        " refuted as assumed and holds with bottleneck loss data 3 %."
    )
    assert [warning.rule for warning in summary.warnings].count(DEPENDS) == 1


def test_differences_are_paired_by_seed(summary: Summary) -> None:
    (first, second) = summary.sensitivity.variations[0].points
    # SCTP has 2000 bit/s more per point, whatever the seed; TCP the same at each point.
    change = first.differences["goodput_S_bps"]
    assert (change.mean, change.sd, change.n) == (10_000.0, 0.0, 5)
    assert first.differences["goodput_T_bps"].mean == 0.0
    assert second.of.as_dict() == {"loss_frac": 0.009}
    assert second.summary.point.as_dict() == {"loss_frac": 0.03}


def test_only_seeds_that_both_have_and_that_count_are_paired(tmp_path: Path) -> None:
    run = build_varied(tmp_path)
    (only_cell(run, loss=LOSSES[5], seed=2) / run_folder.DONE).unlink()
    table = only_cell(run, loss=LOSSES[6], seed=3) / run_folder.FLOWS_TABLE
    rows = pl.read_parquet(table).with_columns(pl.lit(None, pl.Float64).alias("goodput_bps"))
    rows.write_parquet(table)
    first, second = summarise(read_run(run)).sensitivity.variations[0].points
    assert first.differences["goodput_S_bps"].n == 4
    # Missing in one run: not averaged over the others.
    assert second.differences["goodput_S_bps"].mean is None


def test_a_difference_that_is_missing_has_its_reason(tmp_path: Path) -> None:
    """The metric is known as varied, and is not in one run as assumed."""
    run = build_varied(tmp_path)
    table = only_cell(run, loss=LOSSES[0], seed=3) / run_folder.FLOWS_TABLE
    rows = pl.read_parquet(table).with_columns(pl.lit(None, pl.Float64).alias("goodput_bps"))
    rows.write_parquet(table)
    found = json.loads(summary_json(summarise(read_run(run))))["sensitivity"][0]["points"][0]
    share = found["metrics"]["share_S_pct"]
    assert (share["n"], share["difference"]) == (5, None)
    assert share["reason"] == (
        "no difference: null in 1 of 5 pairs of runs: goodput is not known for every flow"
    )


def test_a_failed_calibration_costs_the_points_with_its_network(tmp_path: Path) -> None:
    run = build_varied(tmp_path)
    failed = {"check": "rtt", "where": "t1", "wanted": "1", "got": "2", "agrees": False}
    verify = only_cell(run, "calibrate", LOSSES[2]) / run_folder.VERIFY
    write_json(verify, {"schema": 1, "checks": [failed]})
    lost = exclusions(read_run(run))
    assert set(lost) == {only_cell(run, loss=LOSSES[2], seed=k).name for k in range(1, 6)}
    # Where another point's calibration is of the same network, that one counts.
    changes = json.loads((run / run_folder.RESOLVED).read_text())["variations"]
    changes[2]["calibrated"] = [0]
    other = build_varied(tmp_path / "other", variations=changes)
    write_json(only_cell(other, "calibrate", LOSSES[0]) / run_folder.VERIFY,
               {"schema": 1, "checks": [failed]})  # fmt: skip
    lost = exclusions(read_run(other))
    assert set(lost) == {
        only_cell(other, loss=LOSSES[i], seed=k).name for i in (0, 2) for k in range(1, 6)
    }


def test_summary_json(summary: Summary) -> None:
    content = json.loads(summary_json(summary))
    jsonschema.validate(content, SCHEMA)
    first = content["sensitivity"][0]
    assert first["assumption"] == "loss"
    assert first["claims"][0]["changes"] is True
    assert first["points"][1]["point"] == {"loss_frac": 0.03}
    metric = first["points"][0]["metrics"]["pct_increase"]
    assert metric["mean"] == pytest.approx(20.0, abs=0.1)
    assert metric["difference"] == pytest.approx(10.0, abs=0.1)
    assert metric["difference_ci95"][0] < metric["difference"] < metric["difference_ci95"][1]


def test_the_page_shows_verdicts_by_alternative(run: Path, summary: Summary) -> None:
    both, one = repeats_page(summary).tried
    assert both.where == "every point"
    assert [plain(head) for head in both.claims.heads[2:]] == [
        "bottleneck loss data 3 % loss", "bottleneck loss data 2 % loss",
    ]  # fmt: skip
    assert [plain(field) for field in both.claims.rows[0][2:]] == ["holds (changes)", "undecided"]
    assert one.where == "0.8 %"
    assert both.numbers.heads[2] == "As assumed"
    assert len(both.numbers.rows) == 2 * 4
    # Shares, increase, utilisation at the first point: as assumed, then 20 and 16 %.
    row = both.numbers.rows[2]
    assert row[:3] == ("0.8 %", "Increase in goodput of SCTP over TCP SACK (%)", "10.0")
    assert plain(row[3]).startswith("20.0 (9.")
    write_report(run, library=lambda: "")
    page = (run / run_folder.REPORT_HTML).read_text(encoding="utf-8")
    assert '<h3 id="sensitivity">' in page
    assert "✓ holds <strong>(changes)</strong>" in page
    assert "25 runs of variations" in page


def test_the_page_says_which_runs_were_on_which_kernel(tmp_path: Path) -> None:
    run = build_varied(tmp_path)
    for loss in LOSSES[5:]:
        cells = [only_cell(run, loss=loss, seed=seed) for seed in range(1, 6)]
        for cell in (only_cell(run, "calibrate", loss), *cells):
            write_json(cell / run_folder.ENV, {**ENV, "kernel_release": "7.3.4"})
    write_report(run, library=lambda: "")
    page = (run / run_folder.REPORT_HTML).read_text(encoding="utf-8")
    own, tried = "at 2 points on Linux 6.12.48", "25 runs of variations, some on Linux 7.3.4"
    assert f"{own}, {tried}" in page
    assert "cells-differ" not in page


def test_the_terminal_says_it_in_a_line(summary: Summary) -> None:
    lines = [variation_line(one) for one in summary.sensitivity.variations]
    turned = "1 verdict changed (large), 2 of 3 verdicts as assumed"
    assert lines == [
        f"bottleneck loss data 3 % (assumption loss): {turned}",
        "bottleneck loss data 2 % (assumption loss): 2 of 3 verdicts as assumed",
        "bottleneck loss data 1 % (assumption other): 1 of 2 verdicts as assumed",
    ]
    text = printed(summary)
    assert "Sensitivity to assumptions" in text
    assert all(f"- {line}" in text.splitlines() for line in lines)


def printed(summary: Summary) -> str:
    out = io.StringIO()
    print_summary(summary, Console(file=out, width=200))
    return out.getvalue()


def test_what_was_left_out_is_named(tmp_path: Path) -> None:
    run = build_run(tmp_path, seeds=2, changes={"variations": [], "left_out": ["queue 20 packets"]})
    summary = summarise(read_run(run))
    assert "- queue 20 packets: not run" in printed(summary)
    write_report(run, library=lambda: "")
    page = (run / run_folder.REPORT_HTML).read_text(encoding="utf-8")
    assert "Not run: queue 20 packets." in page
    assert "SENSITIVITY=no" in page


PRECISION = {
    "metric": "pct_increase", "half_width": 3, "relative_half_width": None, "at_least": 3,
    "at_most": 9,
}  # fmt: skip


def test_how_far_seeds_were_added(tmp_path: Path) -> None:
    run = build_run(
        tmp_path, seeds=5, changes={"replication": PRECISION, "seeds": list(range(1, 10))}
    )
    summary = summarise(read_run(run))
    assert summary.replication is not None
    assert {state.stopped for state in summary.replication.points} == {"precise"}
    jsonschema.validate(json.loads(summary_json(summary)), SCHEMA)
    text = printed(summary)
    assert (
        "Seeds were added until the 95 % interval of Increase in goodput of SCTP over TCP SACK was"
        " no wider than 3 % either way: at least 3, at most 9."
    ) in text
    write_report(run, library=lambda: "")
    page = (run / run_folder.REPORT_HTML).read_text(encoding="utf-8")
    assert 'id="replication"' in page
    assert "seeds 1 to 5." in page
    assert "REPS=auto" in page
