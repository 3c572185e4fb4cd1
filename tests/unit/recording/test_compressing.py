"""Recorders' files compressed: the same bytes of the same content, and read back as they were."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import struct
from pathlib import Path

import pytest

from collectors.raw import compressed, pcap
from collectors.recording import compressing
from collectors.tables.write import write_tables
from model import run_folder
from model.cell import from_dict
from model.errors import ParseError
from tests.support.recorded import DATA, value

CAPTURE = DATA / "lab-cell-7.3" / "raw" / "pcap" / "r1.pcap"


def replaced(folder: Path, content: bytes) -> Path:
    folder.mkdir()
    (folder / "r1.pcap").write_bytes(content)
    return compressing.replaced(folder / "r1.pcap")


def test_a_file_gives_its_place_to_the_same_bytes_whenever_it_is_compressed(tmp_path: Path) -> None:
    content = CAPTURE.read_bytes()
    first, second = replaced(tmp_path / "a", content), replaced(tmp_path / "b", content)
    os.utime(second, (1, 1))
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["r1.pcap.gz"]
    assert first.read_bytes() == second.read_bytes()
    assert struct.unpack_from("<I", first.read_bytes(), 4) == (0,), "the header's time"
    assert gzip.decompress(first.read_bytes()) == content
    assert compressed.unpacked(compressing.compressed(content), "c", "a capture") == content


def test_a_file_of_several_blocks_is_whole(tmp_path: Path) -> None:
    content = random.Random(1).randbytes((3 << 20) + 1)
    assert compressed.read(replaced(tmp_path / "a", content), "a capture") == content


def test_a_compressed_capture_holds_the_same_packets_as_before(tmp_path: Path) -> None:
    packed = replaced(tmp_path / "a", CAPTURE.read_bytes())
    (found, cut), (plain, _) = pcap.read(packed), pcap.read(CAPTURE)
    assert cut is None
    assert len(found) == len(plain) > 0
    for name in ("octets", "t_ns", "starts", "captured_bytes", "wire_bytes", "linktypes"):
        assert (getattr(found, name) == getattr(plain, name)).all()


def test_tables_of_compressed_evidence_are_the_same_to_the_byte(tmp_path: Path) -> None:
    folders = [shutil.copytree(DATA / "lab-cell-7.3", tmp_path / name) for name in ("old", "new")]
    place = folders[1] / run_folder.CAPTURES
    names = [compressing.replaced(path).name for path in place.glob("*.pcap")]
    assert sorted(names) == ["r1.pcap.gz", "r2.pcap.gz"]
    for document in (place / "points.json", place / "counts.json"):
        document.write_text(document.read_text().replace('.pcap"', '.pcap.gz"'))
    for folder in folders:
        write_tables(folder, from_dict(value("lab-cell-7.3/cell.json")))
    old, new = (
        {path.name: path.read_bytes() for path in (folder / "tables").iterdir()}
        for folder in folders
    )
    assert Path(run_folder.PACKETS_TABLE).name in old
    assert old == new


PACKED = gzip.compress(b"x" * 9000, mtime=0)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "r1.pcap.gz: cannot read a capture: got the file is empty"),
        (PACKED[:-1], f"byte {len(PACKED) - 1} or later, compressed: .* got cut short"),
        (PACKED + b"ab", f"byte {len(PACKED)} or later, .* got 2 bytes more than is compressed"),
        (b"no gzip", "byte 0 or later, .* incorrect header check"),
        (PACKED[:-5] + b"\xff" + PACKED[-4:], "incorrect data check"),
        (gzip.compress(bytes(128 << 20), mtime=0), r"wanted at most \d+ bytes unpacked, got more"),
    ],
    ids=["empty", "cut", "more", "other", "changed", "too much"],
)
def test_damage_is_named_with_file_and_byte(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "r1.pcap.gz").write_bytes(content)
    with pytest.raises(ParseError, match=why):
        pcap.read(tmp_path / "r1.pcap.gz")
