"""The virtual lab with a kernel that has radios, for studies of wireless networks.

Invariant: the kernel of other studies is not this one, so their results do not change.
"""

from __future__ import annotations

from pathlib import Path

from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.kernel import Config
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine.process import BuildReport

OPTIONS = Path(__file__).with_name("radio.config")
CONFIG = Config(options=OPTIONS.read_bytes())


def ensure(name: str, report: BuildReport) -> VirtualLab:
    """Return the virtual lab with that kernel, building what is not in the cache yet.

    Raises:
        StudyError: there is no such kernel.
        BuildError: the source is not to be built.
        UnsupportedError: this machine cannot confine a lab, or the source is not to be had.
    """
    return virtual_lab.ensure(name, report, config=CONFIG)
