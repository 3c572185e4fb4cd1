"""What every lab that boots a kernel says of itself alike."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable

from testbed.labs.contract.lab import BuildsNoKernel


class BootedKind(BuildsNoKernel, ABC):
    """Of :class:`testbed.labs.contract.lab.LabKind` what does not depend on the kernel booted."""

    @abstractmethod
    def check_kernel(self, version: str) -> str:
        """Return a version of the kernel; raise :class:`StudyError` if it cannot be one."""

    def slots(self) -> int:
        """Return one for each core that this process may use: a lab keeps one busy."""
        return len(os.sched_getaffinity(0))

    def kernel_instead(self, asked: str) -> str:
        """Return what was asked for: each kernel a study names can be had."""
        if not self.properties.builds:
            self.refuse_folder(asked)
        return self.check_kernel(asked) if asked else ""

    def clean(self, say: Callable[[str], None]) -> None:  # it is all there is to do
        """Do nothing: a booted lab changes nothing of the machine."""
