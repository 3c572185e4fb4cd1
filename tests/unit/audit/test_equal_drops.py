"""Equal drops: what is drawn for all flows, whose packets pay, and that each wrong is told."""

from __future__ import annotations

from typing import Any

import polars as pl

from collectors.audit import numbered_drops
from collectors.audit.equal_drops import checks, losses, told, warnings
from collectors.audit.numbered_drops import Numbered
from model.check import Check
from model.links import Loss
from tests.support.recorded import wireless_cell
from tests.unit.model.test_draws import losing

CELL = losing(Loss(model="equal_drops", loss_frac=0.5), seed=3)
#: Flow T sends every third packet. Of these 42 the seed draws 2, 4, 5, 6, 19, 20, 30, 31, 33, 34,
#: 37, 38 and 39; for the 7th its draw of payment is 3.62 of 32, for the 19th 0.30, for the 35th
#: 1.35, the 36th 6.29, the 39th 2.79, the 40th 10.57, the 41st 12.04, and for others too much.
ORDER = ["T", "S", "S"] * 14
#: So T pays the 7th (four are drawn, it owes 4) and the 19th (it owes 4 of 5), S the 35th (it owes
#: 10), the 36th (9 of 10) and the 39th (11 of 13), T the 40th (11 of 13), S not the 41st (10).
LOST = {"T": [3, 7, 14], "S": [23, 24, 26]}
HOOK = {("r2", "ifb-bottleneck"): 6}


def lists(**changes: Any) -> tuple[Numbered, ...]:
    """Return what was counted of both flows; changes are of flow T."""
    made = []
    for flow, seen_pkts in (("T", 14), ("S", 28)):
        entry = {
            "flow": flow, "node": "r2", "device": "ifb-bottleneck", "listed_pkts": [],
            "seen_pkts": seen_pkts, "dropped_pkts": 0, "drawn_dropped_pkts": len(LOST[flow]),
            "together_seen_pkts": 42, "together_drawn_pkts": 13,
            **(changes if flow == "T" else {}),
        }  # fmt: skip
        made.append(Numbered.of(entry, CELL))
    return tuple(made)


def captured(lost: dict[str, list[int]]) -> pl.DataFrame:
    """Return what is captured when these numbers of each flow are lost, acknowledgements too."""
    rows: list[tuple[str, int, int, str]] = []
    seen = {"T": 0, "S": 0}
    for packet, flow in enumerate(ORDER, 100):
        seen[flow] += 1
        rows += [("loss_offered", packet, 1448, flow), ("loss_offered", 1000 + packet, 0, flow)]
        if seen[flow] not in lost[flow]:
            rows.append(("loss_passed", packet, 1448, flow))
    names = {"point": pl.String, "packet": pl.Int64, "payload_bytes": pl.Int64, "flow": pl.String}
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return frame.with_columns(protocol=pl.lit("sctp"), direction=pl.lit("data"))


def compared(found: tuple[Numbered, ...], seen: pl.DataFrame | None) -> list[Check]:
    """Return all comparisons of these lists, as a run makes them."""
    found = told(CELL, found, seen)
    return [*numbered_drops.checks(found, HOOK, seen), *checks(CELL, found)]


def wrong(found: tuple[Numbered, ...], seen: pl.DataFrame | None) -> list[str]:
    """Return in words what disagrees."""
    return [
        f"{check.check}, {check.where.split(',')[0]}: wanted {check.wanted}, got {check.got}"
        for check in compared(found, seen)
        if check.agrees is not True
    ]


def test_each_flows_losses_are_told_from_the_order_of_all_packets() -> None:
    assert losses(CELL, {"T": (), "S": ()}, ORDER) == LOST
    # The first of T is listed and takes no part: every other packet's number is one less.
    assert losses(CELL, {"T": (1,), "S": ()}, ["T", *ORDER])["T"] == [4, 8, 15]
    assert [one.drawn_pkts for one in told(CELL, lists(), captured(LOST))] == [
        (3, 7, 14),
        (23, 24, 26),
    ]


def test_right_drops_agree_packet_by_packet_where_there_are_captures() -> None:
    found = compared(lists(), captured(LOST))
    assert [(check.check, check.got) for check in found if check.agrees] == [
        ("drawn packets dropped", "3 packets"),
        ("drawn packets dropped", "3 packets"),
        ("dropped by filters", "6 packets"),
        ("captured where packets are numbered", "14 packets"),
        ("drawn packets lost", "3, 7, 14"),
        ("captured where packets are numbered", "28 packets"),
        ("drawn packets lost", "23, 24, 26"),
        ("offered to equal drops", "42 packets"),
        ("drawn by the seed", "13 packets"),
        ("lost no more than its share", "3 packets"),
        ("lost no more than its share", "3 packets"),
    ]
    assert wrong(lists(), captured(LOST)) == []


def test_without_captures_what_is_drawn_is_told_by_the_number_of_packets() -> None:
    assert [(check.check, check.agrees) for check in compared(lists(), None)] == [
        ("dropped by filters", True),
        ("offered to equal drops", True),
        ("drawn by the seed", True),
        ("lost no more than its share", True),
        ("lost no more than its share", True),
    ]


def test_every_way_of_being_wrong_is_told() -> None:
    assert wrong(lists(), captured({**LOST, "S": [23, 24, 27]})) == [
        "drawn packets lost, flow S: wanted 23, 24, 26, got 23, 24"
    ]
    assert wrong(lists(seen_pkts=15), None) == [
        "offered to equal drops, r2: ifb-bottleneck: wanted 43 packets, got 42 packets"
    ]
    assert wrong(lists(together_drawn_pkts=14), None) == [
        "drawn by the seed, r2: ifb-bottleneck: wanted 13 packets, got 14 packets"
    ]
    assert wrong(lists(together_drawn_pkts=2), None) == [
        "drawn by the seed, r2: ifb-bottleneck: wanted 13 packets, got 2 packets",
        "lost no more than its share, flow T: wanted at most 2 packets, got 3 packets",
    ]


def test_a_flow_that_cannot_lose_as_many_is_named() -> None:
    assert warnings(lists(together_drawn_pkts=34)) == []
    assert warnings(lists(together_drawn_pkts=35)) == [
        {
            "rule": "owes-equal-drops",
            "where": "flow T",
            "text": "Lost 3 packets where each flow was to lose 35: it sent too few. Its drops do"
            " not equal the others'.",
        }
    ]


def test_other_losses_share_nothing() -> None:
    entry = {"flow": "T", "node": "r2", "device": "ifb0", "listed_pkts": [1], "seen_pkts": 4,
             "dropped_pkts": 1, "drawn_dropped_pkts": 0}  # fmt: skip
    one = (Numbered.of(entry, wireless_cell()),)
    assert told(wireless_cell(), one, captured(LOST)) == one
    assert (checks(wireless_cell(), one), warnings(one)) == ([], [])
