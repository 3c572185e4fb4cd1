"""Small cells of radios, run in the virtual lab on the kernel that has them."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from model.cell import Limits
from testbed.labs.booted.booting import Boot
from testbed.labs.virtual import virtual_lab

PROGRAM = Path(__file__).with_name("programs") / "cell.py"


@dataclass(frozen=True)
class Ran:
    """What a cell of radios left."""

    folder: Path
    said: list[str]
    totals: dict[str, Any]

    def frames(self) -> list[str]:
        """Return the medium's list of transmissions."""
        return (self.folder / "frames").read_text().splitlines()


RunRadios = Callable[..., Ran]


@pytest.fixture(scope="session")
def run_radios(tmp_path_factory: pytest.TempPathFactory) -> RunRadios:
    """Run steps on nodes at places in metres; see ``programs/cell.py``."""
    lab = virtual_lab.ensure("6.12+radio", lambda _what, _done: None)

    def run(places_m: list[list[float]], steps: list[Any], **settings: Any) -> Ran:
        folder = tmp_path_factory.mktemp("radios")
        wanted = {"places_m": places_m, "steps": steps, "records": ["frames", "pcap"], **settings}
        (folder / "settings.json").write_text(json.dumps(wanted))
        shutil.copy(PROGRAM, folder / "cell.py")
        boot = Boot(
            seed=1,
            limits=Limits(wall_s=60, virtual_s=600),
            program=("/usr/bin/python3", "/cell/cell.py", "settings.json"),
        )
        lab.boot(boot, folder, threading.Event())
        left = json.loads((folder / "said.json").read_text())
        return Ran(folder, left["said"], left["totals"])

    return run
