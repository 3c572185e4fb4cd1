"""What machines left of one cell, put together as one lab leaves it, on one clock. Pure but files.

Each machine's agent wrote of its own nodes, in its own time. Files of a flow, a router or a
measurement come from one machine and stay what they are, but for their times; documents of all
nodes are joined. The reference clock is that of the router the data comes to first.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.raw import compressed, messages
from collectors.recording import compressing
from collectors.recording.socket_sampler import FRAME
from collectors.sockets.samples import read_samples
from mininet_topos import dumbbell, layout
from model import run_folder
from model.cell import Cell
from model.errors import RunError
from testbed.guest import calibration, ledger, link_fill
from testbed.labs.remote import retold
from testbed.labs.remote.clocks import Shift


@dataclass(frozen=True, kw_only=True)
class Left:
    """What one machine left, in a folder, and how its times are told on the reference clock."""

    machine: str
    folder: Path
    shift: Shift


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What all machines left, the reference first, and which machine each node was.

    One-way delays are told if clocks are known to ``enough_ns``.
    """

    cell: Cell
    enough_ns: float
    left: tuple[Left, ...]
    by_node: Mapping[str, Left]
    into: Path

    def write(self, name: str, text: str) -> None:
        """Write a text of the whole."""
        path = self.into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_json(self, name: str, value: Any) -> None:
        """Write a document of the whole."""
        self.write(name, json.dumps(value, indent=1, sort_keys=True) + "\n")

    def documents(self, name: str) -> list[Any]:
        """Return each machine's document of that name, of those that have one."""
        return [
            json.loads((one.folder / name).read_text())
            for one in self.left
            if (one.folder / name).exists()
        ]


def assemble(parts: Parts) -> None:
    """Write the whole cell.

    Raises:
        RunError: a machine left less than it should, or what cannot be joined.
    """
    try:
        for act in (_documents, _of_time, _flows, _captures, _queues, _sockets, _calibration):
            act(parts)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error) as error:
        raise RunError(
            "what the machines left cannot be put together", where=f"cell {parts.into.name}",
            got=repr(error),
        ) from error  # fmt: skip


def _documents(parts: Parts) -> None:
    """Join what is told by node, flow or check."""
    verify = parts.documents(run_folder.VERIFY)
    checks = [check for one in verify for check in one["checks"]]
    parts.write_json(run_folder.VERIFY, {**verify[0], "checks": checks})
    for name in (
        "raw/read_back.json", "raw/qdiscs.json", "raw/qdiscs-start.json", "raw/path.json",
        "raw/pcap/counts.json", "raw/calibration.json",
    ):  # fmt: skip
        if found := parts.documents(name):
            parts.write_json(name, joined(found))
    for name in (run_folder.PLACES, run_folder.NUMBERED_DROPS, run_folder.ACKNOWLEDGEMENTS):
        if found := parts.documents(name):
            parts.write_json(name, [row for one in found for row in one])
    laid_out = dumbbell.lay_out(parts.cell.wired, parts.cell.seed)
    order = [
        (one.flow, one.name, one.node, one.device)
        for one in layout.counters(laid_out, parts.cell.flows)
    ]
    rows = [row for one in parts.documents("raw/counters.json") for row in one]
    told_by = ("flow", "counter", "node", "device")
    rows.sort(key=lambda row: order.index(tuple(row[key] for key in told_by)))
    parts.write_json("raw/counters.json", rows)
    if found := parts.documents("raw/pcap/points.json"):
        taps = [tap for one in found for tap in one["taps"]]
        parts.write_json("raw/pcap/points.json", {**found[0], "taps": taps})
    if found := parts.documents(run_folder.LEDGER):
        parts.write_json(run_folder.LEDGER, joined_ledger(found))


def joined(found: Sequence[Any]) -> Any:
    """Return one value of several that tell of different things, or the same of one."""
    first = found[0]
    if all(isinstance(one, dict) for one in found):
        keys = sorted({key for one in found for key in one})
        return {key: joined([one[key] for one in found if key in one]) for key in keys}
    if all(one == first for one in found):
        return first
    if all(isinstance(one, list) for one in found):
        return [row for one in found for row in one]
    raise ValueError(f"machines differ: {found!r:.200}")


