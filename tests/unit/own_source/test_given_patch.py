"""Patches that are given as files: called by name and text, kept, and refused if they are none."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from model.errors import StudyError
from testbed.labs.virtual.own_source import given_patch, kept
from testbed.labs.virtual.own_source.patch_text import file_patches

TEXT = b"--- a/net/a.c\n+++ b/net/a.c\n@@ -1 +1 @@\n-int a0;\n+int b0;\n"


def write(folder: Path, name: str, text: bytes = TEXT) -> str:
    (folder / name).write_bytes(text)
    return str(folder / name)


def test_a_patch_has_a_name_and_is_kept(tmp_path: Path) -> None:
    digest = hashlib.sha256(TEXT).hexdigest()
    (name,) = given_patch.named([write(tmp_path, "My Fix.patch")])
    assert name == f"my-fix-{digest[:8]}"
    assert kept.patch(name) == TEXT
    assert given_patch.named([name]) == (name,), "what is kept is found by its name"


@pytest.mark.parametrize(
    ("file", "stem"),
    [("\u00dcber-fix.patch", "ber-fix"), ("\u4fee\u590d.patch", "patch"), ("\u212a.diff", "k"),
     ("na\u00efve 2.patch", "na-ve-2"), (os.fsdecode(b"\xff\xfe-fix.patch"), "fix")],
)  # fmt: skip
def test_of_a_file_s_name_what_is_plain_is_kept(file: str, stem: str, tmp_path: Path) -> None:
    (name,) = given_patch.named([write(tmp_path, file)])
    assert name == f"{stem}-{hashlib.sha256(TEXT).hexdigest()[:8]}"
    assert kept.patch(name) == TEXT
    assert given_patch.named([name]) == (name,)


def test_the_text_decides_and_not_the_place(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    first = given_patch.named([write(tmp_path, "x.patch")])
    assert given_patch.named([write(tmp_path / "a", "x.diff")]) == first
    assert given_patch.named([write(tmp_path, "x.patch", TEXT + b"\n")]) != first


def test_several_keep_their_order(tmp_path: Path) -> None:
    files = [write(tmp_path, name) for name in ("z.patch", "a.patch")]
    assert [name.split("-")[0] for name in given_patch.named(files)] == ["z", "a"]


def test_a_long_series_is_one_patch(tmp_path: Path) -> None:
    files = [
        write(tmp_path, f"{n:04}-x.patch", TEXT.replace(b"a.c", b"%d.c" % n)) for n in range(9)
    ]
    (name,) = given_patch.named(files)
    assert name.startswith("0000-x-and-8-more-")
    text = kept.patch(name)
    assert text is not None
    assert [one.path for one in file_patches(text)] == [f"net/{n}.c" for n in range(9)]


def test_what_is_no_patch(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 17 << 20)
    for file, said in (
        (str(tmp_path / "nowhere"), "No such file"),
        (str(tmp_path), "no plain file"),
        (str(tmp_path / "fifo"), "no plain file"),
        (str(tmp_path / "large"), "17 MiB"),
        (write(tmp_path, "empty", b""), "an empty file"),
        (write(tmp_path, "words", b"hello\n"), "no hunk in it"),
        (write(tmp_path, "binary", bytes(range(256)) * 9), "no hunk in it"),
        ("my-fix-1a2b3c4d", "No such file"),
        ("a\0b", "null"),
    ):
        with pytest.raises(StudyError, match=rf"^PATCH .*: not a patch: wanted .*, got .*{said}"):
            given_patch.named([file])
