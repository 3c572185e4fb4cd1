"""Drop listed data packets of a flow exactly, where the bottleneck's loss model drops at random.

One filter per flow that has a list, on the egress of the ifb that carries the channel: after the
bottleneck's buffer, before the loss model. A packet it drops is never offered to the loss model, so
every number counts packets that left the buffer. The filter's program counts what it sees and what
it drops; the hook it hangs from counts its drops too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mininet_topos import bpf, drop_program
from mininet_topos.netns import Namespace
from testbed.cell import Flow
from testbed.check import Check

NODE, DEVICE = "r2", "ifb-bottleneck"
#: Where sysfs has a place for the bpf file system.
PINS = Path("/sys/fs/bpf")


@dataclass(frozen=True, kw_only=True)
class Installed:
    """One flow's filter: its preference on the device, its program, the map with its counts."""

    flow: Flow
    pref: int
    program: bpf.Program
    map_fd: int


def install(spaces: Mapping[str, Namespace], flows: Sequence[Flow]) -> tuple[Installed, ...]:
    """Load a program for each flow with listed packets and hang it from the device's egress.

    Raises:
        RunError: the kernel refused one.
    """
    listed = [flow for flow in flows if flow.drop_data_pkts]
    if not listed:
        return ()
    space = spaces[NODE]
    space.run(["mount", "-t", "bpf", "bpf", str(PINS)])
    space.run(["tc", "-batch", "-"], f"qdisc add dev {DEVICE} clsact\n")
    return tuple(_hang(space, flow, pref) for pref, flow in enumerate(listed, 1))


def _hang(space: Namespace, flow: Flow, pref: int) -> Installed:
    map_fd = bpf.create_value(drop_program.COUNTS.size)
    code = drop_program.instructions(flow.protocol, flow.port, flow.drop_data_pkts, map_fd)
    program = bpf.load_classifier(code)
    pin = PINS / f"drop-{pref}"
    bpf.pin(program.fd, pin)
    space.run(["tc", "-batch", "-"], filter_line(pref, pin))
    return Installed(flow=flow, pref=pref, program=program, map_fd=map_fd)


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
                check="listed drops", where=f"{NODE}:{DEVICE} egress, flow {filter_.flow.id}",
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
    """Return what each program saw and dropped, and where: rows of raw/listed_drops.json."""
    rows = []
    for filter_ in installed:
        value = bpf.read_value(filter_.map_fd, drop_program.COUNTS.size)
        seen_pkts, dropped_pkts = drop_program.COUNTS.unpack(value)
        rows.append(
            {
                "flow": filter_.flow.id,
                "node": NODE,
                "device": DEVICE,
                "listed_pkts": list(filter_.flow.drop_data_pkts),
                "seen_pkts": seen_pkts,
                "dropped_pkts": dropped_pkts,
            }
        )
    return rows
