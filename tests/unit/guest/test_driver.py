"""Flows and socket options become the probes' command lines."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.cell import Flow
from probes.driver import (
    BIN,
    RECEIVER_OPTIONS,
    decimal,
    option_words,
    receiver_argv,
    sender_argv,
)
from tests.support.recorded import wireless_cell

TCP, SCTP = wireless_cell().flows
UDP = dataclasses.replace(TCP, protocol="udp", rate_bps=1_500_000, message_bytes=972)


def changed(flow: Flow, **changes: Any) -> Flow:
    return dataclasses.replace(flow, **changes)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (100.0, "100"),
        (0.5, "0.5"),
        (1000.25, "1000.25"),
        (1e-9, "0.000000001"),
        (1e6, "1000000"),
        (123_456_789.0, "123456789"),
        (0.1 + 0.2, "0.3"),
    ],
)
def test_seconds_have_no_exponent_and_at_most_nine_decimals(seconds: float, text: str) -> None:
    assert decimal(seconds) == text


@given(st.integers(0, 10**15))
def test_whole_nanoseconds_survive(t_ns: int) -> None:
    # A float holds 15 digits: seconds below 10**6 are exact to the nanosecond.
    assert round(float(decimal(t_ns / 1e9)) * 1e9) == t_ns


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"rcvbuf_bytes": "65536"}, ["--rcvbuf-bytes", "65536"]),
        ({"nodelay": "1"}, ["--nodelay"]),
        ({"nodelay": "0"}, []),
        ({"hb_disable": "true", "nodelay": "false"}, ["--hb-disable"]),
        (
            {"congestion_control": "reno", "maxseg_bytes": "1448"},
            ["--congestion-control", "reno", "--maxseg-bytes", "1448"],
        ),
    ],
)
def test_options_in_the_profiles_order(options: dict[str, str], words: list[str]) -> None:
    assert option_words(options) == words


OPTIONS = {"congestion_control": "reno", "sndbuf_bytes": "262144", "rcvbuf_bytes": "65536"}


#: What a receiver is always told, and a sender.
RECEIVES = (
    "{}_recv --bind 10.2.1.2 --port {} --epoch-ns 4000000000 --window-from-s 20 --duration-s 80"
    " --interval-s 0.5 "
)
SENDS = "{}_send --bind 10.1.1.2 --host 10.2.1.2 --port {} --epoch-ns 4000000000 "


@pytest.mark.parametrize(
    ("flow", "line"),
    [
        (TCP, "--congestion-control reno --rcvbuf-bytes 65536"),
        (SCTP, "--rcvbuf-bytes 65536 --streams 1"),
        (UDP, "--rcvbuf-bytes 65536"),
    ],
    ids=["tcp", "sctp", "udp"],
)
def test_receivers_get_their_own_options_only(flow: Flow, line: str) -> None:
    argv = receiver_argv(flow, "10.2.1.2", OPTIONS, 4_000_000_000, (20.0, 80.0), 0.5)
    assert " ".join(argv) == f"{BIN}/{RECEIVES.format(flow.protocol, flow.port)}{line}"


@pytest.mark.parametrize(
    ("flow", "options", "line"),
    [
        (
            changed(TCP, start_s=1.5),
            {"congestion_control": "reno", "nodelay": "1"},
            (
                "--start-s 1.5 --duration-s 98.5 --message-bytes 1448 --drain-s 150"
                " --congestion-control reno --nodelay"
            ),
        ),
        (
            changed(SCTP, streams=4, ordered=False),
            {"max_burst_packets": "0"},
            (
                "--start-s 0 --duration-s 100 --message-bytes 1448 --drain-s 150"
                " --streams 4 --unordered --max-burst-packets 0"
            ),
        ),
        (UDP, {}, "--start-s 0 --duration-s 100 --message-bytes 972 --rate-bps 1500000"),
    ],
    ids=["tcp", "sctp", "udp"],
)
def test_senders(flow: Flow, options: dict[str, str], line: str) -> None:
    argv = sender_argv(flow, "10.1.1.2", "10.2.1.2", options, 4_000_000_000)
    assert " ".join(argv) == f"{BIN}/{SENDS.format(flow.protocol, flow.port)}{line}"


@pytest.mark.parametrize(
    ("flow", "sender", "receiver"),
    [
        (TCP, "--rate-bps 463360 --messages /m", "--messages /m --message-bytes 1448"),
        (SCTP, "--rate-bps 463360 --messages /m", "--messages /m"),
    ],
)
def test_messages_at_a_rate_whose_times_are_recorded(
    flow: Flow, sender: str, receiver: str
) -> None:
    paced = changed(flow, rate_bps=463_360)
    sends = sender_argv(paced, "10.1.1.2", "10.2.1.2", {}, 0, Path("/m"))
    assert sender in " ".join(sends)
    receives = receiver_argv(paced, "10.2.1.2", {}, 0, (0.0, 1.0), 1.0, Path("/m"))
    assert " ".join(receives).endswith(receiver)


def test_ordered_sctp_says_nothing_of_order() -> None:
    assert "--unordered" not in sender_argv(SCTP, "10.1.1.2", "10.2.1.2", {}, 0)


def test_options_of_the_receiving_side_are_known_for_every_protocol() -> None:
    assert set(RECEIVER_OPTIONS) == {"tcp", "sctp", "udp"}
