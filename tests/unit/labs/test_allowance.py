"""What a cell may take grows with what it is, and never with the machine."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from model.cell import Cell, Flow, HostProfile, Knob, LedgerEntry
from model.event import Event
from testbed.labs.confinement import allowance
from testbed.labs.confinement.allowance import LEAST, MIB, Allowance
from testbed.labs.confinement.held import held_bytes
from tests.support.recorded import wireless_cell


def dumbbell(pairs: int, rate_bps: int, owd_s: float, queue_pkts: int) -> Cell:
    cell = wireless_cell(seed=1)
    way = dataclasses.replace(
        cell.wired.bottleneck.forward, rate_bps=rate_bps, queue_pkts=queue_pkts, owd_s=owd_s
    )
    bottleneck = dataclasses.replace(
        cell.wired.bottleneck, forward=way, reverse=dataclasses.replace(way, queue_pkts=1)
    )
    network = dataclasses.replace(
        cell.wired, sources=pairs, destinations=pairs, bottleneck=bottleneck
    )
    return dataclasses.replace(cell, network=network, hosts=settings())


def settings(**of_tcp: int) -> HostProfile:
    knobs = tuple(
        Knob(kind="tcp_socket", name=name, value=str(value), side="both")
        for name, value in of_tcp.items()
    )
    entry = LedgerEntry(parameter="p", published="", fidelity="exact", note="", knobs=knobs)
    return HostProfile(id="h", title="", entries=(entry,))


def flows(count: int, **changes: Any) -> tuple[Flow, ...]:
    one = next(flow for flow in wireless_cell(seed=1).flows if flow.protocol == "tcp")
    return (dataclasses.replace(one, **changes),) * count


def test_a_small_cell() -> None:
    cell = wireless_cell(seed=1)
    packets = round(allowance.most_packets(cell))
    forward = cell.wired.bottleneck.forward
    assert packets >= forward.rate_bps / 8 / 1500 * cell.duration_s
    per_packet_bytes = 4096 if cell.collect.pcap else 1024
    hosts = cell.wired.sources + cell.wired.destinations
    parts = hosts + len(cell.flows)
    assert allowance.of_cell(cell) == Allowance(
        disk_bytes=256 * MIB + packets * per_packet_bytes,
        files=1000 + 16 * len(cell.flows),
        memory_bytes=256 * MIB,
        processes=256 + 8 * parts,
        open_files=1024 + 8 * parts,
        console_bytes=8 * MIB,
    )


def test_captures_may_take_more_disk() -> None:
    cell = wireless_cell(seed=1)
    sizes = [
        allowance.of_cell(
            dataclasses.replace(cell, collect=dataclasses.replace(cell.collect, pcap=pcap))
        ).disk_bytes
        for pcap in (False, True)
    ]
    assert sizes[1] - 256 * MIB == 4 * (sizes[0] - 256 * MIB)


def test_five_hundred_pairs_fit() -> None:
    many = tuple(dataclasses.replace(flows(1)[0], id=f"F{n}", source=n) for n in range(500))
    allowed = allowance.of_cell(dataclasses.replace(dumbbell(500, 10**6, 0.01, 10), flows=many))
    assert allowed.memory_bytes == (256 + 896) * MIB
    assert allowed.processes > 2 * 1000
    assert allowed.open_files > 4 * 1000
    assert allowed.file_bytes >= allowed.memory_bytes


def test_five_hundred_flows_of_fifty_pairs_fit() -> None:
    cell = dumbbell(50, 10**9, 0.01, 1667)
    most = [
        allowance.of_cell(dataclasses.replace(cell, flows=flows(count))).memory_bytes
        for count in (100, 500)
    ]
    # They were seen to take 395 MiB, of which 0.55 for each flow.
    assert [most_bytes // MIB for most_bytes in most] == [256, 640]


@pytest.mark.parametrize(
    ("count", "owd_s", "queue_pkts", "needed_mib"),
    # 1 Gbit/s over 500 ms with as much again queued holds 125 MB: 500 flows were seen to take 986
    # MiB. Two flows of stock hosts cannot fill it: their windows are 3 MiB each.
    [(2, 0.25, 41_667, 256), (500, 0.25, 41_667, 1024), (500, 0.01, 1667, 395)],
)
def test_what_sockets_hold_fits(count: int, owd_s: float, queue_pkts: int, needed_mib: int) -> None:
    cell = dumbbell(50, 10**9, owd_s, queue_pkts)
    allowed = allowance.of_cell(dataclasses.replace(cell, flows=flows(count)))
    assert needed_mib <= allowed.memory_bytes // MIB <= 2 * needed_mib


def test_a_file_can_be_as_large_as_the_memory_which_is_one() -> None:
    assert LEAST.file_bytes == LEAST.memory_bytes == LEAST.disk_bytes
    assert Allowance(memory_bytes=1 << 40).file_bytes == 1 << 40


@pytest.mark.parametrize(
    ("count", "changes", "held_mib"),
    # A sender's buffer of 16 MiB is doubled by the kernel, and filled over the shortest path; one
    # that hands over 1 Mbit/s for 8 s fills 1 MB of it, counted twice.
    [
        (10, {}, 320), (10, {"rate_bps": 10**6, "start_s": 0.0, "stop_s": 8.0}, 20 / 1.048576),
        (10, {"protocol": "udp", "rate_bps": 10**6}, 0),
    ],
)  # fmt: skip
def test_senders_fill_the_buffers_they_set(
    count: int, changes: dict[str, Any], held_mib: float
) -> None:
    cell = dataclasses.replace(
        dumbbell(2, 10**6, 0.001, 1),
        hosts=settings(sndbuf_bytes=16 * MIB), flows=flows(count, **changes),
    )  # fmt: skip
    assert held_bytes(cell) / MIB == pytest.approx(held_mib, abs=0.1)
    # With 96 hosts fewer than the least memory is for, 160 MiB of it are there for sockets.
    assert allowance.of_cell(cell).memory_bytes / MIB == (448 if held_mib == 320 else 256)


def test_what_an_event_makes_of_a_path_is_counted() -> None:
    cell = dataclasses.replace(dumbbell(50, 10**8, 0.01, 1), flows=flows(50))
    event = Event(
        id="e", t_s=1.0, link="bottleneck", way="both", state="", rate_bps=10**9, owd_s=0.25,
        loss_frac=None,
    )  # fmt: skip
    later = dataclasses.replace(cell, events=(event,))
    assert held_bytes(cell) < 20 * MIB
    # 1 Gbit/s over 500 ms hold 62.5 MB; flows may have twice that in flight, at 0.6 of memory.
    assert held_bytes(later) / MIB == pytest.approx(8 * 62.5 / 1.048576, rel=0.1)


def test_a_window_that_is_bounded_by_a_sysctl_is_held_no_further() -> None:
    cell = dataclasses.replace(dumbbell(2, 10**9, 0.25, 40_000), flows=flows(2))
    knob = Knob(kind="sysctl", name="net.ipv4.tcp_rmem", value="4096 8192 65536", side="both")
    entry = LedgerEntry(parameter="p", published="", fidelity="exact", note="", knobs=(knob,))
    small = dataclasses.replace(cell, hosts=HostProfile(id="h", title="", entries=(entry,)))
    assert held_bytes(small) == pytest.approx(2 * 5 * 32768)
    assert held_bytes(cell) == pytest.approx(2 * 5 * (3 << 20))
