"""The figures a study asks for: which run they show, and why one is missing."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reports
from collectors.episode_row_parse import EpisodeRow
from collectors.table_files_parse import schema
from reports.asked import FigureSet, _seen_from_s, asked_figures, asked_metrics
from reports.run import read_run
from reports.summary import summarise
from testbed import runfolder
from testbed.errors import ParseError
from tests.figure_run import AT, FIGURES, TABLES, build_figure_run
from tests.report_run import make_cell, only_cell, write_json

pytestmark = pytest.mark.unit

BINS = {"kind": "goodput_bins", "bin_s": 0.1, "from_s": 0.0, "to_s": 12.0, "points": AT}


def sets(run: Path) -> tuple[FigureSet, ...]:
    found = read_run(run)
    return asked_figures(run, found, summarise(found))


def one_set(run: Path, asked: dict[str, Any]) -> FigureSet:
    (found,) = sets(build_figure_run(run, [asked]))
    return found


def test_what_is_asked_is_drawn_flow_by_flow(tmp_path: Path) -> None:
    found = sets(build_figure_run(tmp_path / "run"))
    assert [[figure.id for figure in one.figures] for one in found] == [
        ["cwnd-loss_frac_0.01-T", "cwnd-loss_frac_0.01-S"],
        ["time_sequence-loss_frac_0.01-T", "time_sequence-loss_frac_0.01-S"],
        ["single_loss-loss_frac_0.01-T", "single_loss-loss_frac_0.01-S"],
        ["goodput_bins-loss_frac_0.01"],
    ]
    assert {one.run for one in found} == {"bottleneck loss, data 1 %, seed 1"}
    assert {one.missing for one in found} == {()}


def test_two_of_a_kind_have_two_names(tmp_path: Path) -> None:
    first, second = sets(build_figure_run(tmp_path / "run", [BINS, {**BINS, "bin_s": 1.0}]))
    assert [first.figures[0].id, second.figures[0].id] == [
        "goodput_bins-loss_frac_0.01",
        "goodput_bins-loss_frac_0.01-2",
    ]


def test_the_share_is_a_metrics_figure(tmp_path: Path) -> None:
    assert asked_metrics(read_run(build_figure_run(tmp_path / "run"))) == ("share_S_pct",)
    assert asked_metrics(read_run(build_figure_run(tmp_path / "other", []))) == ()


@pytest.mark.parametrize(
    ("asked", "gone", "reason"),
    [
        (FIGURES[0], runfolder.CONGESTION_TABLE, "this run has no kernel telemetry"),
        (FIGURES[1], runfolder.PACKETS_TABLE, "this run has no captures (groundtruth run --pcap)"),
        (FIGURES[2], runfolder.PACKETS_TABLE, "this run has no captures (groundtruth run --pcap)"),
        (FIGURES[3], runfolder.PACKETS_TABLE, "this run has no captures (groundtruth run --pcap)"),
    ],
)
def test_a_missing_table_is_a_reason(
    tmp_path: Path, asked: dict[str, Any], gone: str, reason: str
) -> None:
    run = build_figure_run(tmp_path / "run", [asked])
    (only_cell(run) / gone).unlink()
    (found,) = sets(run)
    assert (found.figures, found.missing) == ((), (reason,))
    reports.write_report(run)
    page = (run / runfolder.REPORT_HTML).read_text()
    assert f"Not drawn: {reason}." in page


def test_intervals_stand_in_for_captures(tmp_path: Path) -> None:
    run = build_figure_run(tmp_path / "run", [{**BINS, "bin_s": 2.0}])
    cell = only_cell(run)
    (cell / runfolder.PACKETS_TABLE).unlink()
    rows = {"flow": ["T"], "start_s": [0.0], "end_s": [1.0], "goodput_bytes": [1000]}
    pl.DataFrame(rows).write_parquet(cell / runfolder.INTERVALS_TABLE)
    (found,) = sets(run)
    assert "from what the receivers counted. 5 of 6 bins are empty." in found.figures[0].caption


def test_the_first_seed_that_counts_is_shown(tmp_path: Path) -> None:
    run = build_figure_run(tmp_path / "run", [FIGURES[0]])
    failed = {"check": "x", "where": "y", "wanted": "1", "got": "2", "agrees": False}
    write_json(only_cell(run) / runfolder.VERIFY, {"schema": 1, "checks": [failed]})
    (found,) = sets(run)
    assert found.run == "bottleneck loss, data 1 %, seed 2"
    assert found.missing == ("this run has no kernel telemetry",)
    for cell in run.glob("cells/*/DONE"):
        cell.unlink()
    assert sets(run)[0].missing == ("no run here counts",)


def test_a_window_without_data_and_a_flow_without_a_single_loss_are_reasons(tmp_path: Path) -> None:
    late = {"kind": "time_sequence", "from_s": 500.0, "to_s": None, "points": AT}
    assert one_set(tmp_path / "one", late).missing == (
        "flow T sent no data from 500 s to 1000 s",
        "flow S sent no data from 500 s to 1000 s",
    )
    wide = {"kind": "single_loss", "before_s": 6.0, "after_s": 6.0, "points": AT}
    assert one_set(tmp_path / "two", wide).missing == (
        "flow T never lost one packet alone, from 6 s before to 6 s after it",
        "flow S never lost one packet alone, from 6 s before to 6 s after it",
    )


def spans(found: FigureSet) -> list[tuple[float, float]]:
    """Return how far each figure's axes go."""
    domains = []
    for figure in found.figures:
        axes = figure.spec["layer"][2]["encoding"]
        ends = [axes[axis]["scale"]["domain"] for axis in ("x", "y")]
        domains.append(tuple(round(high - low, 3) for low, high in ends))
    return domains


