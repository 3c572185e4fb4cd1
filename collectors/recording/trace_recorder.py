"""The kernel's own account of a run: congestion state per acknowledgement, retransmissions, drops.

Trace events go into a ring buffer of the kernel and leave it as whole binary pages, so an event
costs a copy of some hundred bytes and never a line of text. Invariants: what is asked of the kernel
is read back; an event the buffer had no room for is an error; equal runs leave equal files.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.recording import compressing, trace_pages
from model.errors import RunError, UnsupportedError

SCHEMA = 1
TRACING = Path("/sys/kernel/tracing")
INSTANCE = "groundtruth"
PAGES, FORMATS = "pages.bin.gz", "formats.json"
KFREE_SKB, QDISC_DROP = "skb/kfree_skb", "qdisc/qdisc_drop"
TCP_EVENTS = ("tcp/tcp_probe", "tcp/tcp_retransmit_skb", "tcp/tcp_cong_state_set")
SCTP_EVENTS = ("sctp/sctp_probe", "sctp/sctp_probe_path")
#: Newer than the oldest kernel the lab builds; without them a run tells less, and not wrong.
OPTIONAL_EVENTS = frozenset({"tcp/tcp_cong_state_set", QDISC_DROP})
#: Of a filter, since Linux 6.3: before it, what netem's child refuses is not told.
IN_NETEM = " || location.function == netem_dequeue"
#: The reason of what a socket's filter refused; since Linux 5.17.
OWN_FILTER = "SOCKET_FILTER"
#: What an acknowledgement and a drop take at most; SCTP's is two events.
ACK_BYTES, DROP_BYTES = 160, 72
BUFFER_MIN_BYTES, BUFFER_MAX_BYTES = 1 << 20, 8 << 20
#: What the ring buffer counts as lost; each must stay 0.
LOSSES = ("overrun", "commit overrun", "dropped events")
#: What it counts as not read yet; 0 once it was drained.
LEFT = "entries"


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A recording ring buffer and the file its pages go to."""

    instance: Path
    folder: Path
    pipes: Mapping[Path, int]  # by CPU: each has a ring buffer of its own
    pages: gzip.GzipFile
    page_bytes: int
    buffer_bytes: int
    scrubber: trace_pages.Scrubber


