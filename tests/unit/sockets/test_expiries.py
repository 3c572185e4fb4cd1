"""Expiries of retransmission timers: by recorded counters, and where a host does not tell."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

from collectors.sockets.expiries import expiries
from collectors.sockets.protocol import COLUMNS, protocol_table
from collectors.sockets.sockets import sockets_table
from model.cell import Flow
from tests.support.recorded import wireless_cell
from tests.support.recorded_sockets import EPOCH_NS, samples

FLOWS = wireless_cell().flows
TCP, SCTP = FLOWS
SEEN = pl.DataFrame(
    [("src1", "T", "tcp", "sender"), ("dst1", "T", "tcp", "receiver"),
     ("src2", "S", "sctp", "sender"), ("dst2", "S", "sctp", "receiver")],
    schema=["node", "flow", "protocol", "side"], orient="row",
)  # fmt: skip


def counters(*rows: tuple[float, str, str, str, int]) -> pl.DataFrame:
    filled = [(t_s, node, None, group, name, value) for t_s, node, group, name, value in rows]
    return pl.DataFrame(filled, schema=COLUMNS, orient="row")


COUNTED = counters(
    (0.0, "src1", "TcpExt", "TCPTimeouts", 5), (0.0, "src1", "TcpExt", "TCPSynRetrans", 2),
    (0.0, "src2", "Sctp", "T3RtxExpireds", 1), (0.0, "dst2", "Sctp", "T3RtxExpireds", 40),
    (2.0, "src1", "TcpExt", "TCPTimeouts", 7), (2.0, "src1", "TcpExt", "TCPSynRetrans", 3),
    (9.0, "src1", "TcpExt", "TCPTimeouts", 12), (9.0, "src2", "Sctp", "T3RtxExpireds", 4),
)  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    # Read in the recorded /proc/net/netstat and /proc/net/sctp/snmp of the last sample: TCPTimeouts
    # 1 and 4, of which a SYN 1 each, and SctpT3RtxExpireds.
    [("7.3", {"T": 0, "S": 3}), ("6.12", {"T": 3, "S": 2})],
)
def test_recorded_counters(kernel: str, wanted: dict[str, int]) -> None:
    recorded = samples(kernel)
    tables = (table(recorded, FLOWS, EPOCH_NS) for table in (sockets_table, protocol_table))
    assert expiries(FLOWS, *tables) == wanted


def test_from_the_first_sample_on_without_syns() -> None:
    assert expiries(FLOWS, SEEN, COUNTED) == {"T": 7 - 1, "S": 3}


def another(flow: Flow, **change: object) -> Flow:
    return dataclasses.replace(flow, id="X", **change)  # type: ignore[arg-type]


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_a_host_of_two_flows_does_not_tell_whose_they_were(side: str) -> None:
    other = pl.DataFrame([("src1", "X", "tcp", side)], schema=SEEN.schema, orient="row")
    flows = (*FLOWS, another(TCP))
    assert expiries(flows, pl.concat([SEEN, other]), COUNTED) == {"S": 3}


def test_a_flow_of_another_protocol_beside_it_counts_apart() -> None:
    other = pl.DataFrame([("src2", "X", "tcp", "sender")], schema=SEEN.schema, orient="row")
    found = expiries((*FLOWS, another(TCP)), pl.concat([SEEN, other]), COUNTED)
    assert found == {"T": 6, "S": 3}  # and of X nothing is known: src2 has no counters of TCP


@pytest.mark.parametrize(
    "flow", [dataclasses.replace(TCP, generator="iperf3"), dataclasses.replace(TCP, protocol="udp")]
)
def test_iperf3_has_a_second_connection_and_udp_no_timer(flow: Flow) -> None:
    assert expiries((flow,), SEEN, COUNTED) == {}


def test_what_was_not_seen_or_not_counted_is_not_known() -> None:
    assert expiries(FLOWS, SEEN.clear(), COUNTED) == {}
    assert expiries(FLOWS, SEEN, COUNTED.clear()) == {}
    no_syns = COUNTED.filter(pl.col("counter") != "TCPSynRetrans")
    assert expiries(FLOWS, SEEN, no_syns) == {"S": 3}
