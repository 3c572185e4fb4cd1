"""Metrics against numbers worked by hand, and what they say when they cannot be computed."""

import dataclasses
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.run_files.network_path import PathFlow, PointPath
from model.run_files.point import Point
from model.run_files.study import Compare, Group
from reports.measures.metrics import Value, evaluate, metrics_of, study_metrics_of
from reports.store.records import FlowRow
from reports.store.sample import Sample, Spans
from testbed.study.vocabulary import FLOW_METRICS, METRICS, flow_metric_names, metric_names
from tests.support import published_study

T, S = Group(id="T", label="TCP SACK"), Group(id="S", label="SCTP")


def flow(
    name: str, group: str, goodput_bps: float | None, offered: int | None, dropped: int | None
) -> FlowRow:
    return FlowRow(
        flow=name,
        group=group,
        goodput_bps=goodput_bps,
        loss_offered_pkts=offered,
        loss_dropped_pkts=dropped,
    )


def sample(*flows: FlowRow, compare: Compare | None = None) -> Sample:
    return Sample(flows=flows, groups=(T, S), compare=compare, bottleneck_rate_bps=1_000_000)


def value(name: str, found: Sample) -> Value:
    return evaluate(metrics_of(found.groups, found.compare)[name], found)


#: Two flows of each protocol on 1 Mbit/s: T 100 + 100 kbit/s, S 150 + 150 kbit/s.
FOUR_FLOWS = sample(
    flow("T1", "T", 100_000.0, 1000, 10),
    flow("T2", "T", 100_000.0, 3000, 50),
    flow("S1", "S", 150_000.0, 2000, 20),
    flow("S2", "S", 150_000.0, 2000, 40),
    compare=Compare(of="S", over="T"),
)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("goodput_T_bps", 200_000.0),  # 100 000 + 100 000
        ("goodput_S_bps", 300_000.0),  # 150 000 + 150 000
        ("share_T_pct", 40.0),  # 200 / (200 + 300)
        ("share_S_pct", 60.0),  # 300 / (200 + 300)
        ("pct_increase", 50.0),  # (300 - 200) / 200
        ("utilisation_pct", 50.0),  # 500 kbit/s of 1000 kbit/s
        ("loss_T_frac", 0.015),  # (10 + 50) / (1000 + 3000): of all packets, no mean of ratios
        ("loss_S_frac", 0.015),  # (20 + 40) / (2000 + 2000)
        # flows: 500^2 / (4 x (2 x 100^2 + 2 x 150^2)) = 250 000 / 260 000
        ("jain_flows", 25 / 26),
        # totals: 500^2 / (2 x (200^2 + 300^2)) = 250 000 / 260 000
        ("jain_protocols", 25 / 26),
    ],
)
def test_by_hand(name: str, wanted: float) -> None:
    found = value(name, FOUR_FLOWS)
    assert found.reason is None
    assert found.value == pytest.approx(wanted, rel=1e-12)


def test_jain_of_flows_and_of_totals_differ_when_flows_of_one_protocol_do() -> None:
    # flows 1, 3, 2, 2: 8^2 / (4 x 18) = 8/9; totals 4, 4: 8^2 / (2 x 32) = 1
    uneven = sample(
        flow("T1", "T", 1e5, 1, 0),
        flow("T2", "T", 3e5, 1, 0),
        flow("S1", "S", 2e5, 1, 0),
        flow("S2", "S", 2e5, 1, 0),
    )
    assert value("jain_flows", uneven).value == pytest.approx(8 / 9)
    assert value("jain_protocols", uneven).value == pytest.approx(1.0)


def test_the_published_table_follows_from_its_own_goodputs() -> None:
    # 43.7 and 56.3 per cent: the increase is 56.3 / 43.7 - 1 = 28.83 %
    shares = sample(
        flow("T", "T", 43_700.0, 1, 0),
        flow("S", "S", 56_300.0, 1, 0),
        compare=Compare(of="S", over="T"),
    )
    assert value("pct_increase", shares).value == pytest.approx(28.8329519)


@pytest.mark.parametrize(
    ("name", "flows", "reason"),
    [
        (
            "pct_increase",
            [flow("T", "T", 0.0, 1, 0), flow("S", "S", 1.0, 1, 0)],
            "the goodput of TCP SACK is 0",
        ),
        ("share_T_pct", [flow("T", "T", 0.0, 1, 0)], "the goodput of all flows is 0"),
        ("share_S_pct", [flow("T", "T", 5.0, 1, 0)], "there is no goodput of SCTP"),
        (
            "utilisation_pct",
            [flow("T", "T", None, 1, 0), flow("S", "S", 1.0, 1, 0)],
            "goodput is not known for every flow",
        ),
        (
            "loss_T_frac",
            [flow("T", "T", 1.0, None, None)],
            "loss of TCP SACK is not known for every flow",
        ),
        (
            "loss_T_frac",
            [flow("T", "T", 1.0, 0, 0)],
            "the number of TCP SACK packets offered to the loss model is 0",
        ),
        ("jain_flows", [], "there is no goodput"),
        ("jain_flows", [flow("T", "T", 0.0, 1, 0)], "the largest goodput is 0"),
        ("jain_protocols", [flow("T", "T", 1.0, 1, 0)], "there is no goodput of SCTP"),
    ],
)
def test_what_cannot_be_computed_is_null_with_a_reason(
    name: str, flows: list[FlowRow], reason: str
) -> None:
    assert value(name, sample(*flows, compare=Compare(of="S", over="T"))) == Value(None, reason)


def test_no_comparison_no_increase() -> None:
    assert value("pct_increase", sample(flow("T", "T", 1.0, 1, 0))).reason == (
        "the study compares no groups"
    )


