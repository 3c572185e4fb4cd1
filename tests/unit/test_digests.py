"""Digests of a cell's files: which count, what a DONE file holds, and how differences read."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from testbed import runfolder
from testbed.digests import check_stored, differences, done_text, of_cell, read_done
from testbed.errors import DisagreementError, ParseError

pytestmark = pytest.mark.unit

#: sha256("abc"), FIPS 180-4's example
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_every_file_counts_but_those_of_the_execution(tmp_path: Path) -> None:
    (tmp_path / "raw" / "flows").mkdir(parents=True)
    for name in ("cell.json", "raw/flows/T.jsonl", "raw/console.log", *runfolder.NOT_COMPARED):
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
    (tmp_path / runfolder.DONE).write_text(text)
    assert read_done(tmp_path) == {"a": "1", "b": "2"}
    assert text == done_text({"a": "1", "b": "2"})


@pytest.mark.parametrize(
    "content", [None, "", "{", "[]", "5", "{}", '{"sha256": []}', '{"sha256": null}', "\0"]
)
def test_what_is_not_done_is_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / runfolder.DONE).write_text(content)
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


def test_a_run_edited_afterwards_is_not_the_run(tmp_path: Path) -> None:
    for cell in ("a", "b"):
        folder = tmp_path / "cells" / cell
        (folder / "raw").mkdir(parents=True)
        (folder / "raw" / "counters.json").write_text("[]")
        (folder / "DONE").write_text(done_text(of_cell(folder)))
    check_stored(tmp_path, ["a", "b"])
    (tmp_path / "cells" / "b" / "raw" / "counters.json").write_text("[1]")
    with pytest.raises(
        DisagreementError, match=r"1 files are not .*\n  cells/b/raw/counters\.json"
    ):
        check_stored(tmp_path, ["a", "b"])
    check_stored(tmp_path, ["a"])
