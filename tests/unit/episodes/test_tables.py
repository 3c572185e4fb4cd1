"""A cell's raw files become Parquet tables with fixed columns; a broken one is named."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.raw.files import read_json, read_text
from collectors.tables.parquet import write_parquet
from collectors.tables.write import qdisc_rows, write_tables
from model import plain_files, run_folder
from model.errors import ParseError
from model.run_files.tables import schema
from model.run_files.traffic_tables import FlowRow, IntervalRow, QdiscRow
from tests.support.fake_lab import write_measured
from tests.support.recorded import DATA, put, value, wireless_cell

CELL = wireless_cell()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_measured(tmp_path)
    return tmp_path


def test_recorded_qdisc_counters() -> None:
    rows = qdisc_rows(value("iproute2-6.15/qdisc-statistics.json"))
    # Routers in order; only netem: no noqueue of lo, no clsact.
    assert [(row.node, row.device, row.handle) for row in rows] == [
        ("r1", "r1-bottleneck", "10:"),
        ("r1", "ifb-bottleneck", "1:"),
        ("r2", "r2-dst1", "1:"),
        ("r2", "r2-dst1", "10:"),
        ("r2", "ifb-bottleneck", "1:"),
    ]
    assert rows[0] == QdiscRow(
        node="r1",
        device="r1-bottleneck",
        handle="10:",
        kind="netem",
        sent_pkts=5514,
        sent_bytes=8_272_992,
        dropped_pkts=19,
        backlog_pkts=0,
    )
    assert qdisc_rows({}) == []


@pytest.mark.parametrize("row_type", [FlowRow, IntervalRow, QdiscRow])
def test_every_column_has_a_type(row_type: type) -> None:
    assert list(schema(row_type)) == [f.name for f in dataclasses.fields(row_type)]


def test_tables_of_the_recorded_cell(folder: Path) -> None:
    write_tables(folder, CELL)
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    assert flows.schema == schema(FlowRow)
    assert flows.select("flow", "goodput_bytes", "goodput_bps", "loss_dropped_pkts").rows() == [
        ("T", 2_875_728, 230_058.24, 26),
        ("S", 4_199_200, 335_936.0, 27),
    ]
    intervals = pl.read_parquet(folder / run_folder.INTERVALS_TABLE)
    assert intervals.schema == schema(IntervalRow)
    assert intervals.height == 8
    assert intervals.row(0) == ("T", 0.0, 1.0, 2896)
    qdiscs = pl.read_parquet(folder / run_folder.QDISCS_TABLE)
    assert qdiscs.schema == schema(QdiscRow)
    assert qdiscs["dropped_pkts"].sum() == 19 + 53  # the buffer's; the loss model's, both flows


def test_the_same_raw_files_give_the_same_bytes(folder: Path) -> None:
    write_tables(folder, CELL)
    first = {path.name: path.read_bytes() for path in (folder / "tables").iterdir()}
    write_tables(folder, CELL)
    assert {path.name: path.read_bytes() for path in (folder / "tables").iterdir()} == first


def test_columns_stay_when_nothing_is_known(folder: Path) -> None:
    """An iperf3 flow without counters has the same columns, so that tables can be stacked."""
    cell = dataclasses.replace(
        CELL, flows=(dataclasses.replace(CELL.flows[0], generator="iperf3"),)
    )
    server = DATA / "iperf3-3.18" / "server.json"
    shutil.copy(server, folder / "raw" / "flows" / "T.receiver.jsonl")
    (folder / "raw" / "flows" / "T.sender.jsonl").unlink()
    (folder / "raw" / "counters.json").write_text("[]")
    (folder / "raw" / "qdiscs.json").write_text("{}")
    write_tables(folder, cell)
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    assert flows.schema == schema(FlowRow)
    # Until 100 s the recorded server had 2896 + 17376 + 50680 bytes.
    assert flows.row(0, named=True) == {
        "flow": "T",
        "group": "T",
        "protocol": "tcp",
        "generator": "iperf3",
        "goodput_bytes": 70_952,
        "goodput_bps": 5676.16,
        "total_bytes": 154_936,
        **dict.fromkeys(list(schema(FlowRow))[7:]),
    }
    qdiscs = pl.read_parquet(folder / run_folder.QDISCS_TABLE)
    assert (qdiscs.height, qdiscs.schema) == (0, schema(QdiscRow))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("epoch.json", None, "epoch.json: cannot read a raw file: got .*No such file"),
        ("epoch.json", "", "epoch.json: not JSON"),
        ("epoch.json", "{}", r"epoch.json: not what the lab writes: got {} \(KeyError"),
        ("epoch.json", '{"epoch_ns": null}', "epoch.json: not what the lab writes"),
        ("counters.json", "[", "counters.json: not JSON"),
        ("counters.json", "[{}]", "counters.json: not what the lab writes"),
        ("counters.json", "[1]", "counters.json: not what the lab writes"),
        ("qdiscs.json", '{"r1": [{}]}', "qdiscs.json: not what the lab writes"),
        ("qdiscs.json", '{"r1": 5}', "qdiscs.json: not what the lab writes"),
        ("flows/T.receiver.jsonl", None, "T.receiver.jsonl: cannot read a raw file"),
        ("flows/T.receiver.jsonl", "", "T.receiver.jsonl: no 'totals' record"),
        ("flows/S.sender.jsonl", '{"event":\n', "S.sender.jsonl:1: not JSON"),
    ],
)
def test_a_broken_raw_file_is_named(
    folder: Path, name: str, content: str | None, message: str
) -> None:
    put(folder / "raw" / name, content)
    with pytest.raises(ParseError, match=message):
        write_tables(folder, CELL)


def test_raw_files_are_text_or_named(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xff\xfe")
    for read in (read_text, read_json):
        with pytest.raises(ParseError, match=rf"^{path}: cannot read a raw file: got .*utf-8"):
            read(path)
    sample: Any = {"a": [1]}
    path.write_text(json.dumps(sample))
    assert read_json(path) == sample


def watched(**changes: Any) -> Any:
    collect = dataclasses.replace(
        CELL.collect, telemetry=True, queue_s=1.0, sockets_s=2.0, counters_s=6.0
    )
    return dataclasses.replace(CELL, collect=dataclasses.replace(collect, **changes))


TELEMETRY_TABLES = (
    run_folder.CONGESTION_TABLE,
    run_folder.DROPS_TABLE,
    run_folder.QUEUE_TABLE,
    run_folder.SOCKETS_TABLE,
    run_folder.PROTOCOL_TABLE,
)


@pytest.mark.parametrize(
    ("changes", "written"),
    [
        ({}, [True, True, True, True, True]),
        ({"telemetry": False}, [False, False, True, True, True]),
        ({"queue_s": 0.0}, [True, True, False, True, True]),
        ({"sockets_s": 0.0, "counters_s": 0.0}, [True, True, True, False, False]),
    ],
)
def test_what_was_recorded_has_its_tables(
    folder: Path, changes: dict[str, Any], written: list[bool]
) -> None:
    write_tables(folder, watched(**changes))
    assert [(folder / name).is_file() for name in TELEMETRY_TABLES] == written


def test_telemetry_tables_of_the_recorded_trace(folder: Path) -> None:
    write_tables(folder, watched())
    rows = pl.read_parquet(folder / run_folder.CONGESTION_TABLE)
    # The sender's read-back gave the segment size.
    assert rows.filter(flow="T", event="ack")["cwnd_bytes"].to_list()[:3] == [2896, 4344, 5792]
    assert pl.read_parquet(folder / run_folder.DROPS_TABLE).height == 43
    assert pl.read_parquet(folder / run_folder.QUEUE_TABLE).height == 100


def test_tables_of_the_recorded_sockets(folder: Path) -> None:
    write_tables(folder, watched())
    assert pl.read_parquet(folder / run_folder.SOCKETS_TABLE).height == 26
    protocol = pl.read_parquet(folder / run_folder.PROTOCOL_TABLE)
    assert protocol.filter(group="Tcp", counter="RetransSegs", node="src1")["value"][-1] == 23
    # The samples are of a shorter run than the totals: none is above them, and others differ.
    checks = read_json(folder / run_folder.AUDIT)["checks"]
    found = {(check["check"], check["where"]): check["agrees"] for check in checks}
    assert found["socket counters grow to the totals", "flow T, sender"] is True
    assert found["Tcp RetransSegs", "src1, sender"] is False


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("sockets.bin.gz", None, "sockets.bin.gz: cannot read samples"),
        ("sockets.bin.gz", "", "sockets.bin.gz: cannot read samples: got the file is empty"),
        ("sockets.json", "{}", "sockets.json: not what the lab writes"),
        ("trace/pages.bin.gz", None, "pages.bin.gz: cannot read trace pages"),
        ("trace/pages.bin.gz", "", "pages.bin.gz: cannot read trace pages: got the file is empty"),
        ("trace/formats.json", "{}", "formats.json: not what the lab writes"),
        ("places.json", "[{}]", "places.json: not what the lab writes"),
        ("places.json", None, "places.json: cannot read a raw file"),
        ("queue.jsonl", "{}", r"queue.jsonl:1: not a sample of every qdisc"),
    ],
)
def test_a_broken_recording_is_named(
    folder: Path, name: str, content: str | None, message: str
) -> None:
    put(folder / "raw" / name, content)
    with pytest.raises(ParseError, match=message):
        write_tables(folder, watched())


def test_a_table_that_cannot_be_written_leaves_no_view_of_its_buffer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A view that an exception's frames keep alive is complained about by Python 3.13.
    pieces: list[object] = []

    def refuse(path: Path, content: list[object]) -> None:
        pieces.extend(content)
        raise OSError("disk full")

    monkeypatch.setattr(plain_files, "write_pieces", refuse)
    with pytest.raises(OSError, match="disk full"):
        write_parquet(pl.DataFrame({"a": [1]}), tmp_path / "x.parquet")
    assert [type(piece) for piece in pieces] == [bytes]