def test_names_and_order_are_stable() -> None:
    assert list(metrics_of((T, S), Compare(of="S", over="T"))) == [
        "share_T_pct",
        "share_S_pct",
        "goodput_T_bps",
        "goodput_S_bps",
        "loss_T_frac",
        "loss_S_frac",
        "cwnd_mean_T_segments",
        "cwnd_mean_S_segments",
        "pct_increase",
        "utilisation_pct",
        "jain_flows",
        "jain_protocols",
        *(
            name.format(group)
            for name in (
                "owd_mean_{}_s", "owd_p95_{}_s", "jitter_{}_s", "queueing_{}_s",
                "connect_to_data_{}_s", "wire_rate_{}_bps", "ack_wire_rate_{}_bps",
                "queue_dropped_{}_pkts",
            )
            for group in ("T", "S")
        ),
    ]  # fmt: skip


def test_windows_and_delivered_segments_by_hand() -> None:
    windows = {"T1": 6.0, "T2": 8.0, "S1": 9.0, "S2": None}
    flows = [
        dataclasses.replace(f, cwnd_mean_segments=windows[f.flow]) for f in FOUR_FLOWS.flows
    ]  # fmt: skip
    found = dataclasses.replace(
        sample(*flows), delivered_segments={"T1": 700.0, "T2": 800.5, "S1": 0.0, "S2": 4.0}
    )
    metric = study_metrics_of((T, S), ("T2",))
    # Of windows the mean, of segments the sum.
    assert value("cwnd_mean_T_segments", found).value == 7.0
    assert evaluate(metric["delivered_T_segments"], found).value == 1500.5
    assert evaluate(metric["delivered_S_segments"], found).value == 4.0
    assert evaluate(metric["flow_goodput_T2_bps"], found).value == 100_000.0
    assert value("cwnd_mean_S_segments", found) == Value(
        None, "congestion window of SCTP (the kernel's telemetry tells TCP's and SCTP's) is not"
        " known for every flow",
    )  # fmt: skip
    assert evaluate(metric["delivered_T_segments"], FOUR_FLOWS) == Value(
        None, "the study has no times for it (delivered)"
    )
    assert evaluate(metric["flow_jitter_T2_s"], found) == Value(
        None, "packets were not captured (--pcap)"
    )


def test_every_metric_a_study_may_ask_for_exists_here() -> None:
    numbers = {*metrics_of((T, S), None), *study_metrics_of((T, S), ("T1",))}
    assert numbers == {*metric_names(["T", "S"]), *flow_metric_names(["T1"])}


@pytest.mark.parametrize("name", [*METRICS, *FLOW_METRICS])
def test_every_metric_is_explained(name: str) -> None:
    text = (Path(__file__).parents[3] / "docs/metrics.md").read_text(encoding="utf-8")
    shown = name.replace("{group}", "<G>").replace("{flow}", "<F>")
    assert f"`{re.sub('dupack_[0-9]', 'dupack_<k>', shown)}`" in text


GOODPUTS = st.lists(st.floats(0, 1e12), min_size=1, max_size=20).filter(lambda v: max(v) > 0)


@given(GOODPUTS)
def test_jain_lies_between_one_nth_and_one(goodputs_bps: list[float]) -> None:
    flows = [flow(str(i), "T", bps, 1, 0) for i, bps in enumerate(goodputs_bps)]
    index = value("jain_flows", sample(*flows)).value
    assert index is not None
    assert 1 / len(flows) - 1e-12 <= index <= 1 + 1e-12


@given(st.floats(1e-300, 1e12), st.integers(1, 20))
def test_jain_of_equal_flows_is_one(goodput_bps: float, n: int) -> None:
    flows = [flow(str(i), "T", goodput_bps, 1, 0) for i in range(n)]
    assert value("jain_flows", sample(*flows)).value == pytest.approx(1.0)


@given(st.floats(0, 1e12), st.floats(1e-3, 1e12))
def test_shares_add_to_100_and_agree_with_the_increase(s_bps: float, t_bps: float) -> None:
    found = sample(
        flow("T", "T", t_bps, 1, 0),
        flow("S", "S", s_bps, 1, 0),
        compare=Compare(of="S", over="T"),
    )
    share_t, share_s = value("share_T_pct", found).value, value("share_S_pct", found).value
    increase = value("pct_increase", found).value
    assert share_t is not None
    assert share_s is not None
    assert increase is not None
    assert math.isclose(share_t + share_s, 100)
    assert increase >= -100
    assert (increase > 0) == (s_bps > t_bps)


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
    assert metric("timeouts_S", found).value == 1
    assert metric("timeouts_T", found).value == 0
    unknown = dataclasses.replace(FOUR_FLOWS, episodes=[episode()])
    for name in ("flight_full_S_frac", "regrow_S_s", "grows_at_recovery_S_frac",
                 "cwnd_stays_S_frac"):  # fmt: skip
        assert metric(name, unknown).value is None


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
    blind = dataclasses.replace(found, path=None)
    assert "older version" in str(metric("utilisation_wire_pct", blind).reason)
    unasked = dataclasses.replace(found, spans=Spans())
    for name in ("utilisation_sent_pct", "utilisation_wire_pct"):
        assert metric(name, unasked).reason == "the study does not ask for it"


def test_variation_over_time_is_that_of_the_group() -> None:
    found = dataclasses.replace(FOUR_FLOWS, variation_pct={"T": 20.0})
    assert metric("goodput_over_time_T_pct", found).value == 20
    reason = "variation of SCTP's goodput over time is not known for every flow"
    assert metric("goodput_over_time_S_pct", found).reason == reason
