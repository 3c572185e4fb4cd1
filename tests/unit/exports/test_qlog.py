"""qlog files have the form the draft gives them, and say what the tables say."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.exports import qlog_events
from reports.exports.cell import ExportedCell, in_ms
from reports.exports.qlog import qlog_files
from reports.store import columns
from tests.support.recorded import value
from tests.unit.exports.export_run import content, table

SCHEMA = value("qlog/sequential.schema.json")
RECORD = "\x1e"
Records = tuple[dict[str, Any], list[dict[str, Any]]]


def validator(definition: str) -> jsonschema.Draft202012Validator:
    found = {"$ref": f"#/$defs/{definition}", "$defs": SCHEMA["$defs"]}
    return jsonschema.Draft202012Validator(found)


def read(found: bytes) -> Records:
    """Return header and events of a file of JSON text sequences (RFC 7464), read strictly."""
    assert found.startswith(RECORD.encode())
    texts = found.decode().split(RECORD)[1:]
    assert all(text.endswith("\n") for text in texts)
    header, *events = map(json.loads, texts)
    return header, events


def exported(cell: ExportedCell) -> dict[str, Records]:
    """Return each flow's file."""
    files = list(qlog_files(cell))
    names = [f"{cell.stem}-{flow.id}.sqlog" for flow in cell.cell.flows]
    assert [file.name for file in files] == names[: len(files)]
    return {file.name[-7]: read(content(file.pieces)) for file in files}


@pytest.fixture(scope="module")
def files(cell: ExportedCell) -> dict[str, Records]:
    return exported(cell)


def named(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event for event in events if event["name"] == name]


