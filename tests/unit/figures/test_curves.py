"""Curves of congestion windows, bins of goodput, and what is left out of them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.figures.congestion import Curve, curve, top
from reports.figures.goodput_bins import Bins, binned, from_intervals, from_packets, in_order
from reports.figures.thinning import MOST_ROWS, STRETCHES, held_until, outline
from tests.support.runs.figure_run import S, T, recorded

CONGESTION = recorded("congestion").schema


def states(*rows: dict[str, Any], **common: Any) -> pl.DataFrame:
    plain = {"flow": "T", "local_port": 1, "path": "10.2.1.2", **common}
    return pl.DataFrame([{**plain, **row} for row in rows], schema=CONGESTION)


def test_a_value_holds_since_the_event_before() -> None:
    found = curve(
        states(
            {"t_s": 1.0, "cwnd_segments": 2, "ssthresh_segments": 45},
            {"t_s": 2.0, "cwnd_segments": 4, "ssthresh_segments": 45},
            {"t_s": 3.0, "cwnd_segments": 4, "ssthresh_segments": 45},
            {"t_s": 5.0, "cwnd_segments": 6, "ssthresh_segments": None},
            mss_bytes=1448,
        ),
        T,
        0.0,
        10.0,
    )
    assert isinstance(found, Curve)
    # 4 segments from 1 s to 3 s, 6 from 3 s to 5 s; of two equal rows the last is kept.
    assert found.mean == 5.0
    assert found.rows.select("t_s", "cwnd", "ssthresh").rows() == [
        (1.0, 2.0, 45.0),
        (3.0, 4.0, 45.0),
        (5.0, 6.0, None),
    ]
    assert (found.segment_bytes, found.events, found.thinned) == (1448, 4, False)
    assert top([found]) == pytest.approx(6 * 1.12)


@pytest.mark.parametrize(("mtu_bytes", "segment_bytes"), [(1500, 1448), (1040, 992)])
def test_sctp_bytes_become_segments_of_a_packets_data(mtu_bytes: int, segment_bytes: int) -> None:
    row = {"t_s": 1.0, "cwnd_bytes": 2 * segment_bytes, "ssthresh_bytes": 65536}
    found = curve(states(row, flow="S", mtu_bytes=mtu_bytes), S, 0.0, 2.0)
    assert isinstance(found, Curve)
    assert found.segment_bytes == segment_bytes
    assert found.rows["cwnd"].to_list() == [2.0]
    assert found.mean is None


def test_a_control_connection_is_left_out() -> None:
    data = [{"t_s": float(t), "cwnd_segments": 9, "local_port": 2} for t in (1, 2)]
    found = curve(states({"t_s": 1.5, "cwnd_segments": 1}, *data), T, 0.0, 9.0)
    assert isinstance(found, Curve)
    assert found.rows["cwnd"].to_list() == [9.0, 9.0]


def test_no_events_are_a_reason() -> None:
    assert "no congestion window of flow S" in str(curve(states(), S, 0.0, 9.0))
    row = {"t_s": 1.0, "cwnd_segments": 1}
    assert "in this window of time" in str(curve(states(row), T, 2.0, 9.0))


def test_a_real_run_keeps_every_change() -> None:
    table = recorded("congestion")
    for flow, column in ((T, "cwnd_segments"), (S, "cwnd_bytes")):
        found = curve(table, flow, 0.0, 60.0)
        assert isinstance(found, Curve)
        every = table.filter(pl.col(column).is_not_null(), flow=flow.id).with_columns(
            pl.col(column).alias("value")
        )
        drawn = every.join(found.rows.select("t_s"), on="t_s", how="semi")
        # A step curve is told by its values at the ends of its steps: look them up backward.
        again = every.select("t_s", "value").join_asof(
            drawn.select("t_s", drawn="value").unique("t_s", keep="last", maintain_order=True),
            on="t_s",
            strategy="forward",
        )
        same_time = every["t_s"].is_duplicated()
        assert (
            again.filter(~same_time)["value"].to_list()
            == again.filter(~same_time)["drawn"].to_list()
        )


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_held_until_loses_no_step(values: list[int]) -> None:
    rows = pl.DataFrame({"t_s": range(len(values)), "value": values})
    kept = held_until(rows, ("value",))
    filled = rows.select("t_s").join_asof(kept, on="t_s", strategy="forward")
    assert filled["value"].to_list() == values


def test_an_outline_keeps_the_ends_and_the_extremes() -> None:
    many = 5 * MOST_ROWS
    rows = pl.DataFrame({"x": range(many), "y": [(7919 * n) % many for n in range(many)]})
    kept = outline(rows, "x", "y")
    assert kept.height <= 4 * STRETCHES
    assert (kept["x"][0], kept["x"][-1]) == (0, many - 1)
    assert (kept["y"].min(), kept["y"].max()) == (0, many - 1)
    assert kept["x"].is_sorted()
    assert outline(rows.head(MOST_ROWS), "x", "y").height == MOST_ROWS


def units(*rows: tuple[float, int, int]) -> pl.DataFrame:
    columns = {"t_s": pl.Float64, "start": pl.Int64, "end": pl.Int64}
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        bytes=pl.col("end") - pl.col("start")
    )


@pytest.mark.parametrize(
    ("arrivals", "news"),
    [
        ([(1.0, 0, 10), (2.0, 10, 20)], [(1.0, 10), (2.0, 10)]),
        # What came before the hole was filled is handed on with it.
        ([(1.0, 0, 10), (2.0, 20, 30), (3.0, 10, 20)], [(1.0, 10), (3.0, 10), (3.0, 10)]),
        # A hole never filled: nothing after it counts.
        ([(1.0, 0, 10), (2.0, 20, 30)], [(1.0, 10)]),
        # Arrived twice, and partly again.
        ([(1.0, 0, 10), (2.0, 0, 10), (3.0, 5, 15)], [(1.0, 10), (3.0, 5)]),
        ([], []),
    ],
)
def test_data_counts_once_when_all_before_it_is_there(
    arrivals: list[tuple[float, int, int]], news: list[tuple[float, int]]
) -> None:
    assert in_order(units(*arrivals)).rows() == news


def test_bins_cover_the_window_and_empty_ones_are_zero() -> None:
    news = pl.DataFrame(
        {"t_s": [0.05, 0.1, 0.2999, 0.35, 9.0], "goodput_bytes": [1, 100, 50, 10, 7]}
    )
    found = binned(news, "x", 0.1, 0.35, 0.1)
    assert found.rows.rows() == [(0.1, 0.2, 8.0), (0.2, 0.3, 4.0), (0.3, 0.35, 0.0)]


def test_intervals_are_used_only_if_they_are_as_fine() -> None:
    rows = {"flow": ["T"], "start_s": [0.0], "end_s": [1.0], "goodput_bytes": [1000]}
    found = from_intervals(pl.DataFrame(rows), 0.0, 2.0, 1.0)
    assert isinstance(found, Bins)
    assert found.rows["goodput_kbps"].to_list() == [8.0, 0.0]
    reason = from_intervals(pl.DataFrame(rows), 0.0, 2.0, 0.1)
    assert reason == (
        "bins of 0.1 s need captures (run with --pcap): the receivers counted every 1 s"
    )


def test_the_bins_of_a_real_run_hold_what_was_acknowledged() -> None:
    table = recorded("packets")
    bins = from_packets(table, (T, S), lambda *_: pl.DataFrame(), 0.0, 12.0, 0.1)
    got_bytes = (bins.rows["goodput_kbps"] * 0.1 * 125).sum()
    # By 12 s the receivers had acknowledged this much: every segment and chunk is 1448 bytes.
    sent_acks = table.filter(direction="ack", point="sent")
    acked = sent_acks["ack"].max() - 1 + (sent_acks["cum_tsn_ack"].max() + 1) * 1448  # type: ignore[operator]
    assert got_bytes == pytest.approx(acked, abs=1)
