"""Seeds added round by round until intervals are narrow enough, through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model import run_folder
from reports.inference.replication import Replication, replication
from reports.measures.metrics import Value
from reports.page import write
from reports.store.run import read_study
from reports.verdict.points import CellSummary
from testbed.campaign import saved_runs
from testbed.command.cli import command_status
from testbed.command.runs import commands
from tests.support.fake_lab import FakeLab
from tests.support.runs.one_point import STUDY, Broken, choices

AUTO = "replication: {metric: pct_increase, half_width: 3, at_least: 2, at_most: 7}\nmetrics:"


@pytest.fixture
def spread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Make runs as far apart as their seeds; return how many each look saw."""
    seen: list[int] = []

    def read_replication(run: Path) -> Replication | None:
        study = read_study(run)
        if study.precision is None:
            return None
        plan = json.loads((run / run_folder.PLAN).read_text())["cells"]
        cells = [
            CellSummary(
                id=entry["id"], point=study.points[0], replicate=entry["replicate"],
                seed=entry["seed"], excluded=None,
                values={"pct_increase": Value(3.0 * entry["seed"], None)},
            )
            for entry in plan if entry["purpose"] == "measure"
        ]  # fmt: skip
        seen.append(len(cells))
        return replication(study, cells, {study.points[0]: len(cells)})

    monkeypatch.setattr(write, "read_replication", read_replication)
    (tmp_path / "w.yaml").write_text(STUDY.replace("metrics:", AUTO, 1))
    return seen


def planned_seeds(run: Path) -> list[int]:
    cells = json.loads((run / run_folder.PLAN).read_text())["cells"]
    return [cell["seed"] for cell in cells if cell["purpose"] == "measure"]


def in_rounds(seeds: list[int]) -> list[set[int]]:
    """Return the seeds of each of three rounds, within which their order is drawn."""
    return [set(seeds[:2]), set(seeds[2:4]), set(seeds[4:])]


def test_seeds_are_added_round_by_round_until_the_limit(
    lab: FakeLab, reported: list[Path], spread: list[int], tmp_path: Path
) -> None:
    assert command_status(["run", "w.yaml", "--reps", "auto", "-j", "1", "-D", "r"]) == 0
    run = tmp_path / "r" / "latest"
    # Twice as many as before at most, and seven in all.
    assert spread == [2, 4, 7]
    assert in_rounds(planned_seeds(run)) == [{1, 2}, {3, 4}, {5, 6, 7}]
    assert lab.ran == [1, *planned_seeds(run)]
    record = json.loads((run / run_folder.REPLICATION).read_text())
    assert [(p["runs"], p["stopped"]) for p in record["points"]] == [(7, "limit")]
    assert len(json.loads((run / run_folder.CELLS).read_text())) == 1 + 7
    assert len(reported) == 1

    assert command_status(["resume", "r/latest"]) == 0
    assert len(lab.ran) == 8
    assert spread == [2, 4, 7, 7]


def test_an_interrupted_round_goes_on_where_it_was(
    lab: FakeLab, broken: Broken, reported: list[Path], spread: list[int], tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    assert command_status(["run", "w.yaml", "--reps", "auto", "-j", "1", "-D", str(whole)]) == 0
    broken.seeds = {3}
    assert command_status(["run", "w.yaml", "--reps", "auto", "-j", "1", "-D", "r"]) == 3
    # No round follows one with a failure.
    assert sorted(planned_seeds(Path("r/latest"))) == [1, 2, 3, 4]
    broken.seeds = set()
    assert command_status(["resume", "r/latest", "-j", "1"]) == 0
    for name in (run_folder.PLAN, run_folder.CELLS, run_folder.REPLICATION, run_folder.RESOLVED):
        assert Path("r/latest", name).read_bytes() == (whole / "latest" / name).read_bytes()


def test_a_run_killed_between_two_rounds_goes_on(
    lab: FakeLab, reported: list[Path], spread: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(run: Path, cells: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(saved_runs, "record_plan", killed)
        with pytest.raises(KeyboardInterrupt):
            commands.run(["w.yaml"], choices(reps="auto"), Path("r"))
    assert sorted(planned_seeds(Path("r/latest"))) == [1, 2]
    assert command_status(["resume", "r/latest", "-j", "1"]) == 0
    assert in_rounds(planned_seeds(Path("r/latest"))) == [{1, 2}, {3, 4}, {5, 6, 7}]


def test_a_fixed_number_of_seeds_is_left_alone(
    lab: FakeLab, reported: list[Path], spread: list[int]
) -> None:
    assert command_status(["run", "w.yaml", "--reps", "2", "-j", "1", "-D", "r"]) == 0
    assert spread == []
    assert not Path("r/latest", run_folder.REPLICATION).exists()
    assert sorted(lab.ran) == [1, 1, 2]
