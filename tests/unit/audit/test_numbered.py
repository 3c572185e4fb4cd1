"""Listed packets: that each was dropped and none in its place, and that one never sent is said."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest

from collectors.audit.numbered_drops import Numbered, checks, hook_drops, numbers_words, warnings
from model import draws
from model.cell import Cell
from model.links import PeriodicLoss
from tests.support.recorded import wireless_cell
from tests.unit.model.test_draws import losing, paired

HOOK = {("r2", "ifb-bottleneck"): 2}


def listed(cell: Cell | None = None, **changes: Any) -> Numbered:
    """Return flow T's list, packets 2 and 3 of 4, with changes."""
    entry = {
        "flow": "T", "node": "r2", "device": "ifb-bottleneck", "listed_pkts": [2, 3],
        "seen_pkts": 4, "dropped_pkts": 2, "drawn_dropped_pkts": 0, **changes,
    }  # fmt: skip
    return Numbered.of(entry, cell or wireless_cell())


def packets(passed: tuple[int, ...], count: int = 4) -> pl.DataFrame:
    """Return packets 10, 11, ... with data before the loss, an acknowledgement first, and after."""
    rows = [("loss_offered", 9, 0), ("loss_passed", 9, 0)]
    rows += [("loss_offered", 10 + i, 1448) for i in range(count)]
    rows += [("loss_passed", number, 1448) for number in passed]
    frame = pl.DataFrame(
        rows,
        schema={"point": pl.String, "packet": pl.Int64, "payload_bytes": pl.Int64},
        orient="row",
    )
    return frame.with_columns(flow=pl.lit("T"), direction=pl.lit("data"), protocol=pl.lit("tcp"))


def wrong(one: Numbered, hooks: dict[tuple[str, str], int], seen: pl.DataFrame | None) -> list[str]:
    """Return in words what disagrees."""
    return [
        f"{check.check}: wanted {check.wanted}, got {check.got}"
        for check in checks([one], hooks, seen)
        if check.agrees is not True
    ]


def test_listed_packets_that_were_dropped_agree() -> None:
    found = checks([listed()], HOOK, packets((10, 13)))
    assert [(check.check, check.got, check.agrees) for check in found] == [
        ("listed packets dropped", "2 packets", True),
        ("dropped by filters", "2 packets", True),
        ("captured where packets are numbered", "4 packets", True),
        ("listed packets lost", "2, 3", True),
    ]


def test_random_loss_of_others_does_not_matter() -> None:
    assert wrong(listed(), HOOK, packets((10,))) == []


def test_every_way_of_being_wrong_is_told() -> None:
    assert wrong(listed(dropped_pkts=1), {("r2", "ifb-bottleneck"): 1}, None) == [
        "listed packets dropped: wanted 2 packets, got 1 packets"
    ]
    assert wrong(listed(), {("r2", "ifb-bottleneck"): 3}, None) == [
        "dropped by filters: wanted 2 packets, got 3 packets"
    ]
    assert wrong(listed(), {}, None) == ["dropped by filters: wanted 2 packets, got not counted"]
    assert wrong(listed(), HOOK, packets((10, 12), 4)) == [
        "listed packets lost: wanted 2, 3, got 2"
    ]
    assert wrong(listed(), HOOK, packets((10,), 3)) == [
        "captured where packets are numbered: wanted 4 packets, got 3 packets"
    ]


def test_a_packet_that_was_never_sent_is_no_error_but_said() -> None:
    one = listed(listed_pkts=[2, 800, 900], seen_pkts=700, dropped_pkts=1)
    assert (one.reached(), one.unreached()) == ((2,), (800, 900))
    assert wrong(one, {("r2", "ifb-bottleneck"): 1}, None) == []
    assert warnings([listed(), one]) == [
        {
            "rule": "listed-packet-not-sent",
            "where": "flow T",
            "text": "Listed to be dropped, but never sent: data packet 800, 900. Only 700 came as"
            " far as the loss model.",
        }
    ]


def test_what_filters_drop_is_counted_by_their_hook() -> None:
    shown = {
        "r2": [
            {"kind": "netem", "dev": "ifb-bottleneck", "drops": 13},
            {"kind": "clsact", "dev": "ifb-bottleneck", "drops": 4},
        ]
    }
    assert hook_drops(shown) == {("r2", "ifb-bottleneck"): 4}


def drawn(**changes: Any) -> Numbered:
    """Return flow T with paired loss alone, which draws 2 and 3 of its 4 packets."""
    one = listed(listed_pkts=[], dropped_pkts=0, drawn_dropped_pkts=2, **changes)
    return dataclasses.replace(one, drawn_pkts=(2, 3))


def test_drawn_packets_that_were_dropped_agree() -> None:
    found = checks([drawn()], HOOK, packets((10, 13)))
    assert [(check.check, check.got, check.agrees) for check in found] == [
        ("drawn packets dropped", "2 packets", True),
        ("dropped by filters", "2 packets", True),
        ("captured where packets are numbered", "4 packets", True),
        ("drawn packets lost", "2, 3", True),
    ]
    assert wrong(drawn(), HOOK, packets((10, 12))) == ["drawn packets lost: wanted 2, 3, got 2"]
    assert wrong(drawn(seen_pkts=4), {("r2", "ifb-bottleneck"): 1}, None) == [
        "dropped by filters: wanted 2 packets, got 1 packets"
    ]


def test_the_draws_are_made_again_from_the_cell() -> None:
    cell = paired(0.25)
    one = listed(cell, listed_pkts=[2], seen_pkts=100, dropped_pkts=1)
    assert one.drawn_pkts == draws.losses_by_number(cell, 100, {2})
    assert 15 < len(one.drawn_pkts) < 35


def test_of_many_numbers_the_first_and_the_last_are_named() -> None:
    assert numbers_words(range(1, 101)) == (
        "100 packets: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 ... 100"
    )


def test_more_packets_than_the_bottleneck_carries_are_not_drawn_for() -> None:
    cell = wireless_cell()
    entry = {"flow": "T", "node": "r2", "device": "ifb0", "listed_pkts": [], "seen_pkts": 1 << 62,
             "dropped_pkts": 0, "drawn_dropped_pkts": 0}  # fmt: skip
    with pytest.raises(ValueError, match=r"4611686018427387904 packets are more than the bottle"):
        Numbered.of(entry, cell)
    assert Numbered.of({**entry, "seen_pkts": 100_000}, cell).seen_pkts == 100_000


def test_periodic_losses_are_told_as_far_as_packets_came_and_one_too_few_is_told() -> None:
    cell = losing(PeriodicLoss(model="periodic", every_pkts=2, first_pkt=3))
    one = listed(cell, listed_pkts=[], dropped_pkts=0, seen_pkts=6, drawn_dropped_pkts=2)
    assert one.drawn_pkts == (3, 5)
    assert wrong(one, HOOK, packets((10, 11, 13, 15), count=6)) == []
    short = listed(cell, listed_pkts=[], dropped_pkts=0, seen_pkts=6, drawn_dropped_pkts=1)
    assert wrong(short, {("r2", "ifb-bottleneck"): 1}, None) == [
        "drawn packets dropped: wanted 2 packets, got 1 packets"
    ]
    assert wrong(one, HOOK, packets((10, 11, 12, 15), count=6)) == [
        "drawn packets lost: wanted 3, 5, got 5"
    ]
