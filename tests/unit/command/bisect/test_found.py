"""``groundtruth bisect`` over a git tree and over versions: what is found, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model import run_folder
from model.errors import RunError
from testbed.command.cli import command_status
from testbed.labs.virtual import kernel
from tests.support.said import Said
from tests.unit.command.bisect.conftest import BISECT, WORDS, Lab, Tree, state


def test_the_commit_is_found_and_the_tree_is_left_alone(tree: Tree, lab: Lab, said: Said) -> None:
    before = tree.state()
    assert command_status([*BISECT.split(), "main~7", "main"]) == 0
    out, err = said()
    assert tree.state() == before
    found = state()
    culprit = tree.commits["culprit"]
    assert found.candidates == (culprit,)
    assert found.commits[0].subject == "Change culprit"
    assert found.commits[0].files == ("behaviour", "culprit.c")
    assert [step.outcome for step in found.steps[:2]] == ["good", "bad"]
    assert [step.verdict for step in found.steps[:2]] == ["refuted", "holds"]
    assert {step.commit: step.outcome for step in found.steps}[tree.commits["d"]] == "good"
    assert f"turns from refuted to holds with commit {culprit}" in out
    assert "Change culprit" in out
    assert "step" in err
    folder = Path("r", Path("r/latest").readlink())
    assert folder.name.endswith("Z-wireless-bisect")
    assert out.rstrip().endswith(f"bisection: {folder / run_folder.BISECTION_MD}")
    assert culprit in (folder / run_folder.BISECTION_MD).read_text()

    # Every kernel tried has a run in the set, of which reports can be made; the same seeds in each.
    names = json.loads((folder / run_folder.SET).read_text())["studies"]
    assert names == [step.run for step in found.steps if step.run]
    assert {tuple(sorted(seeds)) for seeds in lab.seeds.values()} == {(1, 1, 2, 3)}

    # Told again without running or building anything.
    built = len(lab.built)
    assert command_status(["bisect", "r/latest"]) == 0
    assert said()[0].splitlines()[0] == out.splitlines()[0]
    assert len(lab.built) == built


def test_ends_that_do_not_differ_are_told(tree: Tree, lab: Lab, said: Said) -> None:
    assert command_status([*BISECT.split(), "main~7", "main~3"]) == 2
    _, err = said()
    assert "main~7: refuted, " in err
    assert "main~3: refuted, " in err
    assert "holds at one, refuted at the other" in err
    assert "(other ends; runs: " in err  # more seeds would change nothing that is decided


def test_an_end_that_does_not_build_ends_it(tree: Tree, lab: Lab, said: Said) -> None:
    assert command_status([*BISECT.split(), tree.commits["b"], "main"]) == 3
    assert "net/sctp/x.c:7" in said()[1]


def test_a_parent_that_others_cleared_is_run_and_more_turns_are_told(
    tree: Tree, lab: Lab, said: Said
) -> None:
    # begin - x (much) - y (little) - z (much): the bisection sees y good, and z's parent is y.
    # A side branch from x, whose verdict is that of z, is merged where nothing else looks.
    tree.git("checkout", "-q", "-b", "twice", tree.commits["begin"])
    tree.commit("x", "much")
    tree.git("checkout", "-q", "-b", "twig")
    tree.commit("t1", "little")
    tree.git("checkout", "-q", "twice")
    tree.commit("y")
    tree.git("merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "twig")
    tree.git("commit", "-q", "-m", "Merge the twig")
    tree.keep("m")
    assert command_status([*BISECT.split(), tree.commits["t1"], "twice"]) == 0
    found = state()
    out, _ = said()
    assert len(found.candidates) == 1
    for parent in found.commits[0].parents:
        assert found.step(parent) is not None
    assert ("turns more than once" in out) == any(
        step.outcome == "bad" for step in found.steps
        if step.commit in found.commits[0].parents
    )  # fmt: skip
    assert "turns more than once" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("main~7 main --claim musch", "no such claim: wanted one of much, belief, got 'musch'"),
        ("main~7 main --claim belief", "cannot be judged: got belief: Nobody can say."),
        ("main~7 never --tree nowhere --claim musch", "no such claim: wanted one of much, belief"),
        ("main main~7", "GOOD is not an ancestor of BAD"),
        ("main main", "GOOD and BAD are one commit"),
        ("main~7 never", "linux: no such revision: wanted a commit, tag or branch, got never: "),
        ("main~7 a\x7fb", "GOOD and BAD: not a revision"),
        ("main~7 main --tree nowhere", "--tree: no such tree: wanted a git tree of Linux, got now"),
        ("main~7 main --tree w.yaml", "--tree: no such tree: wanted a git tree of Linux, got w.ya"),
        ("main~7 main --tree .", "--tree: not a git tree: wanted a git tree of Linux, got /"),
        ("main~7 main --lab host", "the host lab builds no kernel"),
        ("main~7", "wanted two: GOOD BAD"),
        ("main~7 main --hosts nobody", "nobody"),
    ],
)
def test_what_cannot_be_bisected_is_refused(
    tree: Tree, lab: Lab, said: Said, words: str, message: str
) -> None:
    assert command_status([*BISECT.split(), *words.split()]) in (2, 4)
    assert message in said()[1]
    assert not Path("r").exists()
    assert lab.built == []


def test_a_study_that_sweeps_kernels_is_refused(tree: Tree, lab: Lab, said: Said) -> None:
    text = Path("w.yaml").read_text().replace("sweep:\n", 'sweep:\n  kernel: ["6.12", "7.3"]\n')
    Path("w.yaml").write_text(text)
    assert command_status([*BISECT.split(), "main~7", "main"]) == 2
    assert "kernel given on the command line, yet the study sweeps it" in said()[1]


def test_versions_that_can_be_had_are_bisected(versions: Lab, said: Said) -> None:
    assert command_status([*WORDS.split(), "6.12", "7.3"]) == 0
    found = state()
    assert found.asked.versions == ("6.12", "6.13", "6.14", "6.15", "6.16", "7.3")
    assert found.candidates == ("6.16",)
    assert versions.built == ["6.12", "7.3", "6.14", "6.15", "6.16"]
    out, _ = said()
    assert "The verdict turns from refuted to holds with 6.16." in out
    assert command_status(["bisect", "r/latest"]) == 0


def test_neighbouring_versions_need_no_further_step(
    versions: Lab, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> list[str]:
        raise RunError("no mirror answers")

    monkeypatch.setattr(kernel, "offered", nobody)
    assert command_status([*WORDS.split(), "6.12", "7.3"]) == 0
    assert state().candidates == ("7.3",)
    assert versions.built == ["6.12", "7.3"]
    out, err = said()
    assert "with 7.3." in out
    assert "not known which versions lie between: no mirror answers" in err


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ("7.3 6.12 --claim musch", "no such claim: wanted one of much, belief, got 'musch'"),
        ("7.3 6.12", "GOOD is not older than BAD"),
        ("6.12 6.12", "the same version twice"),
        ("v6.12 v6.13", "not a version"),
    ],
)
def test_versions_that_are_none(versions: Lab, said: Said, ends: str, message: str) -> None:
    assert command_status([*WORDS.split(), *ends.split()]) == 2
    assert message in said()[1]
    assert not Path("r").exists()
