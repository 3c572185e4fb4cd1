"""The lab for AODV: a kernel with TUN and simulated radios, and programs that run in it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from model.cell import Limits
from testbed.labs.booted.booting import Boot
from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab

PROGRAMS = Path(__file__).parent / "programs"
VERSION = "6.12"

Program = Callable[..., Path]


@pytest.fixture(scope="session")
def radio_lab() -> VirtualLab:
    """A lab whose kernel has TUN, mac80211 and mac80211_hwsim; built when it is not there."""
    return virtual_lab.ensure(f"{VERSION}+radio", lambda _what, _done: None)


@pytest.fixture(scope="module")
def program(radio_lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Run one of the programs beside this file as the lab's only one; return what it left."""
    place = tmp_path_factory.mktemp("aodv")

    def run(
        name: str, *words: str, label: str = "", wall_s: float = 60.0, files: Sequence[Path] = ()
    ) -> Path:
        folder = place / (label or name)
        folder.mkdir()
        for path in (*PROGRAMS.glob("*.py"), *files):
            shutil.copy(path, folder)
        boot = Boot(
            seed=1,
            limits=Limits(wall_s=wall_s, virtual_s=2000.0),
            program=("/usr/bin/python3", "-B", f"/cell/{name}.py", *words),
        )
        radio_lab.boot(boot, folder, threading.Event())
        return folder

    return run
