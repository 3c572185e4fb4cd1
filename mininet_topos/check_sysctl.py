"""Sysctls of a node, read back and held against what was asked."""

from __future__ import annotations

import operator
from collections.abc import Callable

from mininet_topos.netns import Namespace
from model.check import Check


def read_back(
    node: Namespace, name: str, wanted: str, agrees: Callable[[str, str], bool] = operator.eq
) -> Check:
    """Return whether a node's sysctl is as asked; ``agrees`` compares wanted and got.

    Raises:
        RunError: the kernel has none of that name.
    """
    got = node.read_sysctl(name)
    where = f"{node.name} {name}"
    return Check(check="sysctl", where=where, wanted=wanted, got=got, agrees=agrees(wanted, got))
