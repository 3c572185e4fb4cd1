"""The figures a study asks for: which run they show, and why one is missing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest

from model import run_folder
from model.errors import ParseError
from model.run_files.figures import DRAWN_BY, Counted, DrawnOf
from model.run_files.loss_tables import EpisodeRow
from model.run_files.tables import schema
from reports.figures.chart import Figure
from reports.figures.distribution import TITLES
from reports.figures.goodput_bins import POINTS
from reports.figures.kinds import KINDS
from reports.figures.over_time import WORDS
from reports.figures.study_figures import FigureSet, drawn_metrics
from reports.page.write import write_report
from reports.store.run import read_run
from testbed.study.vocabulary import COUNTED, DRAWN_OF
from testbed.study.vocabulary import FIGURES as FIGURES_OF_STUDIES
from tests.support.runs.figure_run import FIGURES, POINT, TABLES, build_figure_run, sets
from tests.support.runs.report_run import only_cell, write_json

BINS = {"kind": "goodput_bins", "bin_s": 0.1, "from_s": 0.0, "to_s": 12.0, "points": POINT}


def one_set(run: Path, wanted: dict[str, Any]) -> FigureSet:
    (found,) = sets(build_figure_run(run, [wanted]))
    return found


def test_what_is_asked_is_drawn_flow_by_flow(tmp_path: Path) -> None:
    found = sets(build_figure_run(tmp_path / "run"))
    assert [[figure.id for figure in one.figures] for one in found] == [
        ["cwnd-loss_frac_0.01-T", "cwnd-loss_frac_0.01-S"],
        ["time_sequence-loss_frac_0.01-T", "time_sequence-loss_frac_0.01-S"],
        ["single_loss-loss_frac_0.01-T", "single_loss-loss_frac_0.01-S"],
        ["goodput_bins-loss_frac_0.01"],
        ["delay_over_time-loss_frac_0.01-T", "delay_over_time-loss_frac_0.01-S"],
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
    assert drawn_metrics(read_run(build_figure_run(tmp_path / "run"))) == {
        "share_S_pct": "Figure 2"
    }
    assert drawn_metrics(read_run(build_figure_run(tmp_path / "other", []))) == {}


@pytest.mark.parametrize(
    ("wanted", "gone", "reason"),
    [
        (FIGURES[0], run_folder.CONGESTION_TABLE, "this run has no kernel telemetry"),
        (FIGURES[1], run_folder.PACKETS_TABLE, "this run has no captures (groundtruth run --pcap)"),
        (FIGURES[2], run_folder.PACKETS_TABLE, "this run has no captures (groundtruth run --pcap)"),
        (FIGURES[3], run_folder.PACKETS_TABLE, "this run has no captures (groundtruth run --pcap)"),
    ],
)
def test_a_missing_table_is_a_reason(
    tmp_path: Path, wanted: dict[str, Any], gone: str, reason: str
) -> None:
    run = build_figure_run(tmp_path / "run", [wanted])
    (only_cell(run) / gone).unlink()
    (found,) = sets(run)
    assert (found.figures, found.missing) == ((), (reason,))
    write_report(run)
    page = (run / run_folder.REPORT_HTML).read_text()
    assert f"Not drawn: {reason}." in page


def test_intervals_stand_in_for_captures(tmp_path: Path) -> None:
    run = build_figure_run(tmp_path / "run", [{**BINS, "bin_s": 2.0}])
    cell = only_cell(run)
    (cell / run_folder.PACKETS_TABLE).unlink()
    rows = {"flow": ["T"], "start_s": [0.0], "end_s": [1.0], "goodput_bytes": [1000]}
    pl.DataFrame(rows).write_parquet(cell / run_folder.INTERVALS_TABLE)
    (found,) = sets(run)
    assert "from what the receivers counted. 5 of 6 bins are empty." in found.figures[0].caption


def test_the_first_seed_that_counts_is_shown(tmp_path: Path) -> None:
    run = build_figure_run(tmp_path / "run", [FIGURES[0]])
    failed = {"check": "x", "where": "y", "wanted": "1", "got": "2", "agrees": False}
    write_json(only_cell(run) / run_folder.VERIFY, {"schema": 1, "checks": [failed]})
    (found,) = sets(run)
    assert found.run == "bottleneck loss, data 1 %, seed 2"
    assert found.missing == ("this run has no kernel telemetry",)
    for cell in run.glob("cells/*/DONE"):
        cell.unlink()
    assert sets(run)[0].missing == ("no run here counts",)


def test_a_window_without_data_and_a_flow_without_a_single_loss_are_reasons(tmp_path: Path) -> None:
    late = {"kind": "time_sequence", "from_s": 500.0, "to_s": None, "points": POINT}
    assert one_set(tmp_path / "one", late).missing == (
        "flow T sent no data from 500 s to 1000 s",
        "flow S sent no data from 500 s to 1000 s",
    )
    wide = {"kind": "single_loss", "before_s": 6.0, "after_s": 6.0, "points": POINT}
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


@pytest.mark.parametrize("wanted", [FIGURES[1], FIGURES[2]])
def test_flows_side_by_side_have_axes_of_one_length(tmp_path: Path, wanted: dict[str, Any]) -> None:
    one, other = spans(one_set(tmp_path / "run", wanted))
    assert one == other


def test_a_figure_of_a_loss_opens_on_it(tmp_path: Path) -> None:
    for before_s, after_s in ((0.25, 3.0), (0.5, 2.0)):
        wanted = {"kind": "single_loss", "before_s": before_s, "after_s": after_s, "points": POINT}
        (wide, _), *_ = spans(one_set(tmp_path / f"{before_s}", wanted))
        assert wide == pytest.approx(before_s + after_s, abs=0.002)


def give_episodes(run: Path, **columns: list[Any]) -> Path:
    """Give the run's one cell with tables some loss episodes."""
    rows = len(columns["flow"])
    told = {"detected_by": ["dupacks"] * rows, "lost_at": ["queue"] * rows, "dupacks": [3] * rows}
    unknown = {name: None for name in schema(EpisodeRow) if name not in {*columns, *told}}
    table = pl.DataFrame({**columns, **told, **unknown}, schema=schema(EpisodeRow), strict=False)
    table.write_parquet(only_cell(run) / run_folder.EPISODES_TABLE)
    return run


