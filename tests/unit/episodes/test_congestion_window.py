"""Windows around the end of an episode, as printed of the loss of segment 8, and mean windows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from collectors.episodes.congestion_window import mean_cwnd_segments, with_windows
from collectors.episodes.window import Window
from collectors.trace.congestion import COLUMNS
from model.cell import Flow
from model.run_files.loss_tables import EpisodeRow
from tests.support.recorded import wireless_cell

MSS = 1448
#: What each acknowledgement meets: TCP's segments as printed, times from when it acted.
TCP = [(-0.01, 9), (0.0, 9), (0.5, 4), (0.533, 4), (1.017, 4.25), (1.029, 4.485), (1.041, 4.708),
       (1.047, 4.921), (1.6, 5.124), (1.7, 5.3)]  # fmt: skip
SCTP = [(0.0, 13032), (0.2, 6516), (0.521, 6516), (1.005, 7964), (1.041, 9412)]
#: Of mean windows.
CELL = wireless_cell(duration_s=20.0)
T, S = CELL.flows


def window(rows: Sequence[tuple[float, float]], unit_bytes: int = 1) -> Window:
    t_s, cwnd = zip(*rows, strict=True)
    cwnd_bytes = np.array(cwnd) * unit_bytes
    return Window(t_s=np.array(t_s), cwnd_bytes=cwnd_bytes, ssthresh_bytes=cwnd_bytes)


def row(**values: object) -> EpisodeRow:
    found = EpisodeRow(flow="T", protocol="tcp", episode=0, basis="captures", timeouts=0)
    return dataclasses.replace(found, **values)  # type: ignore[arg-type]


def only(one: EpisodeRow, seen: Window, *more: EpisodeRow) -> EpisodeRow:
    return next(iter(with_windows([one, *more], seen, MSS)))


def test_tcp_as_printed() -> None:
    lost = row(detected_s=0.0, recovered_s=0.533, ssthresh_after_bytes=4 * MSS)
    found = only(lost, window(TCP, MSS))
    assert (found.cwnd_at_recovery_bytes, found.cwnd_after_recovery_bytes) == (4 * MSS, 4.25 * MSS)
    assert (found.regrown_s, found.regrow_s) == (1.047, 1.047)  # printed: 1.05 s


def test_sctp_as_printed() -> None:
    lost = row(detected_s=0.0, recovered_s=0.521, ssthresh_after_bytes=6516)
    found = only(lost, window(SCTP))
    assert (found.cwnd_at_recovery_bytes, found.cwnd_after_recovery_bytes) == (6516, 7964)
    assert found.regrow_s == 0.521  # printed: 0.52 s


def test_how_often_the_window_changes_until_the_loss_is_over() -> None:
    lost = row(detected_s=0.0, recovered_s=0.533)
    assert only(lost, window(TCP, MSS)).cwnd_changes == 0  # four from the act to the end
    assert only(dataclasses.replace(lost, recovered_s=1.029), window(TCP, MSS)).cwnd_changes == 2
    steps = [(0.0, 9.0), (0.1, 7.0), (0.2, 6.0), (0.3, 7.0), (0.5, 9.0)]  # back to where it began
    ended = row(detected_s=0.0, recovered_s=0.3)
    assert only(ended, window(steps)).cwnd_changes == 2
    assert only(dataclasses.replace(ended, recovered_s=None), window(steps)).cwnd_changes is None
    unknown = window([(0.0, 9.0), (0.1, float("nan")), (0.3, 7.0), (0.5, 9.0)])
    assert only(ended, unknown).cwnd_changes is None


def test_unless_it_acts_on_another_loss_before() -> None:
    lost = row(detected_s=0.0, recovered_s=0.533, ssthresh_after_bytes=4 * MSS)
    other = row(detected_s=1.03, ssthresh_after_bytes=2 * MSS)
    assert only(lost, window(TCP, MSS), other).regrow_s is None
    assert (
        only(lost, window(TCP, MSS), dataclasses.replace(other, detected_s=1.65)).regrow_s == 1.047
    )
    unknown = dataclasses.replace(other, detected_s=None)
    assert only(lost, window(TCP, MSS), unknown).regrow_s is None


@pytest.mark.parametrize(
    "values",
    [{"timeouts": 1}, {"ssthresh_after_bytes": None}, {"detected_s": None},
     {"ssthresh_after_bytes": 9 * MSS}],
)  # fmt: skip
def test_no_time_where_the_window_did_not_just_grow(values: dict[str, object]) -> None:
    lost = row(detected_s=0.0, recovered_s=0.533, ssthresh_after_bytes=4 * MSS)
    assert only(dataclasses.replace(lost, **values), window(TCP, MSS)).regrow_s is None  # type: ignore[arg-type]


def test_an_episode_that_never_ended_has_no_window_at_its_end() -> None:
    found = only(row(detected_s=0.0, ssthresh_after_bytes=4 * MSS), window(TCP, MSS))
    assert (found.cwnd_at_recovery_bytes, found.cwnd_after_recovery_bytes) == (None, None)


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
