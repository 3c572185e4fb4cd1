"""A run that adds seeds, killed in its second round, goes on from its folder to its end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from model import run_folder
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.study_file import whole_runs_only

PROJECT = Path(__file__).resolve().parents[3]
PLANNED_WITHIN_S = 120.0


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The wireless study at one point, 100 s, precise beyond reach: two seeds, then four."""
    text = whole_runs_only((PROJECT / "studies" / "wireless.yaml").read_text())
    text = text.replace("duration: 1000 s", "duration: 100 s")
    text = text.replace("half_width: 3}", "half_width: 0.001, at_least: 2, at_most: 4}")
    before, _, rest = text.partition("sweep:")
    metrics = rest[rest.index("metrics:") : rest.index("published:")]
    path = tmp_path / "short.yaml"
    path.write_text(before + rest[rest.index("replication:") : rest.index("metrics:")] + metrics)
    return path


def _seeds(results: Path) -> list[int]:
    plans = list(results.glob(f"2*/{run_folder.PLAN}"))
    if not plans:
        return []
    cells = json.loads(plans[0].read_text())["cells"]
    return sorted(cell["seed"] for cell in cells if cell["purpose"] == "measure")


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "testbed", *words]


def test_a_run_killed_in_its_second_round_is_resumed(
    study: Path, tmp_path: Path, lab: VirtualLab
) -> None:
    results = tmp_path / "results"
    child = subprocess.Popen(
        _command("run", str(study), "--reps", "auto", "--data-dir", str(results)),
        cwd=PROJECT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline_s = time.monotonic() + PLANNED_WITHIN_S
    while _seeds(results) != [1, 2, 3, 4] and time.monotonic() < deadline_s:
        assert child.poll() is None
        time.sleep(0.05)
    child.kill()
    child.wait(timeout=30)
    (run,) = results.glob("2*")
    assert _seeds(results) == [1, 2, 3, 4]
    assert not (run / run_folder.SUMMARY_JSON).exists()

    resumed = subprocess.run(
        _command("resume", str(run)),
        cwd=PROJECT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180,
        check=False,
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stderr
    assert _seeds(results) == [1, 2, 3, 4]
    assert len(list(run.glob(f"cells/*/{run_folder.DONE}"))) == 1 + 4
    (point,) = json.loads((run / run_folder.REPLICATION).read_text())["points"]
    assert (point["runs"], point["stopped"]) == (4, "limit")
    found = json.loads((run / run_folder.SUMMARY_JSON).read_text())
    assert found["replication"]["points"] == [point]
    assert found["points"][0]["metrics"]["pct_increase"]["n"] == 4
