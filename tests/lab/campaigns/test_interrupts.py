"""An interrupt at any moment leaves no process and no cell that looks finished but is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from model import run_folder
from testbed.campaign import digests
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.killing import short_wireless

PROJECT = Path(__file__).resolve().parents[3]
ENDED_WITHIN_S = 20.0


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A short form of the wireless study: two points, three seeds, 150 s."""
    path = tmp_path / "short.yaml"
    path.write_text(short_wireless(duration="150 s", seeds="[1, 2, 3]"))
    return path


def _start(study: Path, results: Path) -> subprocess.Popen[str]:
    argv = [
        sys.executable,
        "-m",
        "testbed",
        "run",
        str(study),
        "--no-sensitivity",
        "--data-dir",
        str(results),
    ]
    return subprocess.Popen(
        argv, cwd=PROJECT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def _processes_of(results: Path) -> list[str]:
    """Return the command lines of processes that have to do with a results folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(results) in words and str(os.getpid()) != entry.parent.name:
            found.append(words[:200])
    return found


def _await_none(results: Path) -> list[str]:
    deadline_s = time.monotonic() + ENDED_WITHIN_S
    while (left := _processes_of(results)) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    return left


def _cells_are_whole(results: Path) -> int:
    """Check every finished cell's files against its digests; return how many there are."""
    done = list(results.glob(f"2*/cells/*/{run_folder.DONE}"))
    for path in done:
        folder = path.parent
        assert digests.differences(digests.read_done(folder), digests.of_cell(folder)) == []
    return len(done)


@pytest.mark.parametrize(
    ("number", "after_s"),
    [
        (signal.SIGINT, 0.3),
        (signal.SIGTERM, 2.0),
        (signal.SIGINT, 4.0),
        (signal.SIGTERM, 6.0),
        (signal.SIGKILL, 4.5),
    ],
)
def test_an_interrupted_run_leaves_nothing_behind_and_can_be_resumed(
    study: Path, tmp_path: Path, lab: VirtualLab, number: signal.Signals, after_s: float
) -> None:
    results = tmp_path / "results"
    child = _start(study, results)
    time.sleep(after_s)
    child.send_signal(number)
    out, _ = child.communicate(timeout=60)
    assert _await_none(results) == []
    if number != signal.SIGKILL and child.returncode != 0:
        assert child.returncode == 3, out
        assert "interrupted" in out
    _cells_are_whole(results)
    runs = sorted(results.glob("2*"))
    if not runs:
        return
    resumed = subprocess.run(
        [sys.executable, "-m", "testbed", "resume", str(runs[0])],
        cwd=PROJECT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stderr
    assert _cells_are_whole(results) == 2 + 2 * 3
    assert (runs[0] / run_folder.SUMMARY_JSON).is_file()
