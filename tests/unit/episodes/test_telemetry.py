"""Loss episodes from the kernel's events alone, worked out by hand."""

from __future__ import annotations

from typing import Any

import polars as pl

from collectors.episodes import episodes as of_cells
from collectors.trace.congestion import COLUMNS, by_flow
from model.run_files.loss_tables import EpisodeRow
from tests.support.loss_story import CELL, MSS, S, T


def episodes(congestion: pl.DataFrame) -> list[EpisodeRow] | None:
    return of_cells.episodes(CELL, None, by_flow(congestion, CELL.flows))


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([dict.fromkeys(COLUMNS) | row for row in rows], schema=COLUMNS)


def met(t_s: float, una: int, nxt: int, cwnd: int, ssthresh: int = 45) -> dict[str, Any]:
    """What an acknowledgement of TCP met: segments acknowledged, sent, and allowed."""
    return {
        "t_s": t_s, "flow": "T", "protocol": "tcp", "event": "ack", "local_port": 9,
        "path": "10.2.1.2", "una_bytes": una * MSS, "nxt_bytes": nxt * MSS,
        "cwnd_bytes": cwnd * MSS, "ssthresh_bytes": ssthresh * MSS, "mss_bytes": MSS,
        "flight_bytes": (nxt - una) * MSS, "snd_wnd_bytes": 45 * MSS,
    }  # fmt: skip


def tcp(t_s: float, event: str, state: str, kind: str | None = None) -> dict[str, Any]:
    return {
        "t_s": t_s, "flow": "T", "protocol": "tcp", "event": event, "local_port": 9,
        "path": "10.2.1.2", "state": state, "retransmission": kind,
    }  # fmt: skip


def sack(t_s: float, cwnd: int, ssthresh: int, unacked: int, held: int = 0) -> dict[str, Any]:
    """What a SACK met: chunks outstanding, and packets the receiver held after the one before."""
    return {
        "t_s": t_s, "flow": "S", "protocol": "sctp", "event": "ack", "local_port": 9,
        "path": "10.2.2.2", "cwnd_bytes": cwnd, "ssthresh_bytes": ssthresh, "mtu_bytes": 1500,
        "flight_bytes": unacked * MSS, "unacked_chunks": unacked,
        "snd_wnd_bytes": (60 - held - unacked) * MSS,
    }  # fmt: skip


THREE_DUPLICATES = (
    met(0.51, 0, 8, 8),
    met(0.52, 1, 8, 8),  # acknowledges segment 2; 3 is lost
    met(0.54, 2, 8, 8),
    met(0.55, 2, 9, 8),
    met(0.56, 2, 10, 8),
    tcp(0.56, "state", "recovery"),
    tcp(0.56, "retransmit", "recovery", "fast"),
    met(0.57, 2, 10, 7, 4),
    met(1.06, 2, 10, 4, 4),
    tcp(1.06, "state", "open"),
    met(1.56, 10, 14, 4, 4),
)


def test_tcp_goes_into_recovery_on_the_third_duplicate() -> None:
    assert episodes(frame(*THREE_DUPLICATES)) == [
        EpisodeRow(
            flow="T",
            protocol="tcp",
            episode=0,
            basis="telemetry",
            first_lost_segment=3,
            detected_s=0.56,
            detected_by="dupacks",
            dupacks=3,
            new_data_pkts=2,
            new_data_on_dupack_1_pkts=1,
            new_data_on_dupack_2_pkts=1,
            new_data_on_dupack_3_pkts=0,
            retransmitted_pkts=1,
            timeouts=0,
            cwnd_before_bytes=8 * MSS,
            cwnd_after_bytes=7 * MSS,
            ssthresh_after_bytes=4 * MSS,
            flight_before_bytes=8 * MSS,
            cwnd_changes=1,
            cwnd_at_recovery_bytes=4 * MSS,
            cwnd_after_recovery_bytes=4 * MSS,
            recovered_s=1.06,
            recover_s=0.5,
        )
    ]


def test_tcp_is_told_what_each_duplicate_let_go() -> None:
    (row,) = episodes(frame(
        met(0.51, 0, 8, 8),
        met(0.52, 1, 8, 8),
        met(0.54, 2, 8, 8),
        met(0.55, 2, 10, 8),  # two left on the first
        met(0.56, 2, 10, 8),  # none on the second
        met(0.57, 2, 11, 8),  # one on the third
        tcp(0.70, "state", "recovery"),  # RACK's timer
        tcp(0.70, "retransmit", "recovery", "fast"),
        met(1.20, 2, 12, 7, 4),
        met(1.56, 12, 14, 4, 4),
    )) or []  # fmt: skip
    each = (row.new_data_on_dupack_1_pkts, row.new_data_on_dupack_2_pkts)
    assert (*each, row.new_data_on_dupack_3_pkts) == (2, 0, 1)
    assert (row.dupacks, row.new_data_pkts) == (4, 4)


