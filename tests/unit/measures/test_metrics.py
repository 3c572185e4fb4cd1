"""Metrics against numbers worked by hand, and what they say when they cannot be computed."""

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.run_files.metrics.every import ALWAYS, ASKED, metric_names
from model.run_files.study import Compare, Group
from model.run_files.tables import schema
from model.run_files.traffic_tables import FlowRow
from reports.measures.flow import FLOW_FUNCTIONS
from reports.measures.metrics import (
    CELL_FUNCTIONS,
    GROUP_FUNCTIONS,
    Value,
    evaluate,
    metrics_of,
    study_metrics_of,
)
from reports.store.sample import Sample

T, S = Group(id="T", label="TCP SACK"), Group(id="S", label="SCTP")


def flow(
    name: str, group: str, goodput_bps: float | None, offered: int | None, dropped: int | None
) -> FlowRow:
    row: dict[str, Any] = dict.fromkeys(schema(FlowRow))
    row |= {"flow": name, "group": group, "goodput_bps": goodput_bps}
    row |= {"loss_offered_pkts": offered, "loss_dropped_pkts": dropped}
    return FlowRow(**row)


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


def test_every_declared_metric_has_a_function_and_every_function_a_metric() -> None:
    declared = [one.name for one in (*ALWAYS, *ASKED)]
    assert sorted(declared) == sorted([*CELL_FUNCTIONS, *GROUP_FUNCTIONS, *FLOW_FUNCTIONS])
    numbers = [*metrics_of((T, S), None), *study_metrics_of((T, S), ("T1",))]
    assert sorted(numbers) == sorted(metric_names(["T", "S"], ["T1"]))


@pytest.mark.parametrize("name", [one.name for one in (*ALWAYS, *ASKED)])
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


def test_a_flow_may_have_the_name_of_a_group() -> None:
    found = sample(flow("T", "S", 1e5, 1, 0), flow("S", "T", 3e5, 1, 0))
    metrics = {**metrics_of((T, S), None), **study_metrics_of((T, S), ("T", "S"))}
    assert evaluate(metrics["flow_goodput_T_bps"], found).value == 1e5
    assert evaluate(metrics["goodput_T_bps"], found).value == 3e5
    assert metrics["flow_goodput_T_bps"].label == "Goodput of flow T"
    assert metrics["goodput_T_bps"].label == "Goodput, TCP SACK"