@pytest.mark.parametrize("asked", [FIGURES[1], FIGURES[2]])
def test_flows_side_by_side_have_axes_of_one_length(tmp_path: Path, asked: dict[str, Any]) -> None:
    one, other = spans(one_set(tmp_path / "run", asked))
    assert one == other


@pytest.mark.parametrize(
    ("from_s", "wanted_s"), [(14.5, 15.0), (15.0, 15.0), (17.0, 15.0), (17.1, 17.1)]
)
def test_a_flows_beginning_is_shown_if_it_is_near(from_s: float, wanted_s: float) -> None:
    flow = dataclasses.replace(make_cell("measure", 0.01, 1).flows[0], start_s=15.0)
    assert _seen_from_s(flow, from_s) == wanted_s


def test_loss_episodes_are_marked_where_they_are_known(tmp_path: Path) -> None:
    run = build_figure_run(tmp_path / "run", [FIGURES[0]])
    episodes = {"flow": ["T", "S", "T"], "episode": [0, 0, 1], "detected_s": [2.6, 3.0, 99.0],
                "detected_by": ["dupacks"] * 3, "lost_at": ["queue"] * 3, "dupacks": [3] * 3,
                "recovered_s": [4.0, 5.0, None]}  # fmt: skip
    unknown = {name: None for name in schema(EpisodeRow) if name not in episodes}
    table = pl.DataFrame({**episodes, **unknown}, schema=schema(EpisodeRow), strict=False)
    table.write_parquet(only_cell(run) / runfolder.EPISODES_TABLE)
    (found,) = sets(run)
    assert [figure.live["layer"][-2]["mark"]["shape"] for figure in found.figures] == [
        "triangle-up"
    ] * 2
    for figure in found.figures:
        # Inside the plot: a triangle at 0 would be cut in half by the axis.
        assert figure.spec["layer"][2]["encoding"]["y"] == {"value": {"expr": "height - 5"}}
    assert "2.6" in str(found.figures[0].spec)
    assert "99.0" not in str(found.figures[0].spec)


@pytest.mark.parametrize("content", [b"", b"PAR1 not a table", None])
def test_a_table_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    run = build_figure_run(tmp_path / "run", [FIGURES[0]])
    table = only_cell(run) / runfolder.CONGESTION_TABLE
    if content is None:
        pl.DataFrame({"t_s": [1.0]}).write_parquet(table)
    else:
        table.write_bytes(content)
    with pytest.raises(ParseError, match=r"congestion\.parquet"):
        sets(run)


def test_pictures_and_page_are_equal_for_equal_runs(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        run = build_figure_run(tmp_path / name)
        reports.write_report(run)
        paths = sorted(path for path in run.glob("report/**/*") if path.is_file())
        found.append({path.name: path.read_bytes() for path in paths})
    assert found[0] == found[1]
    assert len(found[0]) == 4 + 2 * (3 + 2 + 2 + 2 + 1)  # page, section, tables; SVG, PDF
    sizes = sum(len(content) for name, content in found[0].items() if name == "index.html")
    assert sizes < 2_000_000


def test_the_recorded_tables_are_small() -> None:
    assert sum(path.stat().st_size for path in TABLES.iterdir()) < 100_000
