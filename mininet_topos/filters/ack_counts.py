"""Count what acknowledging takes of each flow, where it leaves the host the flow goes to.

One program per flow (:mod:`mininet_topos.filters.ack_program`) hangs from the egress of all the
host's interfaces, so that a host with several addresses is counted whole. It sees packets before
the interface's qdisc, forwarded ones too, and drops none. It is to be hung before the network's
state is first taken and to stay until after the last time, as what else is set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mininet_topos.filters import ack_program, hanging
from mininet_topos.netns import Namespace
from model.cell import Cell, Protocol
from model.check import Check

if TYPE_CHECKING:
    from mininet_topos.filters.bpf import Program

#: A host, and its interfaces.
Place = tuple[str, Sequence[str]]
#: What the counts in a program's map are called in ``raw/acknowledgements.json``, in their order.
COUNTS = ("ack_pkts", "ack_ip_bytes", "sack_pkts", "sack_bytes")
NAMES = (*COUNTS, *(f"all_{name}" for name in COUNTS))


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A flow, and where its acknowledgements leave: the host it goes to, all its interfaces."""

    flow: str
    protocol: Protocol
    port: int
    node: str
    devices: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Counting:
    """One flow's program: its preference on each device, and the map it counts in."""

    watched: Watched
    pref: int
    program: Program
    map_fd: int


def watched(cell: Cell, receivers: Mapping[str, Place]) -> tuple[Watched, ...]:
    """Return whose acknowledgements a cell counts, with the place of each flow's receiver by id."""
    return tuple(
        Watched(
            flow=flow.id, protocol=flow.protocol, port=flow.port,
            node=receivers[flow.id][0], devices=tuple(receivers[flow.id][1]),
        )
        for flow in cell.flows
        if cell.counts_acknowledgements_of(flow)
    )  # fmt: skip


def install(spaces: Mapping[str, Namespace], flows: Sequence[Watched]) -> tuple[Counting, ...]:
    """Load a program for each flow that ends at a host that is here, and hang it there.

    Raises:
        RunError: the kernel refused one.
    """
    here = [flow for flow in flows if flow.node in spaces]
    if not here:
        return ()
    # ctypes takes as long to load as two processes: only if needed
    from mininet_topos.filters import bpf

    hanging.make_place_for_pins(spaces[here[0].node])
    for node in dict.fromkeys(flow.node for flow in here):
        devices = dict.fromkeys(d for flow in here if flow.node == node for d in flow.devices)
        hanging.make_hooks(spaces[node], list(devices))
    counting = []
    for pref, flow in enumerate(here, 1):
        map_fd = bpf.create_value(ack_program.VALUE.size)
        code = ack_program.instructions(flow.protocol, flow.port, map_fd)
        program = bpf.load_classifier(code)
        pin = hanging.PINS / f"ack-{pref}"
        bpf.pin(program.fd, pin)
        lines = "".join(hanging.filter_line(device, pref, pin) for device in flow.devices)
        spaces[flow.node].run(["tc", "-batch", "-"], lines)
        counting.append(Counting(watched=flow, pref=pref, program=program, map_fd=map_fd))
    return tuple(counting)


def read_back(
    spaces: Mapping[str, Namespace], counting: Sequence[Counting]
) -> tuple[list[Check], dict[str, Any]]:
    """Compare the filters that are there with those that should be; return also the raw JSON."""
    checks: list[Check] = []
    raw: dict[str, Any] = {}
    for (node, device), programs in by_device(counting).items():
        where = f"{node}:{device}"
        raw[where] = hanging.shown(spaces[node], device)
        checks += hanging.compare(
            "acknowledgements counted", f"{where} egress", programs, raw[where]
        )
    return checks, raw


def by_device(
    counting: Sequence[Counting],
) -> dict[tuple[str, str], dict[int, tuple[str, Program]]]:
    """Return flow and program by preference, by node and device."""
    found: dict[tuple[str, str], dict[int, tuple[str, Program]]] = {}
    for one in counting:
        for device in one.watched.devices:
            place = found.setdefault((one.watched.node, device), {})
            place[one.pref] = one.watched.flow, one.program
    return found


def begin(counting: Sequence[Counting], from_ns: int, to_ns: int) -> None:
    """Have all programs count anew; from one time until another, by the clock, inside the window.

    To be called before the first flow starts.
    """
    if not counting:
        return
    from mininet_topos.filters import bpf

    for one in counting:
        value = ack_program.VALUE.pack(from_ns, to_ns, *[0] * len(NAMES))
        bpf.write_value(one.map_fd, value)


def read_counts(counting: Sequence[Counting]) -> list[dict[str, Any]]:
    """Return what each program counted: rows of ``raw/acknowledgements.json``."""
    if not counting:
        return []
    from mininet_topos.filters import bpf

    return [
        row(one.watched, bpf.read_value(one.map_fd, ack_program.VALUE.size)) for one in counting
    ]


def row(flow: Watched, value: bytes) -> dict[str, Any]:
    """Return a flow's row of ``raw/acknowledgements.json`` from the value of its map."""
    _, _, *counts = ack_program.VALUE.unpack(value)
    return {
        "flow": flow.flow,
        "node": flow.node,
        "devices": list(flow.devices),
        **dict(zip(NAMES, counts, strict=True)),
    }
