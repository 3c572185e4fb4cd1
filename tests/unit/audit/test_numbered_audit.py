"""The audit of a cell with listed packets: a recorded one in which one loss is called listed."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.tables.write import write_tables
from model import run_folder
from model.cell import Cell, from_dict
from model.errors import ParseError
from tests.support.recorded import DATA, value

RECORDED: Cell = from_dict(value("lab-cell-7.3/cell.json"))
#: T's data packets behind the buffer, one that was lost there, and one that was not.
SEEN, LOST, KEPT = 29, 7, 8


def listing(*numbers: int) -> Cell:
    tcp, sctp = RECORDED.flows
    return dataclasses.replace(
        RECORDED, flows=(dataclasses.replace(tcp, drop_data_pkts=numbers), sctp)
    )


def edit(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the recording in which a filter, not the loss model, dropped one of T's packets."""
    copy = Path(shutil.copytree(DATA / "lab-cell-7.3", tmp_path / "cell"))

    def by_filter(shown: Any) -> None:
        (netem,) = [q for q in shown["r2"] if q["dev"] == "ifb-bottleneck"]
        netem["drops"] -= 1
        shown["r2"].append({"kind": "clsact", "dev": "ifb-bottleneck", "drops": 1})

    edit(copy / "raw" / "qdiscs.json", by_filter)
    entry = {
        "flow": "T", "node": "r2", "device": "ifb-bottleneck", "listed_pkts": [LOST],
        "seen_pkts": SEEN, "dropped_pkts": 1, "drawn_dropped_pkts": 0,
    }  # fmt: skip
    (copy / run_folder.NUMBERED_DROPS).write_text(json.dumps([entry]))
    return copy


def wrong(folder: Path, cell: Cell) -> list[str]:
    """Return what the cell's audit says against it."""
    write_tables(folder, cell)
    checks = json.loads((folder / run_folder.AUDIT).read_text())["checks"]
    # The packet was lost by netem when this was recorded: it is no longer among its draws.
    drawn = "lost by the draws of the seed"
    return [c["check"] for c in checks if c["agrees"] is not True and c["check"] != drawn]


def test_a_listed_packet_counts_as_lost_by_the_loss_model(folder: Path) -> None:
    assert wrong(folder, listing(LOST)) == []
    rows = pl.read_parquet(folder / run_folder.AUDIT_TABLE)
    assert rows["loss_dropped_pkts"].to_list() == [5, 1, 2, 0]
    assert rows["closes"].to_list() == [True] * 4


def test_a_packet_that_passed_is_no_proof(folder: Path) -> None:
    edit(folder / run_folder.NUMBERED_DROPS, lambda lists: lists[0].update(listed_pkts=[KEPT]))
    assert wrong(folder, listing(KEPT)) == ["listed packets lost"]


def test_a_program_that_missed_packets_is_told(folder: Path) -> None:
    edit(folder / run_folder.NUMBERED_DROPS, lambda lists: lists[0].update(seen_pkts=SEEN - 1))
    assert wrong(folder, listing(LOST)) == ["captured where packets are numbered"]


def test_a_filter_nobody_listed_a_packet_for_is_not_explained(folder: Path) -> None:
    assert "offered after bottleneck buffer" in wrong(folder, RECORDED)


def test_a_list_without_its_counts_is_an_error(folder: Path) -> None:
    edit(folder / run_folder.NUMBERED_DROPS, lambda lists: lists[0].pop("seen_pkts"))
    with pytest.raises(ParseError, match=r"numbered_drops\.json"):
        write_tables(folder, listing(LOST))
    (folder / run_folder.NUMBERED_DROPS).unlink()
    with pytest.raises(ParseError, match=r"numbered_drops\.json"):
        write_tables(folder, listing(LOST))
