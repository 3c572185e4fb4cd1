"""Proof that data packets were dropped by their numbers, and no other in their place. Pure.

Who counts independently of each other: the program that drops them, the hook it hangs from, and the
captures before and after. Invariant: packet numbers count from 1, a flow's data packets as they
leave the bottleneck's buffer, retransmissions too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from collectors.audit.packet_balance import compare
from collectors.raw.files import whole, word
from model import draws
from model.cell import Cell
from model.check import Check

RULE = "listed-packet-not-sent"
PKTS = "packets"
#: How many numbers of packets a message names.
NUMBERS_SHOWN = 20
Place = tuple[str, str]  # node, device


IP_HEADER_BYTES, LEAST_SEGMENT_BYTES = 20, 500
#: Over what packets of that size would fill.
MARGIN_FACTOR = 4


@dataclass(frozen=True, kw_only=True)
class Numbered:
    """What came of one flow's numbers; an entry of ``raw/numbered_drops.json``.

    ``drawn_pkts`` are the numbers that paired or periodic loss takes, as far as packets came; of
    equal drops they rest on the other flows' packets and are None until told from captures.
    ``together`` are, for equal drops, the data packets of all flows and how many were drawn.
    """

    flow: str
    node: str
    device: str
    listed_pkts: tuple[int, ...]
    drawn_pkts: tuple[int, ...] | None
    seen_pkts: int
    dropped_pkts: int
    drawn_dropped_pkts: int
    together: tuple[int, int] | None

    @classmethod
    def of(cls, entry: Mapping[str, Any], cell: Cell) -> Numbered:
        """Return what an entry describes; the draws are made again."""
        listed_pkts = tuple(whole(number) for number in entry["listed_pkts"])
        seen_pkts = whole(entry["seen_pkts"])
        if seen_pkts > most_seen_pkts(cell):  # each is drawn for again: that would never end
            raise ValueError(f"{seen_pkts} packets are more than the bottleneck can carry")
        equal = cell.wired.bottleneck.forward.loss.model == "equal_drops"
        together = ("together_seen_pkts", "together_drawn_pkts")
        numbered_pkts = draws.losses_by_number(cell, seen_pkts, frozenset(listed_pkts))
        return cls(
            flow=word(entry["flow"]), node=word(entry["node"]), device=word(entry["device"]),
            listed_pkts=listed_pkts, seen_pkts=seen_pkts,
            drawn_pkts=None if equal else numbered_pkts,
            dropped_pkts=whole(entry["dropped_pkts"]),
            drawn_dropped_pkts=whole(entry["drawn_dropped_pkts"]),
            together=(whole(entry[together[0]]), whole(entry[together[1]])) if equal else None,
        )  # fmt: skip

    @property
    def place(self) -> Place:
        """Where the packets were dropped."""
        return self.node, self.device

    def reached(self) -> tuple[int, ...]:
        """Return the listed numbers that packets got."""
        return tuple(number for number in self.listed_pkts if number <= self.seen_pkts)

    def unreached(self) -> tuple[int, ...]:
        """Return the listed numbers that no packet got."""
        return tuple(number for number in self.listed_pkts if number > self.seen_pkts)


def most_seen_pkts(cell: Cell) -> float:
    """Return more data packets than a cell's bottleneck can carry in its time."""
    size_bytes = min(flow.message_bytes for flow in cell.flows)
    carried_bytes = cell.wired.bottleneck.forward.rate_bps * cell.limits.virtual_s / 8
    return MARGIN_FACTOR * carried_bytes / (IP_HEADER_BYTES + min(size_bytes, LEAST_SEGMENT_BYTES))


def hook_drops(shown: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[Place, int]:
    """Return what the filters of each device dropped, from ``tc -j -s qdisc show`` per node."""
    return {
        (node, word(qdisc["dev"])): whole(qdisc["drops"])
        for node, qdiscs in shown.items()
        for qdisc in qdiscs
        if qdisc["kind"] == "clsact"
    }


def checks(
    lists: Sequence[Numbered], hooks: Mapping[Place, int], captured: pl.DataFrame | None
) -> list[Check]:
    """Return all comparisons of the lists with what was dropped."""
    found = []
    for listed in lists:
        where = f"flow {listed.flow}, {listed.node}: {listed.device}"
        for what, numbers, dropped_pkts in (
            ("listed", listed.reached(), listed.dropped_pkts),
            ("drawn", listed.drawn_pkts, listed.drawn_dropped_pkts),
        ):
            if numbers is not None and (numbers or dropped_pkts):
                what = f"{what} packets dropped"
                found.append(compare(what, where, len(numbers), dropped_pkts, PKTS))
    dropped: dict[Place, int] = {}
    for listed in lists:
        both = listed.dropped_pkts + listed.drawn_dropped_pkts
        dropped[listed.place] = dropped.get(listed.place, 0) + both
    for place, count in dropped.items():
        where = f"{place[0]}: {place[1]}"
        found.append(compare("dropped by filters", where, count, hooks.get(place), PKTS))
    if captured is not None:
        for listed in lists:
            found += _against_captures(listed, captured)
    return found


def _against_captures(listed: Numbered, captured: pl.DataFrame) -> list[Check]:
    """The program counted every data packet, and those it dropped are not seen after the loss."""
    where = f"flow {listed.flow}, data packets"
    data = data_packets(captured).filter(flow=listed.flow)
    offered = data.filter(point="loss_offered")["packet"].to_list()
    passed = set(data.filter(point="loss_passed")["packet"].to_list())
    found = [
        compare("captured where packets are numbered", where, listed.seen_pkts, len(offered), PKTS)
    ]
    for what, numbers in (("listed", listed.reached()), ("drawn", listed.drawn_pkts or ())):
        lost = [n for n in numbers if n <= len(offered) and offered[n - 1] not in passed]
        wanted, got = numbers_words(numbers), numbers_words(lost)
        if numbers:
            found.append(
                Check(check=f"{what} packets lost", where=where, wanted=wanted, got=got,
                      agrees=list(numbers) == lost)
            )  # fmt: skip
    return found


def data_packets(captured: pl.DataFrame) -> pl.DataFrame:
    """Return what packets with data were captured: of UDP every one, one without a byte too."""
    return captured.filter(
        (pl.col("payload_bytes") > 0) | (pl.col("protocol") == "udp"), direction="data"
    )


def numbers_words(numbers: Sequence[int]) -> str:
    """Return numbers of packets in words: ``8, 20``; of many how many, the first and the last."""
    if len(numbers) > NUMBERS_SHOWN:
        first = ", ".join(map(str, numbers[:NUMBERS_SHOWN]))
        return f"{len(numbers)} packets: {first} ... {numbers[-1]}"
    return ", ".join(map(str, numbers)) or "none"


def warnings(lists: Sequence[Numbered]) -> list[dict[str, str]]:
    """Return one warning for each flow that sent fewer packets than its list expects."""
    return [
        {
            "rule": RULE,
            "where": f"flow {listed.flow}",
            "text": "Listed to be dropped, but never sent: data packet"
            f" {numbers_words(listed.unreached())}. Only {listed.seen_pkts} came as far as the"
            " loss model.",
        }
        for listed in lists
        if listed.unreached()
    ]
