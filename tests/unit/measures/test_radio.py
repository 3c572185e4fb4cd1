"""Metrics of radios and of routing: by hand, and what is null with a reason."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from model.run_files.path_tables import AirtimeRow, RadioRow
from model.run_files.tables import schema
from reports.measures.metrics import Value, evaluate, metrics_of, study_metrics_of
from reports.measures.radio import NOT_COUNTED, RADIO_FUNCTIONS
from reports.store.sample import NO_BOTTLENECK, NO_RADIOS, Sample
from tests.unit.measures.test_connection import flow
from tests.unit.measures.test_metrics import S, T


def radio(node: str, **changes: int | None) -> RadioRow:
    row: dict[str, Any] = dict.fromkeys(schema(RadioRow), 0)
    return RadioRow(**{**row, "node": node, **changes})


def air(kind: str, air_frac: float) -> AirtimeRow:
    return AirtimeRow(kind=kind, air_s=air_frac * 100, over_s=100.0, air_frac=air_frac)


def sample(*radios: RadioRow, duration_s: float = 20.0) -> Sample:
    return Sample(
        groups=(T, S), compare=None, bottleneck_rate_bps=None, flows=(), radios=radios,
        airtime=(air("data", 0.25), air("broadcast", 0.03), air("management", 0.02),
                 air("ack", 0.125), air("rts", 0.0625), air("cts", 0.05)),
        duration_s=duration_s,
    )  # fmt: skip


SAMPLE = sample(
    radio("n1", link_breaks=2, routes_broken=3, discoveries=4, control_bytes=1000,
          given_up_frames=5, given_up_management_frames=2, queue_dropped_frames=6,
          attempts=30, collided_attempts=3,
          rts_attempts=41, rts_answered_attempts=30, rts_unanswered_attempts=10,
          protected_attempts=30, rts_collided_attempts=9),
    radio("n2", link_breaks=1, routes_broken=0, discoveries=1, control_bytes=250,
          given_up_frames=2, queue_dropped_frames=0, attempts=10, collided_attempts=5,
          rts_attempts=10, rts_answered_attempts=2, rts_unanswered_attempts=8,
          protected_attempts=2, rts_collided_attempts=6),
    radio("n3"),
)  # fmt: skip


def value(name: str, one: Sample) -> Value:
    return evaluate(study_metrics_of(one.groups, ())[name], one)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("link_breaks", 3.0),
        ("routes_broken", 3.0),
        ("discoveries", 5.0),
        ("routing_rate_bps", 500.0),  # 1250 bytes in 20 s
        ("frames_given_up", 7.0),
        ("packets_given_up", 5.0),
        ("frames_queue_dropped", 6.0),
        # 9 + 3 of 41 RTS, each frame after one; 6 + 5 of 10 RTS and 8 frames without
        ("attempts_collided_frac", 23 / 59),
        ("rts_unanswered_frac", 0.36),  # 18 of 50; what was still open at the end is neither
        ("air_data_frac", 0.25),
        ("air_broadcast_frac", 0.03),
        ("air_management_frac", 0.02),
        ("air_ack_frac", 0.125),
        ("air_rts_cts_frac", 0.1125),
    ],
)
def test_by_hand(name: str, wanted: float) -> None:
    assert value(name, SAMPLE).value == pytest.approx(wanted)


def test_all_are_tested() -> None:
    (marks,) = test_by_hand.pytestmark  # type: ignore[attr-defined]
    assert {name for name, _ in marks.args[1]} == set(RADIO_FUNCTIONS)


@pytest.mark.parametrize("name", RADIO_FUNCTIONS)
def test_a_network_of_links_has_none(name: str) -> None:
    links = Sample(groups=(T, S), compare=None, bottleneck_rate_bps=1_000_000, flows=())
    found = value(name, links)
    assert found.value is None
    assert found.reason == NO_RADIOS


def test_what_was_never_sent_has_no_share() -> None:
    quiet = sample(radio("n1"), radio("n2"))
    assert value("attempts_collided_frac", quiet).value is None
    assert "number of attempts" in (value("attempts_collided_frac", quiet).reason or "")
    assert value("rts_unanswered_frac", quiet).value is None
    assert "number of RTS" in (value("rts_unanswered_frac", quiet).reason or "")
    assert value("link_breaks", quiet).value == 0.0
    assert value("routing_rate_bps", sample(radio("n1"), duration_s=0.0)).value is None


def test_collisions_are_of_rts_where_these_precede_each_frame_and_of_frames_where_none_do() -> None:
    with_rts = radio(
        "n1", rts_attempts=20, rts_collided_attempts=5, protected_attempts=15, attempts=15
    )
    assert value("attempts_collided_frac", sample(with_rts)).value == pytest.approx(0.25)
    late = dataclasses.replace(with_rts, collided_attempts=15)  # each frame after its CTS, too
    assert value("attempts_collided_frac", sample(late)).value == pytest.approx(1.0)
    without = radio("n1", attempts=20, collided_attempts=4)
    assert value("attempts_collided_frac", sample(without)).value == pytest.approx(0.2)


def test_radios_have_no_bottleneck_to_fill() -> None:
    sent = dataclasses.replace(SAMPLE, flows=(flow("F1", "T", goodput_bps=1e5),))
    found = evaluate(metrics_of((T, S), None)["utilisation_pct"], sent)
    assert (found.value, found.reason) == (None, NO_BOTTLENECK)


@pytest.mark.parametrize("name", ["link_breaks", "routes_broken", "discoveries"])
def test_a_protocol_that_counts_no_such_thing_has_no_value_of_it(name: str) -> None:
    mesh = sample(radio("n1", control_bytes=1000, **{name: None}), radio("n2", **{name: None}))
    assert (value(name, mesh).value, value(name, mesh).reason) == (None, NOT_COUNTED)
    assert value("routing_rate_bps", mesh).value == pytest.approx(400.0)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("owd_mean_T_s", "a network of radios has no bottleneck to capture packets at"),
        ("flow_jitter_T1_s", "a network of radios has no bottleneck to capture packets at"),
        ("queue_dropped_T_pkts", "a network of radios has no bottleneck"),
    ],
)
def test_what_only_links_have_names_no_option_that_would_not_help(name: str, reason: str) -> None:
    one = dataclasses.replace(SAMPLE, flows=(flow("T1", "T"),))
    number = {**metrics_of((T, S), None), **study_metrics_of((T, S), ("T1",))}[name]
    assert evaluate(number, one) == Value(None, reason)
