"""Labs that differ in their kernel alone, as one: each cell runs on the lab it was planned for."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.cell import Cell
from testbed.labs.contract.lab import Check, Properties, accept_any
from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine.process import BuildReport


@dataclass(frozen=True, kw_only=True)
class LabPerKernel:
    """A lab per kernel, all with the same image and code."""

    by_kernel: Mapping[str, VirtualLab]
    properties: Properties = virtual_lab.PROPERTIES

    def describe(self, kernel_version: str) -> dict[str, str]:
        """Return what the identity of a cell on that kernel must hold of its lab."""
        return self.by_kernel[kernel_version].describe()

    def packages(self) -> dict[str, str]:
        """Return the version of each package in the image, by name."""
        return next(iter(self.by_kernel.values())).packages()

    def check_whole(self, *, thorough: bool) -> None:
        """Raise :class:`UnsupportedError` naming files that are not as they were built."""
        parts = dict.fromkeys(part for lab in self.by_kernel.values() for part in lab.parts())
        virtual_lab.check_parts(parts, thorough=thorough)

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> float:
        """Run a cell on its own lab; see :meth:`VirtualLab.run`."""
        return self.by_kernel[cell.lab["kernel"]].run(cell, folder, cancelled)


def ensure(
    kernel_versions: Sequence[str], report: BuildReport, check: Check = accept_any
) -> LabPerKernel:
    """Return the labs of these kernels, each once; see :func:`virtual.ensure_each`."""
    versions = tuple(dict.fromkeys(kernel_versions))
    labs = virtual_lab.ensure_each(versions, report, check)
    return LabPerKernel(by_kernel=dict(zip(versions, labs, strict=True)))
