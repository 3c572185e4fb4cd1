"""A study on two kernels: each runs on its own, and what changed is told from the runs alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model import run_folder
from model.run_files.comparing.kernels import KERNELS
from model.run_files.json_file import read
from testbed.command.cli import command_status
from testbed.labs.virtual.virtual_lab import VirtualLab

KERNELS_ASKED = ("6.12", "7.3")


def test_the_anatomy_on_two_kernels(
    lab: VirtualLab, tracing: VirtualLab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "anatomy", "--kernel", ",".join(KERNELS_ASKED), "--reps", "2",
             "--at", "drops.S.data_packets=8", "-D", str(tmp_path)]  # fmt: skip
    assert command_status(words) == 0
    assert "what changed from each kernel to the next" in capsys.readouterr().out
    whole = tmp_path / "latest"
    for name in KERNELS_ASKED:
        releases = {
            json.loads(path.read_text())["kernel_release"].rsplit(".", 1)[0]
            for path in (whole / name).glob(f"cells/*/{run_folder.ENV}")
        }
        assert releases == {name}
    found = read(KERNELS, whole / run_folder.KERNELS_JSON)
    assert [(run.kernel, run.seeds, run.excluded) for run in found.runs] == [
        (name, 2, 0) for name in KERNELS_ASKED
    ]
    # Nothing is left to chance, so both seeds are one run, and a difference is one or is none.
    assert {one.reason for one in found.changes} == {"nothing is left to chance"}
    assert {one.told_apart for one in found.changes if one.difference == 0} <= {False}
    assert all(one.told_apart for one in found.changes if one.difference)
    goodput = [one for one in found.levels if one.metric == "goodput_T_bps"]
    assert all(one.mean and one.mean > 50_000 for one in goodput)
    # Each of them loses what the study lists, whatever else it does.
    lost = {one.metric: one.mean for one in found.levels if one.metric.startswith("loss_")}
    assert all(mean and mean > 0 for mean in lost.values())
