"""More seeds with a store of cells, and a store that was damaged: what runs, what is said."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from testbed.store import cells as store
from testbed.store import upkeep
from testbed.store.entries import FILES, FILLING, RECORD, Entry
from tests.support.killing import differences
from tests.support.runs.lab_run import CELLS, LabRun

pytestmark = pytest.mark.timeout(1800)  # on a machine that does much else


def flip(path: Path) -> None:
    """Change one bit in the midst of a file, as a disk does: its size and its times stay."""
    path.chmod(0o644)
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(before.st_size // 2)
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    path.chmod(0o444)


def cut(path: Path) -> None:
    """Leave half of a file, as a power cut does."""
    content = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(content[: len(content) // 2])


def raw_file(entry: Entry) -> Path:
    """Return a file that a lab left, in the store."""
    return entry.folder / FILES / "raw" / "counters.json"


def described(entry: Entry) -> Mapping[str, Any]:
    """Return the cell whose files an entry has."""
    cell: Mapping[str, Any] = entry.record().identity["cell"]
    return cell


def entries(root: Path, kind: str) -> dict[str, Entry]:
    """Return the store's entries of a kind, by their keys."""
    return {one.entry.key: one.entry for one in upkeep.held(root) if one.entry.kind == kind}


def test_more_seeds_run_only_those_and_what_is_damaged_is_named_and_runs_again(
    tmp_path: Path, wanted: dict[str, bytes], machine: Callable[[], list[str]]
) -> None:
    root = tmp_path / "store"

    def made(name: str) -> LabRun:
        return LabRun(place=tmp_path / name, env={store.VARIABLE: str(root)})

    two, four, again = made("two"), made("four"), made("again")
    two.ended(two.begin("--reps", "2"))
    assert (len(two.done()), two.stored()) == (CELLS - 2, {})
    said = four.ended(four.begin("--reps", "4"))
    assert len(four.done()) == CELLS
    assert four.stored().keys() == two.done().keys()
    assert f"{CELLS - 2} cells came from the store, {root}: not run again" in said
    assert differences(wanted, four.contents()) == []

    evidence = entries(root, "evidence")
    assert len(evidence) == CELLS
    flipped, missing, half, parsed = (
        one for one in evidence.values() if described(one)["purpose"] == "measure"
    )
    flip(raw_file(flipped))
    raw_file(missing).unlink()
    cut(half.folder / RECORD)
    (tables,) = [
        one for one in entries(root, "tables").values()
        if one.record().identity["evidence"] == parsed.key
    ]  # fmt: skip
    flip(tables.folder / FILES / "tables" / "flows.parquet")
    shutil.copytree(half.folder, root / f"{FILLING}left")  # of a process that was killed
    said = again.ended(again.begin("--reps", "4"))
    for entry, how in (
        (flipped, "raw/counters.json: "), (missing, "raw/counters.json: missing; "),
        (half, f"{RECORD}: "), (tables, "tables/flows.parquet: "),
    ):  # fmt: skip
        words = f"the store's {entry.kind} {entry.key[:16]} are not what they were: {how}"
        assert words in said
    assert len(again.done()) == CELLS
    assert set(again.stored().values()) == {*evidence} - {flipped.key, missing.key, half.key}
    assert differences(wanted, again.contents()) == []
    # What was damaged is out of the way, and what ran again is there in its place.
    assert len(upkeep.set_aside(root)) == 4
    assert {one.entry.key for one in upkeep.held(root) if upkeep.damage(one.entry)} == set()
    assert entries(root, "evidence").keys() == evidence.keys()
    assert not list(root.glob(f"{FILLING}*"))
    assert [run.left() for run in (two, four, again)] == [[], [], []]
