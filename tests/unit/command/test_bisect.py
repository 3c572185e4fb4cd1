"""``groundtruth bisect`` over a real git tree and over versions, on a lab that boots nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Cell
from model.errors import BuildError, Interrupted, RunError
from model.run_files.comparing.bisection import BISECTION, Bisection
from model.run_files.json_file import read
from testbed.command.cli import command_status
from testbed.labs.virtual import kernel, virtual_lab
from tests.support.fake_lab import FakeLab, write_recorded
from tests.unit.command.test_commands import STUDY

Said = Callable[[], tuple[str, str]]
CLAIMS = """\
claims:
  - {id: much, text: SCTP gets much., where: Here, metric: goodput_S_bps, is: {above: 60000}}
  - {id: belief, text: It is nice., where: Here, untested: Nobody can say.}
"""
#: What the recorded receiver of SCTP says it got, in bytes.
GOODPUT = '"window_goodput_bytes":'
MAKEFILE = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 5\nEXTRAVERSION =\n"


class Tree:
    """A git tree that says it is Linux; a file of it says what its kernel does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        (folder / "Makefile").write_text(MAKEFILE)
        self.commits: dict[str, str] = {}

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), "-c", "user.name=n", "-c", "user.email=n@example.org",
             "-c", "commit.gpgSign=false", *words],
            check=True, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, name: str, behaviour: str = "") -> str:
        """Commit a change; with a behaviour, of the kernel from here on."""
        (self.folder / f"{name}.c").write_text(name)
        if behaviour:
            (self.folder / "behaviour").write_text(behaviour)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"Change {name}")
        return self.keep(name)

    def keep(self, name: str) -> str:
        self.commits[name] = self.git("rev-parse", "HEAD")
        return self.commits[name]

    def behaviour(self, commit: str) -> str:
        return self.git("show", f"{commit}:behaviour")

    def state(self) -> dict[str, bytes]:
        """Return all that is in the tree and its repository."""
        return {str(path): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


class Lab(FakeLab):
    """Its SCTP gets little, or, on a kernel that behaves so, much; it remembers what it built."""

    def __init__(self, of_kernel: Callable[[str], str]) -> None:
        super().__init__(self.leave)
        self.of_kernel = of_kernel
        self.built: list[str] = []
        self.seeds: dict[str, list[int]] = {}
        self.stop_at = 0
        self.lost = False

    def ready(self, versions: list[str], *_: object) -> Lab:
        (version,) = versions
        self.built.append(version)
        if self.of_kernel(version) == "broken":
            raise BuildError(f"kernel {version} does not build", where="net/sctp/x.c:7")
        return self

    def describe(self, kernel_version: str = "7.3") -> dict[str, str]:
        return {**super().describe("7.3"), "kernel": kernel_version}

    def leave(self, cell: Cell, folder: Path) -> None:
        name = cell.lab["kernel"]
        if self.stop_at and sum(map(len, self.seeds.values())) >= self.stop_at:
            raise Interrupted
        does = self.of_kernel(name)
        if cell.purpose == "measure" and (
            does == "panics"
            or (does == "panics with seed 2" and cell.seed == 2)
            or (does == "loses a run" and cell.seed == 2 and not self.lost)
        ):
            self.lost = True
            raise RunError("the lab's kernel panicked")
        self.seeds.setdefault(name, []).append(cell.seed)
        write_recorded(cell, folder)
        if cell.purpose == "measure":
            path = folder / "raw" / "flows" / "S.receiver.jsonl"
            text = path.read_text()
            got = int(text.split(GOODPUT)[1].split(",")[0].rstrip("}\n"))
            factor = {"little": 1.0, "loses a run": 1.0, "much": 40.0}.get(
                does, 1.0 + 1.6 * (cell.seed % 2)
            )
            more = factor * (1 + 0.001 * cell.seed)
            path.write_text(text.replace(f"{GOODPUT}{got}", f"{GOODPUT}{round(got * more)}"))


@pytest.fixture
def place(cells_here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(Path(__file__).parents[2] / "data" / "study" / "hosts", tmp_path / "hosts")
    (tmp_path / "w.yaml").write_text(f"{STUDY}{CLAIMS}")
    return tmp_path


@pytest.fixture
def tree(place: Path) -> Tree:
    """Return nine commits: a merge, two that do not build beside each other, one that turns."""
    (place / "linux").mkdir()
    made = Tree(place / "linux")
    made.commit("begin", "little")
    made.commit("a")
    made.git("checkout", "-q", "-b", "side")
    made.commit("s1")
    made.commit("s2")
    made.git("checkout", "-q", "main")
    made.commit("b", "broken")
    made.commit("c", "little")
    made.git("merge", "-q", "--no-ff", "-m", "Merge the side", "side")
    made.keep("merge")
    made.commit("d")
    made.commit("culprit", "much")
    made.commit("e")
    return made


@pytest.fixture
def lab(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Lab:
    made = Lab(lambda name: tree.behaviour(name.partition("-g")[2]))
    monkeypatch.setattr(virtual_lab, "ensure_per_kernel", made.ready)
    return made


WORDS = "bisect w.yaml --claim much --reps 3 -j 1 -D r"
BISECT = f"{WORDS} --tree linux"


def state(folder: str = "r/latest") -> Bisection:
    return read(BISECTION, Path(folder) / run_folder.BISECTION_JSON)


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


def test_ends_that_do_not_differ_are_told(tree: Tree, lab: Lab, said: Said) -> None:
    assert command_status([*BISECT.split(), "main~7", "main~3"]) == 2
    _, err = said()
    assert "main~7: refuted, " in err
    assert "main~3: refuted, " in err
    assert "holds at one, refuted at the other" in err


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
        ("main main~7", "GOOD is not an ancestor of BAD"),
        ("main main", "GOOD and BAD are one commit"),
        ("main~7 never", "no such revision"),
        ("main~7 main --tree nowhere", "no such kernel"),
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


@pytest.fixture
def versions(place: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    made = Lab(lambda name: "much" if name in ("6.16", "7.3") else "little")
    monkeypatch.setattr(virtual_lab, "ensure_per_kernel", made.ready)
    monkeypatch.setattr(virtual_lab, "check_offered", lambda _versions: None)
    monkeypatch.setattr(
        kernel, "offered", lambda: ["6.1", "6.12", "6.13", "6.14", "6.15", "6.16", "7.3", "7.4"]
    )
    return made


def test_versions_that_can_be_had_are_bisected(versions: Lab, said: Said) -> None:
    assert command_status([*WORDS.split(), "6.12", "7.3"]) == 0
    found = state()
    assert found.asked.versions == ("6.12", "6.13", "6.14", "6.15", "6.16", "7.3")
    assert found.candidates == ("6.16",)
    assert versions.built == ["6.12", "7.3", "6.14", "6.15", "6.16"]
    out, _ = said()
    assert "The verdict turns from refuted to holds with 6.16." in out
    assert command_status(["bisect", "r/latest"]) == 0


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
        ("7.3 6.12", "GOOD is not older than BAD"),
        ("6.12 6.12", "the same version twice"),
        ("v6.12 v6.13", "not a version"),
    ],
)
def test_versions_that_are_none(versions: Lab, said: Said, ends: str, message: str) -> None:
    assert command_status([*WORDS.split(), *ends.split()]) == 2
    assert message in said()[1]
    assert not Path("r").exists()
