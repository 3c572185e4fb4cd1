"""Exports that fail: what is refused and how, and that nothing else is touched."""

from __future__ import annotations

import dataclasses
import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from model import run_folder
from model.cell import cell_id, cell_json
from reports.wireshark.profile import FILES, PROFILE, SOURCE, install_profile
from testbed.campaign import digests
from testbed.campaign.run_cell import finish
from tests.support.exported_cell import (
    cell_folder,
    plan_cells,
    recorded_cell,
    traced,
)

Status = Callable[..., tuple[int, str]]


def test_a_run_without_captures_is_told_how_to_have_them(run: Path, status: Status) -> None:
    cell = recorded_cell()
    plan_cells(
        run, [dataclasses.replace(cell, collect=dataclasses.replace(cell.collect, pcap=False))]
    )
    found, said = status(run)
    assert found == 2
    assert "no captures (packets are captured on request: groundtruth run STUDY --pcap)" in said


def test_cells_are_named_by_the_beginning_of_their_id(run: Path, status: Status) -> None:
    assert status(run, "--cell", "zz")[0] == 2
    assert "'', which no captured cells begin with" in status(run, "--cell", "")[1]
    assert not (run / run_folder.PCAP).exists()


def test_usage(status: Status) -> None:
    assert status()[0] == 2
    assert status("--force")[0] == 2
    assert status("--all-points", "--install-profile")[0] == 2
    assert "goes with --install-profile" in status("results", "--force")[1]
    assert "--install-profile" in status("--help")[1]
    assert status("no/such/run")[0] == 2


def test_nothing_is_written_where_the_disk_has_no_room(
    run: Path, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = shutil.disk_usage(run)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: free)
    found, said = status(run)
    assert found == 3
    assert "the disk has no room for the export" in said
    assert "got 1.0 kB" in said
    assert not (run / run_folder.PCAP).exists()


def another_cell(run: Path) -> None:
    """Add a second cell: the same with another seed, measured just like the first."""
    cell = dataclasses.replace(recorded_cell(), seed=3)
    folder = run / "cells" / cell_id(cell)
    shutil.copytree(cell_folder(run), folder)
    (folder / run_folder.CELL).write_text(cell_json(cell))
    finish(folder)
    plan_cells(run, [recorded_cell(), cell])


def test_a_damaged_capture_is_named_with_the_byte_and_other_cells_are_exported(
    run: Path, status: Status
) -> None:
    damaged = cell_folder(run) / "raw" / "pcap" / "r1.pcap"
    another_cell(run)
    data = damaged.read_bytes()
    damaged.write_bytes(data[:-3])
    found, said = status(run)
    assert found == 3
    assert "1 of 2 cells could not be exported" in said
    assert "r1.pcap: byte 2" in said
    assert "cut short in packet" in said
    assert len(list((run / run_folder.PCAP).iterdir())) == 2
    assert "-seed-3-" in traced(run).name


def test_a_changed_or_missing_file_is_named(run: Path, status: Status) -> None:
    folder = cell_folder(run)
    capture = folder / "raw" / "pcap" / "r2.pcap"
    data = bytearray(capture.read_bytes())
    data[-1] ^= 1
    capture.write_bytes(data)
    found, said = status(run)
    assert found == 3
    assert "changed since the run: got raw/pcap/r2.pcap" in said
    capture.unlink()
    assert "r2.pcap" in status(run)[1]
    assert not (run / run_folder.PCAP).exists()


def test_an_unfinished_cell_is_named(run: Path, status: Status) -> None:
    (cell_folder(run) / run_folder.DONE).unlink()
    found, said = status(run)
    assert found == 3
    assert "the cell is not finished" in said
    assert not (run / run_folder.PCAP).exists()


def test_tables_of_other_packets_are_refused(run: Path, status: Status) -> None:
    path = cell_folder(run) / run_folder.PACKETS_TABLE
    whole = pl.read_parquet(path)
    shorter = whole.head(100)
    later = whole.with_columns(
        pl.col("t_s") + pl.when(pl.col("packet") == 3).then(0.1).otherwise(0)
    )
    for table, wanted in ((shorter, "wanted 100 packets, got 261"), (later, "differ at packet ")):
        table.write_parquet(path)
        finish(cell_folder(run))
        assert wanted in status(run)[1]
    path.write_bytes(b"no table")
    finish(cell_folder(run))
    assert "not a Parquet table" in status(run)[1]
    assert not (run / run_folder.PCAP).exists()


def test_a_full_disk_leaves_nothing_half_written(
    run: Path, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("model.plain_files.os.fsync", full)
    found, said = status(run)
    assert found == 3
    assert "No space left on device" in said
    assert list((run / run_folder.PCAP).iterdir()) == []


def test_the_profile_is_installed_and_a_changed_one_is_kept(
    tmp_path: Path, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    target = tmp_path / "wireshark" / "profiles" / PROFILE
    assert status("--install-profile") == (0, f"profile: {target}")
    assert {path.name for path in target.iterdir()} == set(FILES)
    (target / "recent").write_text("Wireshark's own")
    assert status("--install-profile")[0] == 0
    (target / "colorfilters").write_text("mine")
    (target / "preferences").unlink()
    found, said = status("--install-profile")
    assert found == 2
    assert "colorfilters (--force overwrites it)" in said
    assert not (target / "preferences").exists()
    assert status("--install-profile", "--force")[0] == 0
    assert {name: (target / name).read_bytes() for name in FILES} == {
        name: (SOURCE / name).read_bytes() for name in FILES
    }
    assert (target / "recent").exists()


def test_without_xdg_the_profile_goes_below_the_home_folder(
    tmp_path: Path, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert status("--install-profile")[0] == 0
    assert (tmp_path / ".config" / "wireshark" / "profiles" / PROFILE / "preferences").is_file()
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match="cannot install the profile"):
        install_profile(tmp_path / "file", force=False)


def test_nothing_of_a_finished_cell_is_touched(exported: Path) -> None:
    folder = cell_folder(exported)
    assert digests.differences(digests.read_done(folder), digests.of_cell(folder)) == []
