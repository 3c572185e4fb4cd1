"""Parts of a lab sent to machines that lack them: whole, once, or not at all."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model.cell import Cell, cell_id
from model.errors import RunError
from testbed.cluster import crew, giving, lab_leaves
from testbed.labs.booted import booting
from testbed.labs.contract.lab import Ran
from testbed.machine import cache, contents
from testbed.planning.plan import PlannedCell
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.recorded import wireless_cell
from tests.support.runs.cluster_cells import run

Start = Callable[..., subprocess.Popen[bytes]]
pytestmark = pytest.mark.timeout(900)
#: What a machine without room says of its disk, in a process that finds this first.
NO_ROOM = """
import shutil
from collections import namedtuple
usage = namedtuple("usage", "total used free")
shutil.disk_usage = lambda place: usage(10**9, 10**9 - 1000, 1000)
"""


@dataclasses.dataclass(frozen=True)
class PartsLab(FakeLab):
    """A lab with two parts in the cache, which its cells look at."""

    parts_: tuple[Path, ...]
    ran_in: Path

    def parts(self) -> tuple[Path, ...]:
        return self.parts_

    def check_whole(self, *, thorough: bool) -> None:
        booting.check_parts(self.parts_, thorough=thorough)

    def describe(self, kernel_version: str = "7.3") -> dict[str, str]:
        digests = {f"part_{n}": contents.digest(part) for n, part in enumerate(self.parts_)}
        return {**FakeLab.describe(self, kernel_version), **digests}

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        booting.check_parts(self.parts_, thorough=True)
        (self.ran_in / f"{cell.seed}").write_text(str(self.parts_[0].parent))
        write_recorded(cell, folder)
        (folder.parent / "console.log").write_text("it ran")
        return Ran(wall_s=1.0)


def build(folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "large").write_bytes(os.urandom(5 << 20))  # several pieces
    (folder / "bin" / "large").chmod(0o755)
    (folder / "link").symlink_to("bin/large")
    (folder / "empty").mkdir()
    contents.settle(folder)


def use(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return cache.root()


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PartsLab:
    """Return a lab of the cache here; the caches of workers are others."""
    use(monkeypatch, tmp_path / "here")
    parts = (cache.entry("image", "a" * 16, build), cache.entry("kernel-7.3", "b" * 16, build))
    (tmp_path / "ran").mkdir()
    return PartsLab(parts, tmp_path / "ran")


@pytest.fixture
def worker(
    here: str, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Return what begins a worker with a cache of that name, which it returns."""
    start("scheduler", here)

    def begin(name: str, jobs: int = 1, **variables: str) -> Path:
        with monkeypatch.context() as there:
            own = use(there, tmp_path / name)
            for variable, value in variables.items():
                there.setenv(variable, value)
            start("worker", here, "--jobs", str(jobs))
        return own

    return begin


def cells_of(lab: FakeLab, count: int) -> list[PlannedCell]:
    cells = [
        dataclasses.replace(wireless_cell(seed=seed), lab=lab.describe("7.3"))
        for seed in range(1, count + 1)
    ]
    return [PlannedCell(id=cell_id(cell), cell=cell) for cell in cells]


def whole(own: Path, lab: PartsLab) -> None:
    """Compare a worker's cache with the one here: the parts, and nothing else."""
    assert {one.name for one in own.iterdir()} == {part.name for part in lab.parts()}
    for part in lab.parts():
        assert contents.changed(own / part.name, thorough=True) == []
        assert contents.digest(own / part.name) == contents.digest(part)


