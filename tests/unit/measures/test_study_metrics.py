"""Metrics that a study asks for: of losses and windows, between two times, of a link's use."""

import dataclasses
from typing import Any

import pytest

from model.run_files.network_path import PathFlow, PointPath
from model.run_files.point import Point
from model.run_files.tables import schema
from model.run_files.traffic_tables import PathRow
from reports.measures.metrics import Value, evaluate, study_metrics_of
from reports.store.sample import Sample, Spans
from tests.support import published_study
from tests.unit.measures.test_metrics import FOUR_FLOWS, T, flow, sample

NOTHING_OF: dict[str, Any] = dict.fromkeys(schema(PathRow))
CAPTURED = PathRow(**{**NOTHING_OF, "flow": "S1"})


def metric(name: str, found: Sample) -> Value:
    return evaluate(study_metrics_of(found.groups, ())[name], found)


def test_spread_over_the_flows_of_a_group() -> None:
    flows = [flow(f"T{i}", "T", bps, 1, 0) for i, bps in enumerate((90e3, 100e3, 110e3))]
    # mean 100, s = 10
    found = sample(*flows, flow("S1", "S", 1e5, 1, 0))
    assert metric("goodput_cv_T_pct", found).value == pytest.approx(10)
    assert metric("goodput_cv_S_pct", found).reason == "SCTP has one flow"
    unknown = sample(*flows, flow("T9", "T", None, 1, 0))
    reason = "goodput of TCP SACK is not known for every flow"
    assert metric("goodput_cv_T_pct", unknown).reason == reason


def loss(
    flow_id: str, by: str | None, dupacks: int | None, new: int | None, end_s: float | None,
    on_each: tuple[int | None, ...] = (None, None, None),
) -> dict[str, object]:  # fmt: skip
    each = {f"new_data_on_dupack_{k}_pkts": n for k, n in enumerate(on_each, 1)}
    return {
        "flow": flow_id, "detected_by": by, "dupacks": dupacks, "new_data_pkts": new,
        "recovered_s": end_s, "recover_s": end_s, **each,
    }  # fmt: skip


def test_means_over_loss_episodes() -> None:
    rows = [
        loss("T1", "dupacks", 3, 2, 0.5),
        loss("T2", "rack", 2, 1, 1.5),
        loss("T1", "timeout", 0, 0, 4.0),  # no acknowledgement told of it, yet it recovered
        loss("T1", "dupacks", 3, 3, None),  # not over when the run ended
        loss("T1", None, None, None, None),  # the sender never acted
        loss("S1", "dupacks", 3, None, 0.5),
    ]
    found = dataclasses.replace(FOUR_FLOWS, episodes=rows)
    assert metric("dupacks_T_pkts", found).value == pytest.approx((3 + 2 + 3) / 3)
    assert metric("new_data_on_dupacks_T_pkts", found).value == 2
    assert metric("recover_T_s", found).value == 2
    assert metric("dupacks_S_pkts", found).value == 3
    assert metric("new_data_on_dupacks_S_pkts", found).reason == (
        "new packets sent not known in 1 of 1 loss episodes of SCTP: captures tell (--pcap)"
    )


def test_each_duplicate_by_itself() -> None:
    """A total of four on two duplicates says nothing of the third; nor does one rich loss."""
    rows = [
        loss("S1", "dupacks", 3, 4, 0.5, (2, 2, 0)),
        loss("S1", "dupacks", 3, 6, 0.5, (3, 3, 0)),
        loss("S1", "dupacks", 3, 1, 0.5, (0, 0, 1)),
        loss("S1", "rack", 1, 1, 1.5, (1, None, None)),
        loss("S1", "timeout", 0, 0, 4.0),
        loss("T1", "dupacks", 4, None, 0.5),
        loss("T1", "rack", 1, 0, 0.5, (0, None, None)),
    ]
    found = dataclasses.replace(FOUR_FLOWS, episodes=rows)
    assert metric("new_data_on_dupack_1_S_pkts", found).value == 6 / 4
    assert metric("new_data_on_dupack_2_S_pkts", found).value == pytest.approx(5 / 3)
    assert metric("new_data_on_dupack_3_S_pkts", found).value == pytest.approx(1 / 3)
    assert metric("sends_on_dupack_1_S_frac", found).value == 3 / 4
    assert metric("sends_on_dupack_2_S_frac", found).value == pytest.approx(2 / 3)
    assert metric("sends_on_dupack_3_S_frac", found).value == pytest.approx(1 / 3)
    assert metric("repeats_on_dupack_3_S_frac", found).value == 3 / 4
    assert metric("repeats_on_dupack_4_S_frac", found).value == 0
    assert metric("repeats_on_dupack_4_T_frac", found).value == 1 / 2
    reason = "new packets sent on duplicate 1 not known in 1 of 2 loss episodes of TCP SACK"
    assert metric("sends_on_dupack_1_T_frac", found).reason == f"{reason}: captures tell (--pcap)"
    few = dataclasses.replace(FOUR_FLOWS, episodes=rows[3:4])
    reason = "no loss of SCTP had 2 duplicates before it was repeated"
    assert metric("new_data_on_dupack_2_S_pkts", few).reason == reason
    blind = dataclasses.replace(FOUR_FLOWS, episodes=[loss("S1", "dupacks", None, None, 0.5)])
    for name in ("sends_on_dupack_1_S_frac", "repeats_on_dupack_3_S_frac"):
        assert str(metric(name, blind).reason).endswith("captures tell (--pcap)")


