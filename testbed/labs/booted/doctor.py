"""Whether this machine can run a lab that boots a kernel, and what stands in the way."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Sequence
from pathlib import Path

from model.errors import GroundtruthError
from testbed.labs.booted import image, lab_code
from testbed.labs.confinement import host_tools, preflight
from testbed.labs.contract.lab import Finding
from testbed.machine import cache, contents, room

SHM_BYTES = 600_000_000


def _processor(hint: str) -> Finding:
    machine = platform.machine()
    return Finding(
        name="processor",
        state=f"{machine}, {len(os.sched_getaffinity(0))} cores",
        well=machine == "x86_64",
        needed=True,
        hint=hint,
    )


def _apt() -> Finding:
    """Only what is not in the cache yet needs apt."""
    needed = image.built() is None
    try:
        found = host_tools.debian_addresses()
    except GroundtruthError as error:
        found, state = [], error.got or error.what
    else:
        state = found[0] if found else "no source of Debian"
    return Finding(
        name="apt",
        state=state,
        well=bool(found),
        needed=needed,
        hint="the lab is built from Debian's packages: apt needs a source that ends in /debian. Or "
        "take a lab that was built elsewhere: groundtruth lab import FILE",
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
        return whole("lab image", built.parent)
    try:
        mode = image.build_mode()
    except GroundtruthError as error:
        return Finding(name="lab image", state=error.what, well=False, needed=True, hint=error.hint)
    return Finding(
        name="lab image", state=f"not built yet; can be ({mode} mode)", well=True, needed=True
    )


def _code() -> list[Finding]:
    """Say whether the compiled code is whole; it is built again whenever its sources change."""
    root = image.built()
    built = lab_code.built(contents.digest(root.parent)) if root else None
    return [whole("code in the lab", built)] if built else []


def kernel(name: str, built: Path | None) -> Finding:
    """Say where a kernel is, or that it is not built yet."""
    if built:
        return whole(name, built)
    state = "not built yet; built on the first run"
    return Finding(name=name, state=state, well=True, needed=True)


def whole(name: str, built: Path) -> Finding:
    """Say where something built is, and which of its files are not as they were built."""
    changed = contents.changed(built, thorough=True)
    wrong = f"not as it was built: {contents.named(changed)}; in {built}"
    return Finding(
        name=name,
        state=wrong if changed else f"built: {built}",
        well=not changed,
        needed=True,
        hint="make clean-cache removes it; the next run builds it again",
    )


def _space(kernels_bytes: int) -> Finding:
    place = room.existing(cache.root())
    free_bytes = shutil.disk_usage(place).free
    wanted_bytes = kernels_bytes + image.IMAGE_BYTES
    return Finding(
        name="cache",
        state=f"{cache.root()}, {free_bytes / 1e9:.1f} GB free",
        well=os.access(place, os.W_OK) and (image.built() is not None or free_bytes > wanted_bytes),
        needed=True,
        hint=f"{wanted_bytes / 1e9:.1f} GB are needed for the first build; see XDG_CACHE_HOME",
    )


def _programs_start() -> Finding:
    place = room.existing(cache.root())
    refused = bool(os.statvfs(place).f_flag & os.ST_NOEXEC)
    return Finding(
        name="programs in the cache",
        state=f"{place} is mounted {'noexec' if refused else 'for programs too'}",
        well=not refused,
        needed=True,
        hint="set XDG_CACHE_HOME to a folder from which programs may start",
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
    free_bytes = room.available_memory_bytes()
    if free_bytes is None:
        return Finding(name="memory", state="unknown", well=True, needed=False)
    return Finding(
        name="memory",
        state=f"{free_bytes / 1e9:.1f} GB available",
        well=free_bytes > SHM_BYTES,
        needed=True,
        hint=f"each cell that runs at once takes up to {SHM_BYTES / 1e9:.1f} GB",
    )


def examine(
    kernels: Sequence[Finding], *, kernels_bytes: int, processor_hint: str
) -> list[Finding]:
    """Return all findings; the lab can run if every needed one is well.

    Args:
        kernels: what was found of the lab's own parts.
        kernels_bytes: the disk their first build takes.
        processor_hint: why the processor must be what is wanted.
    """
    return [
        _processor(processor_hint),
        _apt(),
        _tool(host_tools.MMDEBSTRAP),
        _tool(host_tools.BUBBLEWRAP),
        _sandbox(),
        _second_walls(),
        _space(kernels_bytes),
        _programs_start(),
        _memory(),
        _builder(),
        *kernels,
        *_code(),
    ]
