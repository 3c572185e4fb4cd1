"""One cell inside a lab, from the empty kernel to the raw files: build, read back, run, record."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mininet_topos import check_built, layout
from mininet_topos.filters import ack_counts, numbered_drops
from mininet_topos.netns import Journal
from model import run_folder
from model.cell import Cell
from model.errors import VerifyError
from testbed.guest import (
    build_network,
    calibration,
    host_settings,
    link_events,
    recording,
    slow_start_threshold,
    start_flows,
)
from testbed.guest.build_network import BuiltNetwork
from testbed.guest.radio import calibration as radio_calibration
from testbed.guest.radio import wireless
from testbed.guest.recording import NS_PER_S

#: For starting what records and what sends, until time zero of the experiment. A lab in which that
#: takes time of its own says how much (``head_start_s``).
HEAD_START_S = 1
RECEIVER_TIMEOUT_S = 200.0
#: Of a machine's date against its uptime: more than reading both takes.
CLOCK_STEP_NS = 1_000_000
#: Above the first retransmission timeout of TCP and SCTP (RFC 6298, RFC 9260).
QUIET_S = 3.5
#: How long a network of radios may hold a packet: in queues, or until a way is found.
RADIO_HOLDS_S = 5.0


def run_cell(cell: Cell, folder: Path, say_phase: Callable[[str], None]) -> None:
    """Run a cell and leave its raw files in ``folder``; what was run in it, also if it fails.

    Raises:
        VerifyError: what was read back is not what was asked for.
        RunError: a program failed or did not end.
    """
    journal = Journal()
    try:
        _run(cell, folder, journal, say_phase)
    except BaseException:
        # Also where it fails for want of room or descriptors: that it fails must still be told.
        with contextlib.suppress(OSError):
            _write_commands(folder, journal)
        raise
    _write_commands(folder, journal)


def _run(cell: Cell, folder: Path, journal: Journal, say_phase: Callable[[str], None]) -> None:
    say_phase("build the network")
    lab = build_network.build(cell, folder, journal)
    say_phase("read the network back")
    build_network.read_back(lab)
    lab.write("env.json", build_network.environment(lab))
    if cell.purpose == "calibrate" and lab.wireless:
        say_phase("calibrate")
        measured, unprobed = radio_calibration.measure(lab.wireless, lab.spaces)
        build_network.settle(lab, [*unprobed, *lab.wireless.end()])
        lab.write("raw/calibration.json", measured)
    elif cell.purpose == "calibrate":
        say_phase("calibrate")
        (folder / "raw" / "calibration").mkdir(parents=True)
        addresses = {
            name: tuple(interface.address for interface in lab.laid_out.interfaces(name))
            for name in lab.roles.on("both")
        }
        found = calibration.measure(
            cell.wired, cell.seed, lab.spaces, addresses, folder / "raw" / "calibration", lab.team
        )
        lab.write("raw/calibration.json", found)
    else:
        _measure(lab, say_phase)
    say_phase("write the evidence")
    _write_counters(lab)
    lab.team.meet("all is written")  # no link may go before


def _write_commands(folder: Path, journal: Journal) -> None:
    (folder / "commands.jsonl").write_text(
        "".join(json.dumps(entry, sort_keys=True) + "\n" for entry in journal.entries)
    )


def _measure(lab: BuiltNetwork, say_phase: Callable[[str], None]) -> None:
    cell = lab.cell
    (lab.folder / "raw" / "flows").mkdir(parents=True)
    say_phase("prepare the hosts")
    slow_start_threshold.prime_initial_ssthresh(lab)
    lab.team.meet("hosts are prepared")
    if lab.wireless is None:
        _await_silence(cell)
    before = build_network.state(lab)
    recording.write_path(lab.laid_out, lab.folder / "raw")
    lab.write("raw/qdiscs-start.json", _qdiscs(lab))
    capture = recording.start_captures(cell, lab.folder / "raw", lab.laid_out, lab.spaces)
    head_start_s = int(cell.lab.get("head_start_s", HEAD_START_S))
    epoch_ns = _time_zero(lab, head_start_s)
    window = (epoch_ns + round(t_s * NS_PER_S) for t_s in (cell.measure_from_s, cell.measure_to_s))
    ack_counts.begin(lab.acks, *window)
    say_phase("start the telemetry")
    watch = _start_telemetry(lab, epoch_ns)
    happening = link_events.expect(lab, watch, before, epoch_ns)
    say_phase("start the flows")
    received = lab.received_here()
    receivers = [start_flows.start_receiver(lab, flow, epoch_ns) for flow in received]
    lab.team.meet("receivers listen")
    senders = start_flows.start_probes(lab, epoch_ns)
    epoch = _epoch(epoch_ns)
    lab.write("raw/epoch.json", epoch)
    say_phase("run the flows")
    others, started = start_flows.start_others(lab, epoch_ns, watch)
    lab.write("raw/starts.json", started)
    watch.wait_until(epoch_ns + round(cell.duration_s * NS_PER_S))
    say_phase("drain the flows")
    for flow in lab.sent_here():
        (senders | others)[flow.id].finish(RECEIVER_TIMEOUT_S)
    ends = start_flows.receivers_that_end(lab)
    # What is in flight arrives; then UDP has no end of its own, and a reset may have been lost.
    time.sleep(_holds_s(cell))
    for flow, running in zip(received, receivers, strict=True):
        if flow.id not in ends:
            running.terminate()
        running.finish(RECEIVER_TIMEOUT_S)
    lab.team.meet("receivers have ended")
    _await_silence(cell)
    say_phase("stop the telemetry")
    watch.stop()
    capture.stop()
    if cell.on_machines_kernel():
        _check_clock(epoch, _epoch(epoch_ns))
    lab.write("raw/ledger.json", host_settings.read_ledger(lab))
    say_phase("read the network back again")
    build_network.read_back_again(lab, link_events.settle(happening), _qdiscs(lab))
    if lab.wireless:
        say_phase("end the medium")
        build_network.settle(lab, lab.wireless.end())


def _start_telemetry(lab: BuiltNetwork, epoch_ns: int) -> recording.Telemetry:
    cell = lab.cell
    watch = recording.start_telemetry(cell, lab.folder / "raw", lab.laid_out, lab.spaces, epoch_ns)
    if lab.wireless:
        lab.wireless.mark_at(watch.once, epoch_ns, epoch_ns + round(cell.duration_s * NS_PER_S))
    return watch


def _time_zero(lab: BuiltNetwork, head_start_s: int) -> int:
    """Return time zero, so much later than now; of radios it was set before they warmed up."""
    if lab.wireless:
        return wireless.wait_for_time_zero(lab.wireless, head_start_s)
    return lab.team.epoch_ns(head_start_s)


def _epoch(epoch_ns: int) -> dict[str, int]:
    """Return time zero on the clocks of the probes and of captures, and how late it became."""
    before_ns = time.monotonic_ns()
    realtime_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    # Reading a clock of the virtual lab moves it by 256 ns, so the middle is exact.
    return {
        "epoch_ns": epoch_ns,
        "epoch_realtime_ns": epoch_ns + realtime_ns - (before_ns + after_ns) // 2,
        "late_ns": max(0, after_ns - epoch_ns),
    }


def _check_clock(before: Mapping[str, int], now: Mapping[str, int]) -> None:
    """Raise :class:`VerifyError` if the date was set while captures told their times by it."""
    moved_ns = now["epoch_realtime_ns"] - before["epoch_realtime_ns"]
    if abs(moved_ns) > CLOCK_STEP_NS:
        raise VerifyError(
            "the machine's clock was set while flows ran",
            wanted=f"within {CLOCK_STEP_NS / NS_PER_S:g} s of where it was",
            got=f"{moved_ns / NS_PER_S:g} s",
            hint="let a time service (chrony) settle first: it then moves the clock smoothly",
        )


def _await_silence(cell: Cell) -> None:
    """Wait for the last packets of ended connections: under way, or lost and sent once more."""
    if cell.ad_hoc:
        time.sleep(QUIET_S + RADIO_HOLDS_S)
        return
    drain_s = calibration.drain_s(cell.wired)
    time.sleep(2 * cell.wired.longest_rtt_s() + max(QUIET_S, drain_s))


def _holds_s(cell: Cell) -> float:
    """Return after how long what was sent has arrived, or never will."""
    if cell.ad_hoc:
        return RADIO_HOLDS_S
    return cell.wired.longest_rtt_s() + max(1, calibration.drain_s(cell.wired))


def _write_counters(lab: BuiltNetwork) -> None:
    every = () if lab.wireless else layout.counters(lab.laid_out, lab.cell.flows)
    wanted = tuple(counter for counter in every if counter.node in lab.spaces)
    lab.write("raw/counters.json", check_built.read_counters(lab.spaces, wanted))
    lab.write("raw/numbered_drops.json", numbered_drops.read_counts(lab.drops))
    if lab.cell.collect.acknowledgements:
        lab.write(run_folder.ACKNOWLEDGEMENTS, ack_counts.read_counts(lab.acks))
    lab.write("raw/qdiscs.json", _qdiscs(lab))
    os.sync()


def _qdiscs(lab: BuiltNetwork) -> dict[str, Any]:
    """Return every qdisc's counters, by router."""
    return {
        name: lab.spaces[name].json(["tc", "-j", "-s", "qdisc", "show"]) for name in lab.routers()
    }