def test_loss_episodes_that_nothing_recorded_or_that_never_were() -> None:
    for name in ("dupacks_T_pkts", "new_data_on_dupacks_T_pkts", "recover_T_s"):
        reason = "neither captured (--pcap) nor told by the kernel's events"
        assert metric(name, FOUR_FLOWS).reason == reason
        none = metric(name, dataclasses.replace(FOUR_FLOWS, episodes=[]))
        assert none.value is None
        assert none.reason in (
            "no acknowledgement told TCP SACK of a loss",
            "there is no loss of TCP SACK that was recovered from",
        )


def episode(flow_id: str = "S1", **numbers: object) -> dict[str, object]:
    columns = ("first_new_on_dupack", "acks_to_new_data_pkts", "flight_at_act_bytes",
               "cwnd_before_bytes", "cwnd_changes", "regrow_s", "cwnd_at_recovery_bytes",
               "cwnd_after_recovery_bytes", "lost_again_pkts")  # fmt: skip
    found = {**dict.fromkeys(columns), **loss(flow_id, "dupacks", 4, 3, 0.5), "timeouts": 0}
    return {**found, **numbers}


def test_what_windows_do_after_losses() -> None:
    rows = [
        episode(flight_at_act_bytes=11584, cwnd_before_bytes=13031, regrow_s=0.52,
                cwnd_at_recovery_bytes=6516, cwnd_after_recovery_bytes=7964, cwnd_changes=0),
        episode(flight_at_act_bytes=6516, cwnd_before_bytes=6516, regrow_s=1.04,
                cwnd_at_recovery_bytes=6516, cwnd_after_recovery_bytes=6516, cwnd_changes=2),
        episode(flight_at_act_bytes=4344, cwnd_before_bytes=5792, timeouts=1,
                cwnd_at_recovery_bytes=1500, cwnd_after_recovery_bytes=3000, cwnd_changes=0),
        episode(flight_at_act_bytes=8000, cwnd_before_bytes=6516),
    ]  # fmt: skip
    found = dataclasses.replace(FOUR_FLOWS, episodes=rows)
    names = ("T1", "T2", "S1", "S2")
    sizes = published_study.path([published_study.flow(n, n[0], "sctp") for n in names])
    # A packet more is 13032 > 13031 bytes, and 5792, which the window of 5792 has room for.
    sized = dataclasses.replace(found, path=sizes)
    assert metric("flight_full_S_frac", sized).value == 3 / 4
    assert "older version" in str(metric("flight_full_S_frac", found).reason)
    assert metric("regrow_S_s", found).value == pytest.approx(0.78)
    assert metric("grows_at_recovery_S_frac", found).value == 1 / 2
    assert metric("cwnd_stays_S_frac", found).value == 1 / 2  # not of the one with a timeout
    captured = dataclasses.replace(found, paths=(CAPTURED,))
    assert metric("timeouts_S", captured).value == 1
    assert metric("timeouts_T", captured).value == 0
    unknown = dataclasses.replace(FOUR_FLOWS, episodes=[episode()])
    for name in ("flight_full_S_frac", "regrow_S_s", "grows_at_recovery_S_frac",
                 "cwnd_stays_S_frac"):  # fmt: skip
        assert metric(name, unknown).value is None


def test_timeouts_without_captures_are_the_hosts_own() -> None:
    """The kernel's events have one expiry between two acknowledgements, however many there were."""
    told = [episode(timeouts=1)]
    flows = [
        dataclasses.replace(one, timeouts=number)
        for one, number in zip(FOUR_FLOWS.flows, (2, 0, 3, 4), strict=True)
    ]
    found = dataclasses.replace(FOUR_FLOWS, flows=tuple(flows), episodes=told)
    assert metric("timeouts_T", found).value == 2
    assert metric("timeouts_S", found).value == 7
    assert metric("timeouts_S", dataclasses.replace(found, episodes=None)).value == 7
    one = dataclasses.replace(flows[3], timeouts=None)
    unknown = dataclasses.replace(found, flows=(*flows[:3], one))
    assert metric("timeouts_T", unknown).value == 2
    assert metric("timeouts_S", unknown).value is None
    assert "(collect: counters_s) do not tell it of every flow of SCTP" in str(
        metric("timeouts_S", unknown).reason
    )


