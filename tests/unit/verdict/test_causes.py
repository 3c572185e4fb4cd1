"""What happened, over runs: distributions, what is missing, published episodes, what is shown."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from model import run_folder
from model.errors import ParseError
from model.run_files.loss_tables import EpisodeRow, LimitsRow
from model.run_files.publication import PublishedEpisode
from model.run_files.summary_points import Distribution
from model.run_files.tables import schema
from reports.page.causes import found_by, story_page, terminal_table
from reports.published.episodes import claim_words, claims
from reports.store.run import FinishedCell, read_run
from reports.store.story_tables import read_episodes, read_limits, read_windows
from reports.verdict.causes import distribution, stories
from reports.verdict.summary import summarise
from testbed.study.vocabulary import EPISODE_VALUES
from tests.support.runs.report_run import build_run, only_cell

FIRST = EpisodeRow(
    flow="T", protocol="tcp", episode=0, basis="captures", lost_s=1.0, lost_pkts=1,
    detected_s=1.5, detected_by="dupacks", dupacks=3, new_data_pkts=2, retransmitted_pkts=1,
    timeouts=0, cwnd_before_bytes=13032, cwnd_after_bytes=11584, ssthresh_after_bytes=5792,
    detect_s=0.5, recovered_s=2.0, recover_s=0.5,
)  # fmt: skip
SECOND = dataclasses.replace(
    FIRST, episode=1, detected_by="timeout", dupacks=0, timeouts=2, lost_pkts=3,
    cwnd_before_bytes=None, recovered_s=None, recover_s=None,
)  # fmt: skip


def store(folder: Path, episodes: list[EpisodeRow]) -> None:
    (folder / "tables").mkdir(exist_ok=True)
    rows = [dataclasses.asdict(row) for row in episodes]
    pl.DataFrame(rows, schema=schema(EpisodeRow)).write_parquet(folder / run_folder.EPISODES_TABLE)
    limit = LimitsRow(
        flow="T", protocol="tcp", span="run", start_s=0.0, end_s=1000.0, recovering_frac=0.25,
        cwnd_frac=0.75, rwnd_frac=0.0, sender_frac=0.0, unknown_frac=0.0,
        bottleneck_busy_frac=None, rate_of_sqrt_frac=0.9,
    )  # fmt: skip
    window = dataclasses.replace(limit, span="window", recovering_frac=1.0)
    table = pl.DataFrame(
        [dataclasses.asdict(row) for row in (limit, window)], schema=schema(LimitsRow)
    )
    table.write_parquet(folder / run_folder.LIMITS_TABLE)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of one point and two seeds; the first recorded two episodes, the second none."""
    folder = build_run(tmp_path, losses=(0.01,), seeds=2)
    store(only_cell(folder), [FIRST, SECOND])
    return folder


def measured(run: Path) -> list[FinishedCell]:
    return list(read_run(run).measured())


def test_a_distribution_is_of_what_is_known() -> None:
    found = distribution([1, None, 2, 9])
    assert (found.mean, found.median, found.n) == (4.0, 2.0, 3)
    assert found.p95 == pytest.approx(8.3)
    assert distribution([None]) == Distribution(mean=None, median=None, p95=None, n=0)


def test_episodes_of_a_group(run: Path) -> None:
    found = read_run(run)
    tcp, sctp = stories(found.measured(), found.study.groups)
    assert tcp.reason == "1 of 2 runs recorded episodes"
    assert tcp.episodes is not None
    assert (tcp.episodes.runs, tcp.episodes.episodes, tcp.episodes.per_1000_s) == (1, 2, 2.0)
    assert tcp.episodes.detected_by == {"dupacks": 1, "timeout": 1}
    assert tcp.episodes.dupacks == {0: 1, 3: 1}
    assert tcp.episodes.timeouts == 2
    assert tcp.episodes.measures["lost_pkts"].mean == 2.0
    assert tcp.episodes.measures["cwnd_before_bytes"] == distribution([13032])
    assert tcp.limits is not None
    assert tcp.limits["recovering_frac"].mean == 0.25  # of the run, not of its windows
    assert tcp.limits["bottleneck_busy_frac"].n == 0
    # The other group was recorded and lost nothing: that is 0, and known.
    assert sctp.episodes is not None
    assert sctp.episodes.episodes == 0
    assert sctp.episodes.measures["detect_s"].mean is None


def test_nothing_recorded_is_not_zero(run: Path) -> None:
    found = read_run(run)
    (tcp, _) = stories(found.measured()[1:], found.study.groups)
    assert (tcp.episodes, tcp.limits) == (None, None)
    assert tcp.reason == "no run was captured or recorded the kernel's events"
    assert stories((), found.study.groups)[0].reason == "no run counts"


def test_published_episodes_beside_the_kernels(run: Path) -> None:
    cells = measured(run)
    values = {"dupacks": Decimal("3"), "cwnd_before_segments": Decimal("9"),
              "flight_before_bytes": Decimal("1")}  # fmt: skip
    point = cells[0].plan.point
    published = PublishedEpisode(
        flow="T", episode=0, where="Figure 5", points=(point,), grown_s=None, values=values
    )
    dupacks, cwnd, flight = claims([published], point, cells)
    assert (dupacks.published, dupacks.kernel, dupacks.reason) == (Decimal("3"), 3.0, None)
    assert cwnd.kernel == 9.0  # 13032 bytes in messages of 1448
    assert (flight.kernel, flight.reason) == (None, "not known from captures")
    later = dataclasses.replace(published, episode=7)
    assert claims([later], point, cells)[0].reason == "the flow has no episode 7"
    assert claims([published], point, cells[1:])[0].kernel is None
    assert claims([published], point, [])[0].reason == "no run counts"
    assert claims([dataclasses.replace(published, points=())], point, cells) == ()


