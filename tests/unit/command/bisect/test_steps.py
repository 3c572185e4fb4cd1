"""What a bisection skips, and why; one that ends early goes on, or is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from model import run_folder
from model.cell import Cell
from model.errors import Interrupted
from testbed.cluster.address import ClusterError
from testbed.command.cli import command_status
from testbed.command.comparisons import bisect_steps
from testbed.command.runs import run_and_report
from tests.support.runs.one_point import STUDY
from tests.support.said import Said
from tests.unit.command.bisect.conftest import BISECT, CLAIMS, WORDS, Lab, Tree, state


def test_what_does_not_build_is_skipped_and_named(tree: Tree, lab: Lab, said: Said) -> None:
    tree.git("checkout", "-q", "-b", "worse", tree.commits["begin"])
    for name, behaviour in (("x", ""), ("y", "broken"), ("z", "broken"), ("w", "much"), ("v", "")):
        tree.commit(name, behaviour)
    assert command_status([*BISECT.split(), tree.commits["begin"], "worse"]) == 0
    found = state()
    assert found.candidates == tuple(tree.commits[name] for name in "yzw")
    skipped = [step for step in found.steps if step.outcome == "skipped"]
    assert {step.commit for step in skipped} == {tree.commits["y"], tree.commits["z"]}
    assert all("net/sctp/x.c:7" in str(step.reason) for step in skipped)
    out, _ = said()
    assert "with one of 3 commits" in out
    assert "net/sctp/x.c:7" in (Path("r/latest") / run_folder.BISECTION_MD).read_text()


def test_a_kernel_on_which_nothing_runs_is_skipped(tree: Tree, lab: Lab, said: Said) -> None:
    tree.git("checkout", "-q", "-b", "worse", tree.commits["begin"])
    for name, behaviour in (("x", "panics"), ("y", "much")):
        tree.commit(name, behaviour)
    assert command_status([*BISECT.split(), tree.commits["begin"], "worse"]) == 0
    found = state()
    assert found.candidates == (tree.commits["x"], tree.commits["y"])
    assert "no run comes to its end on it" in str(found.steps[2].reason)
    assert found.steps[2].run is not None


def test_a_kernel_on_which_some_runs_fail_twice_is_skipped(
    tree: Tree, lab: Lab, said: Said
) -> None:
    tree.git("checkout", "-q", "-b", "worse", tree.commits["begin"])
    for name, behaviour in (("x", "panics with seed 2"), ("y", "much")):
        tree.commit(name, behaviour)
    assert command_status([*BISECT.split(), tree.commits["begin"], "worse"]) == 0
    found = state()
    assert found.candidates == (tree.commits["x"], tree.commits["y"])
    reason = str(found.steps[2].reason)
    assert reason.startswith("1 of 3 runs do not come to their end on it: ")
    assert "kernel panicked" in reason
    assert "1 run failed; once more" in said()[1]


def test_a_run_that_fails_once_skips_nothing(tree: Tree, lab: Lab, said: Said) -> None:
    tree.git("checkout", "-q", "-b", "worse", tree.commits["begin"])
    for name, behaviour in (("x", "loses a run"), ("y", "much")):
        tree.commit(name, behaviour)
    assert command_status([*BISECT.split(), tree.commits["begin"], "worse"]) == 0
    assert state().candidates == (tree.commits["y"],)
    assert "skipped" not in {one.outcome for one in state().steps}


def test_undecided_gets_more_seeds_then_is_skipped(tree: Tree, lab: Lab, said: Said) -> None:
    tree.git("checkout", "-q", "-b", "worse", tree.commits["begin"])
    for name, behaviour in (("x", "either"), ("y", "much")):
        tree.commit(name, behaviour)
    assert command_status([*BISECT.split(), tree.commits["begin"], "worse"]) == 0
    found = state()
    step = found.steps[2]
    assert (step.commit, step.outcome, step.seeds) == (tree.commits["x"], "skipped", 12)
    assert "undecided with 12 seeds" in str(step.reason)
    # No cell ran twice: a calibration, and each seed once.
    (seeds,) = (seeds for name, seeds in lab.seeds.items() if tree.commits["x"][:12] in name)
    assert sorted(seeds) == [1, *range(1, 13)]


def test_a_tree_that_goes_away_ends_it_and_skips_nothing(tree: Tree, lab: Lab, said: Said) -> None:
    behaviours = {commit[:12]: tree.behaviour(commit) for commit in tree.commits.values()}
    lab.of_kernel = lambda name: behaviours[name.partition("-g")[2]]

    def leave_without_the_tree(cell: Cell, folder: Path) -> None:
        lab.leave(cell, folder)
        if len(lab.built) == 3 and tree.folder.exists():
            tree.folder.rename("elsewhere")

    lab.act = leave_without_the_tree
    assert command_status([*BISECT.split(), "main~7", "main"]) == 2
    assert "no such folder" in said()[1]
    assert "skipped" not in {one.outcome for one in state().steps[2:]}
    Path("elsewhere").rename(tree.folder)
    assert command_status(["bisect", "r/latest", "-j", "1"]) == 0
    assert state().candidates == (tree.commits["culprit"],)


def test_a_cluster_that_goes_away_ends_it_and_skips_nothing(
    tree: Tree, lab: Lab, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []

    def run_only(*arguments: Any) -> None:
        ran.append(arguments)
        if len(ran) == 3:
            raise ClusterError("the scheduler went away")
        run_and_report.run_only(*arguments)

    with monkeypatch.context() as away:
        away.setattr(bisect_steps, "run_and_report", Mock(wraps=run_and_report, run_only=run_only))
        assert command_status([*BISECT.split(), "main~7", "main"]) == 3
    assert "the scheduler went away" in said()[1]
    assert "skipped" not in {one.outcome for one in state().steps}
    assert command_status(["bisect", "r/latest", "-j", "1"]) == 0
    assert state().candidates == (tree.commits["culprit"],)


def test_an_interrupted_one_goes_on(tree: Tree, lab: Lab, said: Said) -> None:
    lab.stop_at = 14
    with pytest.raises(Interrupted) as interrupted:
        command_status([*BISECT.split(), "main~7", "main"])
    folder = Path("r", Path("r/latest").readlink())
    assert interrupted.value.how == f"groundtruth bisect {folder}"
    assert not state().candidates
    lab.stop_at = 0
    tree.git("branch", "-q", "-f", "elsewhere", "main")
    assert command_status(["bisect", str(folder), "-j", "1"]) == 0
    assert state().candidates == (tree.commits["culprit"],)
    assert {tuple(sorted(seeds)) for seeds in lab.seeds.values()} == {(1, 1, 2, 3)}
    assert len(list(Path("r").glob("*Z-wireless-bisect"))) == 1


def test_a_set_interrupted_before_any_run_goes_on(tree: Tree, lab: Lab, said: Said) -> None:
    lab.stop_at = 1
    with pytest.raises(Interrupted):
        command_status([*BISECT.split(), "main~1", "main"])
    folder = Path("r", Path("r/latest").readlink())
    (folder / run_folder.SET).unlink()  # as one leaves it who is killed before the run is named
    lab.stop_at = 0
    assert command_status(["bisect", str(folder), "-j", "1"]) == 2
    assert "both ends must be decided, and differ" in said()[1]


def test_runs_that_no_bisection_made_are_told_as_such(tree: Tree, lab: Lab, said: Said) -> None:
    assert command_status(["run", "w.yaml", "--reps", "1", "-j", "1", "-D", "r"]) == 0
    for more in ("", "--claim much 6.12 7.3"):
        assert command_status(["bisect", "r/latest", *more.split()]) == 2
        assert "r/latest: no bisection: wanted a study, or the set of a bisection" in said()[1]


def test_another_study_or_damaged_state_is_refused(tree: Tree, lab: Lab, said: Said) -> None:
    lab.stop_at = 6
    with pytest.raises(Interrupted):
        command_status([*BISECT.split(), "main~7", "main"])
    Path("w.yaml").write_text(f"{STUDY}{CLAIMS}\n# another\n")
    assert command_status(["bisect", "r/latest"]) == 2
    assert "the study is another now" in said()[1]
    (Path("r/latest") / run_folder.BISECTION_JSON).write_text("{")
    assert command_status(["bisect", "r/latest"]) == 3
    assert "bisect.json: file is not JSON" in said()[1]


def test_a_bisection_of_somebody_else_names_no_folder_elsewhere(
    versions: Lab, said: Said, place: Path
) -> None:
    (place / "victim").mkdir()
    victim = Tree(place / "victim")
    victim.commit("kept")
    versions.stop_at = 8
    with pytest.raises(Interrupted):
        command_status([*WORDS.split(), "6.12", "7.3"])
    versions.stop_at = 0
    file = Path("r/latest") / run_folder.BISECTION_JSON
    content = json.loads(file.read_text())
    content["asked"]["versions"] = ["6.12", str(victim.folder), "7.3"]
    file.write_text(json.dumps(content))
    assert command_status(["bisect", "r/latest", "-j", "1"]) == 3
    assert "not what a bisection is between" in said()[1]
    assert (victim.folder / "kept.c").read_text() == "kept"
