"""What belongs to which of several paths between two hosts: links, routers, addresses. Pure.

Paths are counted from 1. Standard library only, because the lab image reads it too. The folder
``mininet_topos`` stands alone for ``mn`` and says these names itself; a unit test compares.
"""

from __future__ import annotations

#: How many paths a topology that studies can choose has at most.
MOST = 2
_BOTTLENECK = "bottleneck"
_ADDRESS_PARTS, _HOSTS_NETWORK = 4, "10"


def bottleneck(path: int) -> str:
    """Return the name of a path's bottleneck."""
    return _BOTTLENECK if path == 1 else f"{_BOTTLENECK}{path}"


def routers(path: int) -> tuple[str, str]:
    """Return a path's routers: at the sources and at the destinations."""
    return f"r{2 * path - 1}", f"r{2 * path}"


def path_of_link(link: str) -> int:
    """Return the number of the path that a link is the bottleneck of; raise ``ValueError``."""
    for path in range(1, MOST + 1):
        if link == bottleneck(path):
            return path
    raise ValueError(f"{link!r:.40} is no path's bottleneck")


def counter(point: str, path: int) -> str:
    """Return what a flow's counter at a point of a path is called."""
    return point if path == 1 else f"{point}_{path}"


def second_numbers(path: int) -> tuple[int, int]:
    """Return the second number of a path's addresses, at the sources and at the destinations."""
    return 2 * path - 1, 2 * path


def path_of_address(address: str) -> int:
    """Return the number of the path that a host's address is on; raise ``ValueError``."""
    parts = address.split(".")
    if len(parts) == _ADDRESS_PARTS and parts[0] == _HOSTS_NETWORK:
        for path in range(1, MOST + 1):
            if parts[1] in map(str, second_numbers(path)):
                return path
    raise ValueError(f"{address!r:.40} is no host's address")


def said(path: int) -> str:
    """Return which path something is of, to be appended in messages: nothing of the first."""
    return f", path {path}" if path > 1 else ""
