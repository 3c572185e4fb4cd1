"""Drop data packets of a flow by their numbers, where the bottleneck's loss model drops others.

The numbers are listed, or drawn alike for every flow (paired loss). One filter per flow that has
either, on the egress of the ifb that carries the channel: after the bottleneck's buffer, before the
loss model. A packet it drops is never offered to the loss model, so every number counts packets
that left the buffer. The filter's program counts what it sees and what it drops; the hook it hangs
from counts its drops too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mininet_topos import drop_program
from mininet_topos.netns import Namespace
from testbed import draws
from testbed.cell import Cell, Protocol
from testbed.check import Check

if TYPE_CHECKING:
    from mininet_topos.bpf import Program

NODE, DEVICE = "r2", "ifb-bottleneck"
#: Where sysfs has a place for the bpf file system.
PINS = Path("/sys/fs/bpf")


@dataclass(frozen=True, kw_only=True)
class Target:
    """Whose data packets are dropped by number: a flow's, or those that measure the path."""

    id: str
    protocol: Protocol
    port: int
    drop_data_pkts: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Installed:
    """One target's filter: its preference on the device, its program, the map with its counts."""

    target: Target
    pref: int
    program: Program
    map_fd: int


def targets(cell: Cell, probe_port: int) -> tuple[Target, ...]:
    """Return whose packets a cell drops by number; a calibrating cell's are UDP to one port."""
    if cell.purpose == "calibrate":
        flows = [Target(id="calibration", protocol="udp", port=probe_port, drop_data_pkts=())]
    else:
        flows = [
            Target(id=f.id, protocol=f.protocol, port=f.port, drop_data_pkts=f.drop_data_pkts)
            for f in cell.flows
        ]
    paired = pairing(cell) is not None
    return tuple(flow for flow in flows if paired or flow.drop_data_pkts)


def pairing(cell: Cell) -> drop_program.Pairing | None:
    """Return the draws of a cell's paired loss, if it has any."""
    loss = cell.network.bottleneck.forward.loss
    if loss.model != "paired":
        return None
    return drop_program.Pairing(
        seed=draws.pairing_seed(cell.seed), threshold=draws.threshold(loss.loss_frac)
    )


def install(
    spaces: Mapping[str, Namespace],
    numbered: Sequence[Target],
    paired: drop_program.Pairing | None,
) -> tuple[Installed, ...]:
    """Load a program for each target and hang it from the device's egress.

    Raises:
        RunError: the kernel refused one.
    """
    if not numbered:
        return ()
    space = spaces[NODE]
    space.run(["mount", "-t", "bpf", "bpf", str(PINS)])
    space.run(["tc", "-batch", "-"], f"qdisc add dev {DEVICE} clsact\n")
    return tuple(_hang(space, target, pref, paired) for pref, target in enumerate(numbered, 1))


def _hang(
    space: Namespace, target: Target, pref: int, paired: drop_program.Pairing | None
) -> Installed:
    from mininet_topos import bpf  # ctypes takes as long to load as two processes: only if needed

    map_fd = bpf.create_value(drop_program.COUNTS.size)
    code = drop_program.instructions(
        target.protocol, target.port, target.drop_data_pkts, map_fd, paired
    )
    program = bpf.load_classifier(code)
    pin = PINS / f"drop-{pref}"
    bpf.pin(program.fd, pin)
    space.run(["tc", "-batch", "-"], filter_line(pref, pin))
    return Installed(target=target, pref=pref, program=program, map_fd=map_fd)


def filter_line(pref: int, pin: Path) -> str:
    """Return the ``tc -batch`` line that hangs a pinned program."""
    return (
        f"filter add dev {DEVICE} egress pref {pref} protocol ip"
        f" bpf direct-action object-pinned {pin}\n"
    )


def read_back(
    spaces: Mapping[str, Namespace], installed: Sequence[Installed]
) -> tuple[list[Check], list[dict[str, Any]]]:
    """Compare the filters that are there with those that should be; return also the raw JSON."""
    if not installed:
        return [], []
    shown = spaces[NODE].json(["tc", "-j", "filter", "show", "dev", DEVICE, "egress"])
    return compare(installed, shown), shown


def compare(installed: Sequence[Installed], shown: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Compare ``tc -j filter show`` of the device's egress: each program there, none besides."""
    found = {}
    for entry in shown:
        program = entry.get("options", {}).get("prog")
        if program:
            found[int(entry["pref"])] = f"program {program['id']}, tag {program['tag']}"
    checks = []
    for filter_ in installed:
        wanted = f"program {filter_.program.id}, tag {filter_.program.tag}"
        got = found.pop(filter_.pref, "no program")
        checks.append(
            Check(
                check="numbered drops", where=f"{NODE}:{DEVICE} egress, flow {filter_.target.id}",
                wanted=wanted, got=got, agrees=wanted == got,
            )
        )  # fmt: skip
    for pref, program in sorted(found.items()):
        checks.append(
            Check(check="unasked filter", where=f"{NODE}:{DEVICE} egress {pref}", wanted="none",
                  got=program, agrees=False)
        )  # fmt: skip
    return checks


def read_counts(installed: Sequence[Installed]) -> list[dict[str, Any]]:
    """Return what each program saw and dropped, and where: rows of raw/numbered_drops.json."""
    if not installed:
        return []
    from mininet_topos import bpf

    rows = []
    for filter_ in installed:
        value = bpf.read_value(filter_.map_fd, drop_program.COUNTS.size)
        seen_pkts, listed_pkts, drawn_pkts = drop_program.COUNTS.unpack(value)
        rows.append(
            {
                "flow": filter_.target.id,
                "node": NODE,
                "device": DEVICE,
                "listed_pkts": list(filter_.target.drop_data_pkts),
                "seen_pkts": seen_pkts,
                "dropped_pkts": listed_pkts,
                "drawn_dropped_pkts": drawn_pkts,
            }
        )
    return rows
