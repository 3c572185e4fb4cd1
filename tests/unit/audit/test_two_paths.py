"""A recorded association over two paths adds up on each of them, and what is not so is told."""

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
from reports.wireshark.cell_export import export_cell
from testbed.command.wireshark import read_recorded
from tests.support.recorded import DATA, value

CELL: Cell = from_dict(value("two-paths-7.3/cell.json"))
#: What cannot be told: the draws of a link that something happened to, packets of small messages.
UNTOLD = {"lost by the draws of the seed", "retransmitted, by packets"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "two-paths-7.3", tmp_path / "cells" / "cell"))


def edit(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def wrong(folder: Path, cell: Cell = CELL) -> list[tuple[str, str]]:
    write_tables(folder, cell)
    checks = json.loads((folder / run_folder.AUDIT).read_text())["checks"]
    assert {one["check"] for one in checks if one["agrees"] is None} <= UNTOLD
    return [(one["check"], one["where"]) for one in checks if one["agrees"] is False]


def packets(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / run_folder.PACKETS_TABLE)


def test_it_adds_up_on_both_paths(folder: Path) -> None:
    assert wrong(folder) == []
    row, back = pl.read_parquet(folder / run_folder.AUDIT_TABLE).to_dicts()
    names = ("sent_pkts", "loss_dropped_pkts", "delivered_pkts", "unexplained_pkts")
    assert [row[name] for name in names] == [73, 10, 63, 0]
    assert [back[name] for name in names] == [62, 0, 62, 0]
    counted = packets(folder).group_by("path", "direction", "point").len().rows()
    found = {(path, way, point): count for path, way, point, count in counted}
    assert [found[path, "data", "sent"] for path in (1, 2)] == [41, 32]
    assert [found[path, "data", "loss_passed"] for path in (1, 2)] == [32, 31]
    assert [found[path, "ack", "delivered"] for path in (1, 2)] == [32, 30]


def test_an_association_is_one_connection_and_a_repeat_of_the_other_path_is_one(
    folder: Path,
) -> None:
    wrong(folder)
    sent = packets(folder).filter(point="sent", direction="data")
    assert sent["connection"].unique().to_list() == [0]
    again = sent.filter(pl.col("retransmission"))
    # Chunks 30 to 32 were out when the link went down, 33 to 38 were sent in vain after it; the
    # second path loses one by itself, and has no other to repeat it over.
    repeats = [(2, 30, 3), (2, 33, 6), (2, 64, 1)]
    assert again.select("path", "tsn", "data_chunk_count").rows() == repeats
    assert again["t_s"].to_list() == pytest.approx([6.616, 7.704, 13.4], abs=1e-3)
    lost = sent.filter(pl.col("tsn").is_between(30, 38), ~pl.col("retransmission"))
    assert lost["path"].to_list() == [1] * 9
    first = sent.filter(pl.col("tsn") > 38)
    assert first["path"].unique().to_list() == [2]
    acks = packets(folder).filter(point="delivered", direction="ack")
    assert acks.drop_nulls("cum_tsn_ack")["cum_tsn_ack"].is_sorted()


def test_the_episode_is_that_of_the_link_that_failed(folder: Path) -> None:
    wrong(folder)
    row, other = pl.read_parquet(folder / run_folder.EPISODES_TABLE).to_dicts()
    assert (other["timeouts"], other["lost_pkts"], other["retransmitted_pkts"]) == (1, 1, 1)
    assert (row["lost_at"], row["detected_by"], row["timeouts"]) == ("loss", "timeout", 2)
    assert (row["lost_pkts"], row["retransmitted_pkts"], row["lost_again_pkts"]) == (9, 2, 0)
    assert row["recovered_s"] == pytest.approx(7.845, abs=1e-3)


def test_messages_arrive_over_either_path(folder: Path) -> None:
    wrong(folder)
    messages = pl.read_parquet(folder / run_folder.MESSAGES_TABLE)
    assert messages.select("left_s", "arrived_s", "delivered_s").null_count().row(0) == (0, 0, 0)
    assert (messages["delivered_s"] >= messages["arrived_s"]).all()


def _one_more(node: str, device: str, key: str) -> Callable[[Any], None]:
    def change(shown: Any) -> None:
        (one,) = [q for q in shown[node] if q["dev"] == device and q.get("root")]
        one[key] += 1

    return change


def test_a_packet_too_many_is_told_of_the_path_that_it_is_on(folder: Path) -> None:
    edit(folder / "raw" / "qdiscs.json", _one_more("r4", "ifb-bottleneck2", "drops"))
    found = wrong(folder)
    assert {check for check, _ in found} >= {"captured before", "offered after bottleneck buffer"}
    assert all("path 2" in where for _, where in found if not where.startswith("flow S, data"))


def test_captures_of_two_paths_in_each_others_place_are_told(folder: Path) -> None:
    def swap(points: Any) -> None:
        for tap in points["taps"]:
            tap["path"] = 3 - tap.get("path", 1)

    edit(folder / "raw" / "pcap" / "points.json", swap)
    found = wrong(folder)
    assert {"captured", "captured before", "captured after", "time"} <= {one for one, _ in found}


def test_a_second_path_of_another_delay_is_told(folder: Path) -> None:
    second = CELL.wired.further_paths[0]
    forward = dataclasses.replace(second.bottleneck.forward, owd_s=0.0601)
    link = dataclasses.replace(second.bottleneck, forward=forward)
    second = dataclasses.replace(second, bottleneck=link)
    network = dataclasses.replace(CELL.wired, further_paths=(second,))
    where = "bottleneck channel, path 2 (r4: ifb-bottleneck2)"
    assert wrong(folder, dataclasses.replace(CELL, network=network)) == [("time", where)]


def test_a_delay_that_an_event_changes_is_between_what_it_was_and_what_it_became(
    folder: Path,
) -> None:
    cut, back = CELL.events
    far = dataclasses.replace(back, state="", owd_s=0.05)
    assert wrong(folder, dataclasses.replace(CELL, events=(cut, far))) == []
    write_tables(folder, dataclasses.replace(CELL, events=(cut, far)))
    checks = json.loads((folder / run_folder.AUDIT).read_text())["checks"]
    (time,) = [c for c in checks if c["check"] == "time" and "path 2" not in c["where"]]
    assert time["wanted"] == "20.000 to 50.000 ms"


@pytest.mark.parametrize("path", [0, 3, -1, "2", None, 1.5])
def test_a_tap_on_no_path_is_refused(folder: Path, path: Any) -> None:
    edit(
        folder / "raw" / "pcap" / "points.json", lambda points: points["taps"][0].update(path=path)
    )
    with pytest.raises(ParseError, match=r"points\.json"):
        write_tables(folder, CELL)


def test_the_export_names_paths(folder: Path) -> None:
    write_tables(folder, CELL)
    (folder / run_folder.ENV).write_text('{"kernel_release": "7.3.4"}')
    found = export_cell(folder.parents[1], "cell", CELL, read_recorded(folder), all_points=True)
    senders, _, everything = (path.read_bytes() for path in found.files)
    for words in (
        b"src2 sends (r1-src2)",
        b"src2 sends, path 2 (r3-src2)",
        b"over path 2, after path 1",
        b"retransmission of chunks 31, 32, 33 (TSN 30, 31, 32) after timeout",
    ):
        assert words in senders
    assert b"after loss and delay, path 2 (ifb-bottleneck2)" in everything
