"""How long messages took, from a small table to a group's metrics, worked by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from model import run_folder
from model.run_files.study import Group
from model.run_files.tables import schema
from model.run_files.traffic_tables import FlowRow, MessageRow
from reports.measures.metrics import Value, evaluate, study_metrics_of
from reports.store.message_table import read_messages
from reports.store.sample import NO_MESSAGES, Sample
from tests.support.recorded import wireless_cell
from tests.unit.store.test_span_values import study

T, S = Group(id="T", label="TCP"), Group(id="S", label="SCTP")
CELL = wireless_cell(measure_from_s=1.0, measure_to_s=2.0)
ASKING = study("message_delay_mean_T_s", "hol_wait_mean_T_s")


def message(
    flow: str, sent_s: float, delay_s: float | None, wait_s: float | None, stream: int | None = 0
) -> MessageRow:
    return MessageRow(
        flow=flow, message=1, stream=stream, ordered=True, sent_s=sent_s, accepted_s=sent_s,
        left_s=None, arrived_s=None, delivered_s=None, delay_s=delay_s, wait_s=wait_s,
    )  # fmt: skip


def value(name: str, folder: Path, *rows: MessageRow) -> Value:
    """Return a metric of a cell with these messages of two flows, one in each group."""
    path = folder / run_folder.MESSAGES_TABLE
    path.parent.mkdir(parents=True)
    values = [dataclasses.asdict(row) for row in rows]
    pl.DataFrame(values, schema=schema(MessageRow)).write_parquet(path)
    empty: dict[str, Any] = dict.fromkeys(schema(FlowRow))
    flows = tuple(FlowRow(**{**empty, "flow": flow.id, "group": flow.group}) for flow in CELL.flows)
    found = Sample(
        flows=flows, groups=(T, S), compare=None, bottleneck_rate_bps=1,
        messages=read_messages(folder, CELL, ASKING),
    )  # fmt: skip
    return evaluate(study_metrics_of((T, S), ("T", "S"))[name], found)


#: Of T five inside the window from 1 s until just before 2 s, of 0.1 to 0.5 s; of S one.
ROWS = (
    message("T", 0.999, 9.0, 9.0),
    *(message("T", 1.0 + i / 10, 0.1 + i / 10, i / 100) for i in range(5)),
    message("T", 2.0, 9.0, 9.0),
    message("S", 1.5, 0.7, None),
)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("message_delay_mean_T_s", 0.3),
        ("message_delay_p50_T_s", 0.3),
        ("message_delay_p95_T_s", 0.48),  # 0.95 x 4 = 3.8 places on: 0.4 + 0.8 x 0.1
        ("message_delay_p99_T_s", 0.496),
        ("hol_wait_mean_T_s", 0.02),
        ("hol_wait_p99_T_s", 0.0396),
        ("message_delay_p99_S_s", 0.7),
        ("hol_blocked_T_frac", 0.8),  # all but the first, which waited for nobody
        ("stream_delay_max_T_s", 0.3),  # one stream
        ("stream_delay_min_T_s", 0.3),
    ],
)
def test_by_hand(tmp_path: Path, name: str, wanted: float) -> None:
    assert value(name, tmp_path, *ROWS).value == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("name", "rows", "reason"),
    [
        ("hol_wait_mean_S_s", ROWS, "1 of 1 messages of SCTP were not seen to arrive"),
        ("message_delay_mean_S_s", ROWS[:-1], "SCTP has no messages in the measuring window"),
        (
            "message_delay_p95_T_s", (*ROWS, message("T", 1.7, None, None)),
            "1 of 6 messages of TCP were not delivered",
        ),
    ],
)  # fmt: skip
def test_what_is_not_known_of_every_message_is_null_with_a_reason(
    tmp_path: Path, name: str, rows: tuple[MessageRow, ...], reason: str
) -> None:
    found = value(name, tmp_path, *rows)
    assert found.value is None
    assert found.reason is not None
    assert found.reason.startswith(reason)


def test_a_table_that_nobody_asks_for_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / run_folder.MESSAGES_TABLE
    path.parent.mkdir()
    path.write_bytes(b"no table")
    assert read_messages(tmp_path, CELL, study("goodput_T_bps")) == NO_MESSAGES
    assert read_messages(tmp_path / "elsewhere", CELL, ASKING) == NO_MESSAGES


def test_the_slowest_and_the_fastest_stream_by_hand(tmp_path: Path) -> None:
    rows = [
        *(message("S", 1.1, delay_s, 0.0, stream=0) for delay_s in (0.1, 0.3)),
        *(message("S", 1.2, delay_s, 0.0005, stream=1) for delay_s in (0.1, 0.9)),
        message("S", 1.3, 0.15, 0.0011, stream=2),
        message("S", 2.5, 9.0, 9.0, stream=3),  # after the window
    ]
    names = ("stream_delay_max_S_s", "stream_delay_min_S_s", "hol_blocked_S_frac")
    found = [value(name, tmp_path / name, *rows).value for name in names]
    assert found == [pytest.approx(0.5), pytest.approx(0.15), pytest.approx(0.2)]


def test_messages_of_tcp_are_one_stream_that_has_no_number(tmp_path: Path) -> None:
    rows = [message("T", 1.1, 0.1, 0.0, stream=None), message("T", 1.2, 0.5, 0.0, stream=None)]
    assert value("stream_delay_max_T_s", tmp_path, *rows).value == pytest.approx(0.3)
