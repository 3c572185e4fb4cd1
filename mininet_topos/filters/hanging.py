"""Hang programs from interfaces as tc filters, and compare what hangs with what was loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mininet_topos.netns import Namespace
from model.check import Check

if TYPE_CHECKING:
    from mininet_topos.filters.bpf import Program

#: Where sysfs has a place for the bpf file system.
PINS = Path("/sys/fs/bpf")


def make_place_for_pins(space: Namespace) -> None:
    """Mount a bpf file system of the agent's own, where tc finds programs by name."""
    space.run(["mount", "-t", "bpf", "bpf", str(PINS)])


def make_hooks(space: Namespace, devices: Sequence[str]) -> None:
    """Give interfaces of a node the hooks that filters hang from."""
    lines = "".join(f"qdisc add dev {device} clsact\n" for device in devices)
    space.run(["tc", "-batch", "-"], lines)


def filter_line(device: str, pref: int, pin: Path) -> str:
    """Return the ``tc -batch`` line that hangs a pinned program from an interface's egress."""
    return (
        f"filter add dev {device} egress pref {pref} protocol ip"
        f" bpf direct-action object-pinned {pin}\n"
    )


def shown(space: Namespace, device: str) -> list[dict[str, Any]]:
    """Return what hangs from an interface's egress, as tc shows it."""
    found: list[dict[str, Any]] = space.json(
        ["tc", "-j", "filter", "show", "dev", device, "egress"]
    )
    return found


def compare(
    check: str,
    where: str,
    wanted: Mapping[int, tuple[str, Program]],
    entries: Sequence[Mapping[str, Any]],
) -> list[Check]:
    """Compare ``tc -j filter show`` of a device's egress: each program there, none besides.

    ``wanted`` are the flow and the program by preference.
    """
    found = {}
    for entry in entries:
        program = entry.get("options", {}).get("prog")
        if program:
            found[int(entry["pref"])] = f"program {program['id']}, tag {program['tag']}"
    checks = []
    for pref, (flow, loaded) in wanted.items():
        want, got = f"program {loaded.id}, tag {loaded.tag}", found.pop(pref, "no program")
        checks.append(
            Check(check=check, where=f"{where}, flow {flow}", wanted=want, got=got,
                  agrees=want == got)
        )  # fmt: skip
    for pref, other in sorted(found.items()):
        checks.append(
            Check(check="unasked filter", where=f"{where} {pref}", wanted="none", got=other,
                  agrees=False)
        )  # fmt: skip
    return checks
