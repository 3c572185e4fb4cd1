"""What every lab says of itself and does: the one seam between campaigns and where cells run.

A :class:`LabKind` is known by its name and costs nothing: it says what its cells may take, whether
this machine can run it, and makes it ready. What it gives then is a :class:`Lab`, which runs cells.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from model.cell import Cell, Limits
from model.check import Check as Comparison
from model.errors import UnsupportedError
from model.tolerances import Tolerances
from testbed.machine.process import BuildReport

#: May refuse what it is told: the digests of a lab but for its kernel, and the image's packages.
Check = Callable[[Mapping[str, str], Mapping[str, str]], None]


def accept_any(_found: Mapping[str, str], _packages: Mapping[str, str]) -> None:
    """Refuse nothing."""


@dataclass(frozen=True, kw_only=True)
class Properties:
    """What a lab promises: all that is not its own affair rests on these."""

    #: On the command line and in a cell's identity.
    name: str
    #: What its kernels are, in words.
    kernels: str
    #: Whether time stands still while anything computes.
    clock: Literal["virtual", "real"]
    #: Timer interrupts a second (CONFIG_HZ): to what TCP's and SCTP's timers are rounded.
    tick_hz: int
    #: Whether a cell that is run again leaves the same bytes.
    repeatable: bool
    #: Whether the kernel's own account of congestion and drops is recorded, which takes one kernel.
    #: Where not, all cells are captured, so that losses are known.
    traces: bool = True
    #: Whether its cells are a simulator's, which has neither kernel nor agent: its paths are as
    #: they were asked for, not calibrated, and what it leaves its own room makes into tables.
    simulates: bool = False
    #: How many cells it runs side by side at most; None: as many as are asked for.
    at_once: int | None = None
    #: Whether it builds kernels of any source: trees and patches of the user's.
    builds: bool = False
    #: What its calibrations and its cells are held to.
    tolerances: Tolerances


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One property of the machine: what it is for, how it is, and what to do if it is not well."""

    name: str
    state: str
    well: bool
    needed: bool
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How long a cell ran, in seconds of wall time, and how well the machine kept up with it.

    ``cpu_s`` is the processor time of all the lab's processes, ``peak_memory_bytes`` the most that
    its own process held; None where that was not measured.
    """

    wall_s: float
    checks: tuple[Comparison, ...] = ()
    cpu_s: float | None = None
    peak_memory_bytes: int | None = None


class BuildsNoKernel:
    """Of a :class:`LabKind` what concerns kernels of the user's source: there are none."""

    properties: Properties

    def own_patches(self, files: Sequence[str]) -> tuple[str, ...]:
        """Refuse patches."""
        if files:
            raise self._builds_none("PATCH", files[0])
        return ()

    def kernel_sources(self, _kernel_versions: Sequence[str]) -> Mapping[str, Any]:
        """Return nothing: there are none."""
        return {}

    def keep_sources(self, kernels: object) -> None:
        """Keep nothing: there are none."""

    def refuse_folder(self, asked: str) -> None:
        """Raise :class:`UnsupportedError` for a kernel that is asked for by its folder."""
        if "/" in asked or asked.startswith("~") or asked in (".", ".."):
            raise self._builds_none("KERNEL", asked)

    def _builds_none(self, where: str, got: str) -> UnsupportedError:
        name = self.properties.name
        return UnsupportedError(
            f"the {name} lab builds no kernel", where=where, got=got,
            hint="the virtual lab builds any tree and any patch: LAB=virtual",
        )  # fmt: skip


class LabKind(Protocol):
    """What is known of a lab before anything of it is built."""

    @property
    def properties(self) -> Properties:
        """What it promises."""

    def slots(self) -> int:
        """Return how many cells this machine runs at once unless told otherwise."""

    def limits(self, cell: Cell) -> Limits:
        """Return after which times a cell is given up."""

    def cell_wall_s(self, cell: Cell) -> float:
        """Return how long one core is busy with a cell, tables included."""

    def check_kernel(self, version: str) -> str:
        """Return a version of the kernel; raise :class:`StudyError` if it cannot be one."""

    def kernel_instead(self, asked: str) -> str:
        """Return the version that stands for every kernel studies name; "" if each is its own.

        ``asked`` is what the command line asked for. Raises as :meth:`check_kernel`, or
        :class:`UnsupportedError` for one that this lab cannot have.
        """

    def own_patches(self, files: Sequence[str]) -> tuple[str, ...]:
        """Return the names that patches of the user's have in a kernel's name.

        Raises as :meth:`kernel_instead`; a lab that builds no kernel takes none.
        """

    def kernel_sources(self, kernel_versions: Sequence[str]) -> Mapping[str, Any]:
        """Return what a run must keep to find kernels of the user's source again, by name."""

    def keep_sources(self, kernels: object) -> None:
        """Take what a run kept, so that its kernels are found and built by their names."""

    def check_offered(self, kernel_versions: Sequence[str]) -> None:
        """Raise :class:`UnsupportedError` for kernels that are neither here nor to be had.

        It names those that can be had, and may ask a mirror for its lists; nothing is built.
        """

    def built_first(self, kernel_versions: Sequence[str]) -> str:
        """Return what is built before the first cell, and how long that takes; "" for nothing."""

    def doctor(self, kernel_versions: Sequence[str]) -> list[Finding]:
        """Look at what it needs of this machine; change nothing."""

    def ready(
        self, kernel_versions: Sequence[str], report: BuildReport, check: Check = accept_any
    ) -> Lab:
        """Return the lab with these kernels, built if needed.

        ``check`` may refuse what it is told before anything is built that takes minutes.

        Raises:
            UnsupportedError: this machine cannot run it.
        """

    def clean(self, say: Callable[[str], None]) -> None:
        """Undo what a killed run left on this machine, and only that; say each."""


class Lab(Protocol):
    """Where cells run. It is pickled: each core has a process with a lab of its own."""

    @property
    def properties(self) -> Properties:
        """What it promises, as its kind does."""

    def describe(self, kernel_version: str) -> dict[str, str]:
        """Return what the identity of a cell on that kernel must hold of its lab.

        Among it is ``tick_hz``, which the agent compares with that of the kernel it runs on.
        """

    def packages(self) -> dict[str, str]:
        """Return the version of each package in it, by name."""

    def kernel_config(self, kernel_version: str) -> str:
        """Return what that kernel was configured with, a file of it; "" where nobody can tell."""

    def parts(self) -> tuple[Path, ...]:
        """Return the folders in the cache it is made of, those first that others are built with."""

    def check_whole(self, *, thorough: bool) -> None:
        """Raise :class:`UnsupportedError` naming files that are not as they were built."""

    def prepared(self) -> AbstractContextManager[None]:
        """Return a block in which the machine is as cells need it; entered once for all of them."""

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        """Run a prepared folder, the lab's own, to its end.

        ``cancelled`` is set, by a signal, when it is to end soon and leave nothing running.
        What the lab says goes to ``run_folder.CONSOLE`` beside the folder.

        Raises:
            RunError: the cell did not end well, or was cancelled.
        """
