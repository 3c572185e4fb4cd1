"""The ns2 lab: a cell is run by ns-2, a process that sees its own root, its code and its cell.

Invariants: what a cell leaves is a function of its settings, which hold all of the cell that ns-2
takes; it has no network and none of this machine's folders; time and memory are bounded, and so is
what it writes.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from model import run_folder
from model.cell import Cell
from model.errors import MachineError, RunError
from model.tolerances import EXACT
from simulators.ns2 import profiles, settings
from testbed.labs.booted import booting, unpacked
from testbed.labs.confinement import allowance, lab_user
from testbed.labs.confinement.sandbox import Sandbox
from testbed.labs.confinement.supervise import supervise
from testbed.labs.contract.lab import Properties, Ran
from testbed.labs.ns2 import tree
from testbed.machine import cache, contents
from testbed.machine.process import tail

PROPERTIES = Properties(
    name="ns2",
    kernels="none: the simulator ns-2.35, with the profiles era2001 and ns235",
    clock="virtual",
    tick_hz=profiles.ERA2001.tick_hz,
    repeatable=True,
    simulates=True,
    tolerances=EXACT,
)
SIMULATOR = "ns-2.35"
CODE = Path(settings.__file__).parent
#: What decides what ns-2 is told; what reads its trace decides tables alone.
SOURCES = ("dumbbell.tcl", "profiles.py", "settings.py")
PLACE = "/gt/code"
#: Far more than the 20 MB that the largest studies were seen to take.
MEMORY_BYTES = 1 << 30
FILE_BYTES = 4 << 30
#: It was seen to need fewer than 20.
OPEN_FILES = 64
#: Says that all went well: how the sandbox ended is all its supervisor sees.
WELL = "lab: ns-2 exited 0"
SCRIPT = f'"$@" && echo "{WELL}"'


@dataclass(frozen=True, kw_only=True)
class Ns2Lab:
    """A root with ns-2 in it, and the folder of what it is to run."""

    root: Path
    code: Path
    properties: Properties = PROPERTIES

    def describe(self, kernel_version: str) -> dict[str, str]:
        """Return what a cell's identity must hold of its lab."""
        profile = profiles.named(kernel_version)
        return {
            "name": self.properties.name,
            "simulator": SIMULATOR,
            "clock": self.properties.clock,
            "tick_hz": str(profile.tick_hz),
            "kernel": profile.version,
            "kernel_package": self.packages()[tree.NS2],
            "image_digest": contents.digest(self.root.parent),
            "code_digest": contents.digest(self.code),
        }

    def packages(self) -> dict[str, str]:
        """Return the version of each package in it, by name."""
        return unpacked.versions(self.root.parent)

    def kernel_config(self, _kernel_version: str) -> str:
        """Return nothing: a simulator has no kernel."""
        return ""

    def parts(self) -> tuple[Path, ...]:
        """Return the folders in the cache it is made of."""
        return (self.root.parent, self.code)

    def check_whole(self, *, thorough: bool) -> None:
        """Raise :class:`UnsupportedError` naming files that are not as they were built."""
        booting.check_parts(self.parts(), thorough=thorough)

    def prepared(self) -> contextlib.AbstractContextManager[None]:
        """Return a block that changes nothing."""
        return contextlib.nullcontext()

    def command(self, folder: Path) -> list[str]:
        """Return the command line that runs a prepared folder."""
        sandbox = Sandbox(
            image=self.root,
            read_only={PLACE: self.code},
            writable={"/cell": folder},
            scratch={"/tmp": 1 << 20},
            bare=True,
            # grep is to take bytes as they are.
            env={"LC_ALL": "C"},
        )
        files = (run_folder.NS2_SETTINGS, run_folder.NS2_TRACE, run_folder.NS2_WINDOWS,
                 run_folder.NS2_READ_BACK)  # fmt: skip
        return sandbox.argv(
            [
                "sh", "-c", SCRIPT, "sh", "prlimit", f"--as={MEMORY_BYTES}",
                f"--fsize={FILE_BYTES}", f"--nofile={OPEN_FILES}", "--core=0", "--",
                "ns", f"{PLACE}/dumbbell.tcl",
                *(f"/cell/{name}" for name in files),
            ]
        )  # fmt: skip

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        """Run a prepared folder to its end.

        Raises:
            RunError: it did not end well, or was cancelled.
        """
        told = settings.text(cell, profiles.named(cell.lab["kernel"]))
        place = folder / run_folder.NS2_SETTINGS
        place.parent.mkdir(parents=True)
        place.write_text(told)
        lab_user.lend(folder, lab_user.of_sandbox())
        console = folder.parent / run_folder.CONSOLE
        began_s = time.monotonic()
        ending = supervise(
            self.command(folder),
            folder=folder,
            console=console,
            allowed=allowance.of_cell(cell),
            deadline_s=began_s + cell.limits.wall_s,
            cancelled=cancelled,
        )
        where = f"cell {folder.parent.name}"
        if cancelled.is_set():
            raise RunError("interrupted", where=where)
        if ending.excess:
            raise RunError(ending.excess.what, where=where, wanted=ending.excess.wanted,
                           got=ending.excess.got)  # fmt: skip
        if not ending.by_itself:
            starved = ending.was_starved(cell.limits.wall_s)
            raise (MachineError if starved else RunError)(
                "ns-2 did not end", where=where, got=tail(console),
                wanted=f"within {cell.limits.wall_s:.0f} s",
            )  # fmt: skip
        if WELL not in console.read_text(errors="replace").splitlines():
            raise RunError("ns-2 failed", where=where, got=tail(console))
        return Ran(wall_s=time.monotonic() - began_s)


def code() -> Path:
    """Return a folder in the cache with what decides what ns-2 does; any user may read it."""
    files = [(name, CODE / name) for name in SOURCES]

    def copy(folder: Path) -> None:
        for name, path in files:
            (folder / name).write_bytes(path.read_bytes())
        contents.settle(folder)

    return cache.entry("ns2-code", cache.files_digest(files), copy)
