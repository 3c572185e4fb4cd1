"""From a recorded cell of ns-2's to tables: published numbers, and values worked out by hand."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest

from collectors.episodes.episodes import episodes
from collectors.trace.congestion import by_flow
from model import run_folder
from model.errors import ParseError, VerifyError
from model.run_files.tables import TABLES, schema
from simulators.ns2 import account, cell_files, packets, trace, windows
from simulators.ns2 import passages as where
from simulators.ns2.receivers import arrivals
from tests.support.simulators.ns2 import BOUNDS, leave, ns2_cell, trace_text

import numpy as np  # isort: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cell")
    leave(folder)
    cell_files.conclude(folder, ns2_cell())
    return folder


def table(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / "tables" / f"{name}.parquet")


def test_tcps_windows_are_the_published_ones_to_every_digit(made: Path) -> None:
    """Figure 8 of the satellite study: 9, then 4, 4.25, 4.485, 4.708, 4.921, 5.124."""
    left = cell_files.read(made, ns2_cell())
    known = [one.cwnd for one in left.trace.changes if one.flow == 1 and one.cwnd is not None]
    at = known.index(9.0)
    assert known[at : at + 7] == [9.0, 4.0, 4.25, 4.485, 4.708, 4.921, 5.124]


def test_an_acknowledgement_meets_the_window_before_it(made: Path) -> None:
    met = table(made, "congestion").filter(flow="T", event="ack")
    # Each acknowledgement of slow start meets one packet more than the one before; the SYN's 1.
    assert met["cwnd_bytes"].to_list()[:8] == [1448 * k for k in range(1, 9)]
    assert met["ssthresh_bytes"].to_list()[0] == 45 * 1448


def test_sctps_windows_are_told_without_chunk_headers(made: Path) -> None:
    met = table(made, "congestion").filter(flow="S", event="ack")
    # 4380 bytes are 2.99 packets of 1464; of user data that is 4332.
    assert met["cwnd_bytes"].to_list()[0] == round(4380 * 1448 / 1464) == 4332
    assert met["cwnd_bytes"].to_list()[1] == round(5844 * 1448 / 1464)


def test_tcps_loss_is_the_published_one(made: Path) -> None:
    (row,) = table(made, "episodes").filter(flow="T").iter_rows(named=True)
    assert (row["first_lost_segment"], row["lost_at"], row["detected_by"]) == (8, "loss", "dupacks")
    assert row["dupacks"] == 3
    assert (row["new_data_on_dupack_1_pkts"], row["new_data_on_dupack_2_pkts"]) == (0, 0)
    assert (row["first_new_on_dupack"], row["first_new_segment"]) == (6, 17)
    assert row["cwnd_before_bytes"] == 9 * 1448
    assert row["cwnd_after_bytes"] == row["ssthresh_after_bytes"] == 4 * 1448


def test_sctps_loss_is_acted_on_at_the_4th_report(made: Path) -> None:
    (row,) = table(made, "episodes").filter(flow="S").iter_rows(named=True)
    assert (row["first_lost_segment"], row["dupacks"]) == (8, 4)
    each = [row[f"new_data_on_dupack_{k}_pkts"] for k in (1, 2, 3)]
    assert each == [1, 1, 1]
    # 4380 bytes and a packet of 1464 for each of the seven before it and what else came.
    assert row["cwnd_after_bytes"] * 2 == pytest.approx(row["cwnd_before_bytes"], abs=2)


def test_goodput_is_what_arrived_in_order_once(made: Path) -> None:
    text = trace_text().decode()
    flows = {row["flow"]: row for row in table(made, "flows").iter_rows(named=True)}
    tcp = {int(n) for n in re.findall(r"^r \S+ 1 4 tcp 1488 \S+ 1 \S+ \S+ (\d+) ", text, re.M)}
    sctp = {int(n) for n in re.findall(r"^r \S+ 1 4 sctp \d+ -+D 2 \S+ \S+ 1 (\d+) ", text, re.M)}
    assert flows["T"]["total_bytes"] == len(tcp) * 1448
    assert flows["S"]["total_bytes"] == len(sctp) * 1448
    assert flows["T"]["goodput_bps"] == len(tcp) * 1448 * 8 / 40
    assert (flows["T"]["loss_dropped_pkts"], flows["S"]["loss_dropped_pkts"]) == (1, 1)
    assert (flows["T"]["retransmitted_pkts"], flows["S"]["retransmitted_pkts"]) == (1, 1)
    # SYN and its answer; INIT, COOKIE and the probe of the path: a round trip each.
    assert flows["T"]["connect_s"] == pytest.approx(0.504385)
    assert flows["S"]["connect_s"] == pytest.approx(1.513423)


def test_intervals_add_up_to_the_goodput(made: Path) -> None:
    summed = table(made, "intervals").group_by("flow").agg(pl.col("goodput_bytes").sum())
    flows = table(made, "flows")
    for flow, total in summed.iter_rows():
        assert total == flows.filter(flow=flow)["total_bytes"][0]


def test_a_delay_is_propagation_and_sending(made: Path) -> None:
    row = table(made, "path").filter(flow="T").row(0, named=True)
    sending_s = 1488 * 8 * (1 / 10e6 + 1 / 2e6 + 1 / 1e9)
    assert row["owd_min_s"] == pytest.approx(0.252 + sending_s, abs=3e-6)
    assert row["goodput_bytes"] == table(made, "flows").filter(flow="T")["goodput_bytes"][0]


def test_all_packets_are_accounted_for(made: Path) -> None:
    audit = json.loads((made / run_folder.AUDIT).read_text())
    assert all(check["agrees"] is True for check in audit["checks"])
    assert audit["warnings"] == []
    assert table(made, "audit")["closes"].to_list() == [True] * 4
    drops = table(made, "drops")
    assert drops["role"].to_list() == ["numbered", "numbered"]


def test_tables_have_the_columns_all_labs_tables_have(made: Path) -> None:
    for path in (made / "tables").iterdir():
        assert dict(pl.read_parquet_schema(path)) == schema(TABLES[path.stem])


def test_the_ledger_has_every_published_parameter_as_read_back(made: Path) -> None:
    ledger = json.loads((made / run_folder.LEDGER).read_text())
    assert [row["parameter"] for row in ledger] == [
        entry.parameter for entry in ns2_cell().hosts.entries
    ]
    knobs = {knob["name"]: knob for row in ledger for knob in row["knobs"]}
    assert knobs["Agent/TCP singledup_"]["read_back"] == {"T sender": "0"}
    assert all(knob["agrees"] is True for knob in knobs.values())


def test_a_variable_that_is_another_fails_the_cell(tmp_path: Path) -> None:
    leave(tmp_path)
    place = tmp_path / run_folder.NS2_READ_BACK
    place.write_text(place.read_text().replace("singledup_ 0", "singledup_ 1"))
    with pytest.raises(VerifyError, match=r"singledup_.*wanted 0, got 1"):
        cell_files.conclude(tmp_path, ns2_cell())


def test_a_variable_that_is_not_told_fails_the_cell(tmp_path: Path) -> None:
    leave(tmp_path)
    place = tmp_path / run_folder.NS2_READ_BACK
    place.write_text(place.read_text().replace("1 sender Agent/TCP minrto_ 1\n", ""))
    with pytest.raises(VerifyError, match=r"variables read back.*T sender: Agent/TCP minrto_"):
        cell_files.conclude(tmp_path, ns2_cell())


def test_read_back_that_is_none_is_told_with_its_line(tmp_path: Path) -> None:
    leave(tmp_path)
    (tmp_path / run_folder.NS2_READ_BACK).write_text("1 sender Agent/TCP minrto_ 1\nnonsense\n")
    with pytest.raises(ParseError, match=r"read_back\.txt:2: "):
        cell_files.conclude(tmp_path, ns2_cell())


def test_what_was_not_dropped_by_list_is_seen(made: Path) -> None:
    """The trace of another list: the audit names the packets that were dropped instead."""
    import dataclasses

    cell = ns2_cell()
    flows = tuple(dataclasses.replace(flow, drop_data_pkts=(9,)) for flow in cell.flows)
    other = dataclasses.replace(cell, flows=flows)
    left = cell_files.read(made, other)
    rows = account.audit_rows(left.told, other)
    found = [one for one in account.checks(left.told, left.trace, other, rows)
             if one.check == "listed packets dropped"]  # fmt: skip
    assert [(one.wanted, one.got, one.agrees) for one in found] == [("[9]", "[8]", False)] * 2


@pytest.mark.parametrize("lines", [10_000, 900, 600, 400, 250, 120, 60])
def test_losses_are_the_same_without_captures(lines: int) -> None:
    """Also where the trace ends while lost packets are being repeated."""
    text = b"".join([*trace_text().splitlines(keepends=True)[:lines], b"E\n"])
    found = trace.read(io.BytesIO(text.replace(b"E\nE\n", b"E\n")), "t", BOUNDS)
    made = []
    for pcap in (True, False):
        collect = dataclasses.replace(ns2_cell().collect, pcap=pcap)
        cell = dataclasses.replace(ns2_cell(), collect=collect)
        told = packets.tell(found.packets, cell)
        congestion = windows.congestion(told, found.changes, (), cell)
        frame = packets.packets_frame(told, cell)
        made.append((frame.height, episodes(cell, frame, by_flow(congestion, cell.flows))))
    (rows, with_captures), (fewer, without) = made
    assert fewer < rows
    assert without == with_captures
    assert without or lines < 250


def test_a_packet_that_vanishes_is_unexplained(made: Path) -> None:
    text = trace_text().replace(b"r 0.769491 1 4 tcp 1488 ------- 1 2.0 4.0 2 5\n", b"", 1)
    found = trace.read(io.BytesIO(text), "t", BOUNDS)
    cell = ns2_cell()
    told = packets.tell(found.packets, cell)
    rows = account.audit_rows(told, cell)
    assert [row.unexplained_pkts for row in rows] == [1, 0, 0, 0]
    wrong = [c for c in account.checks(told, found, cell, rows) if c.agrees is False]
    assert {c.check for c in wrong} >= {
        "neither delivered, dropped nor under way", "acknowledgements of other than had arrived",
    }  # fmt: skip
    assert dataclasses.is_dataclass(rows[0])
    assert len(told.of(1, where.DATA, where.DELIVERED)) > 0


def test_arrivals_out_of_order_are_held() -> None:
    number = np.array([1, 2, 5, 4, 7, 3, 3, 6])
    got = arrivals(np.arange(8), np.arange(8.0), number)
    assert got.reached.tolist() == [1, 2, 2, 2, 2, 5, 5, 7]
    assert list(got.held) == [(), (), ((5, 6),), ((4, 6),), ((4, 6), (7, 8)), ((7, 8),),
                              ((7, 8),), ()]  # fmt: skip


def test_a_mean_window_is_weighted_with_time() -> None:
    cell = ns2_cell()
    rows = pl.DataFrame(
        {"flow": ["T"] * 3, "t_s": [0.0, 10.0, 40.0], "cwnd_bytes": [0, 1448, 4 * 1448]}
    )
    # 1 packet for 10 s, then 4 for 30 s.
    assert windows.mean_cwnd_segments(cell.flows[0], cell, rows) == (1 * 10 + 4 * 30) / 40
