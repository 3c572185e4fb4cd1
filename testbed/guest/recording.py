"""What is recorded while flows run: trace events, samples of queues and of sockets, captures.

The agent has one thread, so everything periodic happens while it waits, in
:meth:`Telemetry.wait_until`. Computing takes no virtual time, but each look at the clock takes
256 ns of it (see docs/limitations.md).
"""

from __future__ import annotations

import dataclasses
import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collectors.recording import queue_sampler, socket_sampler, tcpdump, trace_recorder
from mininet_topos import taps
from mininet_topos.layout import Layout
from mininet_topos.netns import OWN_NAMESPACE, Namespace
from model import run_folder
from model.cell import Cell
from probes.process import wait_until

NS_PER_S = 1_000_000_000
#: IP and transport headers of a data packet, and the largest packet there is.
HEADERS_BYTES, PACKET_MAX_BYTES = 40, 1500
#: Of raw/pcap/points.json.
POINTS_SCHEMA = 1


@dataclass(kw_only=True)
class Recurring:
    """Something to do every ``period_ns``, next at ``due_ns`` and never after ``last_ns``."""

    act: Callable[[int], None]
    period_ns: int
    due_ns: int
    last_ns: int


@dataclass(kw_only=True)
class Telemetry:
    """All recorders of a cell."""

    folder: Path
    trace: trace_recorder.Trace | None = None
    sampler: queue_sampler.Sampler | None = None
    sockets: socket_sampler.Recorder | None = None
    recurring: list[Recurring] = field(default_factory=list)

    def once(self, when_ns: int, act: Callable[[int], None]) -> None:
        """Have something done once, before all else that falls due at that time."""
        one = Recurring(act=act, period_ns=1, due_ns=when_ns, last_ns=when_ns)
        self.recurring.insert(0, one)

    def wait_until(self, when_ns: int) -> None:
        """Wait until CLOCK_MONOTONIC shows ``when_ns``, and do all that falls due by then."""
        while due := [task for task in self.recurring if task.due_ns <= min(when_ns, task.last_ns)]:
            task = min(due, key=lambda task: task.due_ns)
            wait_until(task.due_ns)
            task.act(task.due_ns)
            task.due_ns += task.period_ns
        wait_until(when_ns)

    def stop(self) -> None:
        """End all recorders; raise :class:`RunError` if one of them lost something."""
        if self.sampler:
            queue_sampler.stop(self.sampler)
        if self.sockets:
            socket_sampler.stop(self.sockets, time.monotonic_ns())
        if self.trace:
            counts = trace_recorder.stop(self.trace)
            _write(self.folder / "trace" / "counts.json", counts)


def start_telemetry(
    cell: Cell,
    raw: Path,
    laid_out: Layout,
    spaces: Mapping[str, Namespace],
    epoch_ns: int,
) -> Telemetry:
    """Start what the cell asks for; return once it records."""
    end_ns = epoch_ns + round(cell.duration_s * NS_PER_S)
    telemetry = Telemetry(folder=raw)

    def every(period_s: float, first_ns: int, act: Callable[[int], None]) -> None:
        telemetry.recurring.append(
            Recurring(
                act=act, period_ns=round(period_s * NS_PER_S), due_ns=first_ns, last_ns=end_ns
            )
        )

    if cell.collect.telemetry or cell.collect.queue_s:
        routers = [spaces[name] for name in laid_out.routers if name in spaces]
        places = _places(laid_out, routers)
        (raw / "places.json").write_text(
            json.dumps([dataclasses.asdict(place) for place in places], indent=1) + "\n"
        )
    if cell.collect.queue_s:
        sampler = queue_sampler.start(routers, places, raw / "queue.jsonl")
        telemetry.sampler = sampler
        every(cell.collect.queue_s, epoch_ns, lambda now_ns: queue_sampler.take(sampler, now_ns))
    if cell.collect.telemetry:
        rate = trace_bytes_per_s(cell)
        size_bytes = trace_recorder.size_bytes(rate, cell.duration_s)
        own = f"-{Path(OWN_NAMESPACE).stat().st_ino}" if cell.on_machines_kernel() else ""
        trace = trace_recorder.start(raw / "trace", ports(cell), size_bytes, suffix=own)
        telemetry.trace = trace
        every(size_bytes / 2 / rate, epoch_ns, lambda _: trace_recorder.look(trace))
    if cell.collect.sockets_s:
        recorder = socket_sampler.start(sources(cell, laid_out, spaces), raw)
        telemetry.sockets = recorder
        every(
            cell.collect.sockets_s,
            epoch_ns,
            lambda now_ns: socket_sampler.take_sockets(recorder, now_ns),
        )
        every(
            cell.collect.counters_s,
            epoch_ns,
            lambda now_ns: socket_sampler.take_counters(recorder, now_ns),
        )
    return telemetry


