"""The mean congestion window over the measuring window, worked out by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest

from collectors.episodes.mean_window import mean_cwnd_segments
from collectors.trace.congestion import COLUMNS
from model.cell import Flow
from tests.support.recorded import wireless_cell

pytestmark = pytest.mark.unit

CELL = wireless_cell(duration_s=20.0)
T, S = CELL.flows


def met(flow: Flow, t_s: float, **more: Any) -> dict[str, Any]:
    return {**dict.fromkeys(COLUMNS), "t_s": t_s, "flow": flow.id, "event": "ack", "local_port": 1,
            **more}  # fmt: skip


def congestion(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=COLUMNS)


def test_each_window_held_since_the_event_before() -> None:
    rows = congestion(
        met(T, 1.0, cwnd_segments=2),  # since when is not known
        met(T, 3.0, cwnd_segments=4),
        met(T, 3.5, event="state"),  # tells no window
        met(S, 3.5, cwnd_bytes=10**6),
        met(T, 9.0, cwnd_segments=7),
    )
    assert mean_cwnd_segments(T, CELL, rows) == pytest.approx((2 * 4 + 6 * 7) / 8)
    # From 2 s to 5 s: 4 until 3 s, then 7.
    part = dataclasses.replace(CELL, measure_from_s=2.0, measure_to_s=5.0)
    assert mean_cwnd_segments(T, part, rows) == pytest.approx((1 * 4 + 2 * 7) / 3)
    late = dataclasses.replace(CELL, measure_from_s=9.0)
    assert mean_cwnd_segments(T, late, rows) is None


def test_bytes_become_segments_of_the_payload() -> None:
    rows = congestion(
        met(S, 1.0, cwnd_bytes=4380, mtu_bytes=1500), met(S, 2.0, cwnd_bytes=2896, mtu_bytes=1500)
    )
    assert mean_cwnd_segments(S, CELL, rows) == pytest.approx(2.0)


def test_without_events_there_is_no_mean() -> None:
    assert mean_cwnd_segments(T, CELL, congestion()) is None
    assert mean_cwnd_segments(T, CELL, congestion(met(T, 1.0, cwnd_segments=2))) is None
