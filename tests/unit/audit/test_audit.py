"""A recorded cell adds up to the packet and to the byte; one packet too few is told."""

from __future__ import annotations

import copy
import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.packets.columns import COLUMNS as COLUMNS_OF_PACKETS
from collectors.tables.write import write_tables
from model import run_folder
from model.cell import Cell, from_dict
from model.errors import ParseError
from tests.support.recorded import DATA, put, value

CELL: Cell = from_dict(value("lab-cell-7.3/cell.json"))
WITHOUT = dataclasses.replace(CELL, collect=dataclasses.replace(CELL.collect, pcap=False))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "lab-cell-7.3", tmp_path / "cell"))


def edit(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def audit(folder: Path, cell: Cell = CELL) -> dict[str, Any]:
    write_tables(folder, cell)
    found: dict[str, Any] = json.loads((folder / run_folder.AUDIT).read_text())
    return found


def rows(folder: Path, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return pl.read_parquet(folder / run_folder.AUDIT_TABLE).select(columns).rows()


COLUMNS = (
    "flow", "direction", "sent_pkts", "access_dropped_pkts", "queue_dropped_pkts",
    "loss_dropped_pkts", "exit_dropped_pkts", "delivered_pkts", "in_flight_pkts",
    "unexplained_pkts", "closes",
)  # fmt: skip


def test_the_recorded_cell_adds_up(folder: Path) -> None:
    found = audit(folder)
    assert found["warnings"] == []
    assert {check["agrees"] for check in found["checks"]} == {True}
    assert len(found["checks"]) == 54
    assert rows(folder, COLUMNS) == [
        ("T", "data", 32, 0, 0, 5, 0, 27, 0, 0, True),
        ("T", "ack", 26, 0, 0, 1, 0, 25, 0, 0, True),
        ("S", "data", 10, 0, 0, 2, 0, 8, 0, 0, True),
        ("S", "ack", 7, 0, 0, 0, 0, 7, 0, 0, True),
    ]


def test_counters_alone_add_up_too(folder: Path) -> None:
    shutil.rmtree(folder / "raw" / "pcap")
    found = audit(folder, WITHOUT)
    assert found["warnings"] == []
    assert {check["agrees"] for check in found["checks"]} == {True, None}
    assert rows(folder, COLUMNS) == [
        ("T", "data", 32, 0, 0, 5, 0, 27, 0, 0, True),
        # Nobody counts acknowledgements by flow where they are lost.
        ("T", "ack", 26, 0, 0, None, 0, 25, 0, None, None),
        ("S", "data", 10, 0, 0, 2, 0, 8, 0, 0, True),
        ("S", "ack", 7, 0, 0, None, 0, 7, 0, None, None),
    ]


def test_only_a_captured_cell_has_packets_and_paths(folder: Path) -> None:
    write_tables(folder, WITHOUT)
    assert not (folder / run_folder.PACKETS_TABLE).exists()
    assert not (folder / run_folder.PATH_TABLE).exists()
    without = pl.read_parquet(folder / run_folder.AUDIT_TABLE)
    write_tables(folder, CELL)
    assert dict(pl.read_parquet(folder / run_folder.PACKETS_TABLE).schema) == COLUMNS_OF_PACKETS
    assert pl.read_parquet(folder / run_folder.PATH_TABLE).height == 2
    assert pl.read_parquet(folder / run_folder.AUDIT_TABLE).schema == without.schema


def test_the_same_captures_give_the_same_bytes(folder: Path) -> None:
    write_tables(folder, CELL)
    first = {path.name: path.read_bytes() for path in (folder / "tables").iterdir()}
    write_tables(folder, CELL)
    assert {path.name: path.read_bytes() for path in (folder / "tables").iterdir()} == first


def _one_more_dropped(shown: Any) -> None:
    for qdisc in shown["r2"]:
        if qdisc["dev"] == "ifb-bottleneck" and qdisc.get("root"):
            qdisc["drops"] += 1


def test_a_drop_too_many_is_told(folder: Path) -> None:
    edit(folder / "raw" / "qdiscs.json", _one_more_dropped)
    found = audit(folder)
    wrong = [(c["check"], c["where"], c["wanted"], c["got"]) for c in found["checks"]
             if c["agrees"] is False]  # fmt: skip
    channel = "bottleneck channel (r2: ifb-bottleneck)"
    assert wrong == [
        ("offered after bottleneck buffer", channel, "42 packets", "43 packets"),
        ("dropped by flow counters", channel, "8 packets", "7 packets"),
        ("captured before", channel, "43 packets", "42 packets"),
        ("lost by the draws of the seed", channel, "7 packets", "8 packets"),
    ]
    assert found["warnings"] == [
        {
            "rule": "does-not-add-up",
            "where": channel,
            "text": (
                "Packets do not add up: offered after bottleneck buffer: wanted 42 packets, "
                "got 43 packets. 4 of 54 comparisons disagree; all are in audit.json."
            ),
        }
    ]


def test_a_packet_a_counter_missed_is_unexplained(folder: Path) -> None:
    def one_less(counters: Any) -> None:
        for row in counters:
            if (row["flow"], row["counter"]) == ("T", "loss_offered"):
                row["packets"] -= 1

    edit(folder / "raw" / "counters.json", one_less)
    found = audit(folder)
    assert found["warnings"][0]["rule"] == "does-not-add-up"
    wrong = {(c["check"], c["where"]) for c in found["checks"] if c["agrees"] is False}
    assert ("captured", "flow T, loss_offered") in wrong


def test_a_packet_missing_from_a_capture_is_told(folder: Path) -> None:
    path = folder / "raw" / "pcap" / "r2.pcap"
    data = path.read_bytes()
    captured = int.from_bytes(data[32:36], "little")
    path.write_bytes(data[:24] + data[24 + 16 + captured :])
    edit(path.with_name("counts.json"), lambda counts: counts["r2.pcap"].update(captured_pkts=102))
    wrong = {(c["check"], c["where"]) for c in audit(folder)["checks"] if c["agrees"] is False}
    assert ("captured", "flow T, loss_passed") in wrong
    assert any(check == "captured after" for check, _ in wrong)


def test_goodput_that_captures_do_not_show_is_told(folder: Path) -> None:
    path = folder / "raw" / "flows" / "T.receiver.jsonl"
    path.write_text(path.read_text().replace('"goodput_bytes":34752', '"goodput_bytes":34753'))
    found = audit(folder)
    assert [w["where"] for w in found["warnings"]] == ["flow T, receiver"]


@pytest.mark.parametrize(("before_s", "agrees"), [(3e-6, True), (30e-6, False)])
def test_what_came_as_the_window_ended_may_count(
    folder: Path, before_s: float, agrees: bool
) -> None:
    """The last packet counted arrives so long after the window's end."""
    write_tables(folder, CELL)
    counted = (pl.col("payload_bytes") > 0) & (pl.col("t_s") < CELL.measure_to_s)
    packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE)
    arrived = packets.filter(counted, flow="T", point="delivered", direction="data")
    end_s = float(arrived["t_s"].to_numpy().max()) - before_s
    found = audit(folder, dataclasses.replace(CELL, measure_to_s=end_s))
    (told,) = (
        c for c in found["checks"] if c["check"] == "goodput" and c["where"] == "flow T, receiver"
    )
    assert (told["agrees"], told["wanted"] == told["got"]) == (agrees, False)


def test_a_tap_in_the_wrong_place_is_told(folder: Path) -> None:
    """Before and after the loss model swapped: counts may agree, times do not."""

    def swap(points: Any) -> None:
        by_point = {(t["point"], t["direction"]): t for t in points["taps"]}
        one, other = by_point["loss_passed", "data"], copy.copy(by_point["loss_offered", "data"])
        by_point["loss_offered", "data"]["point"] = one["point"]
        one["point"] = other["point"]

    edit(folder / "raw" / "pcap" / "points.json", swap)
    wrong = {c["check"] for c in audit(folder)["checks"] if c["agrees"] is False}
    assert "time" in wrong


def test_what_is_held_at_the_end_is_under_way(folder: Path) -> None:
    def held(shown: Any) -> None:
        for qdisc in shown["r1"]:
            if qdisc["dev"] == "r1-bottleneck" and qdisc["kind"] == "netem":
                qdisc["qlen"] += 1

    edit(folder / "raw" / "qdiscs.json", held)
    audit(folder)
    assert [row[-1] for row in rows(folder, COLUMNS)] == [None] * 4


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("qdiscs-start.json", None, "qdiscs-start.json: cannot read a raw file"),
        ("qdiscs-start.json", '{"r1": [{}]}', "qdiscs-start.json: not what the lab writes"),
        ("qdiscs.json", "{}", r"qdiscs.json: no counters of a qdisc: wanted r1: ifb-src1, source"),
        ("path.json", '[{"name": 1}]', "path.json: not what the lab writes"),
    ],
)
def test_a_broken_raw_file_is_named(
    folder: Path, name: str, content: str | None, message: str
) -> None:
    put(folder / "raw" / name, content)
    with pytest.raises(ParseError, match=message):
        write_tables(folder, CELL)
