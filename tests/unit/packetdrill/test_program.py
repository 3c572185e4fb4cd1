"""What is taken of a user's source tree, and what is refused before anything is built."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from model.errors import StudyError
from testbed.packetdrill import program
from tests.support.recorded import DATA

STAND_IN = DATA / "packetdrill-stand-in"


def test_the_folder_of_the_program_or_a_checkout_are_taken(tmp_path: Path) -> None:
    place = tmp_path / "gtests" / "net" / "packetdrill"
    place.mkdir(parents=True)
    (place / "Makefile.Linux").touch()
    assert program.source_folder(tmp_path) == place
    assert program.source_folder(place) == place


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"not packetdrill's source: wanted .* got neither"):
        program.source_folder(tmp_path)
    with pytest.raises(StudyError, match="no such folder"):
        program.source_folder(tmp_path / "none")
    (tmp_path / "packetdrill.tar").touch()
    with pytest.raises(StudyError, match="got a file"):
        program.source_folder(tmp_path / "packetdrill.tar")


def test_only_sources_are_taken_and_links_are_left_alone(tmp_path: Path) -> None:
    for name in ("a.c", "a.o", "packetdrill", "Makefile.Linux", ".key", "below/b.h", ".git/c.c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "Makefile").symlink_to("Makefile.Linux")
    (tmp_path / "etc.c").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "fifo.c")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert program.sources(tmp_path) == {
        name: name.encode() for name in ("Makefile.Linux", "a.c", "below/b.h")
    }


def test_a_huge_source_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a.c").open("wb") as file:
        file.truncate(program.MOST_BYTES + 1)
    with pytest.raises(StudyError, match="cannot read packetdrill's source"):
        program.sources(tmp_path)
    (tmp_path / "a.c").unlink()
    for number in range(program.MOST_FILES + 1):
        (tmp_path / f"{number}.c").touch()
    with pytest.raises(StudyError, match="at most 2000 files"):
        program.sources(tmp_path)


def test_the_digest_is_of_names_and_contents() -> None:
    found = [
        program.digest(files)
        for files in ({"a": b"b"}, {"ab": b""}, {"a": b"", "b": b""}, {"\udcff": b"b"})
    ]
    assert len(set(found)) == 4
    assert program.digest({"b": b"1", "a": b"2"}) == program.digest({"a": b"2", "b": b"1"})


def test_the_stand_in_is_what_a_users_source_is() -> None:
    assert program.source_folder(STAND_IN) == STAND_IN
    assert sorted(program.sources(STAND_IN)) == ["Makefile.Linux", "packetdrill.c"]
