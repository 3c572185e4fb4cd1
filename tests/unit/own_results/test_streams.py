"""Files piece by piece: packed, damaged, hostile ones, and what memory they take."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import lzma
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from model.errors import ParseError
from simulators.results.streams import head_of, opened
from tests.support.simulators.own_results import stream_of

pytestmark = pytest.mark.unit

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress,
}  # fmt: skip
TEXT = b"".join(b"line %d\n" % number for number in range(100_000))


@pytest.mark.parametrize("packer", PACKERS)
def test_packed_files_are_read_as_plain_ones(packer: str, tmp_path: Path) -> None:
    with stream_of(tmp_path, PACKERS[packer](TEXT)) as stream:
        assert b"".join(stream.pieces()) == TEXT


@pytest.mark.parametrize("packer", PACKERS)
def test_files_packed_one_behind_another_are_one(packer: str, tmp_path: Path) -> None:
    pack = PACKERS[packer]
    with stream_of(tmp_path, pack(TEXT) + pack(b"more\n")) as stream:
        assert b"".join(stream.pieces()) == TEXT + b"more\n"


@pytest.mark.parametrize("packer", PACKERS)
def test_zeros_behind_a_packed_file_end_no_reading(packer: str, tmp_path: Path) -> None:
    pack, path = PACKERS[packer], tmp_path / "padded"
    path.write_bytes(pack(TEXT) + bytes(600_000) + pack(b"more") + bytes(600_000))
    with opened(path) as stream:
        assert b"".join(stream.pieces()) == TEXT + b"more"
    assert stream.stored_bytes == path.stat().st_size
    assert stream.digest.hexdigest() == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("packer", PACKERS)
def test_a_packed_file_that_is_cut_short_is_refused(packer: str, tmp_path: Path) -> None:
    with (
        stream_of(tmp_path, PACKERS[packer](TEXT)[:-20]) as stream,
        pytest.raises(ParseError, match=f"cannot be read as {packer}"),
    ):
        list(stream.pieces())


def test_a_packed_file_with_changed_bytes_is_refused(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(TEXT))
    content[len(content) // 2] ^= 0xFF
    with (
        stream_of(tmp_path, bytes(content)) as stream,
        pytest.raises(ParseError, match="cannot be read as gzip"),
    ):
        list(stream.pieces())


@pytest.mark.parametrize("packer", PACKERS)
def test_a_bomb_is_refused_without_being_held(packer: str, tmp_path: Path) -> None:
    bomb = PACKERS[packer](bytes(80 << 20))
    tracemalloc.start()
    with stream_of(tmp_path, bomb) as stream, pytest.raises(ParseError) as refused:
        for _ in stream.pieces():
            pass
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "unpacks to too much" in str(refused.value)
    assert peak_bytes < 16 << 20


def test_lines_are_numbered_without_ends_or_a_mark(tmp_path: Path) -> None:
    with stream_of(tmp_path, b"\xef\xbb\xbfa\r\nb\n\nc") as stream:
        assert list(stream.lines()) == [(1, "a"), (2, "b"), (3, ""), (4, "c")]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (b"", "", "the file is empty"),
        (b"a\n\xff\xfe\n", ":2", "not text: wanted UTF-8, got byte 0xff"),
        (b"a\nb\0c\n", ":2", "got byte 0x00"),
        ("a,b\n".encode("utf-16"), ":1", "not UTF-8: got UTF-16"),
    ],
)
def test_what_is_no_text_is_refused(content: bytes, line: str, words: str, tmp_path: Path) -> None:
    with stream_of(tmp_path, content) as stream, pytest.raises(ParseError) as refused:
        list(stream.lines())
    assert f"{tmp_path / 'in'}{line}: " in str(refused.value)
    assert words in str(refused.value)


def test_an_endless_line_is_refused(tmp_path: Path) -> None:
    with (
        stream_of(tmp_path, b"one\n" + b"x" * (8 << 20)) as stream,
        pytest.raises(ParseError, match=r"in:2: too long a line"),
    ):
        list(stream.lines())


def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(TEXT)
    with contextlib.ExitStack() as held:
        next(held.enter_context(opened(path)).pieces())
        with path.open("ab") as file:
            file.write(b"more\n")
        with pytest.raises(ParseError, match="changed while it was read"):
            held.close()


def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    for name, reason in (
        ("fifo", "got a FIFO"), (".", "got a folder"), ("none", "No such file"), ("loop", "loop")
    ):  # fmt: skip
        with pytest.raises(ParseError) as refused:
            head_of(tmp_path / name)
        assert reason in str(refused.value), name


def test_a_link_that_a_user_names_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text\n")
    (tmp_path / "link").symlink_to("file")
    assert head_of(tmp_path / "link") == b"text\n"


def test_files_with_a_dictionary_too_large_for_memory_are_refused(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 30}]
    with (
        stream_of(tmp_path, lzma.compress(b"x", filters=filters)) as stream,
        pytest.raises(ParseError, match="cannot be read as xz"),
    ):
        list(stream.pieces())


def test_the_digest_is_of_the_file_as_stored(tmp_path: Path) -> None:
    content = gzip.compress(TEXT, mtime=0)
    with stream_of(tmp_path, content) as stream:
        list(stream.pieces())
    assert stream.stored_bytes == len(content)
    assert stream.digest.hexdigest() == hashlib.sha256(content).hexdigest()
