"""How long each message takes: by hand on a path without loss, and behind one lost packet."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from collectors.tables.write import write_tables
from model import run_folder
from model.cell import Cell, Flow
from model.links import Loss
from model.network_path import forward_path, packet_bytes
from model.units import bits
from tests.support.recorded import with_bottleneck

Run = Callable[..., Path]
Make = Callable[..., Cell]
MESSAGE_BYTES = 1448
#: The round trip is half a second: so seldom that TCP's first window of two is never full; so often
#: that the third message behind a lost one is reported before a timer of one second runs out.
SELDOM_S, OFTEN_S = 0.3, 0.2
#: The lab's clock moves in steps of 256 ns, and each link's shaper and channel sleep until theirs.
CLOSE_S = 20e-6
#: With their IP headers: a SACK with one gap block, TCP's last packet of the handshake.
SACK_BYTES, TCP_ACK_BYTES = 52, 40


def recording(cell: Cell, every_s: float, *flows: Flow) -> Cell:
    """Return a cell without random loss that hands these flows' messages over at a rate."""
    rate_bps = round(bits(MESSAGE_BYTES) / every_s)
    paced = tuple(dataclasses.replace(flow, rate_bps=rate_bps) for flow in flows)
    collect = dataclasses.replace(cell.collect, pcap=True, messages=True)
    cell = with_bottleneck(cell, queue_pkts=100, loss=Loss(model="none", loss_frac=0.0))
    return dataclasses.replace(cell, flows=paced, collect=collect)


def messages(cell: Cell, folder: Path) -> pl.DataFrame:
    """Return the messages of a cell whose audit closes without a warning."""
    write_tables(folder, cell)
    audit = json.loads((folder / run_folder.AUDIT).read_text())
    assert [check for check in audit["checks"] if check["agrees"] is False] == []
    assert audit["warnings"] == []
    return pl.read_parquet(folder / run_folder.MESSAGES_TABLE)


def alone_s(cell: Cell, flow: Flow) -> float:
    """Return what a message takes that meets nobody: each link's serialisation and propagation."""
    size_bits = bits(packet_bytes(flow))
    return sum(way.owd_s + size_bits / way.rate_bps for way in forward_path(cell.wired))


def test_without_loss_a_message_takes_what_the_links_take(wireless: Make, run_cell: Run) -> None:
    cell = wireless(duration_s=9.0)
    tcp, sctp = cell.flows
    cell = recording(
        cell,
        SELDOM_S,
        dataclasses.replace(tcp, stop_s=4.0),
        dataclasses.replace(sctp, start_s=5.0, streams=3),
    )
    found = messages(cell, run_cell(cell))
    for flow in cell.flows:
        mine = found.filter(flow=flow.id)
        assert mine.height >= 10
        wanted_s = [alone_s(cell, flow)] * mine.height
        if flow.protocol == "tcp":
            # Behind the acknowledgement with which it connects, on its own link.
            rate_bps = cell.wired.source_access.forward.rate_bps
            wanted_s[0] += bits(TCP_ACK_BYTES) / rate_bps
        assert mine["delay_s"].to_list() == pytest.approx(wanted_s, abs=CLOSE_S)
        assert mine["sent_s"].diff().drop_nulls().to_list() == pytest.approx(
            [SELDOM_S] * (mine.height - 1), abs=1e-5
        )
        assert mine["wait_s"].to_numpy().max() < CLOSE_S
        assert (mine["left_s"] - mine["sent_s"]).to_numpy().max() < CLOSE_S
    assert found.filter(flow=sctp.id)["stream"].to_list()[:5] == [0, 1, 2, 0, 1]
    assert found.filter(flow=tcp.id)["stream"].null_count() == found.filter(flow=tcp.id).height


def test_behind_a_lost_packet_only_ordered_messages_wait(wireless: Make, run_cell: Run) -> None:
    cell = wireless(duration_s=8.0)
    _, sctp = cell.flows
    losing = dataclasses.replace(sctp, drop_data_pkts=(20,))
    cell = recording(
        cell,
        OFTEN_S,
        losing,
        # Half a message's time later: neither waits in the buffer for the other.
        dataclasses.replace(
            losing, id="U", group="T", source=0, destination=0, port=5003, ordered=False,
            start_s=OFTEN_S / 2,
        ),
    )  # fmt: skip
    found = messages(cell, run_cell(cell))
    alone, back = alone_s(cell, losing), _sack_s(cell)
    ordered, unordered = found.filter(flow=sctp.id), found.filter(flow="U")
    # The third message behind it is reported, and the lost one sent again at once.
    for mine in (ordered, unordered):
        lost = mine.row(19, named=True)
        third = mine.row(22, named=True)
        assert lost["delivered_s"] == pytest.approx(
            third["sent_s"] + alone + back + alone, abs=1e-3
        )
        assert lost["wait_s"] < CLOSE_S
    # The sender's timer runs out all the same: two messages wait for its window, at the sender.
    held = pl.col("message").is_in((27, 28))
    others = unordered.filter(pl.col("message") != 20)
    assert others["wait_s"].to_numpy().max() < CLOSE_S
    at_once = others.filter(~held)
    assert at_once["delay_s"].to_list() == pytest.approx([alone] * at_once.height, abs=CLOSE_S)
    assert (others.filter(held)["left_s"] - others.filter(held)["sent_s"]).to_numpy().min() > 0.01
    # In order, all that came meanwhile is delivered with the lost one; the next comes after it.
    at_s = ordered["delivered_s"][19]
    behind = ordered.filter(pl.col("message") > 20, pl.col("sent_s") + alone < at_s)
    assert behind["message"].to_list() == [21, 22, 23, 24, 25]
    assert behind["delivered_s"].to_list() == pytest.approx([at_s] * 5, abs=CLOSE_S)
    assert behind["wait_s"].to_list() == pytest.approx(
        [at_s - (sent_s + alone) for sent_s in behind["sent_s"]], abs=CLOSE_S
    )
    untouched = ordered.filter((pl.col("message") < 20) | (pl.col("message") > 25), ~held)
    assert untouched["delay_s"].to_list() == pytest.approx([alone] * untouched.height, abs=CLOSE_S)


def _sack_s(cell: Cell) -> float:
    links = cell.wired
    back = [link.reverse for link in (links.destination_access, links.bottleneck,
                                      links.source_access)]  # fmt: skip
    return sum(way.owd_s + bits(SACK_BYTES) / way.rate_bps for way in back)