def test_loss_episodes_are_marked_where_they_are_known(tmp_path: Path) -> None:
    run = build_figure_run(tmp_path / "run", [FIGURES[0]])
    give_episodes(run, flow=["T", "S", "T"], episode=[0, 0, 1], detected_s=[2.6, 3.0, 99.0],
                  recovered_s=[4.0, 5.0, None])  # fmt: skip
    (found,) = sets(run)
    assert [figure.zoomable["layer"][-2]["mark"]["shape"] for figure in found.figures] == [
        "triangle-up"
    ] * 2
    for figure in found.figures:
        # Inside the plot: a triangle at 0 would be cut in half by the axis.
        assert figure.spec["layer"][2]["encoding"]["y"] == {"value": {"expr": "height - 5"}}
    assert "2.6" in str(found.figures[0].spec)
    assert "99.0" not in str(found.figures[0].spec)


LOSS = {"kind": "single_loss", "before_s": 1.0, "after_s": 3.0, "episode": 1, "points": POINT,
        "where": {"T": "Figure 8"}}  # fmt: skip
MARKS = {"T": {"detected_s": 2.88, "lost_segment": 8, "marks": [
    {"label": "8 again", "at_s": 2.88, "segment": 8},
]}}  # fmt: skip


def test_a_figure_by_flow_is_of_these_flows_and_each_names_its_own(tmp_path: Path) -> None:
    wanted = {**FIGURES[0], "where": {"S": "Figure 7", "T": "Figure 6"}}
    found = one_set(tmp_path / "both", wanted)
    assert found.where == "Figure 7, Figure 6"
    assert [(figure.flow, figure.where) for figure in found.figures] == [
        ("T", "Figure 6"), ("S", "Figure 7")
    ]  # fmt: skip
    found = one_set(tmp_path / "one", {**wanted, "where": {"S": "Figure 7"}})
    assert [figure.flow for figure in found.figures] == ["S"]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (
            {"modulo_segments": 100},
            ["time_sequence-loss_frac_0.01-T", "time_sequence-loss_frac_0.01-S"],
        ),
        ({"together": True, "where": "Figure 5"}, ["time_sequence-all-loss_frac_0.01"]),
    ],
)
def test_sequences_modulo_and_together(
    tmp_path: Path, wanted: dict[str, Any], ids: list[str]
) -> None:
    run = build_figure_run(tmp_path / "run", [{**FIGURES[1], **wanted}])
    (found,) = sets(run)
    assert [figure.id for figure in found.figures] == ids
    assert [figure.where for figure in found.figures] == [wanted.get("where")] * len(ids)
    (only_cell(run) / run_folder.PACKETS_TABLE).unlink()
    assert sets(run)[0].missing == ("this run has no captures (groundtruth run --pcap)",)


