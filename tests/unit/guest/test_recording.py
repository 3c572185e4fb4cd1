"""What falls due while the agent waits is done in time and in order, and never after the end."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from mininet_topos import dumbbell
from mininet_topos.netns import Journal, Namespace
from testbed.guest import recording
from testbed.guest.recording import Recurring, Telemetry
from tests.support.recorded import wireless_cell


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    times: list[int] = []
    monkeypatch.setattr(recording, "wait_until", times.append)
    return times


def test_tasks_are_done_in_time_and_in_order(waited: list[int]) -> None:
    done: list[tuple[str, int]] = []
    watch = Telemetry(
        folder=Path(),
        recurring=[
            Recurring(act=lambda t: done.append(("a", t)), period_ns=40, due_ns=100, last_ns=200),
            Recurring(act=lambda t: done.append(("b", t)), period_ns=50, due_ns=100, last_ns=150),
        ],
    )
    watch.wait_until(140)
    assert done == [("a", 100), ("b", 100), ("a", 140)]
    assert waited == [100, 100, 140, 140]
    watch.wait_until(1000)
    assert done[3:] == [("b", 150), ("a", 180)]
    assert waited[-1] == 1000


def test_nothing_to_do_is_just_waiting(waited: list[int]) -> None:
    watch = Telemetry(folder=Path())
    watch.wait_until(5)
    watch.stop()
    assert waited == [5]


def test_flows_are_told_by_protocol_and_port() -> None:
    assert recording.ports(wireless_cell()) == {"tcp": [5001], "sctp": [5002]}


def test_hosts_are_asked_for_their_flows_protocols() -> None:
    cell = wireless_cell()
    journal = Journal()
    laid_out = dumbbell.lay_out(cell.wired, cell.seed)
    names = (*laid_out.sources, *laid_out.destinations)
    spaces = {name: Namespace(name=name, handle=0, home=0, journal=journal) for name in names}
    asked = {
        host.name: [source.what for source in sources if not source.what.startswith("/")]
        for host, sources in recording.sources(cell, laid_out, spaces)
    }
    assert asked == {"src1": ["tcp"], "src2": ["sctp"], "dst1": ["tcp"], "dst2": ["sctp"]}


def test_how_fast_a_trace_can_grow() -> None:
    # 1488-byte packets: 252 a second at 3 Mbit/s, 1680 a second over two links of 10 Mbit/s.
    cell = wireless_cell()
    assert recording.trace_bytes_per_s(cell) == pytest.approx(252.02 * 160 + 1680.1 * 72, rel=1e-4)
    large = (dataclasses.replace(cell.flows[0], message_bytes=100_000),)
    assert recording.trace_bytes_per_s(dataclasses.replace(cell, flows=large)) == pytest.approx(
        250 * 160 + 20e6 / 12_000 * 72
    )
