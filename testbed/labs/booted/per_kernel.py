"""Labs that differ in their kernel alone, as one: each cell runs on the lab it was planned for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from model.cell import Cell
from testbed.labs.booted import booting
from testbed.labs.contract.lab import Properties, Ran


class OwnMachine:
    """A booted lab's cell has a machine of its own: on the real one there is nothing to prepare."""

    def prepared(self) -> contextlib.AbstractContextManager[None]:
        """Return a block that changes nothing."""
        return contextlib.nullcontext()


class OneKernel(Protocol):
    """A lab of one kernel."""

    def describe(self) -> dict[str, str]:
        """Return what a cell's identity must hold of its lab."""

    def packages(self) -> dict[str, str]:
        """Return the version of each package in the image, by name."""

    def kernel_config(self) -> str:
        """Return what its kernel was configured with."""

    def parts(self) -> tuple[Path, ...]:
        """Return the folders in the cache it is made of."""

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        """Run a prepared folder to its end; return how long that took."""


@dataclass(frozen=True, kw_only=True)
class LabPerKernel(OwnMachine):
    """A lab per kernel, all with the same image and code."""

    by_kernel: Mapping[str, OneKernel]
    properties: Properties

    def describe(self, kernel_version: str) -> dict[str, str]:
        """Return what the identity of a cell on that kernel must hold of its lab."""
        return self.by_kernel[kernel_version].describe()

    def packages(self) -> dict[str, str]:
        """Return the version of each package in the image, by name."""
        return next(iter(self.by_kernel.values())).packages()

    def kernel_config(self, kernel_version: str) -> str:
        """Return what that kernel was configured with."""
        return self.by_kernel[kernel_version].kernel_config()

    def parts(self) -> tuple[Path, ...]:
        """Return the folders in the cache they are made of, each once."""
        return tuple(dict.fromkeys(part for lab in self.by_kernel.values() for part in lab.parts()))

    def check_whole(self, *, thorough: bool) -> None:
        """Raise :class:`UnsupportedError` naming files that are not as they were built."""
        booting.check_parts(self.parts(), thorough=thorough)

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        """Run a cell on its own lab."""
        return self.by_kernel[cell.lab["kernel"]].run(cell, folder, cancelled)
