"""Without captures, too, a goodput or a retransmission that was made up is noticed."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path

import pytest

from collectors.audit import second_source
from collectors.raw.flows import counters, probe_received
from collectors.tables import packet_evidence as evidence_tables
from model.cell import Cell, Flow, from_dict
from model.check import Check
from tests.support.recorded import DATA, value

RECORDED = DATA / "lab-cell-7.3"
CELL: Cell = from_dict(json.loads((RECORDED / "cell.json").read_text()))
TCP, SCTP = CELL.flows
UDP = dataclasses.replace(TCP, id="U", protocol="udp", rate_bps=8000, message_bytes=972)


def checks(raw: Path, *flows: Flow) -> list[Check]:
    cell = dataclasses.replace(CELL, flows=flows or CELL.flows)
    epoch_ns = json.loads((raw / "raw" / "epoch.json").read_text())["epoch_ns"]
    received = {}
    for flow in cell.flows:
        text = (raw / "raw" / "flows" / f"{flow.id}.receiver.jsonl").read_text()
        received[flow.id] = probe_received(text, flow, epoch_ns, flow.id)
    rows = json.loads((raw / "raw" / "counters.json").read_text())
    counted = {flow.id: counters(rows, flow.id) for flow in cell.flows}
    evidence = evidence_tables.evidence(raw, cell, None, counted, received)
    totals = evidence_tables.probe_totals(raw, cell)
    return second_source.checks(cell, evidence, totals, received)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copytree(RECORDED, tmp_path / "cell")
    return tmp_path / "cell"


def test_the_recorded_flows_agree() -> None:
    found = checks(RECORDED)
    assert [(check.check, check.where) for check in found if not check.agrees] == []
    assert len(found) == 2 * 4 + 3 + 1


@pytest.mark.parametrize(
    ("file", "counter", "more", "caught_by"), value("cases/planted-numbers.json")
)
def test_a_planted_number_is_noticed(
    copied: Path, file: str, counter: str, more: int, caught_by: list[str]
) -> None:
    path = copied / "raw" / "flows" / f"{file}.jsonl"
    lines = path.read_text().splitlines()
    lines[-1], changed = re.subn(
        rf'"{counter}":(\d+)', lambda m: f'"{counter}":{int(m[1]) + more}', lines[-1]
    )
    assert changed == 1
    path.write_text("\n".join(lines) + "\n")
    assert {check.check for check in checks(copied) if check.agrees is False} == set(caught_by)


def udp_received(raw: Path, packets: int) -> None:
    """Write what a receiver of so many UDP packets says; the network's counters say 27."""
    total = packets * UDP.message_bytes
    record = {
        "event": "totals", "window_goodput_bytes": 0, "goodput_bytes": total,
        "first_byte_t_ns": None, "last_byte_t_ns": None,
    }  # fmt: skip
    interval = {"event": "interval", "start_s": -1, "end_s": 0, "goodput_bytes": total}
    text = f"{json.dumps(interval)}\n{json.dumps(record)}\n"
    (raw / "raw" / "flows" / "U.receiver.jsonl").write_text(text)
    (raw / "raw" / "flows" / "U.sender.jsonl").write_text("")
    path = raw / "raw" / "counters.json"
    path.write_text(path.read_text().replace('"flow": "T"', '"flow": "U"'))


@pytest.mark.parametrize(("packets", "wrong"), [(27, set()), (28, {"passed the network"})])
def test_udp_is_what_passed_the_network(copied: Path, packets: int, wrong: set[str]) -> None:
    udp_received(copied, packets)
    assert {c.check for c in checks(copied, UDP) if c.agrees is False} == wrong


@pytest.mark.parametrize(("errors", "agrees"), [(0, True), (19, False), (None, None)])
def test_what_the_kernel_did_not_take_of_a_constant_sender(
    copied: Path, errors: int | None, agrees: bool | None
) -> None:
    udp_received(copied, 27)
    if errors is not None:  # else the sender was cut short
        record = {"event": "totals", "packets": 27, "send_errors": errors, "end": "done"}
        (copied / "raw" / "flows" / "U.sender.jsonl").write_text(json.dumps(record) + "\n")
    (found,) = [check for check in checks(copied, UDP) if check.check == "not taken by the kernel"]
    assert (found.where, found.wanted, found.agrees) == ("flow U, sender", "0 packets", agrees)
    assert found.got == ("not counted" if errors is None else f"{errors} packets")


def test_nothing_is_concluded_of_messages_that_share_a_packet(copied: Path) -> None:
    short = dataclasses.replace(SCTP, message_bytes=100)
    found = {check.check: check.agrees for check in checks(copied, short)}
    assert found["retransmitted, by packets"] is None
    long = dataclasses.replace(SCTP, message_bytes=4000)
    assert {c.check: c.agrees for c in checks(copied, long)}["received by the kernel"] is None


def test_nothing_is_concluded_of_a_flow_that_did_not_end_in_order(copied: Path) -> None:
    path = copied / "raw" / "flows" / "S.receiver.jsonl"
    path.write_text(path.read_text().replace('"end":"shutdown"', '"end":"abort"'))
    found = {check.check: check.agrees for check in checks(copied, SCTP)}
    assert (found["written and read"], found["goodput of intervals"]) == (None, True)


def test_a_repeated_syn_is_no_data(copied: Path) -> None:
    path = copied / "raw" / "flows" / "T.sender.jsonl"
    text = path.read_text().replace('"connect_s":0.5', '"connect_s":1.5')
    path.write_text(text.replace('"retransmitted_segments":5', '"retransmitted_segments":6'))
    assert [check.check for check in checks(copied, TCP) if check.agrees is None] == [
        "retransmitted, by bytes"
    ]
