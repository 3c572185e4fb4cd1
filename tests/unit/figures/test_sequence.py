"""Time-sequence diagrams: numbering, losses and thinning, worked out by hand and on a real run."""

from __future__ import annotations

from typing import Any

import pytest

from reports.figures.sequence import losses, segment_bytes, sequence, single_loss_s
from tests.support.runs.figure_run import S, T, packets, recorded

WAY = ("sent", "queue_offered", "loss_offered", "loss_passed", "delivered")


def packet(number: int, t_s: float, reached: str, **fields: Any) -> list[dict[str, Any]]:
    """Return a data packet at every point up to one, 0.1 s apart."""
    common = {"flow": "T", "direction": "data", "packet": number, "payload_bytes": 1000,
              "retransmission": False, **fields}  # fmt: skip
    points = WAY[: WAY.index(reached) + 1]
    return [{**common, "point": p, "t_s": t_s + 0.1 * i} for i, p in enumerate(points)]


def ack(t_s: float, **fields: Any) -> list[dict[str, Any]]:
    common = {"flow": "T", "direction": "ack", "packet": 100, "payload_bytes": 0}
    return [{**common, "point": "delivered", "t_s": t_s, **fields}]


def test_a_packet_is_lost_where_a_later_one_got_through() -> None:
    found = losses(
        packets(
            packet(0, 0.0, "sent", seq=1),
            packet(1, 0.1, "queue_offered", seq=1001),
            packet(2, 0.2, "loss_offered", seq=2001),
            packet(3, 0.3, "loss_passed", seq=3001),
            packet(4, 0.4, "delivered", seq=4001),
            packet(5, 0.5, "loss_offered", seq=5001),  # may still be under way
        ),
        T,
    )
    assert dict(found.iter_rows()) == {
        0: "source's access link",
        1: "bottleneck's queue",
        2: "loss model, or listed",
        3: "destination's access link",
    }


def test_tcp_counts_segments_by_bytes_and_blocks_lie_around_them() -> None:
    table = packets(
        packet(0, 0.0, "delivered", seq=1),
        packet(1, 0.1, "delivered", seq=1001),
        packet(2, 0.2, "delivered", seq=2001),
        packet(3, 1.0, "delivered", seq=1001, retransmission=True),
        ack(0.6, ack=1001),
        ack(0.7, ack=1001, sack_blocks=[{"start": 2001, "end": 3001}]),
        ack(1.6, ack=3001),
    )
    found = sequence(table, table, T, 0.0, 2.0)
    assert found.segment_bytes == 1000
    assert found.sent["segment"].to_list() == [1, 2, 3, 2]
    assert found.sent["again"].to_list() == [False, False, False, True]
    # Nothing new at 0.7 s: the curve only has where it rises, and its end.
    assert found.acked.rows() == [(0.6, 1.0), (1.6, 3.0)]
    assert found.sacked.rows() == [(0.7, 2.5, 3.5)]


def test_sctp_counts_its_chunks() -> None:
    sctp = {"flow": "S"}
    table = packets(
        packet(0, 0.0, "delivered", tsn=0, **sctp),
        packet(1, 0.1, "delivered", tsn=1, **sctp),
        ack(0.6, cum_tsn_ack=0, gap_blocks=[{"start": 2, "end": 3}], **sctp),
    )
    found = sequence(table, table, S, 0.0, 2.0)
    assert found.segment_bytes is None
    assert found.sent["segment"].to_list() == [1, 2]
    assert found.acked.rows() == [(0.6, 1)]
    assert found.sacked.rows() == [(0.6, 2.5, 4.5)]


def test_only_what_lies_in_the_window_is_shown() -> None:
    table = packets(*(packet(n, float(n), "delivered", seq=1 + 1000 * n) for n in range(5)))
    found = sequence(table, table, T, 1.0, 3.0)
    assert found.sent["packet"].to_list() == [1, 2, 3]
    assert found.first_sent_pkts == 3


@pytest.mark.parametrize(
    ("lost", "wanted_s"),
    [
        ({3}, 3.0),
        ({3, 4}, None),
        ({0}, 0.0),  # nothing before the first one can be lost
        ({2, 4, 8}, 4.0),
        ({2, 4, 6}, 6.0),
        ({9}, None),
        (set(), None),
    ],
)
def test_a_single_loss_has_no_other_around_it(lost: set[int], wanted_s: float | None) -> None:
    rows = [
        packet(n, float(n), "loss_offered" if n in lost else "delivered", seq=1 + 1000 * n)
        for n in range(11)
    ]
    assert single_loss_s(packets(*rows), T, before_s=1.0, after_s=2.5, end_s=11.0) == wanted_s


def test_a_lost_retransmission_is_no_single_loss() -> None:
    rows = [
        packet(n, float(n), "loss_offered" if n == 3 else "delivered", seq=1, retransmission=n == 3)
        for n in range(11)
    ]
    assert single_loss_s(packets(*rows), T, before_s=1.0, after_s=2.0, end_s=11.0) is None


def test_a_real_run() -> None:
    table = recorded("packets")
    tcp, sctp = (sequence(table, table, flow, 0.0, 12.0) for flow in (T, S))
    assert segment_bytes(table, T) == tcp.segment_bytes == 1448
    assert (tcp.first_sent_pkts, int(tcp.sent["again"].sum())) == TCP_SENT
    assert (sctp.first_sent_pkts, int(sctp.sent["again"].sum())) == SCTP_SENT
    assert tcp.sent["segment"].to_list() == [int(n) for n in tcp.sent["segment"]]
    assert max(tcp.acked["segment"]) <= max(tcp.sent["segment"])


#: Packets with data sent by 12 s: new ones, and repeated ones.
TCP_SENT, SCTP_SENT = (214, 12), (194, 23)