def test_machines_without_the_lab_get_it_once_and_run_cells_with_it(
    tmp_path: Path, lab: PartsLab, worker: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    mask = os.umask(0o077)
    try:
        caches = [worker("one", jobs=2), worker("one"), worker("two")]
    finally:
        os.umask(mask)
    sent: list[tuple[str, str]] = []

    def send(client: Any, address: str, part: Path, *rest: Any) -> str:
        sent.append((address, part.name))
        return lab_leaves.send(client, address, part, *rest)

    monkeypatch.setattr(crew, "send", send)
    monkeypatch.setattr(lab_leaves, "BUSY_S", 0.02)
    assert run(tmp_path / "run", cells_of(lab, 12), lab).finished_cells == 12
    # Each part once to each cache, to one of those that have it; a slow machine may come late.
    assert len(sent) == len({*sent}) in (2, 4)
    ran_in = {Path(one.read_text()) for one in (tmp_path / "ran").iterdir()}
    assert ran_in <= {*caches}
    for own in ran_in:
        whole(own, lab)
    assert {one.name for one in cache.root().iterdir()} == {one.name for one in lab.parts()}


def test_only_what_is_missing_is_sent(
    tmp_path: Path, lab: PartsLab, worker: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = worker("one")
    sent: list[str] = []

    def send(client: Any, address: str, part: Path, *rest: Any) -> str:
        sent.append(part.name)
        return lab_leaves.send(client, address, part, *rest)

    monkeypatch.setattr(crew, "send", send)
    first = dataclasses.replace(lab, parts_=lab.parts_[:1])
    assert run(tmp_path / "run", cells_of(first, 1), first).finished_cells == 1
    assert run(tmp_path / "run2", cells_of(lab, 1), lab).finished_cells == 1
    assert sent == [part.name for part in lab.parts()]
    whole(own, lab)


def test_a_transfer_that_breaks_leaves_nothing_and_is_begun_again(
    tmp_path: Path, lab: PartsLab, worker: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = worker("one")
    hand_over, pieces = lab_leaves._hand_over, []

    def breaks(*given: Any) -> None:
        pieces.append(given[3])
        if len(pieces) == 3:
            raise OSError("the network is gone")
        hand_over(*given)

    monkeypatch.setattr(lab_leaves, "_hand_over", breaks)
    assert run(tmp_path / "run", cells_of(lab, 1), lab).finished_cells == 1
    assert pieces.count(pieces[0]) == 2  # from its beginning
    whole(own, lab)


@pytest.mark.parametrize("what", ["flipped", "cut", "another"])
def test_what_has_not_the_digest_is_not_taken(
    tmp_path: Path, lab: PartsLab, worker: Callable[..., Path], what: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    own = worker("one")
    packed = lab_leaves.Parts.packed

    def damaged(self: lab_leaves.Parts, part: Path) -> Path:
        file = packed(self, lab.parts_[1] if what == "another" else part)
        content = bytearray(file.read_bytes())
        middle = len(content) // 2
        if what == "flipped":
            content[middle] ^= 1
        copy = tmp_path / "damaged"
        copy.write_bytes(content[:middle] if what == "cut" else content)
        return copy

    monkeypatch.setattr(lab_leaves.Parts, "packed", damaged)
    monkeypatch.setattr(giving, "NO_WORKER_S", 0.5)
    with pytest.raises(RunError, match=r"no worker.*cannot take image-a{16} of the lab"):
        run(tmp_path / "run", cells_of(lab, 1), lab)
    assert not own.exists() or list(own.iterdir()) == []
    assert list((tmp_path / "ran").iterdir()) == []


def test_a_machine_without_room_for_the_lab_is_named_and_gets_no_cell(
    tmp_path: Path, lab: PartsLab, worker: Callable[..., Path]
) -> None:
    (tmp_path / "patched").mkdir()
    (tmp_path / "patched" / "sitecustomize.py").write_text(NO_ROOM)
    full = worker("full", PYTHONPATH=str(tmp_path / "patched"))
    good = worker("good")
    said: set[str] = set()
    outcome = run(
        tmp_path / "run", cells_of(lab, 3), lab, lambda progress: said.update(progress.said)
    )
    assert outcome.finished_cells == 3
    assert any("no disk space for a lab" in one and str(full) in one for one in said)
    assert not full.exists() or list(full.iterdir()) == []
    assert {Path(one.read_text()) for one in (tmp_path / "ran").iterdir()} == {good}