def test_an_episode_is_shown_by_its_number_with_what_was_published_of_it(tmp_path: Path) -> None:
    run = build_figure_run(tmp_path / "run", [{**LOSS, "published": MARKS}])
    (found,) = sets(run)
    assert found.missing == ("this run has no loss episodes (neither captures nor telemetry)",)
    give_episodes(run, flow=["T", "T"], episode=[0, 1], lost_s=[1.0, 7.0], detected_s=[1.5, 7.5],
                  first_lost_segment=[3, 80])  # fmt: skip
    (found,) = sets(run)
    (figure,) = found.figures
    assert figure.spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [6.0, 10.0]
    assert "moved by +4.620 s" in figure.caption
    assert "its segment 8 the kernel's 80" in figure.caption
    (found,) = sets(give_episodes(run, flow=["T"], episode=[0], detected_s=[1.5]))
    assert found.missing == ("flow T has no loss episode 1",)


def test_published_events_without_a_known_detection_are_a_reason(tmp_path: Path) -> None:
    wanted = {**LOSS, "episode": None, "published": MARKS}
    found = one_set(tmp_path / "run", wanted)
    assert found.missing == ("published events of flow T: when it detected it is not known",)
    assert len(found.figures) == 1


def test_the_window_around_a_loss_has_the_published_ones_on_its_axis(tmp_path: Path) -> None:
    marks = [{"label": "M", "at_s": 2.88, "cwnd_segments": 500.0},
             {"label": "N", "at_s": 2.88, "cwnd_bytes": 1448.0}]  # fmt: skip
    published = {"T": {"detected_s": 2.88, "lost_segment": None, "marks": marks}}
    wanted = {**LOSS, "kind": "single_loss_cwnd", "episode": 0, "published": published}
    run = build_figure_run(tmp_path / "run", [wanted])
    give_episodes(run, flow=["T"], episode=[0], detected_s=[7.5])
    (found,) = sets(run)
    (figure,) = found.figures
    assert found.title == "The congestion window around one loss"
    assert figure.spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 560.0]
    assert "M (500 segments) at +0.000 s" in figure.caption
    assert "N (1448 bytes) at +0.000 s" in figure.caption


@pytest.mark.parametrize(
    ("wanted", "episodes", "told"),
    [({"episode": 0}, [0, 1], True), ({"episode": None}, [0], True),
     ({"episode": None}, [0, 1], False), ({"episode": 1}, [0, 1], False)],
)  # fmt: skip
def test_what_is_printed_of_a_loss_stands_beside_the_kernels(
    wanted: dict[str, Any], episodes: list[int], told: bool, tmp_path: Path
) -> None:
    """If it is of the loss that is drawn: the one asked for, or the flow's only one."""
    run = build_figure_run(tmp_path / "run", [{**LOSS, **wanted, "where": {"T": "Figure 8"}}])
    entry = {"flow": "T", "episode": 0, "where": "Section 5", "points": POINT, "grown_s": None,
             "values": {"dupacks": 3, "lost_pkts": 2}}  # fmt: skip
    resolved = json.loads((run / run_folder.RESOLVED).read_text())
    resolved["published"]["episodes"] = [entry]
    write_json(run / run_folder.RESOLVED, resolved)
    many = len(episodes)
    give_episodes(run, flow=["T"] * many, episode=episodes, detected_s=[7.5] * many,
                  lost_pkts=[1] * many)  # fmt: skip
    (found,) = sets(run)
    words = "Published of this loss (Section 5): sent again at duplicate number 3, kernel 3; "
    assert (f"{words}packets lost 2, kernel 1." in found.figures[0].caption) == told


def test_runs_over_each_other_are_one_figure_per_flow_or_one_of_all(tmp_path: Path) -> None:
    wanted = {"kind": "over_time", "of": "goodput", "bin_s": 1.0, "from_s": 0.0, "to_s": 12.0,
             "overlay": "loss_frac", "points": [{"loss_frac": 0.008}, *POINT]}  # fmt: skip
    run = build_figure_run(tmp_path / "run", [wanted, {**wanted, "together": True}])
    other = only_cell(run, loss=0.008) / run_folder.PACKETS_TABLE
    apart, _ = sets(run)
    assert apart.missing == (
        "this run has no captures (groundtruth run --pcap): bottleneck loss, data 0.8 %, seed 1",
    )
    assert [figure.id for figure in apart.figures] == ["goodput_over_time-T", "goodput_over_time-S"]
    pl.read_parquet(TABLES / "packets.parquet").write_parquet(other)
    apart, together = sets(run)
    assert apart.run == "0.8 % and 1 %, seed 1"
    assert [len(set(line_colours(figure))) for figure in apart.figures] == [2, 2]
    (figure,) = together.figures
    assert figure.id == "goodput_over_time-all"
    assert "0.8 %, mean of 2" in str(figure.spec)


