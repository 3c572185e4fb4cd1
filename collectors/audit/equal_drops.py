"""Proof that where flows are to lose equally many packets, they did, and the right ones. Pure.

What is drawn is told from the seed and the number of packets, so it is compared in every run. Whose
packet pays for it rests on the order in which the flows' packets came: where that was captured,
each flow's losses are told, too. Invariant: a listed packet takes no part, see
:mod:`mininet_topos.filters.drop_program`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import polars as pl

from collectors.audit.numbered_drops import PKTS, Numbered, data_packets
from collectors.audit.packet_balance import compare
from model import draws
from model.cell import Cell
from model.check import Check

RULE = "owes-equal-drops"
#: A flow that owes so many loses every packet it sends.
HOPELESS_PKTS = 1 << draws.PAY_BITS


def told(
    cell: Cell, lists: Sequence[Numbered], captured: pl.DataFrame | None
) -> tuple[Numbered, ...]:
    """Return the lists with the numbers drawn, told again from the order of packets captured."""
    if captured is None or cell.wired.bottleneck.forward.loss.model != "equal_drops":
        return tuple(lists)
    offered = data_packets(captured).filter(point="loss_offered")["flow"]
    drawn = losses(cell, {listed.flow: listed.listed_pkts for listed in lists}, offered)
    return tuple(dataclasses.replace(one, drawn_pkts=tuple(drawn[one.flow])) for one in lists)


def losses(
    cell: Cell, listed_pkts: dict[str, tuple[int, ...]], offered: Iterable[str]
) -> dict[str, list[int]]:
    """Return the numbers each flow loses when data packets of these flows come in this order."""
    index = {flow: i for i, flow in enumerate(listed_pkts)}
    shares = draws.EqualDrops(
        cell.seed, cell.wired.bottleneck.forward.loss.loss_frac, len(listed_pkts)
    )
    seen = dict.fromkeys(listed_pkts, 0)
    lost: dict[str, list[int]] = {flow: [] for flow in listed_pkts}
    for flow in offered:
        seen[flow] += 1
        if seen[flow] not in listed_pkts[flow] and shares.loses(index[flow]):
            lost[flow].append(seen[flow])
    return lost


def checks(cell: Cell, lists: Sequence[Numbered]) -> list[Check]:
    """Compare what was drawn for all flows with the seed's draws, and that none lost more."""
    found: list[Check] = []
    offered_pkts = sum(listed.seen_pkts - listed.dropped_pkts for listed in lists)
    for listed in lists:
        if listed.together is None:
            continue
        seen_pkts, drawn_pkts = listed.together
        where = f"flow {listed.flow}, {listed.node}: {listed.device}"
        if not found:  # all have them from one map
            everywhere = f"{listed.node}: {listed.device}, all flows"
            told_pkts = draws.equally_drawn_pkts(cell, offered_pkts)
            found = [
                compare("offered to equal drops", everywhere, offered_pkts, seen_pkts, PKTS),
                compare("drawn by the seed", everywhere, told_pkts, drawn_pkts, PKTS),
            ]
        found.append(
            Check(
                check="lost no more than its share", where=where,
                wanted=f"at most {drawn_pkts} packets", got=f"{listed.drawn_dropped_pkts} packets",
                agrees=listed.drawn_dropped_pkts <= drawn_pkts,
            )
        )  # fmt: skip
    return found


def warnings(lists: Sequence[Numbered]) -> list[dict[str, str]]:
    """Return one warning for each flow that could not lose as many packets as the others."""
    return [
        {
            "rule": RULE,
            "where": f"flow {listed.flow}",
            "text": f"Lost {listed.drawn_dropped_pkts} packets where each flow was to lose"
            f" {listed.together[1]}: it sent too few. Its drops do not equal the others'.",
        }
        for listed in lists
        if listed.together and listed.together[1] - listed.drawn_dropped_pkts >= HOPELESS_PKTS
    ]
