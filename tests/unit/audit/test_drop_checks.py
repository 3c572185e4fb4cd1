"""Drops told by the kernel's events are those its counters, the audit and the captures show."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import polars as pl

from collectors.audit import packet_balance
from collectors.audit.drop_checks import Told, drop_checks
from collectors.audit.packet_balance import Evidence
from collectors.raw.flows import counters
from collectors.tables import packet_evidence as evidence_tables
from collectors.tables.write import _received
from collectors.trace.drops import COLUMNS
from model.cell import Cell, from_dict
from model.check import Check
from model.links import FIFO
from model.run_files.traffic_tables import AuditRow
from tests.support.recorded import DATA, value, with_bottleneck

FOLDER = DATA / "lab-cell-7.3"
CELL: Cell = from_dict(value("lab-cell-7.3/cell.json"))


def recorded() -> tuple[pl.DataFrame, Evidence, list[AuditRow]]:
    packets = evidence_tables.packets(FOLDER, CELL)
    assert packets is not None
    rows = json.loads(Path(FOLDER / "raw" / "counters.json").read_text())
    counted = {flow.id: counters(rows, flow.id) for flow in CELL.flows}
    epoch_ns = json.loads((FOLDER / "raw" / "epoch.json").read_text())["epoch_ns"]
    received = {flow.id: _received(FOLDER, flow, epoch_ns) for flow in CELL.flows}
    evidence = evidence_tables.evidence(FOLDER, CELL, packets, counted, received)
    return packets, evidence, packet_balance.rows(CELL, evidence)


PACKETS, EVIDENCE, AUDIT = recorded()


def event(t_s: float, node: str = "r2", **changes: str | None) -> dict[str, object]:
    """Return the drop of a packet by the loss model."""
    return {
        "t_s": t_s, "node": node, "device": "ifb-bottleneck", "handle": "1:", "role": "channel",
        "event": "qdisc_drop", "reason": "GENERIC", **changes,
    }  # fmt: skip


def told(*more: dict[str, object]) -> pl.DataFrame:
    """Return the events of the recorded cell: 7 data packets and an acknowledgement were lost."""
    data = PACKETS.filter(pl.col("packet").is_not_null(), direction="data")
    passed = data.filter(point="loss_passed")["packet"]
    lost = data.filter(~pl.col("packet").is_in(passed.implode()), point="loss_offered")
    rows = [event(t_s) for t_s in lost["t_s"]] + [event(1.0, "r1"), *more]
    return pl.DataFrame(rows, schema=COLUMNS)


def checks(rows: pl.DataFrame, *, placed: bool = True, cell: Cell = CELL) -> list[Check]:
    return drop_checks(cell, EVIDENCE, Told(rows=rows, placed=placed), AUDIT, PACKETS)


def wrong(found: list[Check]) -> list[tuple[str, str, str]]:
    return [(c.check, c.wanted, c.got) for c in found if c.agrees is not True]


def test_all_drops_of_the_recorded_cell_are_told() -> None:
    found = checks(told())
    assert wrong(found) == []
    assert [(c.check, c.where, c.got) for c in found][:1] == [
        ("dropped by kernel events", "all qdiscs", "8 packets")
    ]
    assert len(found) == 1 + 2 * 3 + 2


def test_a_drop_that_is_not_told_is_seen_four_times() -> None:
    assert wrong(checks(told()[1:])) == [
        ("dropped by kernel events", "8 packets", "7 packets"),
        ("dropped by kernel events", "7 packets", "6 packets"),
        ("dropped by the audit", "6 packets", "7 packets"),
        (
            "when dropped, by kernel events",
            "7 packets, each when it was captured last",
            "6 packets",
        ),
    ]


def test_a_drop_at_another_time_is_another_drop() -> None:
    late = pl.when(pl.int_range(pl.len()) == 0).then(pl.col("t_s") + 30e-6).otherwise("t_s")
    ((check, _, got),) = wrong(checks(told().with_columns(t_s=late)))
    assert (check, got) == ("when dropped, by kernel events", "up to 0.000030000 s apart")


def test_a_packet_freed_by_no_qdisc_is_no_drop_of_one() -> None:
    other = event(2.0, event="kfree_skb", reason="TCP_OLD_DATA", node=None)  # type: ignore[arg-type]
    assert wrong(checks(told(other))) == []
    refused = {**other, "reason": "NOT_SPECIFIED"}
    assert wrong(checks(told(refused))) == [("dropped by kernel events", "8 packets", "9 packets")]


def test_a_kernel_that_tells_no_place_is_compared_in_all_alone() -> None:
    nowhere = told().with_columns(
        node=pl.lit(None, pl.String), device=pl.lit(None, pl.String),
        event=pl.lit("kfree_skb"), reason=pl.lit("QDISC_DROP"),
    )  # fmt: skip
    found = checks(nowhere, placed=False)
    assert {c.agrees for c in found} == {True, None}
    assert [c.where for c in found if c.agrees] == ["all qdiscs"]
    assert wrong(checks(nowhere[1:], placed=False))[0][2] == "7 packets"


def test_with_packets_of_no_flow_the_rows_add_up_to_nothing_known() -> None:
    flows = tuple(dataclasses.replace(flow, generator="iperf3") for flow in CELL.flows)
    found = checks(told(), cell=dataclasses.replace(CELL, flows=flows))
    assert {c.check for c in found if c.agrees is None} == {"dropped by the audit"}


CODEL = dataclasses.replace(FIFO, kind="codel", target_s=0.005, interval_s=0.1)
MANAGED = with_bottleneck(with_bottleneck(CELL, discipline=CODEL), "reverse", discipline=CODEL)
BUFFER = ("r1", "r1-bottleneck")


def of_codel(
    evidence: Evidence, rows: pl.DataFrame, *, placed: bool = True
) -> dict[str, bool | None]:
    """Return how CoDel's drops compare with the kernel's events, by what is compared."""
    found = drop_checks(MANAGED, evidence, Told(rows=rows, placed=placed), AUDIT, PACKETS)
    return {c.where: c.agrees for c in found if c.check == "dropped by kernel events"}


def dropped_in(*buffers: tuple[str, str]) -> Evidence:
    """Return the recorded counters with a drop more in each of these buffers."""
    more = {
        place: dataclasses.replace(passage, dropped_pkts=passage.dropped_pkts + 1)
        for place, passage in EVIDENCE.qdiscs.items()
        if place in buffers
    }
    return dataclasses.replace(EVIDENCE, qdiscs={**EVIDENCE.qdiscs, **more})


def test_what_codel_drops_later_is_told_without_a_place() -> None:
    nowhere = dict.fromkeys(("node", "device", "handle", "role"))
    one = event(2.0, event="kfree_skb", reason="CONGESTED", **nowhere)  # type: ignore[arg-type]
    where = "bottleneck buffer (r1: r1-bottleneck)"
    found = of_codel(dropped_in(BUFFER), told(one))
    assert (found["all qdiscs"], found[where]) == (True, True)
    assert of_codel(dropped_in(BUFFER), told())[where] is False
    # Where both ways drop, nobody knows which way's drop that is.
    both = of_codel(dropped_in(BUFFER, ("r2", "r2-bottleneck")), told(one, one))
    assert (both["all qdiscs"], both[where]) == (True, None)


def test_an_older_kernel_says_nothing_of_what_codel_drops() -> None:
    assert of_codel(dropped_in(BUFFER), told(), placed=False)["all qdiscs"] is None
    assert of_codel(EVIDENCE, told(), placed=False)["all qdiscs"] is True