def line_colours(figure: Figure) -> list[str]:
    return [one["mark"]["color"] for one in figure.spec["layer"] if one["mark"]["type"] == "line"]


def test_of_two_counterparts_of_one_figure_the_list_says_which_runs(tmp_path: Path) -> None:
    points = [{"loss_frac": 0.008}, *POINT]
    wanted = {**FIGURES[0], "where": {"T": "Figure 6", "S": "Figure 7"}, "points": points}
    run = build_figure_run(tmp_path / "run", [wanted])
    table = run_folder.CONGESTION_TABLE
    shutil.copy(only_cell(run) / table, only_cell(run, loss=0.008) / table)
    bins = {**BINS, "where": "Figure 5", "points": points[:1]}
    write_report(run)
    page = (run / run_folder.REPORT_HTML).read_text()
    words = "Congestion window and slow-start threshold, flow"
    for loss in ("0.8", "1"):
        for figure, flow in (("6", "T"), ("7", "S")):
            assert f">Figure {figure}</a>: {words} {flow}, bottleneck loss, data {loss} %" in page
    run = build_figure_run(tmp_path / "other", [wanted, bins])
    write_report(run)
    page = (run / run_folder.REPORT_HTML).read_text()
    assert f">Figure 6</a>: {words} T</li>" in page
    assert "<li>Figure 5: not drawn, this run has no captures" in page


def test_counterparts_are_folded_under_a_list_of_them(tmp_path: Path) -> None:
    run = build_figure_run(tmp_path / "run")
    write_report(run)
    page = (run / run_folder.REPORT_HTML).read_text()
    folded = page[page.index("Counterparts of the published figures (2)") :]
    folded = folded[: folded.index("</details>")]
    assert '<a href="#figure-share_S_pct">Figure 2</a>: ' in folded
    for flow, where in (("T", "Figure 3"), ("S", "Figure 4")):
        name = f"figure-delay_over_time-loss_frac_0.01-{flow}"
        listed = f'<a href="#{name}">{where}</a>: One-way delay over time, flow {flow}</li>'
        assert listed in folded
        assert f'id="{name}"' in folded
        assert f"<figcaption>Counterpart of {where}. One-way delay over time of" in folded
    assert "cwnd-loss_frac_0.01-T" not in folded


@pytest.mark.parametrize("content", [b"", b"PAR1 not a table", None])
def test_a_table_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    run = build_figure_run(tmp_path / "run", [FIGURES[0]])
    table = only_cell(run) / run_folder.CONGESTION_TABLE
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
        write_report(run)
        paths = sorted(path for path in run.glob("report/**/*") if path.is_file())
        found.append({path.name: path.read_bytes() for path in paths})
    assert found[0] == found[1]
    assert len(found[0]) == 4 + 2 * (3 + 2 + 2 + 2 + 1 + 2)  # page, section, tables; SVG, PDF
    sizes = sum(len(content) for name, content in found[0].items() if name == "index.html")
    assert sizes < 2_000_000


def test_the_recorded_tables_are_small() -> None:
    assert sum(path.stat().st_size for path in TABLES.iterdir()) < 100_000


@pytest.mark.parametrize(
    ("changed", "place", "words"),
    [
        ({"of": "speed"}, "of", "wanted 'goodput', 'delay', 'jitter' or 'message_delay'"),
        ({"of": "message_delay"}, "of", "a figure over_time has none of it"),
        ({"count": "all"}, "count", "wanted 'handed_on', 'arrivals' or 'sent'"),
        ({"overlay": "rate_bps"}, "overlay", "not swept: got rate_bps"),
        ({"where": 7}, "where", "wanted a string"),
        ({"together": "yes"}, "together", "wanted true, false or null"),
        ({"published": {"T": {"detected_s": 1.0}}}, "published.T", "wanted 'marks'"),
    ],
)
def test_a_figure_that_is_none_is_named(
    tmp_path: Path, changed: dict[str, Any], place: str, words: str
) -> None:
    run = build_figure_run(tmp_path / "run", [{**FIGURES[5], **changed}])
    with pytest.raises(ParseError) as caught:
        read_run(run)
    assert f"figures[0].{place}" in str(caught.value)
    assert words in str(caught.value)


def test_studies_and_reports_know_the_same_words() -> None:
    assert set(FIGURES_OF_STUDIES) == {*KINDS, "share"}
    assert set(COUNTED) == set(get_args(Counted)) == set(POINTS)
    assert set(DRAWN_OF) == set(get_args(DrawnOf)) == {*WORDS, *TITLES}
    assert set(DRAWN_BY["over_time"]) == set(WORDS)
    assert set(DRAWN_BY["cdf"]) == set(TITLES)