def test_a_window_that_grew_is_what_the_next_acknowledgement_met(run: Path) -> None:
    cells = measured(run)
    published = PublishedEpisode(
        flow="T", episode=0, where="Figure 5", points=(cells[0].plan.point,), grown_s=1.05,
        values={"cwnd_grown_segments": Decimal("5.124"), "cwnd_grown_bytes": Decimal("7240")},
    )  # fmt: skip
    table = run_folder.cell_folder(run, cells[0].plan.id) / run_folder.CONGESTION_TABLE
    rows = [("T", "ack", 2.5, 5792), ("S", "ack", 2.56, 1), ("T", "state", 2.57, None),
            ("T", "ack", 2.6, 7240), ("T", "ack", 2.7, 8688)]  # fmt: skip
    pl.DataFrame(
        rows, schema={"flow": pl.String, "event": pl.String, "t_s": pl.Float64,
                      "cwnd_bytes": pl.Int64}, orient="row",
    ).write_parquet(table)  # fmt: skip
    at_s = ("T", 1.5 + 1.05)  # the first episode is detected at 1.5 s
    windows = read_windows(table, [at_s, ("T", 9.0)])
    assert windows == {at_s: 7240}
    grown = [dataclasses.replace(cells[0], windows=windows)]
    found = claims([published], cells[0].plan.point, grown)
    assert [(claim.kernel, claim.reason) for claim in found] == [(5.0, None), (7240.0, None)]
    (unknown, _) = claims([published], cells[0].plan.point, cells)
    assert (unknown.kernel, unknown.reason) == (None, "the kernel's events tell no window then")


def test_published_episodes_are_read_with_their_digits(run: Path) -> None:
    path = run / run_folder.RESOLVED
    content = json.loads(path.read_text())
    entry: dict[str, Any] = {
        "flow": "T",
        "episode": 0,
        "where": "Figure 5",
        "grown_s": None,
        "points": content["points"],
    }
    content["published"]["episodes"] = [{**entry, "values": {"recover_s": "DIGITS"}}]
    path.write_text(json.dumps(content).replace('"DIGITS"', "1.050"))
    summary = summarise(read_run(run))
    (claim,) = summary.points[0].episode_claims
    assert (str(claim.published), claim.kernel) == ("1.050", 0.5)
    shown = story_page(summary)
    assert shown.claims is not None
    assert shown.claims.rows[0][1:] == ("T, Figure 5", "0", "until recovered, s", "1.050", "0.5")


def test_what_is_shown_says_what_it_rests_on(run: Path) -> None:
    summary = summarise(read_run(run))
    shown = story_page(summary)
    assert shown.episodes is not None
    assert shown.episodes.rows[0][2:7] == ("1", "2.0", "2.00", "dupacks 50 %, timeout 50 %", "1.50")
    assert shown.limits is not None
    assert shown.limits.rows[0][2:7] == ("25.0", "75.0", "0.0", "0.0", "0.0")
    assert shown.notes == (
        "1 %, TCP SACK: 1 of 2 runs recorded episodes.",
        "1 %, SCTP: 1 of 2 runs recorded episodes.",
    )
    compact = terminal_table(summary)
    assert compact is not None
    assert compact.rows[0][1:4] == ("T", "2", "dupacks 50 %, timeout 50 %")
    assert compact.caption.startswith("What happened: 2 loss episodes, told from captures")


def test_a_broken_table_is_named(tmp_path: Path) -> None:
    assert read_episodes(tmp_path / "none.parquet") is None
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1")
    with pytest.raises(ParseError, match="not a Parquet table"):
        read_limits(broken)
    pl.DataFrame({"flow": ["T"]}).write_parquet(broken)
    with pytest.raises(ParseError, match="columns are missing"):
        read_episodes(broken)
    rows = [dataclasses.asdict(FIRST) | {"dupacks": "three"}]
    pl.DataFrame(rows).write_parquet(broken)
    with pytest.raises(ParseError, match="dupacks has another type"):
        read_episodes(broken)


@pytest.mark.parametrize(
    ("dupacks", "timeouts", "words"),
    [(999, 1, "dupacks >99 %, timeout <1 %"), (3, 1, "dupacks 75 %, timeout 25 %"),
     (7, 0, "dupacks 100 %")],
)  # fmt: skip
def test_neither_none_nor_all_is_said_where_it_is_not_so(
    run: Path, dupacks: int, timeouts: int, words: str
) -> None:
    found = next(
        story.episodes
        for point in summarise(read_run(run)).points
        for story in point.causes
        if story.episodes
    )
    counted = {"dupacks": dupacks, "timeout": timeouts}
    changed = found.model_copy(update={"episodes": dupacks + timeouts, "detected_by": counted})
    assert found_by(changed) == words


def test_every_value_that_can_be_published_has_words() -> None:
    assert claim_words("cwnd_before_segments") == "window before, segments"
    assert claim_words("dupacks") == "sent again at duplicate number"
    assert [name for name in EPISODE_VALUES if claim_words(name) == name] == ["timeouts"]


def test_what_no_summary_can_hold_is_named(run: Path) -> None:
    path = only_cell(run) / run_folder.EPISODES_TABLE
    pl.read_parquet(path).with_columns(timeouts=pl.lit(-1)).write_parquet(path)
    with pytest.raises(ParseError, match="unsound values in the tables of cells"):
        summarise(read_run(run))