def test_a_timeout_of_tcp_without_duplicates() -> None:
    (row,) = episodes(frame(
        met(0.5, 0, 2, 2),
        met(0.51, 1, 2, 3),  # acknowledges segment 2, and two more leave: both are lost
        tcp(1.8, "state", "loss"),
        tcp(1.8, "retransmit", "loss", "timeout"),
        met(2.3, 2, 4, 1, 2),
        met(2.8, 3, 4, 2, 2),
        met(3.3, 4, 6, 3, 2),
    )) or []  # fmt: skip
    assert (row.detected_by, row.dupacks, row.timeouts, row.new_data_pkts) == ("timeout", 0, 1, 0)
    assert (row.first_lost_segment, row.flight_before_bytes) == (3, 3 * MSS)
    assert (row.cwnd_before_bytes, row.cwnd_after_bytes, row.recovered_s) == (3000, 1000, 2.8)


def test_a_lost_syn_and_a_fin_make_no_episode() -> None:
    assert episodes(frame(
        tcp(1.0, "state", "loss"),
        tcp(1.0, "retransmit", "loss", "handshake"),
        tcp(1.5, "state", "open"),
        met(2.0, 0, 1, 2),
        tcp(9.0, "state", "loss"),
    )) == []  # fmt: skip


def test_a_receiver_that_delays_may_hide_one_duplicate() -> None:
    # It acknowledges two at a time, so the one that moved by one segment may have reported more.
    (row,) = episodes(frame(
        met(0.50, 0, 11, 20), met(0.51, 2, 12, 20), met(0.52, 4, 13, 20), met(0.53, 6, 14, 20),
        met(0.54, 7, 14, 20), met(0.55, 7, 15, 20),
        tcp(0.55, "state", "recovery"), tcp(0.55, "retransmit", "recovery", "fast"),
        met(1.05, 7, 15, 10), met(1.06, 15, 16, 10),
    )) or []  # fmt: skip
    assert (row.dupacks, row.detected_by, row.new_data_pkts) == (None, None, None)
    assert row.new_data_on_dupack_1_pkts is None
    assert row.first_lost_segment == 8


def test_sctp_halves_its_window() -> None:
    (row,) = episodes(frame(
        sack(0.50, 20000, 65536, 10),
        sack(0.52, 20000, 65536, 10, held=1),
        sack(0.53, 20000, 65536, 9, held=2),  # the third report
        sack(0.54, 10000, 10000, 8, held=3),
        *[sack(0.55 + n / 100, 10000, 10000, 7 - n, held=4 + n) for n in range(6)],
        sack(1.03, 10000, 10000, 1, held=10),  # the repeated chunk: nothing is held any more
        sack(1.60, 11000, 10000, 4),
        sack(1.61, 11000, 10000, 4),
    )) or []  # fmt: skip
    assert (row.detected_s, row.detected_by, row.timeouts) == (0.53, "dupacks", 0)
    assert (row.cwnd_before_bytes, row.cwnd_after_bytes, row.ssthresh_after_bytes) == (
        20000, 10000, 10000,
    )  # fmt: skip
    assert (row.dupacks, row.lost_s, row.retransmitted_pkts) == (None, None, None)
    assert row.recovered_s == 1.03


def test_one_mtu_is_a_timeout_whose_time_is_not_known() -> None:
    (row,) = episodes(frame(
        sack(0.5, 9000, 65536, 3), sack(2.5, 1500, 6000, 2), sack(3.0, 2500, 6000, 2),
        sack(3.5, 3500, 6000, 2),
    )) or []  # fmt: skip
    assert (row.detected_s, row.detected_by, row.timeouts) == (None, "timeout", 1)
    assert (row.cwnd_before_bytes, row.cwnd_after_bytes) == (9000, 1500)


def test_growing_to_the_threshold_is_no_loss() -> None:
    assert episodes(frame(sack(0.5, 5000, 6000, 4), sack(1.0, 6000, 6000, 5))) == []


def test_nothing_recorded_is_not_nothing_lost() -> None:
    assert of_cells.episodes(CELL, None, None) is None
    assert (T.protocol, S.protocol) == ("tcp", "sctp")