def start(
    folder: Path,
    ports: Mapping[str, Iterable[int]],
    buffer_bytes: int,
    tracing: Path = TRACING,
    suffix: str = "",
) -> Trace:
    """Start recording flows to these ports by protocol; return once the kernel records.

    ``suffix`` tells several recordings of one kernel apart; where there can be more than one, what
    all of them share stays as it is.

    Raises:
        UnsupportedError: the kernel has no such trace event.
        RunError: a setting did not take.
    """
    formats = read_formats(tracing, wanted_events(ports))
    folder.mkdir(parents=True)
    (folder / FORMATS).write_text(json.dumps(formats, indent=1, sort_keys=True) + "\n")
    instance = tracing / "instances" / (INSTANCE + suffix)
    if not suffix:
        # Otherwise every switch between processes is traced too, to learn their names. Inherited.
        _set(tracing / "options" / "record-cmd", "0", "0".__eq__)
    instance.mkdir()
    _set(instance / "trace_clock", "mono", lambda got: "[mono]" in got)
    kib = buffer_bytes // 1024
    _set(instance / "buffer_size_kb", str(kib), lambda got: int(got) >= kib)
    for event, chosen in filters(ports, formats["events"]).items():
        place = instance / "events" / event
        if chosen:
            _set_filter(place / "filter", chosen)
        _set(place / "enable", "1", "1".__eq__)
    return Trace(
        instance=instance,
        folder=folder,
        pipes={cpu: os.open(cpu / "trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
               for cpu in cpus(instance)},
        pages=compressing.opened(folder / PAGES),
        page_bytes=trace_pages.page_bytes(formats["header_page"]),
        buffer_bytes=buffer_bytes,
        scrubber=trace_pages.scrubber(formats["events"].values()),
    )  # fmt: skip


def cpus(instance: Path) -> list[Path]:
    """Return the folders of all CPUs' ring buffers, in order of their numbers."""
    found = (instance / "per_cpu").glob("cpu[0-9]*")
    return sorted(found, key=lambda cpu: int(cpu.name.removeprefix("cpu")))


def wanted_events(ports: Mapping[str, Iterable[int]]) -> list[str]:
    """Return the events that tell of flows of these protocols, and of drops."""
    events: list[str] = []
    if ports.get("tcp"):
        events += TCP_EVENTS
    if ports.get("sctp"):
        events += SCTP_EVENTS
    return [*events, KFREE_SKB, QDISC_DROP]


def read_formats(tracing: Path, events: Iterable[str]) -> dict[str, Any]:
    """Return the kernel's own description of pages and events, as text."""
    found = {}
    for event in events:
        try:
            found[event] = (tracing / "events" / event / "format").read_text()
        except FileNotFoundError as error:
            if event not in OPTIONAL_EVENTS:
                raise UnsupportedError("the kernel lacks a trace event", where=event) from error
    header = (tracing / "events" / "header_page").read_text()
    return {
        "schema": SCHEMA, "byte_order": sys.byteorder, "header_page": header, "events": found,
    }  # fmt: skip


def filters(ports: Mapping[str, Iterable[int]], formats: Mapping[str, str]) -> dict[str, str]:
    """Return the kernel-side filter of each event, so that nothing is recorded for nobody.

    The state of a flow is its sender's, and the sender's peer has the flow's port. Where a qdisc
    tells of its drops, the anonymous freeing of the same packet is left out.
    """
    chosen = {}
    for event, text in formats.items():
        if event in TCP_EVENTS:
            chosen[event] = any_of("dport", ports["tcp"])
        elif event == "sctp/sctp_probe":
            chosen[event] = any_of("peer_port", ports["sctp"])
        elif event == KFREE_SKB:
            told = ("QDISC_DROP",) if QDISC_DROP in formats else ()
            chosen[event] = drop_filter(text, told)
        else:
            chosen[event] = ""
    return chosen


def any_of(field: str, values: Iterable[int]) -> str:
    """Return the filter that lets a field have one of these values.

    Of many the ends are told, as the kernel takes a filter of one page at most: between the ports
    of a protocol's flows are only those of other protocols' flows, which its events never tell of.
    """
    numbers = sorted(set(values))
    if len(numbers) > 2:
        return f"{field} >= {numbers[0]} && {field} <= {numbers[-1]}"
    return " || ".join(f"{field} == {value}" for value in numbers)


def drop_filter(text: str, told_elsewhere: Iterable[str]) -> str:
    """Return the filter of ``kfree_skb`` that lets real drops pass.

    A packet freed for no stated reason was not dropped, with one exception: netem says no reason
    when its child qdisc refuses a packet. What a program's own filter keeps from its socket has
    arrived, and is not lost to anybody: an AODV daemon has a hundred requests a second filtered.
    """
    numbers = {name: int(n) for n, name in re.findall(r'\{ (\d+), "(\w+)" \}', text)}
    dull = sorted(numbers[name] for name in ("NOT_SPECIFIED", OWN_FILTER, *told_elsewhere))
    stated = " && ".join(f"reason != {number}" for number in dull)
    return f"({stated}){IN_NETEM}"


def size_bytes(bytes_per_s: float, duration_s: float) -> int:
    """Return a ring buffer's size: all of a short run, or half of it is read in time."""
    whole = round(bytes_per_s * duration_s)
    return min(max(whole, BUFFER_MIN_BYTES), BUFFER_MAX_BYTES)


def _set(path: Path, value: str, agrees: Callable[[str], bool]) -> None:
    """Write one setting of the tracer and read it back."""
    try:
        path.write_text(value)
        got = path.read_text().strip()
    except OSError as error:
        raise RunError(
            "cannot set up tracing", where=str(path), wanted=value, got=str(error)
        ) from error
    if not agrees(got):
        raise RunError("tracing is not set as asked", where=str(path), wanted=value, got=got)


def _set_filter(path: Path, chosen: str) -> None:
    """Filter an event, on kernels before 6.3 by what they know of it."""
    try:
        _set(path, chosen, chosen.__eq__)
    except RunError:
        known = chosen.removesuffix(IN_NETEM)
        if known == chosen:
            raise
        _set(path, known, known.__eq__)


def look(trace: Trace) -> None:
    """Empty all ring buffers if one is half full."""
    if any(_counts(cpu)["bytes"] * 2 >= trace.buffer_bytes for cpu in trace.pipes):
        drain(trace)


def drain(trace: Trace) -> None:
    """Move what the ring buffers hold to the file, page by page, CPU by CPU."""
    for pipe in trace.pipes.values():
        with contextlib.suppress(BlockingIOError):
            while page := os.read(pipe, trace.page_bytes):
                trace.pages.write(trace_pages.scrub(page, trace.scrubber))


def stop(trace: Trace) -> dict[str, int]:
    """Stop recording, write the rest, and return what all ring buffers counted together.

    Raises:
        RunError: an event was lost, or is left in a ring buffer.
    """
    _set(trace.instance / "tracing_on", "0", "0".__eq__)
    drain(trace)
    for pipe in trace.pipes.values():
        os.close(pipe)
    trace.pages.close()
    counts = {"cpus": len(trace.pipes)}
    for cpu in trace.pipes:
        found = _counts(cpu)
        lost = {name: found.get(name) for name in (*LOSSES, LEFT)}
        if any(lost.values()) or None in lost.values():
            raise RunError(
                "trace events are lost", where=f"{trace.folder}, {cpu.name}", wanted="none",
                got=str(lost),
            )  # fmt: skip
        for name, count in found.items():
            counts[name] = counts.get(name, 0) + count
    trace.instance.rmdir()
    return counts


def _counts(cpu: Path) -> dict[str, int]:
    return read_counts((cpu / "stats").read_text())


def read_counts(stats: str) -> dict[str, int]:
    """Return the counters of a ring buffer's ``stats`` file by their names there."""
    return {name: int(n) for name, n in re.findall(r"^([a-z ]+): (\d+)$", stats, re.MULTILINE)}
