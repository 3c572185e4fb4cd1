"""Digests of a cell's files: which count, what a DONE file holds, and how differences read."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from model import run_folder
from model.cell import cell_id, cell_json
from model.errors import DisagreementError, ParseError
from testbed.campaign.digests import (
    changed,
    differences,
    done_text,
    of_cell,
    raise_if_any,
    read_done,
)
from tests.support.recorded import wireless_cell

#: sha256("abc"), FIPS 180-4's example
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_every_file_counts_but_those_of_the_execution(tmp_path: Path) -> None:
    (tmp_path / "raw" / "flows").mkdir(parents=True)
    for name in ("cell.json", "raw/flows/T.jsonl", "raw/console.log", *run_folder.NOT_COMPARED):
        (tmp_path / name).write_text("abc")
    (tmp_path / "empty").touch()
    assert of_cell(tmp_path) == {
        "cell.json": ABC,
        "raw/flows/T.jsonl": ABC,
        "raw/console.log": ABC,
        "empty": hashlib.sha256(b"").hexdigest(),
    }


def test_done_holds_the_digests(tmp_path: Path) -> None:
    text = done_text({"b": "2", "a": "1"})
    (tmp_path / run_folder.DONE).write_text(text)
    assert read_done(tmp_path) == {"a": "1", "b": "2"}
    assert text == done_text({"a": "1", "b": "2"})


@pytest.mark.parametrize(
    "content",
    [None, "", "{", "[" * 100_000, "[]", "5", "{}", '{"sha256": []}', '{"sha256": null}', "\0"],
)
def test_what_is_not_done_is_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / run_folder.DONE).write_text(content)
    with pytest.raises(ParseError, match=rf"^{tmp_path}/DONE: not a finished cell: got "):
        read_done(tmp_path)


def test_differences_are_told_by_name_in_order() -> None:
    recorded = {"same": "1" * 64, "changed": "a" * 64, "gone": "2" * 64}
    found = {"new": "3" * 64, "changed": "b" * 64, "same": "1" * 64}
    assert differences(recorded, found) == [
        "changed: aaaaaaaaaaaa before, bbbbbbbbbbbb now",
        "gone: missing now",
        "new: was not there before",
    ]
    assert differences(recorded, dict(reversed(recorded.items()))) == []


def finished(run: Path, count: int) -> list[str]:
    cells = [wireless_cell(seed=seed) for seed in range(1, count + 1)]
    for cell in cells:
        folder = run / "cells" / cell_id(cell)
        (folder / "raw").mkdir(parents=True)
        (folder / "raw" / "counters.json").write_text("[]")
        (folder / "cell.json").write_text(cell_json(cell))
        (folder / "DONE").write_text(done_text(of_cell(folder)))
    return [cell_id(cell) for cell in cells]


def test_another_whole_cell_is_not_this_one(tmp_path: Path) -> None:
    one, other = finished(tmp_path, 2)
    shutil.rmtree(tmp_path / "cells" / one)
    shutil.copytree(tmp_path / "cells" / other, tmp_path / "cells" / one)
    assert changed(tmp_path, [one, other]) == {one: f"cell.json: another cell, {other}"}
    (tmp_path / "cells" / other / "cell.json").write_text("{}")
    (tmp_path / "cells" / other / "DONE").write_text(done_text(of_cell(tmp_path / "cells" / other)))
    assert changed(tmp_path, [other])[other].startswith("cell.json: not a cell: ")


def test_cells_edited_afterwards_are_told_apart(tmp_path: Path) -> None:
    cells = finished(tmp_path, 4)
    _, b, c, d = cells
    assert changed(tmp_path, cells) == {}
    (tmp_path / "cells" / b / "raw" / "counters.json").write_text("[1]")
    (tmp_path / "cells" / c / "DONE").write_text("{}")
    for number in range(7):
        (tmp_path / "cells" / d / f"{number}").touch()
    found = changed(tmp_path, cells)
    assert list(found) == [b, c, d]
    assert found[b].startswith("raw/counters.json: ")
    assert found[c] == "DONE: not a finished cell: got 'sha256'"
    assert found[d].startswith("0: was not there before; 1: ")
    assert found[d].endswith("4: was not there before; and 2 more")


def test_a_file_that_cannot_be_read_is_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = finished(tmp_path, 1)
    monkeypatch.setattr("model.plain_files.sha256", refuse)
    assert "cell.json: Input/output error" in changed(tmp_path, cells)[cells[0]]


def refuse(path: Path) -> bytes:
    raise OSError(f"{path}: Input/output error")


def test_problems_are_raised_by_place(tmp_path: Path) -> None:
    raise_if_any({}, tmp_path, "differ")
    with pytest.raises(DisagreementError, match=r"2 differ:\n  cells/a: x\n  cells/b: y \(resume"):
        raise_if_any({"cells/a": "x", "cells/b": "y"}, tmp_path, "differ")
    files = {"cells/a/DONE": "x", "cells/a/raw/b": "y"}
    with pytest.raises(DisagreementError, match=r"1 differ:\n  cells/a/DONE: x\n  cells/a/raw/b"):
        raise_if_any(files, tmp_path, "differ")


def test_of_files_that_are_not_read_only_the_absence_is_seen(tmp_path: Path) -> None:
    cell = wireless_cell()
    (id_,) = [cell_id(cell)]
    folder = run_folder.cell_folder(tmp_path, id_)
    (folder / "raw" / "pcap").mkdir(parents=True)
    (folder / run_folder.CELL).write_text(cell_json(cell))
    (folder / "raw" / "counters.json").write_text("{}")
    capture = folder / "raw" / "pcap" / "router.pcap"
    capture.write_bytes(b"packets")
    (folder / run_folder.DONE).write_text(done_text(of_cell(folder)))
    assert changed(tmp_path, [id_], run_folder.CAPTURES) == {}

    capture.write_bytes(b"others")
    assert changed(tmp_path, [id_], run_folder.CAPTURES) == {}
    assert list(changed(tmp_path, [id_])) == [id_]
    capture.unlink()
    gone = {id_: "raw/pcap/router.pcap: missing now"}
    assert changed(tmp_path, [id_], run_folder.CAPTURES) == gone
    capture.write_bytes(b"packets")
    (capture.parent / "more.pcap").touch()
    added = {id_: "raw/pcap/more.pcap: was not there before"}
    assert changed(tmp_path, [id_], run_folder.CAPTURES) == added
    (capture.parent / "more.pcap").unlink()
    (folder / "raw" / "counters.json").write_text("[]")
    assert "raw/counters.json: " in changed(tmp_path, [id_], run_folder.CAPTURES)[id_]
