"""The host lab on Debian's own kernel, in real time as an emulated machine has it: what it needs is
loaded there, what it finds is what the virtual lab finds, and the machine is as it was.

    python -m pytest tests/long/host_on_debian.py

Some ten minutes, of an emulated machine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from model import run_folder
from testbed.command.cli import command_status
from testbed.labs.host import kernel_modules
from tests.support.machines import emulated, quick

STUDY = Path(__file__).parents[1] / "lab" / "host" / "wireless.yaml"
WITHIN_S = 1800.0
#: Of what is loaded, what a kernel does not let go of, or we do not: see docs/labs.md.
HOLDS_ITSELF = {"sctp"}
pytestmark = pytest.mark.timeout(WITHIN_S + 100)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the machine left, once it has run the study."""
    folder = tmp_path_factory.mktemp("debian")
    script = f"$PYTHON -m tests.lab.host.programs.untouched {STUDY}\n"
    quick.run(emulated.debian(), folder, script, timeout_s=WITHIN_S)
    return folder


def value(path: Path) -> Any:
    return json.loads(path.read_text())


def measured(run: Path) -> Path:
    """Return the cell of a run that measures."""
    (found,) = (c for c in (run / "cells").iterdir() if (c / run_folder.FLOWS_TABLE).exists())
    return found


def test_a_study_is_run_to_its_verdict(untouched: Path) -> None:
    told = value(untouched / "untouched.json")
    assert told["status"] == 0, (untouched / "results" / "log").read_text()
    run = untouched / "results" / "latest"
    assert (run / "report" / "index.html").stat().st_size > 0
    for cell in (run / "cells").iterdir():
        assert run_folder.is_done(cell)
        environment = value(cell / "env.json")
        assert environment["kernel_release"].endswith("+deb13-amd64")
        assert environment["clock"] == "real"
        assert "QEMU" in environment["lab"]["machine"]
        checks = value(cell / "verify.json")["checks"]
        assert {c["check"] for c in checks if c["where"] == "the machine"}
        assert [check for check in checks if check["agrees"] is False] == []


def test_goodput_is_that_of_the_virtual_lab(untouched: Path, tmp_path: Path) -> None:
    argv = ["run", str(STUDY), "--kernel", "6.12", "-D", str(tmp_path)]
    assert command_status(argv) == 0
    goodput_bps = [
        dict(pl.read_parquet(measured(run / "latest") / run_folder.FLOWS_TABLE)
             .select("flow", "goodput_bps").iter_rows())
        for run in (untouched / "results", tmp_path)
    ]  # fmt: skip
    for flow in ("T", "S"):
        # The same packets of each flow are lost. A ms more of delay makes up to 5 %.
        assert 0.9 < goodput_bps[0][flow] / goodput_bps[1][flow] < 1.1
    claims = [
        value(run / "latest" / "summary.json")["claims"]
        for run in (untouched / "results", tmp_path)
    ]
    assert [one["verdict"] for one in claims[0]] == [one["verdict"] for one in claims[1]]


def test_nothing_is_left_but_modules_that_stay(untouched: Path) -> None:
    left = value(untouched / "untouched.json")["left"]
    modules = left.pop("modules")
    # Settings of sctp's own, which come and go with it.
    settings = left.pop("sysctls")
    assert left == {}
    assert [name for name in settings if not name.startswith("net/sctp/")] == []
    was, now = set(modules["was"]), set(modules["is"])
    assert was < now
    # Nothing of queues, filters, sockets or windows; but what sctp needs.
    ours = {*kernel_modules.WANTED, *kernel_modules.ON_DEMAND}
    assert (now - was) & ours == kernel_modules.OF_LINKS | HOLDS_ITSELF
