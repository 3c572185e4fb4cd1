"""Marks of a queue against marked packets that came to hosts: equal, unless some were lost."""

from __future__ import annotations

import dataclasses

import polars as pl

from collectors.audit import mark_checks
from collectors.audit.packet_balance import Evidence, Passage, Stretch
from model.cell import Cell
from model.links import FIFO
from model.run_files.kernel_tables import CounterRow
from model.run_files.tables import schema
from model.run_files.traffic_tables import QdiscRow
from tests.support.recorded import both_ways, direction, wireless_cell

WAYS = {
    "data": ("r1", "r1-bottleneck", "r2", "ifb-bottleneck", "destination access", "r2-dst1"),
    "ack": ("r2", "r2-bottleneck", "r1", "ifb-bottleneck", "source access", "r1-src1"),
}


def managed() -> Cell:
    codel = dataclasses.replace(FIFO, kind="codel", target_s=0.005, interval_s=0.1, ecn=True)
    cell = wireless_cell()
    network = dataclasses.replace(cell.wired, bottleneck=both_ways(direction(discipline=codel)))
    return dataclasses.replace(cell, network=network)


def evidence(lost_pkts: int = 0) -> Evidence:
    stretches, qdiscs = [], {}
    for way, (near, buffer, far, channel, last, access) in WAYS.items():
        for name, node, device, dropped in (
            ("bottleneck buffer", near, buffer, 30), ("bottleneck channel", far, channel, 0),
            (last, far, access, lost_pkts),
        ):  # fmt: skip
            stretches.append(
                Stretch(name=name, direction=way, node=node, devices=(device,), offered_at="",
                        passed_at="")
            )  # fmt: skip
            qdiscs[node, device] = Passage(passed_pkts=100, dropped_pkts=dropped, held_pkts=0)
    return Evidence(
        stretches=tuple(stretches), qdiscs=qdiscs, counters={}, tally=None, sent_data={},
        repeated={}, received_bytes={},
    )  # fmt: skip


def qdisc(node: str, marked_pkts: int | None, device: str = "") -> QdiscRow:
    return QdiscRow(
        node=node, device=device or f"{node}-bottleneck", handle="11:", kind="codel", sent_pkts=100,
        sent_bytes=150_000, dropped_pkts=30, backlog_pkts=0, marked_pkts=marked_pkts,
    )  # fmt: skip


MARKS = [qdisc("r1", None), qdisc("r1", 7), qdisc("r2", 2)]
CAME = {"dst1": 4, "dst2": 3, "src1": 2, "src2": 0}


def agree(cell: Cell, lost_pkts: int, received: dict[str, int]) -> list[bool | None]:
    return [
        check.agrees for check in mark_checks.checks(cell, evidence(lost_pkts), MARKS, received)
    ]


def test_what_was_marked_came_to_the_hosts_behind() -> None:
    assert agree(managed(), 0, CAME) == [True, True]
    (data, acks) = mark_checks.checks(managed(), evidence(), MARKS, CAME)
    assert (data.where, data.wanted, data.got) == ("dst1, dst2", "7 packets", "7 packets")
    assert (acks.where, acks.wanted) == ("src1, src2", "2 packets")


def test_a_mark_more_or_less_is_found() -> None:
    assert agree(managed(), 0, {**CAME, "dst2": 4}) == [False, True]
    assert agree(managed(), 0, {**CAME, "src2": 1}) == [True, False]


def test_where_packets_were_lost_behind_it_or_a_host_does_not_tell_nothing_is_known() -> None:
    assert agree(managed(), 1, CAME) == [None, None]
    assert agree(managed(), 0, {"dst1": 4, "src1": 2, "src2": 0}) == [None, True]


def test_a_drop_tail_buffer_is_not_asked() -> None:
    assert agree(wireless_cell(), 0, CAME) == []


def test_a_flow_has_the_marks_of_its_host_if_no_other_is_received_there() -> None:
    cell = managed()
    names = [flow.id for flow in cell.flows]
    assert mark_checks.of_flows(cell, CAME) == dict(zip(names, (4, 3), strict=True))
    shared = tuple(dataclasses.replace(flow, destination=0) for flow in cell.flows)
    assert mark_checks.of_flows(dataclasses.replace(cell, flows=shared), CAME) == {}


def test_hosts_count_from_their_first_sample() -> None:
    rows = [
        (t_s, node, None, "IpExt", "InCEPkts", value)
        for t_s, node, value in ((0.0, "dst1", 5), (1.0, "dst1", 8), (9.0, "dst1", 9))
    ]
    protocol = pl.DataFrame(rows, schema=schema(CounterRow), orient="row")
    assert mark_checks.received_by_host(managed(), protocol) == {"dst1": 4}
