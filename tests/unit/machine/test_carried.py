"""Entries of the cache in a file: the same bytes out and in, and nothing that leads elsewhere."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model.errors import RunError, StudyError, UnsupportedError
from testbed.machine import cache, carried, contents

IMAGE, KERNEL = f"image-{'a' * 16}", f"kernel-6.12-{'b' * 16}"
Member = tuple[str, str, bytes]
KINDS = (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.LNKTYPE)
FILE, FOLDER, LINK, DEVICE, HARD = (kind.decode() for kind in KINDS)


def silent(_what: str, _done: float) -> None:
    pass


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return what makes a cache of that name the one that is used."""

    def use(name: str) -> Path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        return cache.root()

    return use


def build(folder: Path) -> None:
    (folder / "root/usr/bin").mkdir(parents=True)
    (folder / "root/usr/bin/tool").write_bytes(b"\x7fELF" * 5000)
    (folder / "root/usr/bin/tool").chmod(0o755)
    (folder / "root/bin").symlink_to("usr/bin")
    (folder / "root/etc").mkdir()
    (folder / "root/etc/awk").symlink_to("/usr/bin/awk")
    (folder / "root/etc/empty").touch()
    (folder / "root/etc/\udcff name").write_text("not UTF-8")
    (folder / "build.log").write_text("made on another day")
    contents.settle(folder)


def built() -> list[Path]:
    return [entry(name) for name in (IMAGE, KERNEL)]


def entry(name: str) -> Path:
    kind, _, key = name.rpartition("-")
    return cache.entry(kind, key, build)


def test_what_is_packed_comes_out_the_same_elsewhere(
    here: Callable[[str], Path], tmp_path: Path
) -> None:
    here("one")
    parts = built()
    files = [tmp_path / "a.tar.gz", tmp_path / "b.tar.gz"]
    for file in files:
        carried.pack(parts, file, silent)
    assert files[0].read_bytes() == files[1].read_bytes()
    here("two")
    assert carried.unpack(files[0], silent) == [(IMAGE, True), (KERNEL, True)]
    for part in parts:
        copy = cache.root() / part.name
        assert contents.digest(copy) == contents.digest(part)
        assert contents.changed(copy, thorough=True) == []
        assert (copy / "root/usr/bin/tool").stat().st_mode & 0o777 == 0o755
        assert not (copy / "build.log").exists()
    assert carried.unpack(files[0], silent) == [(IMAGE, False), (KERNEL, False)]


def test_an_entry_that_is_there_is_passed_over(here: Callable[[str], Path], tmp_path: Path) -> None:
    here("one")
    carried.pack(built(), tmp_path / "lab", silent)
    root = here("two")
    entry(IMAGE)
    assert carried.unpack(tmp_path / "lab", silent) == [(IMAGE, False), (KERNEL, True)]
    assert contents.changed(root / KERNEL, thorough=True) == []


def test_what_was_changed_since_is_not_packed(here: Callable[[str], Path], tmp_path: Path) -> None:
    here("one")
    parts = built()
    (parts[1] / "root/etc/empty").write_text("edited")
    with pytest.raises(RunError, match=r"not as it was built.*root/etc/empty: changed"):
        carried.pack(parts, tmp_path / "lab", silent)
    assert list(tmp_path.glob("*lab*")) == []


def test_a_disk_that_is_full_leaves_no_file(here: Callable[[str], Path], tmp_path: Path) -> None:
    here("one")
    with pytest.raises(RunError, match="cannot write the file"):
        carried.pack(built(), tmp_path / "none" / "lab", silent)


@pytest.mark.parametrize("keep", [0.0, 0.001, 0.01, 0.1, 0.5, 0.9])
def test_a_file_that_was_cut_short_leaves_nothing_half(
    here: Callable[[str], Path], tmp_path: Path, keep: float
) -> None:
    here("one")
    carried.pack(built(), tmp_path / "lab", silent)
    whole = (tmp_path / "lab").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: int(keep * len(whole))])
    root = here("two")
    with pytest.raises(StudyError, match="wanted a file that groundtruth lab export wrote"):
        carried.unpack(tmp_path / "cut", silent)
    assert not (root / KERNEL).exists()
    assert not list(root.glob(f"{cache.BUILDING}*"))


def packed(file: Path, members: list[Member], **manifest: Any) -> Path:
    """Write an archive as somebody with bad intentions might."""
    said = {
        "format": carried.FORMAT,
        "entries": [{"name": IMAGE, "digest": "0" * 16, "size_bytes": 1000}],
        **manifest,
    }
    with gzip.open(file, "wb") as raw, tarfile.open(fileobj=raw, mode="w") as tar:
        for name, kind, data in [
            (carried.MANIFEST, FILE, json.dumps(said).encode()),
            *members,
        ]:
            info = tarfile.TarInfo(name)
            info.type = kind.encode()
            if kind == LINK:
                info.linkname, data = data.decode(), b""
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return file


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([(f"{IMAGE}/../../out", FILE, b"x")], "leads elsewhere"),
        ([(f"{IMAGE}/a", LINK, b"/etc"), (f"{IMAGE}/a/out", FILE, b"x")], "through a link"),
        ([(f"{IMAGE}/a", LINK, b".."), (f"{IMAGE}/a/out", FOLDER, b"")], "through a link"),
        ([(f"{IMAGE}/a", DEVICE, b"")], "no file, folder or link"),
        ([(f"{IMAGE}/a", HARD, b"")], "no file, folder or link"),
        ([(f"{IMAGE}/a", FILE, b"x" * 2000)], "larger than it says"),
        ([(f"{IMAGE}/a", FILE, b"x")], "not the contents that it says"),
        ([("elsewhere/a", FILE, b"x")], "not the contents that it says"),
    ],
)
def test_what_leads_elsewhere_or_is_something_else_is_refused(
    here: Callable[[str], Path], tmp_path: Path, members: list[Member], said: str
) -> None:
    root = here("one")
    with pytest.raises(StudyError, match=said):
        carried.unpack(packed(tmp_path / "bad", members), silent)
    assert not (root / IMAGE).exists()
    assert not list(tmp_path.rglob("out"))


@pytest.mark.parametrize(
    "manifest",
    [
        {"format": 2}, {"entries": [{"name": "../x", "digest": "0", "size_bytes": 1}]},
        {"entries": [{"name": IMAGE}]}, {"entries": 5},
        {"entries": [{"name": IMAGE, "digest": "0", "size_bytes": "much"}]},
    ],
)  # fmt: skip
def test_a_manifest_that_makes_no_sense_is_refused(
    here: Callable[[str], Path], tmp_path: Path, manifest: dict[str, Any]
) -> None:
    here("one")
    with pytest.raises(StudyError, match="no lab can be read from it"):
        carried.unpack(packed(tmp_path / "bad", [], **manifest), silent)


def test_space_is_looked_for_first(here: Callable[[str], Path], tmp_path: Path) -> None:
    here("one")
    huge = [{"name": IMAGE, "digest": "0" * 16, "size_bytes": 10**18}]
    with pytest.raises(UnsupportedError, match="no disk space for a lab"):
        carried.unpack(packed(tmp_path / "bad", [], entries=huge), silent)
