"""No lab outlives who started it, however early that dies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from testbed.labs.virtual.virtual_lab import VirtualLab


def test_no_lab_outlives_its_starter(lab: VirtualLab, tmp_path: Path) -> None:
    assert lab.image.is_dir()  # built before the time runs
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.killed_starters", str(tmp_path), "200"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"killed": {}, "thread": {}}
