"""What limited a flow, and the bounds by loss, against numbers worked out by hand."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.episodes.loss_bounds import (
    mean_window_pkts,
    pftk_bound_pps,
    sqrt_bound_pps,
    timeout_probability,
)
from collectors.episodes.sender_limits import Observed, limits
from collectors.trace.congestion import COLUMNS, by_flow
from model.run_files.loss_tables import EpisodeRow, LimitsRow
from model.run_files.traffic_tables import FlowRow
from tests.support.loss_story import CELL, MSS, S, T


def test_the_square_root_bound() -> None:
    # sqrt(1.5 / 0.015) = 10 packets a round trip; with delayed acknowledgements sqrt(0.75 / 0.03).
    assert sqrt_bound_pps(0.015, 0.5, 1) == pytest.approx(20)
    assert sqrt_bound_pps(0.03, 0.5, 2) == pytest.approx(10)


def test_pftk_worked_out_by_hand() -> None:
    # p = 0.02, b = 1: W = 1 + sqrt(8 * 0.98 / 0.06 + 1) = 12.4746.
    window = 1 + math.sqrt(8 * 0.98 / 0.06 + 1)
    assert window == pytest.approx(12.4746, abs=1e-4)
    assert mean_window_pkts(0.02, 1) == pytest.approx(window)
    kept = 0.98**3
    few = (1 - kept) * (1 + kept * (1 - 0.98 ** (window - 3))) / (1 - 0.98**window)
    assert timeout_probability(0.02, window) == pytest.approx(few)
    backoff = 1 + 0.02 + 2 * 0.02**2 + 4 * 0.02**3 + 8 * 0.02**4 + 16 * 0.02**5 + 32 * 0.02**6
    top = 49 + window + few / 0.98
    bottom = 0.5 * (window / 2 + 1) + few * backoff / 0.98
    assert pftk_bound_pps(0.02, 0.5, 1.0, 45, 1) == pytest.approx(top / bottom)


def test_pftk_held_by_the_receive_window() -> None:
    # p = 0.001, b = 2: W = 37.2 > 10, so RTT * (b/8 * 10 + 0.999 / (0.001 * 10) + 2).
    few = timeout_probability(0.001, 10)
    top = 999 + 10 + few / 0.999
    backoff = 1 + 0.001 + 2e-6 + 4e-9 + 8e-12 + 16e-15 + 32e-18
    bottom = 0.5 * (2.5 + 99.9 + 2) + few * backoff / 0.999
    assert pftk_bound_pps(0.001, 0.5, 1.0, 10, 2) == pytest.approx(top / bottom)


@pytest.mark.parametrize("loss_frac", [0.0, 1.0])
def test_no_loss_no_bound(loss_frac: float) -> None:
    assert sqrt_bound_pps(loss_frac, 0.5, 1) is None
    assert pftk_bound_pps(loss_frac, 0.5, 1.0, 45, 1) is None


@given(st.floats(1e-6, 0.5), st.floats(0.01, 2), st.floats(0.2, 3), st.integers(2, 1000))
def test_more_loss_never_allows_more(p: float, rtt_s: float, rto_s: float, window: int) -> None:
    less, more = (pftk_bound_pps(q, rtt_s, rto_s, window, 1) for q in (p, p * 1.5))
    assert less is not None
    assert more is not None
    assert 0 < more <= less * 1.001
    assert less <= window / rtt_s * 1.001


def met(t_s: float, cwnd: int, flight: int, window: int) -> dict[str, Any]:
    return dict.fromkeys(COLUMNS) | {
        "t_s": t_s, "flow": "T", "protocol": "tcp", "event": "ack", "local_port": 9, "path": "x",
        "cwnd_bytes": cwnd * MSS, "flight_bytes": flight * MSS, "snd_wnd_bytes": window * MSS,
        "mss_bytes": MSS, "srtt_s": 0.5,
    }  # fmt: skip


def seen(*rows: dict[str, Any], **more: Any) -> Observed:
    flow = dataclasses.replace(T, start_s=0.0, stop_s=20.0)
    cell = dataclasses.replace(CELL, duration_s=20.0, measure_to_s=20.0, flows=(flow,))
    counted = FlowRow(
        flow="T", group="T", protocol="tcp", generator="probe", goodput_bytes=100_000,
        goodput_bps=40_000.0, total_bytes=100_000, connect_s=None, first_byte_s=None,
        last_byte_s=None, queue_offered_pkts=1000, queue_dropped_pkts=5, loss_offered_pkts=995,
        loss_dropped_pkts=10, loss_frac=10 / 995, retransmitted_pkts=15,
    )  # fmt: skip
    totals = {"segs_in": 1000, "data_segs_out": 1000, "rto_us": 1_000_000, "busy_us": 19_000_000,
              "rwnd_limited_us": 0, "sndbuf_limited_us": 500_000}  # fmt: skip
    told = by_flow(pl.DataFrame(list(rows), schema=COLUMNS), cell.flows)
    values: dict[str, Any] = {
        "cell": cell, "flows": [counted], "told": told,
        "episodes": [], "queue": None, "paths": [], "totals": {"T": totals},
        "data_until_s": {},
    }  # fmt: skip
    return Observed(**(values | more))


def shares(row: LimitsRow) -> tuple[float, ...]:
    found = (
        row.recovering_frac, row.cwnd_frac, row.rwnd_frac, row.sender_frac, row.unknown_frac,
    )  # fmt: skip
    assert sum(found) == pytest.approx(1)
    return tuple(round(value, 6) for value in found)


def test_waiting_is_told_by_what_the_next_acknowledgement_meets() -> None:
    episode = EpisodeRow(flow="T", protocol="tcp", episode=0, basis="telemetry", detected_s=5.0,
                         recovered_s=6.0)  # fmt: skip
    run, first, second = limits(
        seen(
            met(1.0, 4, 4, 45),  # from the start: not known
            met(4.0, 4, 4, 45),  # 3 s on the congestion window
            met(8.0, 90, 45, 45),  # 4 s on the receiver's, 1 s of them recovering
            met(15.0, 90, 2, 45),  # 7 s on the application, 2 s of them in the first window
            episodes=[episode],
        )
    )
    assert (run.span, first.span, (second.start_s, second.end_s)) == ("run", "window", (10.0, 20.0))
    assert shares(first) == (0.1, 0.3, 0.3, 0.2, 0.1)
    assert shares(second) == (0.0, 0.0, 0.0, 0.5, 0.5)
    assert shares(run) == (0.05, 0.15, 0.15, 0.35, 0.3)


def test_the_run_has_bounds_at_its_own_loss() -> None:
    run = limits(seen(met(1.0, 4, 4, 45), met(4.0, 4, 4, 45)))[0]
    # 15 of 1000 packets dropped: 10 packets a round trip of 0.5 s, 8000 bits each.
    assert (run.loss_frac, run.rtt_s, run.rtt_from, run.per_ack_pkts) == (0.015, 0.5, "srtt", 1)
    assert run.sqrt_bound_bps == pytest.approx(160_000)
    assert run.rate_bps == 40_000.0
    assert run.rate_of_sqrt_frac == pytest.approx(0.25)
    pps = pftk_bound_pps(0.015, 0.5, 1.0, 45, 1)
    assert pps is not None
    assert run.pftk_bound_bps == pytest.approx(pps * 8000)
    assert (run.tcp_busy_s, run.tcp_rwnd_limited_s, run.tcp_sndbuf_limited_s) == (19.0, 0.0, 0.5)


def test_what_is_not_known_is_null() -> None:
    run = limits(seen(totals={}))[0]
    assert shares(run) == (0.0, 0.0, 0.0, 0.0, 1.0)
    unknown = (run.rto_s, run.window_bytes, run.per_ack_pkts, run.sqrt_bound_bps, run.tcp_busy_s)
    assert unknown == (None,) * 5
    # Two ways of 254 ms, and a packet's time on links of 10, 3 and 10 Mbit/s.
    assert run.rtt_from == "path"


def test_the_buffer_is_looked_at_now_and_then() -> None:
    samples = [(0.0, 3), (5.0, 0), (10.0, 0), (15.0, 0)]
    queue = pl.DataFrame(
        [
            {"t_s": t_s, "node": "r1", "device": "r1-bottleneck", "role": "shaper",
             "backlog_pkts": held, "backlog_bytes": held * 1500}
            for t_s, held in samples
        ]
    )  # fmt: skip
    run, first, second = limits(seen(met(1.0, 4, 4, 45), queue=queue))
    busy = [row.bottleneck_busy_frac for row in (run, first, second)]
    assert busy == [0.25, 0.5, 0.0]
    assert S.protocol == "sctp"


def test_what_was_delivered_after_the_stop_took_its_time() -> None:
    acked = [met(1.0, 10, 10, 65535)]
    longer = dataclasses.replace(seen().cell, duration_s=30.0, measure_to_s=30.0)
    (run, *_) = limits(seen(*acked, cell=longer, data_until_s={"T": 25.0}))
    assert run.rate_bps == 100_000 * 8 / 25.0
    (run, *_) = limits(seen(*acked, data_until_s={"T": 20.0}))
    assert run.rate_bps == 100_000 * 8 / 20.0


@pytest.mark.parametrize(("window", "own_s"), [((5.0, 30.0), 15.0), ((0.0, 8.0), 8.0)])
def test_the_rate_is_of_the_flows_own_time_within_the_window(
    window: tuple[float, float], own_s: float
) -> None:
    cell = dataclasses.replace(
        seen().cell, duration_s=30.0, measure_from_s=window[0], measure_to_s=window[1]
    )
    (run, *_) = limits(seen(met(1.0, 10, 10, 65535), cell=cell))
    assert run.rate_bps == pytest.approx(100_000 * 8 / own_s)


def test_a_flow_outside_the_window_has_no_rate() -> None:
    cell = dataclasses.replace(seen().cell, duration_s=30.0, measure_from_s=25.0, measure_to_s=30.0)
    (run, *_) = limits(seen(met(1.0, 10, 10, 65535), cell=cell))
    assert (run.rate_bps, run.rate_of_sqrt_frac) == (None, None)