def test_files_have_the_form_of_the_draft(files: dict[str, Records]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert list(files) == ["T", "S"]
    for header, events in files.values():
        validator("header").validate(header)
        of_event = validator("event")
        for event in events:
            of_event.validate(event)
        named = {event["name"].partition(":")[0] for event in events}
        assert named <= {uri.rpartition(":")[2] for uri in header["trace"]["event_schemas"]}


def test_the_form_is_found_at_the_beginning(cell: ExportedCell) -> None:
    start = content(next(qlog_files(cell)).pieces)[:256].decode()
    assert "urn:ietf:params:qlog:file:sequential" in start
    assert "application/qlog+json-seq" in start


def test_events_are_in_order(files: dict[str, Records]) -> None:
    for _, events in files.values():
        times = [event["time"] for event in events]
        assert times == sorted(times)
        assert len(times) > 1000


def test_the_header_says_whose_and_when(cell: ExportedCell, files: dict[str, Records]) -> None:
    header, _ = files["S"]
    assert header["trace"]["vantage_point"] == {"name": "src2", "type": "client"}
    assert header["title"] == "wireless: loss_frac 1 %; seed 2; flow S"
    assert "7.3.4-groundtruth" in header["description"]
    assert cell.epoch_ns is not None
    epoch = header["trace"]["common_fields"]["reference_time"]["epoch"]
    assert epoch == f"2026-01-01T00:00:0{cell.epoch_ns // 10**9 % 10}.000000000Z"


def test_times_count_from_the_flows_start(cell: ExportedCell) -> None:
    flows = tuple(dataclasses.replace(flow, start_s=0.25) for flow in cell.cell.flows)
    changed = dataclasses.replace(cell.cell, flows=flows)
    moved = dataclasses.replace(cell, found=dataclasses.replace(cell.found, cell=changed))
    header, events = exported(moved)["T"]
    assert header["trace"]["common_fields"]["reference_time"]["epoch"].endswith(".250000000Z")
    first_s = table(cell, "packets").filter(flow="T", point="sent", direction="data")["t_s"][0]
    assert events[0]["time"] == pytest.approx(first_s * 1000 - 250, abs=1e-9)


def test_an_unknown_start_is_unknown(cell: ExportedCell) -> None:
    header, _ = exported(dataclasses.replace(cell, epoch_ns=None))["T"]
    validator("header").validate(header)
    reference = header["trace"]["common_fields"]["reference_time"]
    assert reference == {"clock_type": "monotonic", "epoch": "unknown"}


def ns(times_ms: list[float]) -> list[int]:
    return [round(Decimal(repr(time)) * 10**6) for time in times_ms]


def test_the_kernels_rows_are_events(cell: ExportedCell, files: dict[str, Records]) -> None:
    for flow, (_, events) in files.items():
        rows = table(cell, "congestion").filter(flow=flow)
        acks = rows.filter(event="ack")
        shown = named(events, "recovery:metrics_updated")
        assert ns([event["time"] for event in shown]) == [round(t * 10**9) for t in acks["t_s"]]
        for key, column in qlog_events.METRICS.items():
            assert [event["data"].get(key) for event in shown] == acks[column].to_list()
        rtts_us = [
            None if found is None else round(found * 1000)
            for found in (event["data"].get("smoothed_rtt") for event in shown)
        ]
        wanted = [None if rtt is None else round(rtt * 10**6) for rtt in acks["srtt_s"]]
        assert rtts_us == wanted
        assert any(wanted) == (flow == "T")
        counts = Counter(event["name"] for event in events)
        assert counts["recovery:retransmitted"] == len(rows.filter(event="retransmit"))
        states = [
            event["data"]["new"] for event in named(events, "recovery:congestion_state_updated")
        ]
        assert states == rows.filter(event="state")["state"].to_list()
        assert bool(states) == (flow == "T")


def test_packets_are_those_the_sender_saw(cell: ExportedCell, files: dict[str, Records]) -> None:
    for flow, (_, events) in files.items():
        rows = table(cell, "packets").filter(flow=flow)
        for name, point, direction in (("sent", "sent", "data"), ("received", "delivered", "ack")):
            mine = rows.filter(point=point, direction=direction)
            shown = named(events, f"transport:packet_{name}")
            assert len(mine) > 5
            assert ns([event["time"] for event in shown]) == [round(t * 10**9) for t in mine["t_s"]]
            sizes = [event["data"]["raw"]["length"] for event in shown]
            assert sizes == mine["ip_bytes"].to_list()
            numbers = [event["data"]["header"].get("packet_number") for event in shown]
            assert numbers == mine["packet"].to_list()
            for column in qlog_events.OWN_HEADER:
                assert [event["data"].get(column) for event in shown] == mine[column].to_list()
            for column in qlog_events.BLOCKS:
                wanted = [
                    None if found is None else [[one["start"], one["end"]] for one in found]
                    for found in mine[column].to_list()
                ]
                assert [event["data"].get(column) for event in shown] == wanted


def test_losses_are_where_the_sender_acted(cell: ExportedCell, files: dict[str, Records]) -> None:
    found = 0
    for flow, (_, events) in files.items():
        rows = table(cell, "episodes").filter(pl.col("detected_s").is_not_null(), flow=flow)
        shown = named(events, "recovery:packet_lost")
        assert [event["data"]["episode"] for event in shown] == rows["episode"].to_list()
        lost = [event["data"]["header"].get("packet_number") for event in shown]
        assert lost == rows["first_lost_packet"].to_list()
        sent = {
            event["data"]["header"].get("packet_number")
            for event in named(events, "transport:packet_sent")
        }
        assert set(lost) <= sent
        found += len(shown)
    assert found > 0


def test_a_cell_that_recorded_none_of_it_has_no_file(cell: ExportedCell, tmp_path: Path) -> None:
    assert list(qlog_files(dataclasses.replace(cell, folder=tmp_path))) == []


def test_few_rows_are_held_at_once(cell: ExportedCell, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [content(file.pieces) for file in qlog_files(cell)]
    held: list[int] = []

    def slices(path: Path, row_type: type, wanted: Any) -> Iterator[pl.DataFrame]:
        for found in columns.read_slices(path, row_type, wanted, at_once=50):
            held.append(len(found))
            yield found

    monkeypatch.setattr(qlog_events, "read_slices", slices)
    files = list(qlog_files(cell))
    assert held == []  # nothing is read before it is asked for
    assert [content(file.pieces) for file in files] == whole
    assert max(held) == 50


@given(st.integers(0, 10**15), st.integers(0, 10**12))
@settings(deadline=None)
def test_nanoseconds_of_a_table_are_not_lost(t_ns: int, start_ns: int) -> None:
    t_s, start_s = t_ns / 10**9, start_ns / 10**9
    assert Decimal(repr(in_ms(t_s, start_s))) == Decimal(t_ns - start_ns) / 10**6


@given(st.text(st.characters(exclude_categories=["Cs"])))
@settings(deadline=None)
def test_hostile_settings_are_one_record(cell: ExportedCell, text: str) -> None:
    changed = dataclasses.replace(cell.cell, point={"name": text})
    found = dataclasses.replace(
        cell, found=dataclasses.replace(cell.found, cell=changed), folder=cell.folder
    )
    pieces = iter(next(qlog_files(found)).pieces)
    header, events = read(next(pieces))
    assert events == []
    assert header["title"] == f"wireless: name {text}; seed 2; flow T"
