"""Fixtures for tests that boot the virtual lab: the built lab, and small cells to run on it."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from model.cell import Cell, Limits
from testbed.labs.booted import booting
from testbed.labs.booted.booting import Boot
from testbed.labs.contract.lab import Ran
from testbed.labs.virtual import kernel, virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell
from tests.support.own_core import own_core
from tests.support.runs import lab_part

Scripted = Callable[..., Path]


@pytest.fixture(scope="session", autouse=True)
def _labs_of_tests_have_one_core() -> Iterator[None]:
    """Bind a lab that a test boots by itself to a core, as a campaign does."""
    run_to_end = booting.run_to_end

    def bound(*boot: Any, **named: Any) -> Ran:
        with own_core():
            return run_to_end(*boot, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(booting, "run_to_end", bound)
        yield


@pytest.fixture(scope="session")
def lab() -> VirtualLab:
    """The default lab; `make test` has built it before pytest starts."""
    return virtual_lab.ensure(kernel.DEFAULT, lambda _what, _done: None)


@pytest.fixture(scope="session")
def tracing() -> VirtualLab:
    """A lab whose kernel traces its own processes, the only way that kernels before 6.16 have."""
    return virtual_lab.ensure("6.12", lambda _what, _done: None)


@pytest.fixture(scope="session")
def wireless(lab: VirtualLab) -> Callable[..., Cell]:
    """Make short cells of the wireless study at 1 % loss; keywords replace a cell's fields."""
    study = load_study(find_study("wireless"))
    point = next(p for p in study.points if p.values["loss_frac"] == 0.01)

    def make(*, duration_s: float = 100.0, pcap: bool = False, **changes: object) -> Cell:
        cell = resolve_cell(study, point, seed=1, replicate=1, lab=lab.describe())
        # The study captures this point; a test says whether it wants that.
        cell = dataclasses.replace(cell, collect=dataclasses.replace(cell.collect, pcap=pcap))
        flows = tuple(dataclasses.replace(flow, stop_s=duration_s) for flow in cell.flows)
        cell = dataclasses.replace(
            cell, duration_s=duration_s, measure_to_s=duration_s, flows=flows
        )
        return dataclasses.replace(cell, **changes)  # type: ignore[arg-type]

    return make


@pytest.fixture
def run_cell(lab: VirtualLab, tmp_path: Path) -> Callable[..., Path]:
    """Run a cell's lab part only, without checking it; return its folder."""

    return _running(lab, tmp_path)


@pytest.fixture(scope="module")
def run_cell_once(lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Run a cell like ``run_cell``, for all tests of a module."""
    return _running(lab, tmp_path_factory.mktemp("cells"))


def _running(lab: VirtualLab, place: Path) -> Callable[..., Path]:
    def run(cell: Cell, name: str = "cell") -> Path:
        return lab_part.run(lab, cell, place / name)

    return run


@pytest.fixture
def script(lab: VirtualLab, tmp_path: Path) -> Scripted:
    """Run a shell script as the lab's only program; return the folder it could write to."""
    return _scripted(lab, tmp_path)


@pytest.fixture(scope="module")
def script_once(lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    """Run a shell script like ``script``, for all tests of a module."""
    return _scripted(lab, tmp_path_factory.mktemp("scripts"))


def _scripted(lab: VirtualLab, tmp_path: Path) -> Scripted:
    def run(
        text: str, *, wall_s: float = 60.0, virtual_s: float = 600.0, name: str = "script"
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "run.sh").write_text(text)
        boot = Boot(
            seed=1,
            limits=Limits(wall_s=wall_s, virtual_s=virtual_s),
            program=("/bin/sh", "/cell/run.sh"),
        )
        lab.boot(boot, folder, threading.Event())
        return folder

    return run
