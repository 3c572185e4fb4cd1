"""New data on duplicates, congestion windows, numbers and the senders' view, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from model.run_files.kernel_tables import CongestionRow
from model.run_files.tables import schema
from reports.wireshark.congestion_windows import Windows, read_windows
from reports.wireshark.recovery import Recovery
from reports.wireshark.sctp_story import SctpStory, named
from reports.wireshark.story import MISJUDGED, comments
from reports.wireshark.tcp_story import TcpPacket
from tests.unit.wireshark.test_story import (
    ACK,
    ALL,
    FIVE,
    LOST,
    SIX,
    SYN,
    ack,
    chunk,
    data,
    episode,
    sack,
    seen,
    table,
    tcp,
    tcp_story_of,
)

WINDOWS = Windows(t_s=(0.5, 1.0100002, 1.0200002, 1.0300002), cwnd_bytes=(10, 14_480, 11_584, 9))


def test_new_data_on_a_duplicate_and_the_window_that_it_met_are_told() -> None:
    said = tcp_story_of(
        [
            *FIVE, ack(10, 1.0, 2), ack(11, 1.01, 2, 1), data(12, 1.01, 6, 12),
            ack(13, 1.02, 2, 2), data(14, 1.0202, 7, 14), ack(15, 1.5, 2, 3),
        ],
        lost=[2], windows=WINDOWS,
    ).said  # fmt: skip
    assert said[11] == [
        (
            "1st duplicate acknowledgement, asks for segment 2 (seq 1001), "
            "congestion window 14480 bytes"
        )
    ]
    assert said[12] == ["new data on the 1st duplicate acknowledgement: segment 6 (seq 5001)"]
    assert said[13][0].endswith(", congestion window 11584 bytes")
    assert 14 not in said  # 200 us later: not let out by the duplicate
    assert said[15] == ["3rd duplicate acknowledgement, asks for segment 2 (seq 1001)"]


def test_new_data_after_progress_is_not_on_a_duplicate() -> None:
    said = tcp([*FIVE, ack(10, 1.0, 2, 1), ack(11, 1.1, 3), data(12, 1.1, 6, 12)])
    assert 12 not in said


def test_new_data_on_a_sack_with_a_gap_is_told() -> None:
    story = SctpStory({1: LOST}, Recovery(()), WINDOWS.met)
    story.tell(
        [
            *SIX, sack(10, 1.01, 0, [(2, 2)]), chunk(11, 1.01, 6, 11), chunk(12, 1.01, 7, 12),
            sack(13, 1.02, 0, [(2, 3)]), sack(14, 1.4, 7), chunk(15, 1.4, 8, 15),
        ]
    )  # fmt: skip
    assert story.said[10] == [
        "reports chunk 2 (TSN 1) missing for the 1st time, congestion window 14480 bytes"
    ]
    on = "new data on the 1st SACK that reports chunk 2 (TSN 1) missing: "
    assert story.said[11] == [f"{on}chunk 7 (TSN 6)"]
    assert story.said[12] == [f"{on}chunk 8 (TSN 7)"]
    assert story.said[13][0].endswith("2nd time, congestion window 11584 bytes")
    assert 15 not in story.said


def test_an_episode_tells_what_became_of_the_window() -> None:
    known = episode(
        detected_s=1.03, recovered_s=2.0, cwnd_before_bytes=14_480, cwnd_after_bytes=7240,
        ssthresh_after_bytes=7240, flight_at_act_bytes=4000, cwnd_at_recovery_bytes=7240,
        cwnd_after_recovery_bytes=7240,
    )  # fmt: skip
    duplicates = [ack(10 + n, 1.0 + n / 100, 2, n) for n in (1, 2, 3)]
    again = data(20, 1.03, 2, 20, again=True)
    said = tcp([*FIVE, *duplicates, again, ack(21, 2.0, 6)], lost=[2], episodes=[known])
    assert said[20][0].startswith(
        "fast retransmit of segment 2 (seq 1001), on the 3rd duplicate acknowledgement, congestion "
        "window from 14480 to 7240 bytes, threshold 7240, 4000 outstanding; sent again"
    )
    assert said[21] == [
        (
            "end of recovery: all that was out is acknowledged (loss episode 4), "
            "congestion window 7240 bytes"
        )
    ]


def test_numbers_are_those_of_figures_and_tables() -> None:
    # A short segment does not shift the numbers of those after it.
    short = data(1, 0.0, 1, 1)._replace(payload_bytes=400)
    rest = [data(n, 0.0, n, n)._replace(seq=401 + 1000 * (n - 2)) for n in (2, 3)]
    story = tcp_story_of([short, *rest], lost=[2, 3])
    assert story.labels == {2: "segment 1 (seq 401)", 3: "segment 2 (seq 1401)"}
    assert named([7]) == "chunk 8 (TSN 7)"
    assert named([7, 9, 12, 13]) == "chunks 8, 10, 13 and 1 more (TSN 7, 9, 12, …)"


def test_what_wireshark_4_0_takes_for_out_of_order() -> None:
    # Not the first hole, within the handshake's round trip of the newest data.
    syn = TcpPacket(50, -1.0, "data", 0, SYN, 0, 0, False, None, 65535, None)
    done = TcpPacket(51, -0.5, "data", 1, ACK, 1, 0, False, 1, 65535, None)
    duplicates = [ack(9, 0.3, 2), *(ack(9 + n, 0.4, 2, n) for n in (1, 2, 3))]
    holes = [data(20, 0.4, 2, 20, again=True), data(21, 0.4, 4, 21, again=True)]
    assert tcp_story_of([syn, done, *FIVE, *duplicates, *holes]).misjudged == [21]
    late = [data(21, 0.51, 4, 21, again=True), data(22, 0.4, 5, 22, again=True)]
    assert tcp_story_of([syn, done, *FIVE, *duplicates, *late]).misjudged == []
    # Without a handshake it takes 3 ms for the round trip.
    assert tcp_story_of([*FIVE, *duplicates, *holes]).misjudged == []


def test_windows_are_read_of_acknowledgements_alone(tmp_path: Path) -> None:
    path = tmp_path / "congestion.parquet"
    assert read_windows(path) == {}
    rows: list[dict[str, Any]] = [
        {"flow": "T", "event": "ack", "t_s": 2.0, "cwnd_bytes": 7},
        {"flow": "T", "event": "ack", "t_s": 1.0, "cwnd_bytes": 5},
        {"flow": "T", "event": "state", "t_s": 1.5},
        {"flow": "S", "event": "ack", "t_s": 1.0},
    ]
    columns = schema(CongestionRow)
    empty = dict.fromkeys(columns)
    pl.DataFrame([empty | row for row in rows], schema=columns).write_parquet(path)
    assert read_windows(path) == {"T": Windows(t_s=[1.0, 2.0], cwnd_bytes=[5, 7])}


def test_in_the_senders_view_a_loss_is_told_where_it_was_sent() -> None:
    rows = [*seen(0, ALL[:3]), *seen(1, ALL), *seen(2, ALL[:2]), *seen(3, ALL)]
    lost_ack = [{**row, "direction": "ack"} for row in seen(4, ("sent",))]
    arrived = [{**row, "direction": "ack"} for row in seen(5, ("sent", "delivered"))]
    packets = table([*rows, *lost_ack, *arrived])
    told = comments(packets, {}, senders=True)
    assert told == {0: "dropped by the loss model", 8: "dropped by the queue"}
    assert packets["point"].gather(list(told)).to_list() == ["sent", "sent"]


def test_the_senders_view_says_where_wireshark_4_0_errs() -> None:
    def row(t_s: float, direction: str, **more: Any) -> dict[str, Any]:
        point = "sent" if direction == "data" else "delivered"
        shared = {"protocol": "tcp", "tcp_flags": ACK, "retransmission": False, "dupack_count": 0}
        ends = {"seq": 1, "ack": 1, "payload_bytes": 0, "window_bytes": 65535}
        common = {"flow": "T", "connection": 0, "direction": direction, "point": point, "t_s": t_s}
        return {**common, **shared, **ends, **more}

    sent = [row(0.0, "data", seq=1 + 1000 * n, payload_bytes=1000, packet=n) for n in range(5)]
    reports = [row(0.001, "ack", ack=1001, dupack_count=n, packet=10 + n) for n in range(4)]
    again = [
        row(0.001, "data", seq=seq, payload_bytes=1000, retransmission=True, packet=20 + seq)
        for seq in (1001, 3001)
    ]
    listed = [*sent, *reports, *again]
    packets = table(listed).with_columns(t_s=pl.Series([one["t_s"] for one in listed]))
    assert [n for n, text in comments(packets, {}, senders=True).items() if MISJUDGED in text] == [
        10
    ]
    assert not any(MISJUDGED in text for text in comments(packets, {}).values())
