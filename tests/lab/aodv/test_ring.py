"""Waiting and answering in one call: nothing lost, nothing late, whatever is asked at once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.labs.booted import image
from testbed.labs.confinement import lab_user
from testbed.labs.confinement.sandbox import Sandbox
from testbed.machine.process import run_logged

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

COMMON = Path(__file__).parents[3] / "probes/common"
PARTS = ("probe_ring", "probe_common", "probe_json")
SOURCE = Path(__file__).parent / "programs/ring_drive.c"
PACKETS, CLOCK_STEP_NS = 200, 256


@pytest.fixture(scope="module")
def ring_drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ring")
    for part in PARTS:
        for suffix in (".c", ".h"):
            shutil.copy(COMMON / f"{part}{suffix}", folder)
    shutil.copy(SOURCE, folder)
    sources = [f"/cell/{part}.c" for part in (*PARTS, SOURCE.stem)]
    words = ["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-o", "/cell/ring_drive", *sources]
    with lab_user.lent(folder) as uid:
        sandbox = Sandbox(
            image=image.ensure(lambda _what, _done: None), uid=uid, writable={"/cell": folder}
        )
        run_logged(
            sandbox.argv(words), log=folder / "build.log", what="compiling the ring's test",
            timeout_s=120.0,
        )  # fmt: skip
    return folder / "ring_drive"


def test_the_ring_keeps_its_promises(program: Callable[..., Path], ring_drive: Path) -> None:
    folder = program("ring", files=(ring_drive,))
    totals = json.loads((folder / "totals.json").read_text())
    late_ns = totals.pop("first_late_ns"), totals.pop("second_late_ns")
    assert totals == {
        "event": "totals", "named": PACKETS, "plain": PACKETS, "in_order": PACKETS,
        "ttl_hops": 64, "failed": 1, "woken": 1,
    }  # fmt: skip
    assert all(0 <= late <= 4 * CLOCK_STEP_NS for late in late_ns)