def _places(laid_out: Layout, routers: Sequence[Namespace]) -> list[queue_sampler.Place]:
    places = []
    for router in routers:
        stages = [(s.device, s.handle, s.role) for s in laid_out.stages if s.node == router.name]
        places += queue_sampler.find_places(router, stages)
    return places


def sources(
    cell: Cell, laid_out: Layout, spaces: Mapping[str, Namespace]
) -> list[tuple[Namespace, list[socket_sampler.Source]]]:
    """Return every end host with what to ask it, by the protocols of its flows."""
    protocols: dict[str, set[str]] = {
        name: set() for name in (*laid_out.sources, *laid_out.destinations)
    }
    for flow in cell.flows:
        protocols[laid_out.sources[flow.source]].add(flow.protocol)
        protocols[laid_out.destinations[flow.destination]].add(flow.protocol)
    return [
        (spaces[name], socket_sampler.sources(name, used))
        for name, used in protocols.items()
        if name in spaces
    ]


def ports(cell: Cell) -> dict[str, list[int]]:
    """Return the ports of the cell's flows by protocol."""
    found: dict[str, list[int]] = {}
    for flow in cell.flows:
        found.setdefault(flow.protocol, []).append(flow.port)
    return found


def trace_bytes_per_s(cell: Cell) -> float:
    """Return what the trace of a cell can grow by per second at most.

    Not more packets are acknowledged than the bottlenecks pass, and not more dropped than the
    access links let in.
    """
    message_bytes = min((flow.message_bytes for flow in cell.flows), default=PACKET_MAX_BYTES)
    packet_bits = 8 * min(message_bytes + HEADERS_BYTES, PACKET_MAX_BYTES)
    if cell.ad_hoc:
        return cell.carried_bps() / packet_bits * trace_recorder.ACK_BYTES
    paths = cell.wired.paths()
    passed_bps = sum(path.bottleneck.forward.rate_bps for path in paths)
    offered_bps = sum(path.sources * path.source_access.forward.rate_bps for path in paths)
    told_bytes = passed_bps * trace_recorder.ACK_BYTES + offered_bps * trace_recorder.DROP_BYTES
    return told_bytes / packet_bits


@dataclass(frozen=True)
class Captures:
    """The captures of a cell that run: none if it asks for none."""

    folder: Path
    running: tuple[tcpdump.Capture, ...]

    def stop(self) -> None:
        """End them on a silent network; write counts.json; raise if one lost a packet."""
        if self.running:
            _write(self.folder / "counts.json", tcpdump.stop(self.running))


def write_path(laid_out: Layout, raw: Path) -> None:
    """Write raw/path.json: what packets pass, and the capture points before and after."""
    stretches = taps.stretches(laid_out)
    _write(raw / "path.json", [stretch.record() for stretch in stretches])


def start_captures(
    cell: Cell, raw: Path, laid_out: Layout, spaces: Mapping[str, Namespace]
) -> Captures:
    """Start one capture in each router if the cell asks for captures.

    raw/pcap/points.json says which point each interface index and way is.
    """
    folder = raw / "pcap"
    if not cell.collect.pcap or cell.ad_hoc:  # whose medium is captured
        return Captures(folder, ())
    folder.mkdir()
    snap_bytes = tcpdump.snap_bytes(cell)
    running, points = [], []
    for router in (name for name in laid_out.routers if name in spaces):
        file = folder / f"{router}.pcap"
        kept = file.name + run_folder.COMPRESSED
        chosen = []
        for tap in taps.taps(laid_out):
            if tap.node == router:
                with spaces[router].entered():
                    ifindex = socket.if_nametoindex(tap.device)
                chosen.append(tcpdump.Tap(ifindex=ifindex, way=tap.way))
                points.append({"file": kept, "ifindex": ifindex, **tap.record()})
        running.append(tcpdump.start(spaces[router], chosen, snap_bytes, file))
    content = {"schema": POINTS_SCHEMA, "snap_bytes": snap_bytes, "taps": points}
    _write(folder / "points.json", content)
    return Captures(folder, tuple(running))


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")
