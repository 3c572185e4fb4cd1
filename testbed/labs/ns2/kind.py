"""The ns2 lab as every lab is known: what it promises, what it takes, how it is made ready."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.cell import Cell, Limits
from simulators.ns2 import ledger, profiles, settings
from testbed.labs.booted import booting
from testbed.labs.booted.kind import BootedKind
from testbed.labs.confinement import preflight
from testbed.labs.confinement.expected_traffic import expected_packets
from testbed.labs.contract import paths_and_events
from testbed.labs.contract.lab import Check, Finding, Lab, Properties, accept_any
from testbed.labs.ns2 import ns2_lab, tree
from testbed.machine import cache
from testbed.machine.process import BuildReport

#: Starting ns-2, reading its trace and writing tables: of a cell, and of each packet.
SETUP_S, PER_PACKET_S = 0.4, 20e-6
#: A cell is given up after so many times what it is expected to take, and at least after so long.
PATIENCE, LEAST_WALL_S = 50.0, 120.0


@dataclass(frozen=True)
class Ns2Kind(BootedKind):
    """See :class:`testbed.labs.contract.lab.LabKind`; its kernels are the simulator's profiles."""

    properties: Properties = ns2_lab.PROPERTIES

    def limits(self, cell: Cell) -> Limits:
        """Return after which times a cell is given up.

        Raises:
            UnsupportedError: ns-2 cannot run it; the setting is named.
        """
        paths_and_events.check_links(cell, self.properties.name)
        settings.text(cell, profiles.named(cell.lab["kernel"]))
        ledger.check_known(cell)
        wall_s = max(LEAST_WALL_S, PATIENCE * self.cell_wall_s(cell))
        return Limits(wall_s=wall_s, virtual_s=cell.limits.virtual_s)

    def cell_wall_s(self, cell: Cell) -> float:
        """Return how long one core is busy with a cell, tables included."""
        return SETUP_S + PER_PACKET_S * expected_packets(cell)

    def check_kernel(self, version: str) -> str:
        """Return the version of a profile; raise :class:`StudyError` for one there is not."""
        return profiles.named(version).version

    def kernel_instead(self, asked: str) -> str:
        """Return the profile's version: it stands for all kernels that studies name."""
        self.refuse_folder(asked)
        return self.check_kernel(asked or profiles.DEFAULT)

    def check_offered(self, kernel_versions: Sequence[str]) -> None:
        """Raise :class:`StudyError` for profiles there are not."""
        for version in kernel_versions:
            profiles.named(version)

    def built_first(self, _kernel_versions: Sequence[str]) -> str:
        """Return what is built before the first cell, and how long that takes; "" for nothing."""
        return "" if tree.built() else "first fetched, once, about 1 min: ns-2"

    def doctor(self, _kernel_versions: Sequence[str]) -> list[Finding]:
        """Look at what it needs of this machine; change nothing."""
        from testbed.labs.booted import doctor  # when needed: no other command looks

        root = tree.built()
        return doctor.examine(
            [doctor.kernel("ns-2", root.parent if root else None)],
            kernels_bytes=tree.BYTES,
            processor_hint="the lab is made of Debian's packages for x86_64",
        )

    def ready(
        self, kernel_versions: Sequence[str], report: BuildReport, check: Check = accept_any
    ) -> Lab:
        """Return the lab, ns-2 fetched if needed."""
        self.check_offered(kernel_versions)
        cache.root().mkdir(parents=True, exist_ok=True)
        preflight.check()
        lab = ns2_lab.Ns2Lab(root=tree.ensure(report), code=ns2_lab.code())
        found = lab.describe(profiles.DEFAULT)
        check({name: found[name] for name in ("image_digest", "code_digest")}, lab.packages())
        booting.check_parts(lab.parts(), thorough=False)
        return lab


NS2 = Ns2Kind()
