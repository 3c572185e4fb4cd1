"""A cell's folder comes back whole, or does not come."""

from __future__ import annotations

import dataclasses
import errno
from pathlib import Path
from types import SimpleNamespace

import pytest

from model import run_folder
from model.cell import Cell, cell_id, cell_json
from model.errors import MachineError, RunError, UnsupportedError
from testbed.campaign import digests
from testbed.campaign.run_cell import finish
from testbed.cluster import on_worker, parcel
from testbed.cluster.parcel import Returned
from testbed.machine import room
from tests.support.fake_lab import FakeLab
from tests.support.recorded import wireless_cell


@dataclasses.dataclass(frozen=True)
class Lab:
    """Parts in a cache and elsewhere."""

    image: Path
    by_kernel: dict[str, Path]
    others: tuple[Path, ...]
    name: str


def finished(place: Path, cell: Cell) -> Path:
    (place / "raw").mkdir(parents=True)
    (place / "raw" / "flows.bin").write_bytes(bytes(range(256)) * 999)
    (place / "empty").write_bytes(b"")
    (place / run_folder.CELL).write_text(cell_json(cell))
    finish(place)
    return place


@pytest.fixture
def cell() -> Cell:
    return wireless_cell(seed=7)


@pytest.fixture
def packed(tmp_path: Path, cell: Cell) -> bytes:
    return parcel.pack(finished(tmp_path / "there", cell))


def test_a_folder_arrives_as_it_was(tmp_path: Path, cell: Cell, packed: bytes) -> None:
    name, run = cell_id(cell), tmp_path / "run"
    left = run_folder.cell_folder(run, name)
    left.mkdir(parents=True)
    (left / "of-an-earlier-attempt").write_text("x")
    parcel.take_over(Returned(worker="lab1", packed=packed), run, name, cell)
    there = tmp_path / "there"
    assert digests.of_cell(left) == digests.of_cell(there)
    assert (left / "DONE").read_bytes() == (there / "DONE").read_bytes()
    assert [path.name for path in run.iterdir()] == ["cells"]


@pytest.mark.parametrize("what", ["flipped", "cut", "none", "more", "another"])
def test_what_is_not_as_it_was_finished_does_not(
    tmp_path: Path, cell: Cell, packed: bytes, what: str
) -> None:
    wanted = cell
    if what == "flipped":
        middle = len(packed) // 2
        packed = packed[:middle] + bytes([packed[middle] ^ 1]) + packed[middle + 1 :]
    elif what == "cut":
        packed = packed[:-100]
    elif what == "none":
        packed = b""
    elif what == "more":
        (tmp_path / "there" / "more").write_text("x")
        packed = parcel.pack(tmp_path / "there")
    else:
        wanted = wireless_cell(seed=8)
    name, run = cell_id(wanted), tmp_path / "run"
    with pytest.raises(MachineError, match="lab1: what a worker sent cannot be used"):
        parcel.take_over(Returned(worker="lab1", packed=packed), run, name, wanted)
    assert list((run / "cells").iterdir()) == []


def test_a_failed_cell_keeps_what_it_left(tmp_path: Path, cell: Cell) -> None:
    left = tmp_path / "there"
    left.mkdir()
    (left / "console.log").write_text("panic")
    name, run = cell_id(cell), tmp_path / "run"
    returned = Returned(worker="lab1", packed=parcel.pack(left), error=RunError("it fails"))
    with pytest.raises(RunError, match="it fails"):
        parcel.take_over(returned, run, name, cell)
    folder = run_folder.cell_folder(run, name)
    assert (folder / "console.log").read_text() == "panic"
    assert not run_folder.is_done(folder)


def test_a_lab_is_looked_for_in_the_machines_own_cache() -> None:
    old, new = Path("/home/one/.cache/groundtruth"), Path("/var/cache/groundtruth")
    lab = Lab(
        image=old / "image-1" / "root",
        by_kernel={"7.3": old / "kernel-7.3"},
        others=(old, Path("/usr/bin/qemu"), Path("/home/one/.cache/groundtruth-2")),
        name=str(old),
    )
    assert on_worker.moved(lab, old, new) == Lab(
        image=new / "image-1" / "root",
        by_kernel={"7.3": new / "kernel-7.3"},
        others=(new, Path("/usr/bin/qemu"), Path("/home/one/.cache/groundtruth-2")),
        name=str(old),
    )
    assert on_worker.moved(lab, old, old) is lab


def test_what_differs_of_two_labs_is_named() -> None:
    ours = {"kernel": "7.3", "image_digest": "a", "name": "virtual"}
    assert parcel.differing(ours, dict(ours)) == ""
    assert parcel.differing(ours, {"kernel": "7.3", "image_digest": "b", "more": "c"}) == (
        "image_digest: b, more: c, name: none"
    )


def test_what_no_cell_could_run_with_is_told_from_other_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, wrapped = OSError(errno.ENOSPC, "no space"), RunError("cannot prepare a cell")
    wrapped.__cause__ = full
    assert "disk is full" in on_worker.why_unfit(full, tmp_path)
    assert "disk is full" in on_worker.why_unfit(wrapped, tmp_path)
    assert on_worker.why_unfit(UnsupportedError("no bwrap"), tmp_path) == "no bwrap"
    assert not on_worker.why_unfit(OSError(errno.EIO, "x"), tmp_path)
    assert not on_worker.why_unfit(RunError("it fails"), tmp_path)
    monkeypatch.setattr(room, "LEAST_FREE_BYTES", 1 << 62)
    assert "disk is full" in on_worker.why_unfit(RunError("the lab wrote no more"), tmp_path)


def test_a_disk_without_room_for_a_folder_is_no_fault_of_the_cells(
    tmp_path: Path, cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    worker = SimpleNamespace(address="tcp://lab1:1")
    monkeypatch.setattr("distributed.worker.get_worker", lambda: worker)
    monkeypatch.setattr("testbed.machine.scratch.scratch", full)
    given = parcel.parcel(tmp_path, cell_id(cell), cell, FakeLab())
    returned = on_worker.work(given)
    assert (returned.address, returned.packed) == ("tcp://lab1:1", b"")
    assert "disk is full" in returned.unfit
    assert isinstance(returned.error, OSError)