def test_new_data_after_losses_and_losses_of_what_was_repeated() -> None:
    rows = [
        episode(first_new_on_dupack=5, acks_to_new_data_pkts=2, lost_again_pkts=0),
        episode(first_new_on_dupack=None, acks_to_new_data_pkts=4, lost_again_pkts=1, timeouts=2),
        episode(first_new_on_dupack=6, acks_to_new_data_pkts=None, lost_again_pkts=2),
    ]
    found = dataclasses.replace(FOUR_FLOWS, episodes=rows)
    assert metric("first_new_on_dupack_S", found).value == 5.5
    assert metric("acks_to_new_data_S_pkts", found).value == 3
    assert metric("timeout_if_lost_again_S_frac", found).value == 1 / 2
    never = dataclasses.replace(FOUR_FLOWS, episodes=rows[:1])
    assert (
        metric("timeout_if_lost_again_S_frac", never).reason == "no retransmission of SCTP was lost"
    )
    told = dataclasses.replace(FOUR_FLOWS, episodes=[episode()])
    assert "captures tell" in str(metric("timeout_if_lost_again_S_frac", told).reason)


def test_between_two_times() -> None:
    spans = Spans(
        sent_segments={"T1": 700.0, "T2": 800.0, "S1": 1.0, "S2": 2.0},
        cwnd_segments={"T1": (1.0, 12.0), "T2": (2.0, 19.0)},
        bins=(0.25, 0.75),
    )
    found = dataclasses.replace(FOUR_FLOWS, spans=spans)
    assert metric("sent_T_segments", found).value == 1500
    assert metric("cwnd_min_T_segments", found).value == 1
    assert metric("cwnd_max_T_segments", found).value == 19
    reason = "congestion window of SCTP is not known for every flow"
    assert metric("cwnd_max_S_segments", found).reason == reason
    assert metric("silent_bins_frac", found).value == 0.25
    assert metric("low_bins_frac", found).value == 0.75
    assert metric("silent_bins_frac", FOUR_FLOWS).reason is not None


def path_flow(name: str, protocol: str, packet_bytes: int) -> PathFlow:
    return PathFlow(flow=name, group=name[0], protocol=protocol, rate_bps=0, payload_bytes=1448,
                    packet_bytes=packet_bytes)  # fmt: skip


def test_readings_of_utilisation() -> None:
    """A link of 0.2 Mbit/s that sends 1488-byte packets without a pause: 2000 in 119.04 s."""
    path = PointPath(
        point=Point.of({}), bottleneck_rate_bps=200_000, forward_rates_bps=(200_000.0,),
        base_owd_s=0.25, base_rtt_s=0.5, loss_frac=0.015,
        flows=(path_flow("T1", "tcp", 1488),),
    )  # fmt: skip
    # 2150 in all: senders go on with what they had taken on when the run was to end.
    row = flow("T1", "T", 1e5, 2150, 30)
    found = Sample(
        flows=(row,), groups=(T,), compare=None, bottleneck_rate_bps=200_000, path=path,
        duration_s=119.04, spans=Spans(out_of_buffer_pkts=2000, new_pkts={"T1": 1980.0}),
    )  # fmt: skip
    assert metric("utilisation_wire_pct", found).value == pytest.approx(100)
    assert metric("utilisation_data_pct", found).value == pytest.approx(100 * 1448 / 1488)
    assert metric("utilisation_sent_pct", found).value == pytest.approx(99 * 1448 / 1488)
    # 16.8 packets a second are 1488 * 8 * 16.8 = 199987.2 bit/s.
    measured = dataclasses.replace(found, spans=Spans(out_of_buffer_pps=16.8))
    assert metric("utilisation_link_pct", measured).value == pytest.approx(99.9936)
    blind = dataclasses.replace(found, path=None)
    assert "older version" in str(metric("utilisation_wire_pct", blind).reason)
    unasked = dataclasses.replace(found, spans=Spans())
    for name in ("utilisation_sent_pct", "utilisation_wire_pct", "utilisation_link_pct"):
        assert metric(name, unasked).reason == "the study does not ask for it"


def test_variation_over_time_is_that_of_the_group() -> None:
    found = dataclasses.replace(FOUR_FLOWS, variation_pct={"T": 20.0})
    assert metric("goodput_over_time_T_pct", found).value == 20
    reason = "variation of SCTP's goodput over time is not known for every flow"
    assert metric("goodput_over_time_S_pct", found).reason == reason


def test_marked_packets_are_those_of_all_receivers_or_unknown() -> None:
    flows = [
        dataclasses.replace(flow(f"T{i}", "T", 1e5, 1, 0), marked_pkts=marked)
        for i, marked in enumerate((3, 4))
    ]
    found = sample(*flows, flow("S1", "S", 1e5, 1, 0))
    assert metric("marked_T_pkts", found).value == 7
    assert (
        metric("marked_S_pkts", found).reason
        == "marked packets of SCTP is not known for every flow"
    )


def test_quantiles_of_the_time_in_the_buffer() -> None:
    rows = tuple(
        dataclasses.replace(CAPTURED, flow=name, queue_p95_s=p95_s, queue_p99_s=2 * p95_s)
        for name, p95_s in (("T1", 0.01), ("T2", 0.03))
    )
    found = dataclasses.replace(FOUR_FLOWS, paths=rows)
    assert metric("queueing_p95_T_s", found).value == pytest.approx(0.02)
    assert metric("queueing_p99_T_s", found).value == pytest.approx(0.04)
