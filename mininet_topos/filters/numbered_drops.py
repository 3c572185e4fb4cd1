"""Drop data packets of a flow by their numbers, where the bottleneck's loss model drops others.

The numbers are listed, drawn alike for every flow (paired loss), drawn such that all flows lose
equally many, or come again and again at one distance (periodic loss). One filter per flow that has
any, on the egress of the ifb that carries the channel: after the bottleneck's buffer, before the
loss model. A packet it drops is never offered to the loss model, so every number counts packets
that left the buffer. The filter's program counts what it sees and what it drops; the hook it hangs
from counts its drops too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mininet_topos.filters import drop_program, hanging
from mininet_topos.filters.drop_program import Drawing, Pairing, Period, Sharing
from mininet_topos.netns import Namespace
from model import draws
from model.cell import Cell, Protocol
from model.check import Check
from model.links import PeriodicLoss

if TYPE_CHECKING:
    from mininet_topos.filters.bpf import Program

NODE, DEVICE = "r2", "ifb-bottleneck"


@dataclass(frozen=True, kw_only=True)
class Target:
    """Whose data packets are dropped by number: a flow's, or those that measure the path."""

    id: str
    protocol: Protocol
    port: int
    drop_data_pkts: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Installed:
    """One target's filter: its preference on the device, its program, the map with its counts.

    ``together_fd`` is of the map that counts for all targets together, if there is one.
    """

    target: Target
    pref: int
    program: Program
    map_fd: int
    together_fd: int | None


def targets(cell: Cell, probe_port: int) -> tuple[Target, ...]:
    """Return whose packets a cell drops by number; a calibrating cell's are UDP to one port."""
    if cell.purpose == "calibrate":
        flows = [Target(id="calibration", protocol="udp", port=probe_port, drop_data_pkts=())]
    else:
        flows = [
            Target(id=f.id, protocol=f.protocol, port=f.port, drop_data_pkts=f.drop_data_pkts)
            for f in cell.flows
        ]
    drawn = drawing(cell) is not None
    return tuple(flow for flow in flows if drawn or flow.drop_data_pkts)


def drawing(cell: Cell) -> Drawing | None:
    """Return what decides of a cell's paired or periodic loss, or equal drops, if it has any."""
    loss = cell.wired.bottleneck.forward.loss
    if isinstance(loss, PeriodicLoss):
        return Period(first_pkt=loss.first_pkt, every_pkts=loss.every_pkts)
    if loss.model == "paired":
        below = draws.threshold(loss.loss_frac)
        return Pairing(seed=draws.pairing_seed(cell.seed), threshold=below)
    if loss.model == "equal_drops":
        flows = 1 if cell.purpose == "calibrate" else len(cell.flows)
        seed, pay_seed = draws.equal_drops_seeds(cell.seed)
        below = draws.threshold(loss.loss_frac / flows)
        return Sharing(seed=seed, pay_seed=pay_seed, threshold=below)
    return None


def install(
    spaces: Mapping[str, Namespace],
    numbered: Sequence[Target],
    drawn: Drawing | None,
) -> tuple[Installed, ...]:
    """Load a program for each target and hang it from the device's egress.

    Raises:
        RunError: the kernel refused one.
    """
    if not numbered or NODE not in spaces:
        return ()
    space = spaces[NODE]
    hanging.make_place_for_pins(space)
    hanging.make_hooks(space, [DEVICE])
    # ctypes takes as long to load as two processes: only if needed
    from mininet_topos.filters import bpf

    together_fd = None
    if isinstance(drawn, Sharing):
        together_fd = bpf.create_value(drop_program.TOGETHER.size)
    return tuple(
        _hang(space, target, pref, drawn, together_fd) for pref, target in enumerate(numbered, 1)
    )


def _hang(
    space: Namespace,
    target: Target,
    pref: int,
    drawn: Drawing | None,
    together_fd: int | None,
) -> Installed:
    from mininet_topos.filters import bpf

    map_fd = bpf.create_value(drop_program.COUNTS.size)
    code = drop_program.instructions(
        target.protocol, target.port, target.drop_data_pkts, map_fd, drawn, together_fd or 0
    )
    program = bpf.load_classifier(code)
    pin = hanging.PINS / f"drop-{pref}"
    bpf.pin(program.fd, pin)
    space.run(["tc", "-batch", "-"], hanging.filter_line(DEVICE, pref, pin))
    return Installed(
        target=target, pref=pref, program=program, map_fd=map_fd, together_fd=together_fd
    )


def read_back(
    spaces: Mapping[str, Namespace], installed: Sequence[Installed]
) -> tuple[list[Check], list[dict[str, Any]]]:
    """Compare the filters that are there with those that should be; return also the raw JSON."""
    if not installed:
        return [], []
    shown = hanging.shown(spaces[NODE], DEVICE)
    return compare(installed, shown), shown


def compare(installed: Sequence[Installed], shown: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Compare ``tc -j filter show`` of the device's egress: each program there, none besides."""
    wanted = {one.pref: (one.target.id, one.program) for one in installed}
    return hanging.compare("numbered drops", f"{NODE}:{DEVICE} egress", wanted, shown)


def read_counts(installed: Sequence[Installed]) -> list[dict[str, Any]]:
    """Return what each program saw and dropped, and where: rows of raw/numbered_drops.json."""
    if not installed:
        return []
    from mininet_topos.filters import bpf

    rows = []
    for filter_ in installed:
        value = bpf.read_value(filter_.map_fd, drop_program.COUNTS.size)
        seen_pkts, listed_pkts, drawn_pkts = drop_program.COUNTS.unpack(value)
        row = {
            "flow": filter_.target.id,
            "node": NODE,
            "device": DEVICE,
            "listed_pkts": list(filter_.target.drop_data_pkts),
            "seen_pkts": seen_pkts,
            "dropped_pkts": listed_pkts,
            "drawn_dropped_pkts": drawn_pkts,
        }
        if filter_.together_fd is not None:
            value = bpf.read_value(filter_.together_fd, drop_program.TOGETHER.size)
            names = ("together_seen_pkts", "together_drawn_pkts")
            row.update(zip(names, drop_program.TOGETHER.unpack(value), strict=True))
        rows.append(row)
    return rows