def joined_ledger(found: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the ledger of all machines: what each read back, and whether all of it agrees."""
    rows = []
    for same in zip(*found, strict=True):
        knobs = []
        for knob in zip(*(row["knobs"] for row in same), strict=True):
            got = {place: value for one in knob for place, value in one["read_back"].items()}
            wanted = knob[0]["value"]
            agrees = all(ledger.agrees(wanted, value) for value in got.values()) if got else None
            knobs.append({**knob[0], "read_back": got, "agrees": agrees})
        rows.append({**same[0], "knobs": knobs})
    return rows


def _of_time(parts: Parts) -> None:
    """Join what was done when: commands, starts, and time zero."""
    commands = []
    for one in parts.left:
        text = (one.folder / run_folder.COMMANDS).read_text()
        for line in text.splitlines():
            entry = json.loads(line)
            for key in ("began_ns", "ended_ns"):
                entry[key] = one.shift.monotonic_ns(entry[key])
            commands.append(entry)
    commands.sort(key=lambda entry: entry["began_ns"])
    lines = (json.dumps(entry, sort_keys=True) + "\n" for entry in commands)
    parts.write(run_folder.COMMANDS, "".join(lines))
    if epochs := parts.documents(run_folder.EPOCH):
        late_ns = max(one["late_ns"] for one in epochs)
        parts.write_json(run_folder.EPOCH, {**epochs[0], "late_ns": late_ns})
        starts = [
            {**row, "started_ns": one.shift.monotonic_ns(row["started_ns"])}
            for one in parts.left
            for row in json.loads((one.folder / run_folder.STARTS).read_text())
        ]
        parts.write_json(run_folder.STARTS, sorted(starts, key=lambda row: row["started_ns"]))


def _flows(parts: Parts) -> None:
    laid_out = dumbbell.lay_out(parts.cell.wired, parts.cell.seed)
    for flow in parts.cell.flows if parts.cell.purpose == "measure" else ():
        ends = {
            "sender": parts.by_node[laid_out.sources[flow.source]],
            "receiver": parts.by_node[laid_out.destinations[flow.destination]],
        }
        for side, one in ends.items():
            other = ends["sender" if side == "receiver" else "receiver"]
            _program(parts, one, other, f"raw/flows/{flow.id}.{side}")
            if parts.cell.records_messages_of(flow):
                name = run_folder.messages(flow.id, side)
                content = (one.folder / name).read_bytes()
                kind = messages.SENT if side == "sender" else messages.DELIVERED
                told = retold.messages(content, kind, one.shift.monotonic_ns)
                (parts.into / name).write_bytes(told)


def _program(parts: Parts, one: Left, sender: Left, stem: str) -> None:
    """Write what a flow's or a measurement's program said, in the reference's time."""
    text = (one.folder / f"{stem}.jsonl").read_text()
    parts.write(f"{stem}.jsonl", retold.program(text, one.shift, sender.shift, parts.enough_ns))
    parts.write(f"{stem}.err", (one.folder / f"{stem}.err").read_text(errors="replace"))


def _captures(parts: Parts) -> None:
    for router in ("r1", "r2"):
        name = f"raw/pcap/{router}.pcap.gz"
        one = parts.by_node[router]
        if (one.folder / name).exists():
            content = compressed.read(one.folder / name, "a capture")
            path = parts.into / name
            path.parent.mkdir(parents=True, exist_ok=True)
            told = retold.capture(content, one.shift.realtime_ns)
            path.write_bytes(compressing.compressed(told))


def _queues(parts: Parts) -> None:
    """Join samples of queues line by line: all machines take them at the same times."""
    name = run_folder.QUEUE_SAMPLES
    having = [one for one in parts.left if (one.folder / name).exists()]
    if not having:
        return
    taken = [
        [json.loads(line) for line in (one.folder / name).read_text().splitlines()]
        for one in having
    ]
    lines = []
    for same in zip(*taken, strict=True):
        first, *others = same
        t_ns = having[0].shift.monotonic_ns(first["t_ns"])
        whole = {key: list(first[key]) for key in first if key != "t_ns"}
        for other in others:
            for key, values in whole.items():
                values += other[key]
        lines.append(json.dumps({"t_ns": t_ns, **whole}) + "\n")
    parts.write(name, "".join(lines))


def _sockets(parts: Parts) -> None:
    """Join samples of sockets and counters in order of time."""
    having = [one for one in parts.left if (one.folder / run_folder.SOCKET_SOURCES).exists()]
    if not having:
        return
    described = [json.loads((one.folder / run_folder.SOCKET_SOURCES).read_text()) for one in having]
    sources = [source for told in described for source in told["sources"]]
    numbers = {(source["node"], source["what"]): i for i, source in enumerate(sources)}
    frames = [
        (
            one.shift.monotonic_ns(answer.t_ns),
            numbers[answer.source.node, answer.source.what],
            answer.content,
        )
        for one in having
        for answer in read_samples(
            one.folder / run_folder.SOCKET_SAMPLES, one.folder / run_folder.SOCKET_SOURCES
        ).answers
    ]
    whole = joined([{k: v for k, v in told.items() if k != "sources"} for told in described])
    parts.write_json(run_folder.SOCKET_SOURCES, {**whole, "sources": sources})
    frames.sort(key=lambda frame: frame[:2])
    content = b"".join(FRAME.pack(t, number, len(c)) + c for t, number, c in frames)
    (parts.into / run_folder.SOCKET_SAMPLES).write_bytes(compressing.compressed(content))


def _calibration(parts: Parts) -> None:
    """Put the logs of measurements into the reference's time, both columns."""
    if parts.cell.purpose != "calibrate":
        return
    network = parts.cell.wired
    for run in calibration.runs(network, parts.cell.seed):
        source, target = parts.by_node[run.source], parts.by_node[run.target]
        stem = f"raw/calibration/{run.name}"
        if not run.probed:
            told = (source.shift.realtime_ns, target.shift.realtime_ns)
            _log(parts, target, f"{stem}.tsv", told)
            continue
        told = (source.shift.monotonic_ns, target.shift.monotonic_ns)
        _log(parts, target, f"{stem}.tsv", told)
        _program(parts, source, target, f"{stem}.sender")
        _program(parts, target, source, f"{stem}.receiver")
    for fill in link_fill.fills(network):
        source, target = parts.by_node[fill.source], parts.by_node[fill.target]
        told = (source.shift.realtime_ns, target.shift.realtime_ns)
        _log(parts, target, f"raw/calibration/{fill.name}.tsv", told)


def _log(
    parts: Parts, one: Left, name: str, told: tuple[Callable[[int], int], Callable[[int], int]]
) -> None:
    parts.write(name, retold.log((one.folder / name).read_text(), *told))
