"""Sequence numbers modulo a number, and of all flows in one diagram."""

from __future__ import annotations

from typing import Any

import polars as pl

from reports.figures.sequence_wide import (
    MOST_STEPS,
    Numbers,
    numbers,
    together_figure,
    wrapped_figure,
)
from tests.support.runs.figure_run import S, T, columns, recorded

SCHEMA = recorded("packets").schema
PASSED = ("queue_offered", "loss_offered", "loss_passed", "delivered")


def rows(*found: dict[str, Any]) -> pl.DataFrame:
    data = {"flow": "T", "direction": "data", "point": "sent", "payload_bytes": 1000}
    return pl.DataFrame([{**data, **row} for row in found], schema=SCHEMA).sort("t_s")


def test_every_acknowledgement_is_there_and_lost_packets_are_known() -> None:
    passed = [{"point": point, "packet": number, "t_s": 0.1 + number, "seq": 1 + 1000 * number}
              for number in (0, 2)
              for point in PASSED]  # fmt: skip
    sent = [{"packet": n, "t_s": float(n), "seq": 1 + 1000 * n, "retransmission": False}
            for n in (0, 1, 2)]  # fmt: skip
    again = {"packet": 3, "t_s": 4.0, "seq": 1001, "retransmission": True}
    acks = [{"direction": "ack", "point": "delivered", "t_s": t_s, "ack": 1001, "packet": 50,
             "payload_bytes": 0} for t_s in (2.0, 3.0)]  # fmt: skip
    offered = {"point": "queue_offered", "packet": 1, "t_s": 1.1, "seq": 1001}
    found = numbers(rows(*sent, again, *passed, offered, *acks), T, 0.0, 3.5)
    assert found.sent["segment"].to_list() == [1, 2, 3]
    assert found.sent["again"].to_list() == [False, False, False]
    assert found.sent["lost"].to_list() == [False, True, False]
    # Both: the second is a duplicate.
    assert found.acked.rows() == [(2.0, 1), (3.0, 1)]


def made(flow: Any, *segments: int) -> Numbers:
    sent = pl.DataFrame(
        {"t_s": [float(number) for number in range(len(segments))], "segment": segments,
         "again": [False] * len(segments), "lost": [False] * len(segments)}
    )  # fmt: skip
    return Numbers(flow, sent, sent.select("t_s", "segment"))


def test_numbers_are_shown_modulo_another() -> None:
    found = made(T, 98, 99, 100, 101, 250)
    found.sent[4, "again"] = True
    figure = wrapped_figure(found, id="x", label="T", window_s=(0.0, 9.0), modulo=100)
    acked, first, again, lost = figure.spec["layer"][:4]
    assert columns(figure, acked)["segment"] == [98, 99, 0, 1, 50]
    assert columns(figure, first)["segment"] == [98, 99, 0, 1]
    assert columns(figure, again) == {"t_s": [4.0], "segment": [50]}
    assert columns(figure, lost) == {"t_s": [], "segment": []}
    assert figure.flow == "T"
    assert "4 packets with new data, 1 sent again, 0 lost, and 5 acknowledgements" in figure.caption


def test_dots_are_one_path_of_points_that_stand_alone() -> None:
    figure = wrapped_figure(made(T, 1, 2), id="x", label="T", window_s=(0.0, 9.0), modulo=100)
    dots = figure.spec["layer"][1]
    assert dots["mark"]["strokeCap"] == "round"
    assert dots["transform"][-2:] == [
        {"as": "dot", "calculate": "[datum.segment, null]"},
        {"flatten": ["dot"]},
    ]


def test_all_flows_are_in_one_diagram_without_what_was_sent_again() -> None:
    sctp = made(S, 1, 2, 3)
    sctp.sent[1, "again"] = True
    figure = together_figure([made(T, 1, 2), sctp], id="x", label="all", window_s=(0.0, 9.0))
    tcp, other = figure.spec["layer"][:2]
    assert columns(figure, tcp)["segment"] == [1, 2]
    assert columns(figure, other)["segment"] == [1, 3]
    assert tcp["mark"]["color"] != other["mark"]["color"]
    assert "SCTP, flow S: 2 packets with new data, 1 sent again." in figure.caption
    assert figure.flow is None


def test_a_long_line_is_thinned_to_a_point_or_two_per_pixel() -> None:
    figure = together_figure(
        [made(T, *range(1, 30_001))], id="x", label="all", window_s=(0.0, 30_000.0)
    )
    drawn = columns(figure, figure.spec["layer"][0])["segment"]
    assert len(drawn) <= MOST_STEPS
    assert (drawn[0], drawn[-1]) == (1, 30_000)


def test_a_real_run_is_numbered_as_its_time_sequence_diagram() -> None:
    table = recorded("packets")
    tcp, sctp = (numbers(table, flow, 0.0, 12.0) for flow in (T, S))
    assert (tcp.sent.height, int(tcp.sent["again"].sum())) == (214 + 12, 12)
    assert (sctp.sent.height, int(sctp.sent["again"].sum())) == (194 + 23, 23)
    assert tcp.sent["lost"].any()
    assert tcp.acked["segment"].is_sorted()
