"""The host's own sysctls, where stock Mininet runs: which it raises as it starts."""

from __future__ import annotations

from pathlib import Path

#: What stock Mininet raises in the host's own network when it starts (mininet.util.fixLimits).
RAISED_SYSCTLS = (
    "net/core/wmem_max", "net/core/rmem_max", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem",
    "net/core/netdev_max_backlog", "net/ipv4/neigh/default/gc_thresh1",
    "net/ipv4/neigh/default/gc_thresh2", "net/ipv4/neigh/default/gc_thresh3",
    "net/ipv4/route/max_size",
)  # fmt: skip
PROC_SYS = Path("/proc/sys")


def sysctls(names: tuple[str, ...]) -> dict[str, str]:
    """Return those sysctls of the calling process's network that this kernel has."""
    paths = {name: PROC_SYS / name for name in names}
    return {name: path.read_text() for name, path in paths.items() if path.exists()}
