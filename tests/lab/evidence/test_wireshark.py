"""What tshark itself says of an exported cell is what happened in it."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from model import run_folder
from model.cell import Cell
from model.links import Loss
from reports.wireshark.cell_export import export_cell
from reports.wireshark.story import MISJUDGED, SENDERS
from testbed.campaign.run_cell import execute
from testbed.command.wireshark import read_recorded
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.dissectors.tshark import shown
from tests.support.exported_cell import misplaced

DURATION_S, LOSS_FRAC = 120.0, 0.05
RETRANSMITTED = (
    "tcp.analysis.retransmission", "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order", "sctp.retransmission",
)  # fmt: skip
MISSED = ("tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment")
FIELDS = (
    *RETRANSMITTED, *MISSED, "tcp.analysis.duplicate_ack", "tcp.seq", "tcp.ack", "sctp.data_tsn",
    "sctp.sack_cumulative_tsn_ack", "frame.comment", "_ws.malformed",
)  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A cell's rows as its senders have them, and tshark's fields of each."""

    folder: Path
    table: pl.DataFrame
    shown: list[dict[str, str]]

    def says(self, *names: str) -> list[bool]:
        return [any(shown[name] for name in names) for shown in self.shown]

    def comment(self, words: str) -> list[bool]:
        return [words in shown["frame.comment"] for shown in self.shown]


@pytest.fixture(scope="module")
def judged(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory
) -> Judged:
    """Run a short cell with many losses, export it, and ask tshark."""
    cell = wireless(duration_s=DURATION_S, pcap=True)
    bottleneck = cell.wired.bottleneck
    forward = dataclasses.replace(
        bottleneck.forward, loss=Loss(model="random", loss_frac=LOSS_FRAC)
    )
    network = dataclasses.replace(
        cell.wired, bottleneck=dataclasses.replace(bottleneck, forward=forward)
    )
    cell = dataclasses.replace(cell, network=network)
    run = tmp_path_factory.mktemp("run")
    folder = run_folder.cell_folder(run, "cell")
    folder.parent.mkdir()
    execute(cell, folder, lab, threading.Event())
    file = export_cell(run, "cell", cell, read_recorded(folder)).files[0]
    table = pl.read_parquet(folder / run_folder.PACKETS_TABLE).filter(SENDERS)
    return Judged(folder, table, shown(file, FIELDS))


def test_kept_captures_open_as_they_are_and_hold_every_packet(judged: Judged) -> None:
    place = judged.folder / run_folder.CAPTURES
    for name, counts in json.loads((place / "counts.json").read_text()).items():
        assert name.endswith(f".pcap{run_folder.COMPRESSED}")
        numbers = [int(row["frame.number"]) for row in shown(place / name, ["frame.number"])]
        assert numbers == list(range(1, 1 + counts["captured_pkts"]))


def test_retransmissions_are_those_that_happened(judged: Judged) -> None:
    again = judged.table["retransmission"].fill_null(value=False).to_list()
    assert judged.says(*RETRANSMITTED) == again
    for protocol in ("tcp", "sctp"):
        assert judged.table.filter(retransmission=True, protocol=protocol).height >= 20
    repeated, reconnected = judged.comment("retransmi"), judged.comment("connect again: ")
    assert [a or b for a, b in zip(repeated, reconnected, strict=True)] == again


def test_nothing_is_out_of_order_or_missing_but_what_comments_object_to(judged: Judged) -> None:
    assert not any(judged.says(*MISSED, "_ws.malformed"))
    objected = judged.comment(MISJUDGED)
    out_of_order = judged.says("tcp.analysis.out_of_order")
    assert out_of_order in (objected, [False] * len(objected))


def test_duplicates_and_numbers_are_those_of_the_comments(judged: Judged) -> None:
    assert judged.says("tcp.analysis.duplicate_ack") == judged.comment("acknowledgement, asks")
    assert [part for shown in judged.shown for part in misplaced(shown)] == []
    tsns = judged.table.filter(pl.col("tsn").is_not_null())["tsn"].to_list()
    assert [int(s["sctp.data_tsn"]) for s in judged.shown if s["sctp.data_tsn"]] == tsns


def test_windows_and_new_data_on_duplicates_are_told(judged: Judged) -> None:
    for words in (
        "new data on the 1st duplicate", "new data on the 1st SACK", ", congestion window from ",
    ):  # fmt: skip
        assert sum(judged.comment(words)) >= 5
    # The kernel tells the window of an established connection: until its sender closes.
    windows = judged.comment(", congestion window ")
    for t_s, asks, known in zip(
        judged.table["t_s"], judged.comment("acknowledgement, asks"), windows, strict=True
    ):
        assert known or not asks or t_s > DURATION_S
