"""Loss episodes of recorded runs, against what others counted in them."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from collectors.episodes.episodes import episodes
from collectors.tables.write import write_tables
from collectors.trace.congestion import by_flow, congestion
from model import run_folder
from model.cell import from_dict
from model.run_files.loss_tables import EpisodeRow, LimitsRow
from model.run_files.tables import schema
from tests.support.fake_lab import write_measured
from tests.support.loss_story import CELL, MSS, Story, T
from tests.support.recorded import DATA, value, wireless_cell
from tests.support.recorded_trace import trace
from tests.unit.episodes.test_telemetry import THREE_DUPLICATES, frame


def test_a_captured_cell(tmp_path: Path) -> None:
    """8 % of data and 5 % of acknowledgements were lost; kernel 7.3 repeats by time."""
    folder = Path(shutil.copytree(DATA / "lab-cell-7.3", tmp_path / "cell"))
    write_tables(folder, from_dict(value("lab-cell-7.3/cell.json")))
    table = pl.read_parquet(folder / run_folder.EPISODES_TABLE)
    assert table.schema == schema(EpisodeRow)
    names = ("flow", "detected_by", "dupacks", "new_data_pkts", "lost_pkts", "timeouts")
    assert table.select(names).rows() == [
        ("T", "rack", 1, 0, 1, 0),
        ("T", "rack", 1, 1, 2, 0),
        ("T", "rack", 2, 2, 1, 0),
        ("T", "rack", 2, 1, 1, 0),
        ("S", "timeout", 2, 0, 2, 1),
    ]
    sums = table.group_by("flow", maintain_order=True).agg(
        pl.col("lost_pkts", "retransmitted_pkts").sum()
    )
    counted = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    assert sums.rows() == counted.select("flow", "loss_dropped_pkts", "retransmitted_pkts").rows()
    # No telemetry: no window, and nothing that limits.
    assert table["cwnd_before_bytes"].null_count() == table.height
    assert not (folder / run_folder.LIMITS_TABLE).exists()


def test_a_cell_with_telemetry_alone(tmp_path: Path) -> None:
    write_measured(tmp_path)
    write_tables(tmp_path, wireless_cell())
    assert (tmp_path / run_folder.EPISODES_TABLE).exists() == wireless_cell().collect.telemetry
    if wireless_cell().collect.telemetry:
        assert pl.read_parquet(tmp_path / run_folder.LIMITS_TABLE).schema == schema(LimitsRow)


@pytest.mark.parametrize(
    ("kernel", "by", "dupacks"),
    [("6.12", "dupacks", 3), ("7.3", "rack", 1)],
)
def test_both_kernels_of_the_recorded_trace(kernel: str, by: str, dupacks: int) -> None:
    rows = congestion(trace(kernel), wireless_cell().flows, 4_000_000_000, {"T": 1448})
    found = episodes(CELL, None, by_flow(rows, CELL.flows)) or []
    first = next(row for row in found if row.flow == "T")
    assert (first.detected_by, first.dupacks, first.retransmitted_pkts) == (by, dupacks, 16)
    assert all(row.basis == "telemetry" for row in found)
    sctp = [row for row in found if row.flow == "S"]
    # RFC 9260, section 7.2.3: half the window, but not less than four MTU.
    for row in sctp:
        assert row.cwnd_after_bytes is not None
        assert row.cwnd_after_bytes == row.ssthresh_after_bytes
        assert row.cwnd_after_bytes >= 6000


def test_captures_take_window_and_timers_from_the_kernel() -> None:
    story = Story(T).began(8, 3)
    story.hears(0.51, 1)
    story.hears(0.52, 2)
    for index in range(3):
        story.hears(0.54 + index / 100, 2, (4, 4 + index))
    story.sends(0.56, 3)
    story.hears(1.06, 8)
    (row,) = story.episodes(frame(*THREE_DUPLICATES))
    assert row.basis == "captures"
    assert (row.cwnd_before_bytes, row.cwnd_after_bytes, row.ssthresh_after_bytes) == (
        8 * MSS, 7 * MSS, 4 * MSS,
    )  # fmt: skip
