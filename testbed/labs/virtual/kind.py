"""The virtual lab as every lab is known: what it promises, what it takes, how it is made ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.cell import Cell, Limits
from testbed.labs.booted import image, time_limits
from testbed.labs.booted.kind import BootedKind
from testbed.labs.contract.lab import Check, Finding, Lab, Properties, accept_any
from testbed.labs.virtual import costs, kernel_build, patched_kernel, tree_kernel, virtual_lab
from testbed.labs.virtual.own_source import given_patch, given_tree, kept
from testbed.machine import contents
from testbed.machine.process import BuildReport


@dataclass(frozen=True)
class VirtualKind(BootedKind):
    """See :class:`testbed.labs.contract.lab.LabKind`."""

    properties: Properties = virtual_lab.PROPERTIES

    def limits(self, cell: Cell) -> Limits:
        """Return after which times a cell is given up."""
        return time_limits.limits(cell)

    def cell_wall_s(self, cell: Cell) -> float:
        """Return how long one core is busy with a cell, tables included."""
        return costs.cell_wall_s(cell)

    def check_kernel(self, version: str) -> str:
        """Return a version of the kernel; raise :class:`StudyError` if it cannot be one."""
        if given_tree.is_given(version):
            return tree_kernel.named(version)
        return patched_kernel.checked(version)

    def own_patches(self, files: Sequence[str]) -> tuple[str, ...]:
        """Return the names of patches that are given as files; they are kept from now on."""
        return given_patch.named(files)

    def kernel_sources(self, kernel_versions: Sequence[str]) -> Mapping[str, Any]:
        """Return where the trees of these kernels were, and the texts of users' patches."""
        return kept.records(kernel_versions)

    def keep_sources(self, kernels: object) -> None:
        """Take what a run kept of its kernels into the cache, which may not have it any more."""
        kept.take_in(kernels)

    def check_offered(self, kernel_versions: Sequence[str]) -> None:
        """Raise :class:`UnsupportedError` for kernels that are neither here nor to be had."""
        virtual_lab.check_offered(kernel_versions)

    def built_first(self, kernel_versions: Sequence[str]) -> str:
        """Return what is built before the first cell, and how long that takes; "" for nothing."""
        missing = [version for version in kernel_versions if not virtual_lab.is_built(version)]
        no_image = image.built() is None
        return costs.build_line(missing, image=no_image) if no_image or missing else ""

    def doctor(self, kernel_versions: Sequence[str]) -> list[Finding]:
        """Look at what it needs of this machine; change nothing."""
        from testbed.labs.booted import doctor  # when needed: no other command looks

        root = image.built()
        found = [
            doctor.kernel(
                f"kernel {version}",
                patched_kernel.built(version, contents.digest(root.parent)) if root else None,
            )
            for version in kernel_versions
        ]
        hint = "the lab's kernel is User-Mode Linux, which there is for x86_64"
        return doctor.examine(found, kernels_bytes=kernel_build.BUILD_BYTES, processor_hint=hint)

    def ready(
        self, kernel_versions: Sequence[str], report: BuildReport, check: Check = accept_any
    ) -> Lab:
        """Return the lab with these kernels, built if needed."""
        return virtual_lab.ensure_per_kernel(kernel_versions, report, check)


VIRTUAL = VirtualKind()
