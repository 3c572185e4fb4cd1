"""What these tests begin with: a short run that nobody disturbs, and a machine to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.killing import Machine, left_behind
from tests.support.runs.lab_run import CELLS, LabRun


@pytest.fixture(scope="session")
def undisturbed(lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> LabRun:
    """A run of all seeds: what each of the others must come to."""
    assert lab.image.is_dir()  # built before the time runs
    run = LabRun(place=tmp_path_factory.mktemp("undisturbed") / "run")
    run.ended(run.begin())
    assert len(run.done()) == CELLS
    assert run.left() == []
    return run


@pytest.fixture(scope="session")
def wanted(undisturbed: LabRun) -> dict[str, bytes]:
    """The files of that run."""
    return undisturbed.contents()


@pytest.fixture
def machine(tmp_path: Path, undisturbed: LabRun) -> Iterator[Callable[[], list[str]]]:
    """Return what tells what is left on the machine of a test's commands; in the end nothing is."""
    assert undisturbed.done()
    before = Machine.seen(tmp_path)
    yield lambda: left_behind(before, tmp_path)
    assert left_behind(before, tmp_path) == []
