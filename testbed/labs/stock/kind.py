"""The stock lab as every lab is known: what it promises, what it takes, how it is made ready."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from model.cell import Cell, Limits
from testbed.labs.booted import image, time_limits
from testbed.labs.booted.kind import BootedKind
from testbed.labs.confinement.expected_traffic import expected_packets
from testbed.labs.contract import paths_and_events, seeded_loss
from testbed.labs.contract.lab import Check, Finding, Lab, Properties, accept_any
from testbed.labs.stock import emulator, kernel_package, stock_lab
from testbed.machine.process import BuildReport

#: On two cores.
IMAGE_BUILD_S, EMULATOR_FETCH_S, KERNEL_FETCH_S = 150.0, 20.0, 30.0
#: Boot, building the network and reading everything back, on one core.
SETUP_S = 12.0
#: Beyond that: each second of the cell's own time, and each packet.
PER_VIRTUAL_S, PER_PACKET_S = 0.02, 0.001
OLD_KERNEL = "a newer kernel, or a study without random loss"
#: Everything takes so much longer than in User-Mode Linux, whose limits these are.
SLOWER = 20.0


@dataclass(frozen=True)
class StockKind(BootedKind):
    """See :class:`testbed.labs.contract.lab.LabKind`."""

    properties: Properties = stock_lab.PROPERTIES

    def limits(self, cell: Cell) -> Limits:
        """Return after which times a cell is given up.

        Raises:
            UnsupportedError: it has radios, or draws losses, which its kernel cannot from a seed.
        """
        paths_and_events.check_links(cell, self.properties.name)
        paths_and_events.check_queues(cell, self.properties.name)
        paths_and_events.check_rates(cell, self.properties.name)
        seeded_loss.check(cell, cell.lab["kernel"], OLD_KERNEL)
        usual = time_limits.limits(cell)
        return replace(usual, wall_s=usual.wall_s * SLOWER)

    def cell_wall_s(self, cell: Cell) -> float:
        """Return how long one core is busy with a cell, tables included."""
        packets = 0.0 if cell.purpose == "calibrate" else expected_packets(cell)
        return SETUP_S + PER_VIRTUAL_S * cell.duration_s + PER_PACKET_S * packets

    def check_kernel(self, version: str) -> str:
        """Return a version of the kernel; raise :class:`StudyError` if it cannot be one."""
        return kernel_package.check_version(version)

    def check_offered(self, kernel_versions: Sequence[str]) -> None:
        """Raise :class:`UnsupportedError` for kernels that are neither here nor to be had."""
        stock_lab.check_offered(kernel_versions)

    def built_first(self, kernel_versions: Sequence[str]) -> str:
        """Return what is built before the first cell, and how long that takes; "" for nothing."""
        parts = [("lab image", IMAGE_BUILD_S)] * (image.built() is None)
        parts += [("QEMU", EMULATOR_FETCH_S)] * (emulator.built() is None)
        parts += [
            (f"kernel {version}", KERNEL_FETCH_S)
            for version in kernel_versions
            if not kernel_package.built(version)
        ]
        needed_min = math.ceil(sum(needed_s for _, needed_s in parts) / 60)
        names = ", ".join(name for name, _ in parts)
        return f"first built, once, about {needed_min} min: {names}" if parts else ""

    def doctor(self, kernel_versions: Sequence[str]) -> list[Finding]:
        """Look at what it needs of this machine; change nothing."""
        from testbed.labs.booted import doctor  # when needed: no other command looks

        root = emulator.built()
        found = [doctor.kernel("QEMU", root.parent if root else None)]
        found += [
            doctor.kernel(f"kernel {version}", kernel_package.built(version))
            for version in kernel_versions
        ]
        return doctor.examine(
            found,
            kernels_bytes=emulator.BYTES + kernel_package.UNPACKED_BYTES,
            processor_hint="the lab is made of Debian's packages for x86_64",
        )

    def ready(
        self, kernel_versions: Sequence[str], report: BuildReport, check: Check = accept_any
    ) -> Lab:
        """Return the lab with these kernels, fetched or built if needed."""
        return stock_lab.ensure_per_kernel(kernel_versions, report, check)


STOCK = StockKind()
