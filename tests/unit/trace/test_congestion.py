"""Trace events of both protocols become rows of one schema; what is not told is null."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest

from collectors.trace import congestion as congestion_events
from collectors.trace.congestion import congestion
from model.cell import Flow
from tests.support.recorded import value, wireless_cell
from tests.support.recorded_trace import KERNELS, trace

FLOWS = wireless_cell().flows
EPOCH_NS = 4_000_000_000
NULLS: dict[str, Any] = dict.fromkeys(congestion_events.COLUMNS)
ACKS = value("trace-7.3/acknowledgements.json")


def rows(
    kernel: str = "7.3", flows: tuple[Flow, ...] = FLOWS, mss: int | None = 1448
) -> pl.DataFrame:
    return congestion(trace(kernel), flows, EPOCH_NS, {} if mss is None else {"T": mss})


def of(frame: pl.DataFrame, flow: str, event: str) -> pl.DataFrame:
    return frame.filter(pl.col("flow") == flow, pl.col("event") == event)


@pytest.mark.parametrize(
    ("flow", "index"),
    [
        # tcp_probe at 6.626471 s: snd_nxt=0xe5af608f snd_una=0xe5af49ef, so 5792 bytes;
        # srtt=532157 us.
        ("T", 2),
        # sctp_probe at 5.537513 s: rwnd=56848; sctp_probe_path: cwnd=5828 flight_size=7240 state=2.
        ("S", 1),
    ],
)
def test_an_acknowledgement(flow: str, index: int) -> None:
    found, wanted = of(rows(), flow, "ack").row(index, named=True), ACKS[flow]
    assert found == NULLS | wanted | {"t_s": pytest.approx(wanted["t_s"], abs=1e-6)}


def test_one_row_per_sack_though_a_shutdown_lists_the_paths_too() -> None:
    paths, _ = trace("7.3").records("sctp/sctp_probe_path", ("asoc",))
    sacks, _ = trace("7.3").records("sctp/sctp_probe", ("asoc",))
    assert (len(sacks), len(paths)) == (264, 265)
    assert of(rows(), "S", "ack").height == 264


def test_a_round_trip_that_was_not_measured_is_unknown() -> None:
    # The handshake's SYN was sent twice, so it gave no sample: the kernel prints srtt=0.
    assert of(rows(), "T", "ack")["srtt_s"].to_list()[:2] == [None, 0.531661]


def test_states_hold_until_the_next() -> None:
    tcp = rows().filter(pl.col("flow") == "T")
    assert tcp["event"].to_list()[:11] == [
        "state", "retransmit", "state", "ack", "ack", "ack", "ack", "ack", "ack", "state",
        "retransmit",
    ]  # fmt: skip
    assert tcp["state"].to_list()[:11] == ["loss"] * 2 + ["open"] * 7 + ["recovery"] * 2
    assert of(rows(), "S", "ack")["state"].value_counts().sort("state").rows() == [
        ("active", 80),
        ("potentially failed", 184),
    ]


def test_retransmissions_say_what_they_are() -> None:
    kinds = of(rows(), "T", "retransmit")["retransmission"].to_list()
    assert kinds == ["handshake"] + ["fast"] * 16
    assert rows().filter(pl.col("event") != "retransmit")["retransmission"].null_count() == (
        rows().height - 17
    )


def test_without_a_segment_size_segments_stay_segments() -> None:
    unknown = of(rows(mss=None), "T", "ack")
    assert unknown["cwnd_segments"].to_list()[:3] == [2, 3, 4]
    assert unknown["flight_bytes"].to_list()[:2] == [2896, 4344]
    for name in ("cwnd_bytes", "ssthresh_bytes", "flight_segments", "mss_bytes"):
        assert unknown[name].null_count() == unknown.height, name


def test_an_infinite_threshold_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(congestion_events, "TCP_INFINITE_SSTHRESH", 45)
    thresholds = of(rows(), "T", "ack")["ssthresh_segments"].to_list()
    assert thresholds == [None] * 6 + [3] * 5


def test_connections_of_no_flow_are_left_out() -> None:
    assert rows(flows=FLOWS[1:])["flow"].unique().to_list() == ["S"]
    # A flow of another protocol to the same port is another flow.
    other = (dataclasses.replace(FLOWS[0], protocol="udp"),)
    assert rows(flows=other).height == 0


@pytest.mark.parametrize("protocol", ["tcp", "sctp"])
def test_a_cell_of_one_protocol_has_only_its_events(protocol: str) -> None:
    whole = trace("7.3")
    kept = {e: f for e, f in whole.formats.events.items() if not e.startswith(f"{protocol}/")}
    part = dataclasses.replace(whole, formats=dataclasses.replace(whole.formats, events=kept))
    found = congestion(part, FLOWS, EPOCH_NS, {"T": 1448})
    assert found.schema == congestion_events.COLUMNS
    assert protocol not in found["protocol"].unique().to_list()
    assert found.height > 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_are_in_order_of_time_and_typed(kernel: str) -> None:
    frame = rows(kernel)
    assert frame.schema == congestion_events.COLUMNS
    assert frame["t_s"].is_sorted()
    assert rows(kernel, flows=()).schema == congestion_events.COLUMNS
    assert of(frame, "T", "ack").height == 11
    assert of(frame, "T", "retransmit").height == 17


def test_a_state_without_a_name_is_told_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    named = rows()
    monkeypatch.setattr(congestion_events, "TCP_STATES", ("open",))
    monkeypatch.setattr(congestion_events, "SCTP_STATES", {0: "inactive"})
    found = rows()
    numbers = {
        "disorder": "1",
        "recovery": "3",
        "loss": "4",
        "active": "2",
        "cwr": "2",
        "unconfirmed": "3",
    }
    numbers |= {"open": "open", "inactive": "inactive", "potentially failed": "1"}
    assert found["state"].to_list() == [numbers.get(state) for state in named["state"]]
    # What a retransmission is in such a state is not known, and is not guessed.
    kinds = {"handshake": "handshake", "probe": "probe"}
    assert found["retransmission"].to_list() == [kinds.get(k) for k in named["retransmission"]]
    assert named.filter(retransmission="fast").height
