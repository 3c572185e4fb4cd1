"""Whatever goes wrong in a lab becomes one error that names the phase, and leaves no process."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Cell, Knob, LedgerEntry, Limits, cell_json
from model.errors import RunError
from testbed.campaign.run_cell import execute
from testbed.labs.virtual.virtual_lab import VirtualLab

Script = Callable[..., Path]


def test_a_spinning_guest_meets_the_wall_clock_limit(script: Script) -> None:
    began_s = time.monotonic()
    with pytest.raises(RunError, match=r"phase boot: the lab did not end: wanted within 3 s"):
        script("while :; do :; done", wall_s=3.0)
    assert time.monotonic() - began_s < 15


def test_an_idle_guest_meets_the_virtual_limit(script: Script) -> None:
    with pytest.raises(RunError, match="virtual-time limit of 30 s"):
        script("sleep 100000", virtual_s=30.0)


def test_a_failing_program_is_named(script: Script) -> None:
    with pytest.raises(RunError, match="agent exited 7"):
        script("echo doing; exit 7")


def test_a_killed_program_is_named(script: Script) -> None:
    with pytest.raises(RunError, match="agent killed by signal 9"):
        script("kill -9 $$")


def test_memory_that_is_short_ends_the_lab_and_the_console_is_kept(
    script: Script, tmp_path: Path
) -> None:
    """Whoever asks for the last page: a kernel that kills the largest instead kills the agent."""
    with pytest.raises(
        RunError, match=r"(?s)phase torture: the lab ran out of memory: wanted at most 256 MiB"
    ):
        script(
            "echo 'lab: phase torture'\n"
            "echo 1 > /proc/sys/vm/overcommit_memory\n"
            "python3 -c 'x = bytearray(2**30); x[::4096] = b\"x\" * (2**30 // 4096)'\n"
        )
    console = tmp_path / run_folder.CONSOLE
    assert "Kernel panic" in console.read_text()


def test_a_kernel_that_powers_off_too_early_is_named(script: Script) -> None:
    with pytest.raises(RunError, match="ended before its agent"):
        script("python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)'")


def test_the_phase_of_a_failure_is_named(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path: Path
) -> None:
    cell = wireless(duration_s=20.0)
    bad = LedgerEntry(
        parameter="no such congestion control",
        published="",
        fidelity="exact",
        note="",
        knobs=(
            Knob(
                kind="sysctl",
                name="net.ipv4.tcp_congestion_control",
                value="nonesuch",
                side="both",
            ),
        ),
    )
    cell = dataclasses.replace(
        cell, hosts=dataclasses.replace(cell.hosts, entries=(*cell.hosts.entries, bad))
    )
    folder = tmp_path / "bad"
    with pytest.raises(RunError, match=r"phase build the network: .*nonesuch"):
        execute(cell, folder, lab, threading.Event())
    assert not (folder / run_folder.DONE).exists()
    # What was run until then is told, the cell's evidence being what it is for.
    lines = (folder / run_folder.COMMANDS).read_text().splitlines()
    ran = [json.loads(line) for line in lines]
    assert {"ip", "tc"} <= {entry["argv"][0] for entry in ran}
    assert [entry["status"] for entry in ran] == [0] * len(ran)


def test_a_cancelled_cell_ends_at_once(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path: Path
) -> None:
    cell = wireless(duration_s=20_000.0, limits=Limits(wall_s=600.0, virtual_s=30_000.0))
    folder = tmp_path / "cancelled"
    folder.mkdir()
    (folder / "cell.json").write_text(cell_json(cell))
    cancelled = threading.Event()
    timer = threading.Timer(2.0, cancelled.set)
    timer.start()
    began_s = time.monotonic()
    with pytest.raises(RunError, match="interrupted"):
        lab.run(cell, folder, cancelled)
    assert time.monotonic() - began_s < 15
