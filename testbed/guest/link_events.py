"""What happens to links while flows run: done at its time, read back, and told in raw/events.json.

The agent does it while it waits (:class:`testbed.guest.recording.Telemetry`). Invariants: nothing
else is set between two events than what the first of them set; the counters of an event are read
right after it, so what a link lost while it was down lies between two of them.
"""

from __future__ import annotations

import dataclasses
import functools
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mininet_topos import check_built
from mininet_topos.channel import Stage
from mininet_topos.layout import Layout, Wire, seed_for
from model.after_events import direction_after
from model.cell import Cell
from model.check import Check
from model.event import Event
from model.units import NS_PER_S
from testbed.guest import build_network, network_state
from testbed.guest.build_network import BuiltNetwork
from testbed.guest.recording import Telemetry

#: Ways of a link as the layout has them: from its first end, and back.
WAYS = ("forward", "reverse")


@dataclass
class Happening:
    """A cell's events, as far as they have happened: rows of raw/events.json, and comparisons."""

    lab: BuiltNetwork
    #: What was set when something happened last; before that, before the flows.
    last: network_state.Snapshot
    built: Layout
    rows: list[dict[str, Any]] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)


def expect(
    lab: BuiltNetwork, watch: Telemetry, before: network_state.Snapshot, epoch_ns: int
) -> Happening:
    """Have what is to happen to links done by whoever waits; return what will have come of it.

    ``before`` is what is set now.
    """
    happening = Happening(lab=lab, last=before, built=lab.laid_out)
    for number, event in enumerate(lab.cell.events):
        due_ns = epoch_ns + round(event.t_s * NS_PER_S)
        watch.once(due_ns, functools.partial(_happen, happening, number))
    return happening


def settle(happening: Happening) -> network_state.Snapshot:
    """Write what has happened; return what must be set since.

    Raises:
        VerifyError: something was not as asked after an event, or was changed between two.
    """
    lab = happening.lab
    if lab.cell.events:
        lab.write("raw/events.json", happening.rows)
        build_network.settle(lab, happening.checks)
    return happening.last


def _happen(happening: Happening, number: int, due_ns: int) -> None:
    lab = happening.lab
    events = lab.cell.events
    event = events[number]
    found = build_network.state(lab)
    said = f"until event {event.id}"
    happening.checks += network_state.compare(happening.last, found, said, "was set before")
    lab.laid_out = after(happening.built, lab.cell, events[: number + 1])
    touched = [stage for stage in changed(happening.built, event) if stage.node in lab.spaces]
    places = {(stage.node, stage.device, stage.handle) for stage in touched}
    now = [s for s in lab.laid_out.stages if (s.node, s.device, s.handle) in places]
    began_ns = time.monotonic_ns()
    for node in dict.fromkeys(stage.node for stage in now):
        lines = "".join(stage.change() for stage in now if stage.node == node)
        lab.spaces[node].run(["tc", "-batch", "-"], lines)
    done_ns = time.monotonic_ns()
    shown = {
        node: lab.spaces[node].json(["tc", "-j", "qdisc", "show"])
        for node in dict.fromkeys(stage.node for stage in now)
    }
    happening.checks += [
        dataclasses.replace(check, check=f"{check.check} after event {event.id}")
        for node, qdiscs in shown.items()
        for check in check_built.compare_qdiscs(lab.laid_out, node, qdiscs)
    ]
    happening.checks += _others_as_before(happening, event, now, found)
    happening.rows.append(
        {
            "event": event.id,
            "due_ns": due_ns,
            "began_ns": began_ns,
            "done_ns": done_ns,
            "channels": channels(lab, event.link),
        }
    )


def _others_as_before(
    happening: Happening, event: Event, now: Sequence[Stage], found: network_state.Snapshot
) -> list[Check]:
    """Return comparisons of all that the event does not change, and keep what is set since."""
    lab = happening.lab
    happening.last = changed_to = build_network.state(lab)
    for node in dict.fromkeys(stage.node for stage in now):
        devices = {stage.device for stage in now if stage.node == node}
        with lab.spaces[node].entered():
            numbers = {socket.if_nametoindex(device) for device in devices}
        found = network_state.without_qdiscs(found, node, numbers)
        changed_to = network_state.without_qdiscs(changed_to, node, numbers)
    return network_state.compare(
        found, changed_to, f"at event {event.id}", "before it, but for what it changes"
    )


def _wire(laid_out: Layout, link: str) -> Wire:
    return next(wire for wire in laid_out.wires if wire.name == link)


def changed(built: Layout, event: Event) -> tuple[Stage, ...]:
    """Return the stages, as they were built, that an event changes: all of its ways.

    Another rate lets a channel hold more, so its limit may change too.
    """
    wire = _wire(built, event.link)
    return tuple(stage for stage in wire.stages if way_of(wire, stage) in event.ways())


def way_of(wire: Wire, stage: Stage) -> str:
    """Return which way of a link between routers a stage is of: its buffer is at the near end."""
    near = wire.ends[0].node
    return WAYS[(stage.node == near) != (stage.role != "channel")]


def after(built: Layout, cell: Cell, events: Sequence[Event]) -> Layout:
    """Return the layout as it is after these events, the first that there are."""
    return dataclasses.replace(
        built, wires=tuple(_wire_after(wire, cell, events) for wire in built.wires)
    )


def _wire_after(wire: Wire, cell: Cell, events: Sequence[Event]) -> Wire:
    if not any(event.link == wire.name for event in events):
        return wire
    out = direction_after(wire.out, wire.name, "forward", events)
    back = direction_after(wire.back, wire.name, "reverse", events)
    stages = []
    for stage in wire.stages:
        way = way_of(wire, stage)
        last = _last_of(events, wire.name, way)
        seed = stage.seed
        if last and stage.role == "channel":  # netem begins its draws anew with each change
            seed = seed_for(cell.seed, f"{wire.name} {way} since event {last}")
        direction = out if way == "forward" else back
        stages.append(dataclasses.replace(stage, direction=direction, seed=seed))
    return dataclasses.replace(wire, out=out, back=back, stages=tuple(stages))


def _last_of(events: Iterable[Event], link: str, way: str) -> str:
    """Return the last event that changed one way of a link; empty if none did."""
    found = [event.id for event in events if event.link == link and way in event.ways()]
    return found[-1] if found else ""


def channels(lab: BuiltNetwork, link: str) -> list[dict[str, Any]]:
    """Return what a link's channels have let through, lost and hold now, by way."""
    wire = _wire(lab.laid_out, link)
    rows = []
    for stage in (stage for stage in wire.stages if stage.role == "channel"):
        argv = ["tc", "-j", "-s", "qdisc", "show", "dev", stage.device]
        shown = lab.spaces[stage.node].json(argv)
        rows += [
            {
                "way": way_of(wire, stage),
                "passed_pkts": int(qdisc["packets"]),
                "dropped_pkts": int(qdisc["drops"]),
                "held_pkts": int(qdisc["qlen"]),
            }
            for qdisc in shown
            if qdisc.get("handle") == stage.handle
        ]
    return rows
