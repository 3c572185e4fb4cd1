"""What a hostile guest leaves in its folder is refused before it is opened, and never followed."""

from __future__ import annotations

import dataclasses
import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Cell
from model.errors import RunError
from testbed.campaign import run_cell
from testbed.labs.contract import accept
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.recorded import wireless_cell

MEASURE = wireless_cell()
CALIBRATE = wireless_cell(purpose="calibrate")
Plant = Callable[[Path, Path], object]


def nested(guest: Path, _: Path) -> None:
    """Make 1500 folders in each other: deeper than a path can be, or Python recurses."""
    handle = os.open(guest, os.O_RDONLY)
    for _number in range(1500):
        os.mkdir("d" * 200, dir_fd=handle)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)


def many(guest: Path, _: Path) -> None:
    for number in range(3000):
        (guest / str(number)).touch()


def sparse(guest: Path, _: Path) -> None:
    with (guest / "raw" / "epoch.json").open("r+b") as file:
        file.truncate(4 << 40)


def bound(guest: Path, _: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(guest)  # a path of a socket has 107 bytes at most
        try:
            one.bind(run_folder.AUDIT)
        finally:
            os.chdir(here)


def swapped(name: str) -> Plant:
    """Return what puts a link to an outside file in the place of one of the cell's."""

    def plant(guest: Path, outside: Path) -> None:
        (guest / name).unlink(missing_ok=True)
        (guest / name).symlink_to(outside / "file")

    return plant


def waiting(name: str) -> Plant:
    """Return what puts a FIFO in the place of a file: opening it waits for ever."""

    def plant(guest: Path, _: Path) -> None:
        (guest / name).unlink(missing_ok=True)
        os.mkfifo(guest / name)

    return plant


def folder_for_file(guest: Path, _: Path) -> None:
    (guest / "verify.json").unlink()
    (guest / "verify.json").mkdir()


def raw_elsewhere(guest: Path, outside: Path) -> None:
    (guest / "raw").rename(outside / "raw")
    (guest / "raw").symlink_to(outside / "raw")


PLANTS: dict[str, tuple[Plant, str]] = {
    "timing -> file": (swapped("timing.json"), "timing.json': .* wanted no such name, got a link"),
    "DONE -> file": (swapped("DONE"), "DONE': .* wanted no such name, got a link"),
    ".DONE -> file": (swapped(".DONE"), r"\.DONE': .* wanted no such name, got a link"),
    "audit -> file": (swapped("audit.json"), "audit.json': .* wanted no such name, got a link"),
    "console -> file": (swapped("console.log"), "console.log': .* wanted no such name"),
    "env -> file": (swapped("env.json"), "env.json': .* wanted a file, got a link"),
    "epoch -> file": (swapped("raw/epoch.json"), "raw/epoch.json': .* a file, got a link"),
    "cell -> file": (swapped("cell.json"), "cell.json': .* wanted a file, got a link"),
    "tables -> folder": (lambda g, o: (g / "tables").symlink_to(o), "tables': .* got a link"),
    "raw -> folder": (raw_elsewhere, "raw': .* wanted a folder, got a link"),
    "hard link": (
        lambda g, o: (g / "error.json").hardlink_to(o / "file"),
        "error.json: .* wanted a file of one name, got one of 2",
    ),
    "FIFO error": (waiting("error.json"), "error.json': .* wanted a file, got a FIFO"),
    "FIFO raw": (waiting("raw/counters.json"), "raw/counters.json': .* got a FIFO"),
    "FIFO flow": (waiting("raw/flows/T.sender.jsonl"), "T.sender.jsonl': .* got a FIFO"),
    "FIFO console": (waiting("console.log"), "console.log': .* got a FIFO"),
    "socket": (bound, "audit.json': .* got a socket"),
    "sparse": (sparse, r"raw/epoch.json: .* wanted at most \d+ bytes, got 4398046511104"),
    "nested": (nested, "d{90}.*: .* wanted no such name, got a folder"),
    "many": (many, ": .* wanted no such name, got a file"),
    "a folder of tables": (lambda g, _: (g / "tables").mkdir(), "tables': .* got a folder"),
    "a folder for a file": (folder_for_file, "verify.json': .* wanted a file, got a folder"),
    "a file for a folder": (
        lambda g, _: (g / "raw" / "pcap").touch(),
        "raw/pcap': .* wanted a folder, got a file",
    ),
    "another flow": (lambda g, _: (g / "raw/flows/X.sender.err").touch(), "no such name"),
    "a device": (
        lambda g, _: os.mknod(g / "raw/qdiscs-extra", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        if os.geteuid() == 0
        else os.mkfifo(g / "raw/qdiscs-extra"),
        "qdiscs-extra': .* wanted no such name, got a (device|FIFO)",
    ),
}  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", PLANTS)
@pytest.mark.parametrize("fails", [False, True], ids=["lab ends well", "lab fails"])
def test_what_no_cell_leaves_is_refused_and_followed_nowhere(
    tmp_path: Path, name: str, fails: bool
) -> None:
    plant, said = PLANTS[name]
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("untouched")

    def act(cell: Cell, guest: Path) -> None:
        write_recorded(cell, guest)
        plant(guest, outside)
        if fails:
            raise RunError("the lab failed")

    folder = tmp_path / "cells" / "x"
    with pytest.raises(RunError, match="the lab failed" if fails else f"^cell x, .*{said}"):
        run_cell.execute(MEASURE, folder, FakeLab(act), threading.Event())
    assert (outside / "file").read_text() == "untouched"
    assert {path.name for path in outside.iterdir()} <= {"file", "raw"}
    assert sorted(p.name for p in folder.iterdir()) == [".guest", "cell.json", "console.log"]
    # What was refused is in the way of nothing: the cell can be run again.
    run_cell.execute(MEASURE, folder, FakeLab(), threading.Event())
    assert run_folder.is_done(folder)
    assert not (folder / run_folder.GUEST).exists()
    assert (outside / "file").read_text() == "untouched"


@pytest.mark.parametrize("cell", [MEASURE, CALIBRATE], ids=lambda cell: cell.purpose)
def test_what_is_taken_over_is_the_hosts(tmp_path: Path, cell: Cell) -> None:
    def act(cell: Cell, guest: Path) -> None:
        write_recorded(cell, guest)
        (guest / "cell.json").write_text("a guest's own idea")
        for path in guest.rglob("*"):
            path.chmod(0o4777 if path.is_file() else 0o777)
            if os.geteuid() == 0:
                os.chown(path, 12345, 12345)

    folder = tmp_path / "x"
    run_cell.execute(cell, folder, FakeLab(act), threading.Event())
    for path in folder.rglob("*"):
        found = path.lstat()
        assert (found.st_uid, found.st_gid) == (os.geteuid(), os.getegid()), path
        assert stat.S_IMODE(found.st_mode) == (0o755 if path.is_dir() else 0o644), path
    assert "own idea" not in (folder / run_folder.CELL).read_text()


def test_what_a_failed_lab_left_is_kept_if_it_is_what_cells_leave(tmp_path: Path) -> None:
    def act(cell: Cell, guest: Path) -> None:
        write_recorded(cell, guest)
        raise RunError("no")

    with pytest.raises(RunError, match=r"^no$"):
        run_cell.execute(MEASURE, tmp_path / "x", FakeLab(act), threading.Event())
    assert (tmp_path / "x" / run_folder.VERIFY).is_file()
    assert not (tmp_path / "x" / run_folder.GUEST).exists()


def test_a_finished_cell_that_is_a_link_is_no_finished_cell(tmp_path: Path) -> None:
    run_cell.execute(MEASURE, tmp_path / "there", FakeLab(), threading.Event())
    (tmp_path / "x").symlink_to(tmp_path / "there")
    lab = FakeLab()
    run_cell.execute(MEASURE, tmp_path / "x", lab, threading.Event())
    assert lab.ran == [1]
    assert not (tmp_path / "x").is_symlink()
    assert run_folder.is_done(tmp_path / "there")


def test_bounds_grow_with_the_cell_and_name_every_flow() -> None:
    found = accept.expected(MEASURE)
    assert {f"raw/flows/{flow.id}.{side}.jsonl" for flow in MEASURE.flows for side in
            ("sender", "receiver")} < set(found)  # fmt: skip
    assert "raw/calibration.json" not in found
    assert "raw/calibration.json" in accept.expected(CALIBRATE)
    assert run_folder.ACKNOWLEDGEMENTS not in found
    counting = dataclasses.replace(MEASURE.collect, acknowledgements=True)
    cell = dataclasses.replace(MEASURE, collect=counting)
    assert run_folder.ACKNOWLEDGEMENTS in accept.expected(cell)
    pages = found[run_folder.TRACE_PAGES]
    assert 10 << 20 < pages < 1 << 30
    faster = wireless_cell(duration_s=1000.0)
    assert accept.expected(faster)[run_folder.TRACE_PAGES] >= pages
    assert accept.folders(found) == {"raw", "raw/flows", "raw/trace", "raw/pcap"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"message": "src1: tc failed"}', "src1: tc failed"),
        ('{"message": "a\\nb\\u001b[31mred"}', "a\nb\N{REPLACEMENT CHARACTER}[31mred"),
        ('{"message": 5}', ""),
        ('{"message": "' + "x" * accept.MOST_ERROR_BYTES + '"}', ""),
        ("[" * 60_000, ""),
        ("\udcff", ""),
        ("", ""),
    ],
)
def test_a_guests_words_are_read_as_such(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "error.json").write_bytes(content.encode(errors="surrogateescape"))
    assert accept.error_message(tmp_path) == message


@pytest.mark.timeout(20)
def test_words_that_are_no_file_are_none(tmp_path: Path) -> None:
    path = tmp_path / "error.json"
    os.mkfifo(path)
    assert accept.error_message(tmp_path) == ""
    path.unlink()
    (tmp_path / "secret").write_text('{"message": "secret"}')
    path.symlink_to(tmp_path / "secret")
    assert accept.error_message(tmp_path) == ""
