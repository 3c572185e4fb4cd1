"""What is to be known of the machine itself: what its cells can be compared with, in words."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from collectors.recording import socket_sampler
from model.units import NS_PER_S

CPUINFO, DMI = Path("/proc/cpuinfo"), Path("/sys/class/dmi/id")
BOOT = Path("/boot")
CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def kernel_version(release: str = "") -> str:
    """Return a kernel's version, by default the running one's, as studies name it: "6.12"."""
    release = release or os.uname().release
    found = re.match(r"\d+\.\d+", release)
    return found[0] if found else release


def is_asked(version: str, release: str = "") -> bool:
    """Return whether a kernel, by default the running one, is of that version.

    It is as a study says it, "6.12", or as exact as "6.12.117".
    """
    return re.match(rf"{re.escape(version)}(?![0-9])", release or os.uname().release) is not None


def tick_hz() -> int:
    """Return the timer interrupts a second that the running kernel was built for."""
    return round(NS_PER_S / socket_sampler.tick_ns())


def text(path: Path) -> str:
    """Return what a file of the kernel's says; nothing where it is not there."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def kernel_config() -> str:
    """Return what the running kernel was configured with; "" where this machine does not tell."""
    return text(BOOT / f"config-{os.uname().release}")


def processor() -> str:
    """Return the processor's own name, and that of the hypervisor's machine if there is one."""
    found = re.search(r"^model name\s*:\s*(.+)$", text(CPUINFO), re.MULTILINE)
    name = found[1] if found else platform.machine()
    under = " ".join(filter(None, (text(DMI / "sys_vendor"), text(DMI / "product_name"))))
    return f"{name}, {under}" if under else name


def describe() -> dict[str, str]:
    """Return what else a cell's identity must hold: kernel, processor, cores, source of time."""
    return {
        "kernel": kernel_version(),
        "kernel_package": f"{os.uname().release} {os.uname().version}",
        "machine": processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "clock_source": text(CLOCK_SOURCE) or "not told",
    }
