"""A git tree and versions of Linux to bisect, on a lab that boots nothing."""

from __future__ import annotations

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
from testbed.labs.virtual import kernel, virtual_lab
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.runs.one_point import STUDY

CLAIMS = """\
claims:
  - {id: much, text: SCTP gets much., where: Here, metric: goodput_S_bps, is: {above: 60000}}
  - {id: belief, text: It is nice., where: Here, untested: Nobody can say.}
"""
#: What the recorded receiver of SCTP says it got, in bytes.
GOODPUT = '"window_goodput_bytes":'
MAKEFILE = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 5\nEXTRAVERSION =\n"
WORDS = "bisect w.yaml --claim much --reps 3 -j 1 -D r"
BISECT = f"{WORDS} --tree linux"


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
    shutil.copytree(Path(__file__).parents[3] / "data" / "study" / "hosts", tmp_path / "hosts")
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


@pytest.fixture
def versions(place: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    made = Lab(lambda name: "much" if name in ("6.16", "7.3") else "little")
    monkeypatch.setattr(virtual_lab, "ensure_per_kernel", made.ready)
    monkeypatch.setattr(virtual_lab, "check_offered", lambda _versions: None)
    monkeypatch.setattr(
        kernel, "offered", lambda: ["6.1", "6.12", "6.13", "6.14", "6.15", "6.16", "7.3", "7.4"]
    )
    return made


def state(folder: str = "r/latest") -> Bisection:
    return read(BISECTION, Path(folder) / run_folder.BISECTION_JSON)
