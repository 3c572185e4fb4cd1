"""Whatever happens to a raw file of a cell, its tables are written or the file is named."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.tables.write import write_tables
from model.cell import Cell, from_dict
from model.errors import ParseError
from tests.support.fake_lab import write_telemetry
from tests.support.recorded import DATA, value

CAPTURED: Cell = from_dict(value("lab-cell-7.3/cell.json"))
#: Also with the telemetry of another cell of the same network.
CELL = dataclasses.replace(
    CAPTURED, collect=dataclasses.replace(CAPTURED.collect, telemetry=True, queue_s=1.0)
)
JSON_FILES = (
    "epoch.json", "counters.json", "path.json", "places.json", "qdiscs.json", "qdiscs-start.json",
    "pcap/points.json", "pcap/counts.json", "trace/counts.json", "trace/formats.json",
)  # fmt: skip
LINE_FILES = tuple(
    f"flows/{flow}.{side}.jsonl" for flow in ("T", "S") for side in ("sender", "receiver")
)
TEXT_FILES = (*JSON_FILES, *LINE_FILES, "queue.jsonl")
BINARY_FILES = ("pcap/r1.pcap", "pcap/r2.pcap", "trace/pages.bin.gz")
ODD: tuple[Any, ...] = (
    None,
    "x",
    -1,
    1.5,
    [],
    {},
    True,
    10**30,
    10**400,
    float("nan"),
    float("inf"),
)
#: What says what to look for may be as wrong as the file it is looked for in.
ALSO_NAMED = {
    "path.json": "qdiscs.json", "places.json": "queue.jsonl", "pcap/points.json": "pcap/",
    "pcap/counts.json": ".pcap", "trace/counts.json": "pages.bin.gz",
    "trace/formats.json": "pages.bin.gz",
}  # fmt: skip


def recorded(folder: Path) -> Path:
    shutil.copytree(DATA / "lab-cell-7.3", folder)
    write_telemetry(folder)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return recorded(tmp_path / "cell")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cell whose files are put back after each damage."""
    return recorded(tmp_path_factory.mktemp("shared") / "cell")


def problem(folder: Path, name: str, content: bytes) -> str:
    """Damage a raw file, parse the cell, put the file back; return the error, empty if none."""
    path = folder / "raw" / name
    whole = path.read_bytes()
    path.write_bytes(content)
    try:
        write_tables(folder, CELL)
    except ParseError as error:
        said = str(error)
        assert name in said or ALSO_NAMED.get(name, "\0") in said, said
        return said
    finally:
        path.write_bytes(whole)
    return ""


def test_the_undamaged_cell_is_parsed(folder: Path) -> None:
    for name in (*TEXT_FILES, *BINARY_FILES):
        assert problem(folder, name, (folder / "raw" / name).read_bytes()) == ""


@pytest.mark.parametrize("name", [*TEXT_FILES, *BINARY_FILES])
def test_a_file_that_is_another_is_named(folder: Path, name: str) -> None:
    whole = (folder / "raw" / name).read_bytes()
    others = [b"", b"\0" * 64, b"hello\n", b"\xff\xfe" + whole, b"[" * 100_000, whole[:1]]
    others += [whole[:-2], b"\x0a\x0d\x0d\x0a" + bytes(24), b"1" * 10_000]
    for content in others:
        assert problem(folder, name, content)
    path = folder / "raw" / name
    path.unlink()
    with pytest.raises(ParseError, match=re.escape(name)):
        write_tables(folder, CELL)
    path.mkdir()
    with pytest.raises(ParseError, match=re.escape(name)):
        write_tables(folder, CELL)


