"""Metrics of connections: by hand, and what is null with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from model.run_files.metrics.every import COUNTED_ACKS
from model.run_files.tables import schema
from model.run_files.traffic_tables import AcknowledgementRow, FlowRow
from reports.measures.connection import CONNECTION_FUNCTIONS
from reports.measures.metrics import Value, evaluate, study_metrics_of
from reports.store.sample import Sample
from tests.unit.measures.test_metrics import S, T


def flow(name: str, group: str, **changes: Any) -> FlowRow:
    row: dict[str, Any] = dict.fromkeys(schema(FlowRow))
    row |= {"flow": name, "group": group, "protocol": "sctp", "generator": "probe"}
    return FlowRow(**{**row, **changes})


def acks(name: str, ack_rate_bps: float, sack_rate_bps: float) -> AcknowledgementRow:
    counts = {key: 1 for key in schema(AcknowledgementRow) if key.endswith(("_pkts", "_bytes"))}
    return AcknowledgementRow(
        flow=name, ack_rate_bps=ack_rate_bps, sack_rate_bps=sack_rate_bps, **counts
    )


SAMPLE = Sample(
    groups=(T, S), compare=None, bottleneck_rate_bps=1_000_000,
    flows=(
        flow("T1", "T", protocol="tcp", connect_s=0.5, retransmitted_pkts=3),
        flow("T2", "T", protocol="tcp", connect_s=1.5, retransmitted_pkts=0),
        flow("S1", "S", connect_s=2.0, retransmitted_pkts=10),
        flow("S2", "S"),
    ),
    acknowledgements=(acks("T1", 1000.0, 10.0), acks("T2", 3000.0, 0.0), acks("S1", 9e3, 4e3)),
)  # fmt: skip
UDP = Sample(
    groups=(T, S), compare=None, bottleneck_rate_bps=1,
    flows=(flow("T1", "T", protocol="udp"), flow("S1", "S", generator="iperf3")),
)  # fmt: skip


def value(name: str, sample: Sample) -> Value:
    flows = tuple(row.flow for row in sample.flows)
    return evaluate(study_metrics_of(sample.groups, flows)[name], sample)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("connect_T_s", 1.0),  # (0.5 + 1.5) / 2
        ("connect_S_s", 2.0),  # S2 never was: it has no time, and is counted
        ("unconnected_T", 0.0),
        ("unconnected_S", 1.0),
        ("retransmitted_T_pkts", 3.0),
        ("ack_bandwidth_T_bps", 4000.0),
        ("sack_bandwidth_T_bps", 10.0),
    ],
)
def test_by_hand(name: str, wanted: float) -> None:
    assert value(name, SAMPLE) == Value(wanted, None)


@pytest.mark.parametrize(
    ("name", "sample", "reason"),
    [
        ("retransmitted_S_pkts", SAMPLE,
         "number of retransmissions of SCTP is not known for every flow"),
        ("ack_bandwidth_S_bps", SAMPLE,
         "bandwidth of SCTP's acknowledgements is not known for every flow"),
        ("ack_bandwidth_T_bps", UDP,
         "acknowledgements were not counted (collect: acknowledgements)"),
        ("connect_T_s", UDP, "TCP SACK has flows of UDP, which connects nothing"),
        ("unconnected_S", UDP, "SCTP has flows of a generator that does not tell"),
        ("retransmitted_S_pkts", UDP, "SCTP has flows of a generator that does not tell"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_is_null_with_a_reason(
    name: str, sample: Sample, reason: str
) -> None:
    assert value(name, sample) == Value(None, reason)


def test_a_group_of_which_nothing_was_ever_connected_has_no_connect_time() -> None:
    alone = Sample(groups=(T, S), compare=None, bottleneck_rate_bps=1, flows=(flow("S2", "S"),))
    assert value("connect_S_s", alone) == Value(None, "no flow of SCTP was ever connected")
    assert value("unconnected_S", alone) == Value(1.0, None)


def test_acknowledgements_are_counted_for_the_metrics_that_need_them() -> None:
    counted = [name for name in CONNECTION_FUNCTIONS if name.startswith(COUNTED_ACKS)]
    assert counted == ["ack_bandwidth_{group}_bps", "sack_bandwidth_{group}_bps"]
