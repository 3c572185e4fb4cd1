"""Archives: the same bytes each time, back as they were, and hostile ones refused unwritten."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from model import plain_files
from model.errors import GroundtruthError, ParseError, RunError
from testbed.bundles import archive
from testbed.bundles.archive import entry_of

NAMES = st.text("abc.é ", min_size=1, max_size=8).filter(lambda name: name not in (".", ".."))


def packed(contents: dict[str, bytes], top: str = "t") -> bytes:
    return b"".join(archive.pieces([entry_of(name, x) for name, x in contents.items()], top))


def unpacked(content: bytes, place: Path) -> dict[str, bytes]:
    file, into = place / "b.tar.gz", place / "into"
    file.write_bytes(content)
    into.mkdir()
    folder = archive.unpack(file, into)
    assert [path.name for path in into.iterdir()] == [folder.name]
    return {name: path.read_bytes() for name, path in plain_files.files(folder)}


CONTENTS = {"b": b"", "a/c": b"x" * 512, "a-b": b"y" * 70_001, "a/b/é": b"z"}


def test_files_come_back_and_their_order_does_not_matter(tmp_path: Path) -> None:
    content = packed(CONTENTS)
    assert content == packed(dict(sorted(CONTENTS.items())))
    assert content[4:8] == bytes(4)  # no time
    assert unpacked(content, tmp_path) == CONTENTS


def test_other_programs_read_it() -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(CONTENTS))) as found:
        assert found.getnames() == ["t/a-b", "t/a/b/é", "t/a/c", "t/b"]
        assert {(one.mode, one.uid, one.uname, one.mtime) for one in found.getmembers()} == {
            (0o644, 0, "", 315532800)
        }


@example(contents={"a": b"", ".a": b"x"})
@given(contents=st.dictionaries(NAMES, st.binary(max_size=2000), min_size=1, max_size=5))
def test_any_files_come_back(
    contents: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert unpacked(packed(contents), tmp_path_factory.mktemp("any")) == contents


def test_a_file_that_changes_meanwhile_ends_it(tmp_path: Path) -> None:
    for changed in (b"longer", b"s", b"diff"):
        file = tmp_path / "x"
        file.write_bytes(b"same")
        entry = entry_of("x", file)
        file.write_bytes(changed)
        with pytest.raises(RunError, match="changed while it was read"):
            list(archive.pieces([entry], "t"))


def test_a_name_too_long_is_refused() -> None:
    with pytest.raises(RunError, match="cannot be put into an archive"):
        packed({"x" * 200: b""})


def member(name: str, kind: bytes = tarfile.REGTYPE, **more: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in more.items():
        setattr(info, key, value)
    return info


def hostile(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as made:
        for info, content in members:
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return gzip.compress(out.getvalue())


HOSTILE = {
    "above": hostile((member("t/../../x"), b"x")),
    "absolute": hostile((member("/t/x"), b"x")),
    "dots": hostile((member("t/./x"), b"x")),
    "no folder": hostile((member("x"), b"x")),
    "empty part": hostile((member("t//x"), b"x")),
    "control character": hostile((member("t/\n"), b"x")),
    "backslash": hostile((member("t/..\\x"), b"x")),
    "deep": hostile((member("/".join("t" * 20)), b"x")),
    "symbolic link": hostile((member("t/x", tarfile.SYMTYPE, linkname="/etc/passwd"), b"")),
    "hard link": hostile((member("t/x", tarfile.LNKTYPE, linkname="/etc/passwd"), b"")),
    "device": hostile((member("t/x", tarfile.CHRTYPE), b"")),
    "fifo": hostile((member("t/x", tarfile.FIFOTYPE), b"")),
    "folder": hostile((member("t/x", tarfile.DIRTYPE), b"")),
    "twice": hostile((member("t/x"), b"x"), (member("t/x"), b"y")),
    "file as folder": hostile((member("t/x"), b"x"), (member("t/x/y"), b"y")),
    "folder as file": hostile((member("t/x/y"), b"x"), (member("t/x"), b"y")),
    "two folders": hostile((member("t/x"), b"x"), (member("u/x"), b"x")),
    "long name": hostile((member("t/" + "x" * 300), b"x"), form=tarfile.GNU_FORMAT),
    "pax header": hostile((member("t/" + "x" * 300), b"x"), form=tarfile.PAX_FORMAT),
    "nothing": hostile(),
    "no gzip": b"t",
    "no tar": gzip.compress(b"x" * 2048),
    "empty": b"",
    "cut short": packed(CONTENTS)[:-30],
    "cut within what ends it": packed(CONTENTS)[:-1],
    "wrong sum": packed(CONTENTS)[:-8] + bytes(8),
    "bytes behind it": packed(CONTENTS) + b"x",
    "another behind it": packed(CONTENTS) * 2,
    "a file behind the end": gzip.compress(gzip.decompress(packed(CONTENTS)) + b"x"),
    "zeros without end": gzip.compress(gzip.decompress(packed(CONTENTS)) + bytes(1 << 16)),
    "between files": gzip.compress(
        member("t/x", size=1).tobuf(tarfile.USTAR_FORMAT) + b"x" * 512 + bytes(1024)
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_bundle_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="not a bundle"):
        unpacked(HOSTILE[name], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"b.tar.gz", "into"}
    for path in (tmp_path / "into").rglob("*"):
        assert not path.is_symlink()
        assert path.name in ("t", "u", "x", "y", "a", "b", "c", "a-b", "é")


def bomb(size_bytes: int) -> bytes:
    """Return an archive of one file of zeros, made without holding it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    info = member("t/x", size=size_bytes)
    out = [packer.compress(info.tobuf(tarfile.USTAR_FORMAT))]
    out += [packer.compress(bytes(1 << 20)) for _ in range(size_bytes >> 20)]
    return b"".join([*out, packer.compress(bytes(1024)), packer.flush()])


def test_a_bomb_is_refused_before_it_fills_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "ALWAYS_BYTES", 1 << 20)
    with pytest.raises(ParseError, match="of a file of this size"):
        unpacked(bomb(32 << 20), tmp_path)
    assert sum(path.stat().st_size for path in (tmp_path / "into").rglob("*")) < 16 << 20


def test_too_little_room_is_said_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LEFT_FREE_BYTES", 1 << 60)
    with pytest.raises(RunError, match="too little room"):
        unpacked(packed(CONTENTS), tmp_path)


@given(where=st.integers(0, 511), change=st.integers(1, 255))
def test_a_changed_byte_gives_an_error_or_the_same_names(
    where: int, change: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(gzip.decompress(packed({"a": b"x" * 100, "b/c": b"y"})))
    content[where] ^= change
    try:
        found = unpacked(gzip.compress(bytes(content)), tmp_path_factory.mktemp("changed"))
    except GroundtruthError:
        return
    assert found == {"a": b"x" * 100, "b/c": b"y"}
