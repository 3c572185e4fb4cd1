"""What is read between two times: segments sent, windows, bins of arrivals, from small tables."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import polars as pl
import pytest

from model import run_folder
from model.cell import Cell
from model.run_files.network_path import PathFlow, PointPath
from model.run_files.point import Point
from model.run_files.study import Bins, Span, Study
from reports.store.spans import read_spans
from tests.support.recorded import wireless_cell

CELL: Cell = wireless_cell()
METRICS = (
    "sent_T_segments", "cwnd_min_T_segments", "cwnd_max_S_segments", "silent_bins_frac",
    "low_bins_frac",
)  # fmt: skip


def study(*metrics: str, rate_bps: int = 100_000) -> Study:
    flows = tuple(
        PathFlow(flow=name, group=name, protocol=protocol, rate_bps=0, payload_bytes=1448,
                 packet_bytes=size)
        for name, protocol, size in (("T", "tcp", 1488), ("S", "sctp", 1496))
    )  # fmt: skip
    point = Point.of(CELL.point)
    path = PointPath(point=point, bottleneck_rate_bps=rate_bps, forward_rates_bps=(rate_bps,),
                     base_owd_s=0.25, base_rtt_s=0.5, loss_frac=0.01, flows=flows)  # fmt: skip
    return Study(
        id="w", title="w", source=None, duration_s=20, seeds=(1,), hosts="paper",
        generator="probe", groups=(), compare=None, parameters=(), all_points=(point,),
        paths=(path,), metrics=metrics, flows=("T", "S"),
        delivered=Span(from_s=1, to_s=2), windows=Span(from_s=1, to_s=5),
        bins=Bins(from_s=1, to_s=2, bin_s=0.25), published=None, figures=(), assumptions=(),
        warnings=(), acknowledged=(),
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    def packet(flow: str, point: str, t_s: float, again: bool = False) -> dict[str, object]:
        return {"flow": flow, "point": point, "direction": "data", "t_s": t_s,
                "payload_bytes": 1448, "retransmission": again}  # fmt: skip

    packets = [
        packet("T", "sent", 0.99), packet("T", "sent", 1.0), packet("T", "sent", 1.5, again=True),
        packet("T", "sent", 1.9999), packet("T", "sent", 2.0), packet("S", "sent", 1.1),
        packet("T", "delivered", 1.0), packet("S", "delivered", 1.2), packet("S", "delivered", 1.3),
        packet("T", "delivered", 2.0), {**packet("T", "delivered", 1.8), "direction": "ack"},
        {**packet("T", "sent", 1.6), "payload_bytes": 0},
    ]  # fmt: skip
    table = tmp_path / run_folder.PACKETS_TABLE
    table.parent.mkdir()
    pl.DataFrame(packets).write_parquet(table)
    met = [
        (0.5, "T", 2, 2896), (1.0, "T", 4, 5792), (2.0, "T", 9, 13032), (6.0, "T", 1, 1448),
        (3.0, "S", None, 13032), (4.0, "S", None, 6516),
    ]  # fmt: skip
    rows = [
        {"t_s": t, "flow": f, "event": "ack", "cwnd_segments": n, "cwnd_bytes": b}
        for t, f, n, b in met
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / run_folder.CONGESTION_TABLE)
    return tmp_path


def test_between_the_times_and_no_retransmission(folder: Path) -> None:
    found = read_spans(folder, CELL, study(*METRICS))
    assert found.sent_segments == {"T": 2, "S": 1}
    assert found.cwnd_segments == {"T": (4, 9), "S": (4.5, 9)}


def test_bins_of_arrivals(folder: Path) -> None:
    # Bins of 25 kbit: one of 11904 bit (T) and 11968 (S) = 23872, one of 11968, two without any.
    assert read_spans(folder, CELL, study(*METRICS)).bins == (0.5, 0.75)
    assert read_spans(folder, CELL, study(*METRICS, rate_bps=90_000)).bins == (0.5, 0.5)


def test_only_what_is_asked_for_is_read(folder: Path) -> None:
    (folder / run_folder.PACKETS_TABLE).write_bytes(b"no table")
    found = read_spans(folder, CELL, study("cwnd_min_T_segments", "cwnd_mean_T_segments"))
    assert found.sent_segments == {}
    assert isinstance(found.bins, str)


def test_what_was_not_recorded_is_said(tmp_path: Path) -> None:
    found = read_spans(tmp_path, CELL, study(*METRICS))
    assert found.sent_segments == found.bins == "packets were not captured (--pcap)"
    assert found.cwnd_segments == "the kernel's congestion state was not recorded"
    older = dataclasses.replace(study(*METRICS), paths=())
    assert "packets were not captured" in str(read_spans(tmp_path, CELL, older).bins)


def test_what_had_left_when_the_run_was_to_end(folder: Path) -> None:
    end_s = CELL.duration_s
    rows = [
        {"t_s": t_s, "node": "r1", "device": device, "role": role, "sent_pkts": pkts}
        for t_s, device, role, pkts in (
            (end_s - 5, "r1-bottleneck", "shaper", 1900), (end_s, "r1-bottleneck", "shaper", 2000),
            (end_s, "ifb-bottleneck", "channel", 7), (end_s + 5, "r1-bottleneck", "shaper", 2100),
        )
    ]  # fmt: skip
    pl.DataFrame(rows).write_parquet(folder / run_folder.QUEUE_TABLE)
    metrics = ("utilisation_wire_pct", "utilisation_sent_pct")
    found = read_spans(folder, CELL, study(*metrics))
    assert found.out_of_buffer_pkts == 2000
    assert found.new_pkts == {"T": 4, "S": 1}  # the retransmission is none, nor what has no data
    pl.DataFrame(rows[:1]).write_parquet(folder / run_folder.QUEUE_TABLE)
    assert "not sampled" in str(read_spans(folder, CELL, study(*metrics)).out_of_buffer_pkts)


def test_what_left_within_the_measuring_window(folder: Path) -> None:
    cell = dataclasses.replace(CELL, measure_from_s=10.0, measure_to_s=30.0)
    rows = [
        {"t_s": t_s, "node": "r1", "device": "r1-bottleneck", "role": "shaper", "sent_pkts": pkts}
        for t_s, pkts in ((9.0, 100), (10.0, 200), (29.0, 2100), (30.001, 2300), (31.0, 2500))
    ]
    asked = study("utilisation_link_pct")
    pl.DataFrame(rows).write_parquet(folder / run_folder.QUEUE_TABLE)
    assert read_spans(folder, cell, asked).out_of_buffer_pps == 105
    pl.DataFrame(rows[2:]).write_parquet(folder / run_folder.QUEUE_TABLE)
    assert "both ends" in str(read_spans(folder, cell, asked).out_of_buffer_pps)
