"""What this machine can run, and what stands in the way. Reads only; builds nothing."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import GroundtruthError
from testbed.labs import cache, host_tools, image, kernel, preflight

SHM_BYTES = 600_000_000


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One property of the machine: what it is for, how it is, and what to do if it is not well."""

    name: str
    state: str
    well: bool
    needed: bool
    hint: str = ""


def _python() -> Finding:
    return Finding(
        name="Python",
        state=sys.version.split()[0],
        well=sys.version_info >= (3, 11),
        needed=True,
        hint="3.11 or newer",
    )


def _tool(tool: host_tools.HostTool) -> Finding:
    on_path = shutil.which(tool.program)
    cached = cache.root() / f"tool-{tool.package}"
    if on_path or cached.is_dir():
        return Finding(name=tool.program, state=on_path or str(cached), well=True, needed=True)
    fetchable = bool(shutil.which("apt-get") and shutil.which("dpkg-deb"))
    return Finding(
        name=tool.program,
        state="will be fetched with apt-get download" if fetchable else "missing",
        well=fetchable,
        needed=True,
        hint=f"install the package {tool.package}",
    )


def _builder() -> Finding:
    built = image.built()
    if built:
        return Finding(name="lab image", state=f"built: {built}", well=True, needed=True)
    try:
        mode = image.build_mode()
        host_tools.mirrors()
    except GroundtruthError as error:
        return Finding(name="lab image", state=error.what, well=False, needed=True, hint=error.hint)
    return Finding(
        name="lab image", state=f"not built yet; can be ({mode} mode)", well=True, needed=True
    )


def _kernel(version: str) -> Finding:
    built = kernel.built(version, image.key())
    return Finding(
        name=f"kernel {version}",
        state=f"built: {built}" if built else "not built yet; built on the first run",
        well=True,
        needed=True,
    )


def _space() -> Finding:
    place = cache.root()
    while not place.exists():
        place = place.parent
    free_bytes = shutil.disk_usage(place).free
    wanted_bytes = kernel.BUILD_BYTES + image.IMAGE_BYTES
    return Finding(
        name="cache",
        state=f"{cache.root()}, {free_bytes / 1e9:.1f} GB free",
        well=os.access(place, os.W_OK) and (image.built() is not None or free_bytes > wanted_bytes),
        needed=True,
        hint=f"{wanted_bytes / 1e9:.1f} GB are needed for the first build; see XDG_CACHE_HOME",
    )


def _sandbox() -> Finding:
    bwrap = shutil.which("bwrap") or str(
        cache.root() / f"tool-{host_tools.BUBBLEWRAP.package}" / "usr" / "bin" / "bwrap"
    )
    if not Path(bwrap).exists():
        return Finding(
            name="sandbox", state="cannot be tried before bwrap is there", well=True, needed=True
        )
    problem = preflight.problem()
    if problem:
        return Finding(
            name="sandbox", state=f"{problem.what}: {problem.got}", well=False, needed=True,
            hint=problem.hint,
        )  # fmt: skip
    return Finding(name="sandbox", state="namespaces work", well=True, needed=True)


def _second_walls() -> Finding:
    version = preflight.landlock_version()
    return Finding(
        name="Landlock",
        state=f"version {version}" if version else "this kernel has none, or has it switched off",
        well=version > 0,
        needed=False,
        hint="a second wall around the lab besides its namespaces",
    )


def _memory() -> Finding:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            free_bytes = int(line.split()[1]) * 1024
            return Finding(
                name="memory",
                state=f"{free_bytes / 1e9:.1f} GB available",
                well=free_bytes > SHM_BYTES,
                needed=True,
                hint=f"each cell that runs at once takes up to {SHM_BYTES / 1e9:.1f} GB",
            )
    return Finding(name="memory", state="unknown", well=True, needed=False)


def _host_sctp() -> Finding:
    there = Path("/proc/net/sctp").is_dir()
    return Finding(
        name="SCTP in this machine's kernel",
        state="there" if there else "not loaded; the virtual lab brings its own kernel",
        well=there,
        needed=False,
    )


def examine(kernel_version: str) -> list[Finding]:
    """Return all findings; the virtual lab can run if every needed one is well."""
    return [
        _python(),
        _tool(host_tools.MMDEBSTRAP),
        _tool(host_tools.BUBBLEWRAP),
        _sandbox(),
        _second_walls(),
        _space(),
        _memory(),
        _builder(),
        _kernel(kernel_version),
        _host_sctp(),
    ]