@pytest.mark.parametrize("name", BINARY_FILES)
def test_a_binary_file_cut_anywhere_is_named_with_the_byte(folder: Path, name: str) -> None:
    whole = (folder / "raw" / name).read_bytes()
    for size in {1, 3, 4, 23, 24, 40, len(whole) // 3, len(whole) // 2, len(whole) - 1}:
        assert re.search(rf"{name}: byte \d+", problem(folder, name, whole[:size]))


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where every value of a JSON document stands; of a list only the first two."""
    yield path
    if isinstance(content, dict):
        for key in content:
            yield from places(content[key], (*path, key))
    elif isinstance(content, list):
        for index in range(min(2, len(content))):
            yield from places(content[index], (*path, index))


def changed(content: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    part = changed(content[path[0]], path[1:], odd)
    if isinstance(content, dict):
        return {**content, path[0]: part}
    return [*content[: path[0]], part, *content[path[0] + 1 :]]


@settings(max_examples=60)
@given(data=st.data(), name=st.sampled_from(JSON_FILES), odd=st.sampled_from(ODD))
def test_an_odd_value_is_harmless_or_named(
    shared: Path, data: st.DataObject, name: str, odd: Any
) -> None:
    content = json.loads((shared / "raw" / name).read_text())
    place = data.draw(st.sampled_from(list(places(content))))
    problem(shared, name, json.dumps(changed(content, place, odd)).encode())


@settings(max_examples=40)
@given(data=st.data(), name=st.sampled_from([*LINE_FILES, "queue.jsonl"]), odd=st.sampled_from(ODD))
def test_an_odd_value_in_a_line_is_harmless_or_named(
    shared: Path, data: st.DataObject, name: str, odd: Any
) -> None:
    lines = (shared / "raw" / name).read_text().splitlines()
    number = data.draw(st.sampled_from(range(len(lines))))
    content = json.loads(lines[number])
    place = data.draw(st.sampled_from(list(places(content))))
    lines[number] = json.dumps(changed(content, place, odd))
    problem(shared, name, "\n".join(lines).encode())


def kernel_formats(folder: Path, event: str, old: str, new: str) -> bytes:
    content = json.loads((folder / "raw" / "trace" / "formats.json").read_text())
    assert old in content["events"][event], content["events"][event]
    content["events"][event] = content["events"][event].replace(old, new)
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("event", "old", "new", "said"),
    [
        ("tcp/tcp_probe", " srtt;", " srtt_us;", "no field 'srtt' of trace event 'tcp/tcp_probe'"),
        ("tcp/tcp_probe", "snd_cwnd;", "snd_cwnd[4];", "field 'snd_cwnd' of .* wanted a number"),
        ("tcp/tcp_probe", "daddr[28];\toffset:36;\tsize:28", "daddr;\toffset:36;\tsize:4",
         "field 'daddr' of .* wanted bytes, got 4 bytes"),
        ("tcp/tcp_probe", "daddr[28];\toffset:36;\tsize:28", "daddr[];\toffset:36;\tsize:0",
         "field 'daddr' of .* wanted bytes, got 0 bytes"),
        ("tcp/tcp_probe", "srtt;\toffset:100;", "srtt;\toffset:99999999;", "field 'srtt' of"),
        ("tcp/tcp_probe", "srtt;\toffset:100;\tsize:4;", "srtt;\toffset:100;\tsize:99999999;",
         "a field longer than a page"),
        ("qdisc/qdisc_drop", "ifindex;", "dev_index;", "no field 'ifindex' of trace event"),
        ("sctp/sctp_probe_path", " state;", " path_state;", "no field 'state' of trace event"),
    ],
)  # fmt: skip
def test_a_kernel_with_other_fields_is_named(
    folder: Path, event: str, old: str, new: str, said: str
) -> None:
    found = problem(folder, "trace/formats.json", kernel_formats(folder, event, old, new))
    assert re.search(said, found), found
    assert "formats.json" in found


@pytest.mark.parametrize("offset", [0, 64])
def test_a_wider_port_is_a_number_too(folder: Path, offset: int) -> None:
    wide = f"offset:{offset};\tsize:8"
    content = kernel_formats(folder, "tcp/tcp_probe", "offset:66;\tsize:2", wide)
    problem(folder, "trace/formats.json", content)


@settings(max_examples=30)
@given(data=st.data(), size=st.sampled_from([0, 1, 2, 3, 4, 8, 16, 10**12]))
def test_any_size_and_place_of_any_field_is_harmless_or_named(
    shared: Path, data: st.DataObject, size: int
) -> None:
    content = json.loads((shared / "raw" / "trace" / "formats.json").read_text())
    event = data.draw(st.sampled_from(sorted(content["events"])))
    field = re.compile(r"offset:(\d+);\tsize:(\d+)")
    found = [match[0] for match in field.finditer(content["events"][event])]
    old = data.draw(st.sampled_from(found))
    offset = data.draw(st.sampled_from([0, 1, 3, 8, 4000, 10**12]))
    new = f"offset:{offset};\tsize:{size}"
    problem(shared, "trace/formats.json", kernel_formats(shared, event, old, new))


def test_a_packet_more_or_less_than_the_capture_counted_is_named(folder: Path) -> None:
    path = folder / "raw" / "pcap" / "r2.pcap"
    whole = path.read_bytes()
    at = 24
    while at + 16 + int.from_bytes(whole[at + 8 : at + 12], "little") < len(whole):
        at += 16 + int.from_bytes(whole[at + 8 : at + 12], "little")
    said = problem(folder, "pcap/r2.pcap", whole[:at])
    assert f"r2.pcap: byte {at}: not all that was recorded: wanted 103 packets, got 102" in said


def test_half_a_character_is_no_text(folder: Path) -> None:
    content = json.loads((folder / "raw" / "path.json").read_text())
    content[0]["name"] = "\ud800"
    assert "path.json: not JSON" in problem(folder, "path.json", json.dumps(content).encode())
