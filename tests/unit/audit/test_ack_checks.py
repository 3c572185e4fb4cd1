"""Counted acknowledgements against sockets and captures: what agrees, and what does not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from collectors.audit import ack_checks
from collectors.raw.acknowledgements import acknowledgement_rows
from collectors.tables import packet_evidence
from model.cell import Cell, from_dict
from model.run_files.traffic_tables import AcknowledgementRow
from tests.support.recorded import DATA, value

FOLDER = DATA / "lab-cell-7.3"
RECORDED: Cell = from_dict(value("lab-cell-7.3/cell.json"))
CELL = dataclasses.replace(
    RECORDED, collect=dataclasses.replace(RECORDED.collect, acknowledgements=True)
)
#: What the recorded cell's captures show; tests/unit/mininet_topos/test_ack_program.py says why.
COUNTED = {"T": (24, 1116, 13, 130), "S": (4, 204, 4, 76)}
NAMES = ("ack_pkts", "ack_ip_bytes", "sack_pkts", "sack_bytes")


def entry(flow: str, **changes: int) -> dict[str, Any]:
    """Return a row of raw/acknowledgements.json with all counts inside the window."""
    counts = dict(zip(NAMES, COUNTED[flow], strict=True))
    every = counts | {f"all_{name}": count for name, count in counts.items()}
    return {"flow": flow, "node": "d", "devices": ["d-eth0"], **every, **changes}


def rows(*entries: dict[str, Any]) -> list[AcknowledgementRow]:
    return acknowledgement_rows(entries, CELL)


def agreed(found: list[AcknowledgementRow], cell: Cell = CELL) -> list[bool | None]:
    packets = packet_evidence.packets(FOLDER, cell)
    totals = packet_evidence.probe_totals(FOLDER, cell)
    return [check.agrees for check in ack_checks.checks(cell, found, packets, totals)]


def test_the_recorded_cell_agrees() -> None:
    assert agreed(rows(entry("S"), entry("T"))) == [True] * 10


def test_rates_are_over_the_measuring_window() -> None:
    tcp, sctp = rows(entry("S", ack_ip_bytes=100, sack_bytes=10), entry("T"))
    assert (tcp.flow, sctp.flow) == ("T", "S")
    window_s = CELL.measured_s()
    assert (sctp.ack_rate_bps, sctp.sack_rate_bps) == (800 / window_s, 80 / window_s)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"all_ack_pkts": 25}, [None, False, True, True, True]),  # later than the socket's word
        ({"all_ack_pkts": 23, "ack_pkts": 23}, [False, False, True, True, True]),
        ({"all_ack_ip_bytes": 1117}, [True, True, False, True, True]),
        ({"all_sack_pkts": 14}, [True, True, True, False, True]),
        ({"all_sack_bytes": 131}, [True, True, True, True, False]),
    ],
)
def test_a_wrong_count_is_noticed(changes: dict[str, int], wanted: list[bool | None]) -> None:
    assert agreed(rows(entry("T", **changes), entry("S"))) == [*wanted, *[True] * 5]


def test_sockets_say_nothing_where_routes_may_be_missing() -> None:
    found = rows(entry("T"), entry("S"))
    network = dataclasses.replace(CELL.wired, topology="another")
    assert agreed(found, dataclasses.replace(CELL, network=network)) == [True] * 8


def test_without_captures_or_of_flows_that_did_not_end_in_order_little_is_concluded() -> None:
    totals = packet_evidence.probe_totals(FOLDER, CELL)
    found = rows(entry("T"), entry("S"))
    made = ack_checks.checks(CELL, found, None, totals)
    assert [check.agrees for check in made] == [True, True]
    none: dict[tuple[str, str], dict[str, Any]] = {key: {} for key in totals}
    assert [check.agrees for check in ack_checks.checks(CELL, found, None, none)] == [None, None]


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([entry("T")], "wanted rows of"),
        ([entry("T"), entry("S"), entry("S")], "wanted rows of"),
        ([entry("T", ack_pkts=25), entry("S")], "flow T: ack_pkts 25 of all_ack_pkts 24"),
        ([entry("T", sack_pkts=25, all_sack_pkts=25), entry("S")], "sack_pkts 25 of ack_pkts 24"),
        ([entry("T", all_sack_bytes=1117), entry("S")], "all_sack_bytes 1117 of all_ack_ip_bytes"),
        ([entry("T", ack_pkts=-1), entry("S")], "-1 is not a whole number"),
    ],
)
def test_what_no_program_can_have_counted_is_refused(
    entries: list[dict[str, Any]], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        rows(*entries)
