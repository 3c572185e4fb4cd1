"""The evidence on the page and as metrics: what counts, every run, what is not known."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from model import run_folder
from model.run_files.tables import schema
from model.run_files.traffic_tables import AuditRow, PathRow
from reports.page.html import Drawn, render_reports
from reports.page.packets import PacketEvidence, packet_evidence
from reports.store.run import Run, read_run
from reports.verdict.summary import summarise
from tests.support.runs.report_run import build_run, only_cell, write_json

CHECK = {"check": "captured", "where": "flow T", "wanted": "9", "got": "9", "agrees": True}


def audit_row(flow: str, direction: str, sent: int, queue: int, loss: int) -> dict[str, Any]:
    return {
        "flow": flow, "direction": direction, "basis": "captures", "sent_pkts": sent,
        "access_dropped_pkts": 0, "queue_dropped_pkts": queue, "loss_dropped_pkts": loss,
        "exit_dropped_pkts": 0, "delivered_pkts": sent - queue - loss, "in_flight_pkts": 0,
        "unexplained_pkts": 0, "closes": True,
    }  # fmt: skip


def path_row(flow: str, owd_mean_s: float | None, ack_wire_rate_bps: float) -> dict[str, Any]:
    values = {"flow": flow, "owd_mean_s": owd_mean_s, "ack_wire_rate_bps": ack_wire_rate_bps}
    return {**dict.fromkeys(schema(PathRow)), **values}


def add_evidence(run: Path, seed: int, *, captured: bool, **check: Any) -> None:
    """Give a cell an audit: seed k sent 100 k TCP packets, the buffer dropped k of them."""
    folder = only_cell(run, seed=seed)
    checks = [CHECK, {**CHECK, **check}]
    write_json(folder / run_folder.AUDIT, {"schema": 1, "checks": checks, "warnings": []})
    rows = [audit_row("T", "data", 100 * seed, seed, 10), audit_row("T", "ack", 80, 0, 0)]
    rows += [audit_row("S", "data", 50, 0, 5), audit_row("S", "ack", 40, 0, 0)]
    frame = pl.DataFrame(rows, schema=schema(AuditRow))
    frame.write_parquet(folder / run_folder.AUDIT_TABLE)
    if captured:
        paths = [path_row("T", 0.25 + seed / 1000, 8000.0), path_row("S", None, 9000.0)]
        frame = pl.DataFrame(paths, schema=schema(PathRow))
        frame.write_parquet(folder / run_folder.PATH_TABLE)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return build_run(tmp_path / "run", losses=(0.01,), seeds=3)


def shown(run: Path) -> PacketEvidence | None:
    found = read_run(run)
    assert found.damaged == ()
    return packet_evidence(found, summarise(found))


def page_of(run: Run) -> str:
    drawn = Drawn(headline=(), sets=(), svgs={})
    return render_reports(run, summarise(run), drawn, str)[0]


def test_without_an_audit_there_is_no_section(run: Path) -> None:
    assert shown(run) is None
    found = read_run(run)
    assert 'id="evidence"' not in page_of(found)


def test_means_are_of_what_counts_and_every_run_is_shown(run: Path) -> None:
    for seed in (1, 2, 3):
        add_evidence(run, seed, captured=True)
    wrong = {**CHECK, "agrees": False}
    write_json(only_cell(run, seed=3) / run_folder.VERIFY, {"schema": 1, "checks": [wrong]})
    evidence = shown(run)
    assert evidence is not None
    # Seed 3 does not count: (100 + 200) / 2 sent, (1 + 2) / 2 dropped by the buffer.
    assert evidence.fates.rows[0] == (
        "1 %", "TCP SACK, data", "150.0", "0.0", "1.5", "10.0", "0.0", "138.5", "0.0", "0",
    )  # fmt: skip
    assert [row[1] for row in evidence.fates.rows] == [
        "TCP SACK, data", "TCP SACK, acknowledgements", "SCTP, data", "SCTP, acknowledgements",
    ]  # fmt: skip
    assert len(evidence.cells.rows) == 3 * 4
    assert evidence.cells.rows[8][:5] == ("1 %", "3", "no", "T, data", "300")
    assert evidence.cells.rows[0][12:] == ("251.00", "–", "–", "–", "–", "8.0")  # noqa: RUF001
    assert {len(row) for row in evidence.cells.rows} == {len(evidence.cells.heads)}
    found = read_run(run)
    page = page_of(found)
    assert "6 of 6 comparisons in 3 cells agree to the packet, 0 disagree" in page
    assert page.count("One-way delay, mean, TCP SACK") == 1


def test_what_disagrees_and_what_is_not_known_is_counted(run: Path) -> None:
    add_evidence(run, 1, captured=False, agrees=False)
    add_evidence(run, 2, captured=False, agrees=None)
    evidence = shown(run)
    assert evidence is not None
    assert evidence.checks == (
        "2 of 4 comparisons in 2 cells agree to the packet, 1 disagree; "
        "1 could not be made (captured)"
    )
    assert evidence.paths == ()
    found = read_run(run)
    page = page_of(found)
    assert re.search(r"No run was captured .*are not known", page)
    assert "the numbers of that run are in doubt" in page


def test_the_evidence_as_metrics(run: Path) -> None:
    for seed in (1, 2, 3):
        add_evidence(run, seed, captured=True)
    metrics = summarise(read_run(run)).points[0].metrics
    found = {name: metrics[name].estimate.mean for name in metrics}
    assert found["owd_mean_T_s"] == pytest.approx((0.251 + 0.252 + 0.253) / 3)
    assert found["ack_wire_rate_S_bps"] == 9000
    assert found["queue_dropped_T_pkts"] == 2
    assert found["owd_mean_S_s"] is found["jitter_T_s"] is None
    assert "one-way delay of SCTP is not known for every flow" in str(
        metrics["owd_mean_S_s"].reason
    )


def test_a_run_without_captures_leaves_no_mean_of_the_others(run: Path) -> None:
    for seed in (1, 2, 3):
        add_evidence(run, seed, captured=seed < 3)
    delay = summarise(read_run(run)).points[0].metrics["owd_mean_T_s"]
    assert (delay.estimate.n, delay.estimate.mean, delay.estimate.ci95) == (2, None, None)
    assert delay.reason == "null in 1 of 3 cells: packets were not captured (--pcap)"


def test_without_an_audit_the_metric_says_so(run: Path) -> None:
    reason = summarise(read_run(run)).points[0].metrics["queue_dropped_T_pkts"].reason
    assert "the cell has no audit (groundtruth parse makes one)" in str(reason)


@pytest.mark.parametrize("name", [run_folder.AUDIT, run_folder.AUDIT_TABLE, run_folder.PATH_TABLE])
@pytest.mark.parametrize("content", [b"", b"{ cut", b"PAR1", b"\xff" * 64])
def test_damaged_evidence_leaves_its_cell_out(run: Path, name: str, content: bytes) -> None:
    for seed in (1, 2):
        add_evidence(run, seed, captured=True)
    path = only_cell(run) / name
    path.write_bytes(content)
    found = read_run(run)
    assert [cell.why.partition(": ")[0] for cell in found.damaged] == [str(path.relative_to(run))]
    assert len(found.measured()) == 2


def test_rows_of_a_flow_the_cell_does_not_have_are_no_evidence(run: Path) -> None:
    add_evidence(run, 1, captured=True)
    path = only_cell(run) / run_folder.PATH_TABLE
    pl.read_parquet(path).with_columns(flow=pl.lit("X")).write_parquet(path)
    (damaged,) = read_run(run).damaged
    assert damaged.why.endswith("path.parquet: rows of no flow: got X")
