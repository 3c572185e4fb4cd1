"""Whether a kernel draws losses from a seed that it is given, and whether a cell needs that. Pure.

A loss that nobody can foretell could be neither repeated nor checked.
"""

from __future__ import annotations

import re

from model.cell import Cell
from model.errors import UnsupportedError
from testbed.guest import topologies

#: Linux 6.6 (TCA_NETEM_PRNG_SEED, include/uapi/linux/pkt_sched.h).
LEAST = (6, 6)


def takes_seed(release: str) -> bool:
    """Return whether netem of a kernel takes a seed, by release or version: "6.1.0-41-amd64"."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return found is not None and (int(found[1]), int(found[2])) >= LEAST


def check(cell: Cell, release: str, hint: str, where: str = "KERNEL") -> None:
    """Raise :class:`UnsupportedError` if a cell draws losses and that kernel takes no seed.

    Args:
        release: the kernel's release or version.
        hint: what to do instead.
        where: what the message is about.
    """
    if takes_seed(release):
        return
    if any(stage.draws() for stage in topologies.lay_out(cell.wired, cell.seed).stages):
        raise UnsupportedError(
            "this kernel's netem takes no seed for random loss", where=where,
            wanted=f"Linux {'.'.join(map(str, LEAST))} or newer", got=release, hint=hint,
        )  # fmt: skip
