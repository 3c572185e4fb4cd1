"""Proof that the listed data packets of a flow were dropped, and no other in their place. Pure.

Who counts independently of each other: the program that drops them, the hook it hangs from, and the
captures before and after. Invariant: packet numbers count from 1, a flow's data packets as they
leave the bottleneck's buffer, retransmissions too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from collectors.audit_parse import Check, compare

RULE = "listed-packet-not-sent"
PKTS = "packets"
Place = tuple[str, str]  # node, device


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One flow's list and what came of it; an entry of ``raw/listed_drops.json``."""

    flow: str
    node: str
    device: str
    listed_pkts: tuple[int, ...]
    seen_pkts: int
    dropped_pkts: int

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Listed:
        """Return the list an entry describes."""
        return cls(
            flow=str(entry["flow"]), node=str(entry["node"]), device=str(entry["device"]),
            listed_pkts=tuple(int(number) for number in entry["listed_pkts"]),
            seen_pkts=int(entry["seen_pkts"]), dropped_pkts=int(entry["dropped_pkts"]),
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


def hook_drops(shown: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[Place, int]:
    """Return what the filters of each device dropped, from ``tc -j -s qdisc show`` per node."""
    return {
        (node, str(qdisc["dev"])): int(qdisc["drops"])
        for node, qdiscs in shown.items()
        for qdisc in qdiscs
        if qdisc["kind"] == "clsact"
    }


def checks(
    lists: Sequence[Listed], hooks: Mapping[Place, int], captured: pl.DataFrame | None
) -> list[Check]:
    """Return all comparisons of the lists with what was dropped."""
    found = []
    for listed in lists:
        where = f"flow {listed.flow}, {listed.node}: {listed.device}"
        wanted = len(listed.reached())
        found.append(compare("listed packets dropped", where, wanted, listed.dropped_pkts, PKTS))
    dropped: dict[Place, int] = {}
    for listed in lists:
        dropped[listed.place] = dropped.get(listed.place, 0) + listed.dropped_pkts
    for place, count in dropped.items():
        where = f"{place[0]}: {place[1]}"
        found.append(compare("dropped by filters", where, count, hooks.get(place), PKTS))
    if captured is not None:
        for listed in lists:
            found += _against_captures(listed, captured)
    return found


def _against_captures(listed: Listed, captured: pl.DataFrame) -> list[Check]:
    """The program counted every data packet, and each listed one is not seen after the loss."""
    where = f"flow {listed.flow}, data packets"
    # Every UDP packet counts, one without a byte too.
    data = captured.filter(
        (pl.col("payload_bytes") > 0) | (pl.col("protocol") == "udp"),
        flow=listed.flow,
        direction="data",
    )
    offered = data.filter(point="loss_offered")["packet"].to_list()
    passed = set(data.filter(point="loss_passed")["packet"].to_list())
    lost = [
        number
        for number in listed.reached()
        if number <= len(offered) and offered[number - 1] not in passed
    ]
    wanted, got = numbers_words(listed.reached()), numbers_words(lost)
    return [
        compare("captured where packets are listed", where, listed.seen_pkts, len(offered), PKTS),
        Check(check="listed packets lost", where=where, wanted=wanted, got=got,
              agrees=wanted == got),
    ]  # fmt: skip


def numbers_words(numbers: Sequence[int]) -> str:
    """Return numbers of packets in words: ``8, 20``."""
    return ", ".join(map(str, numbers)) or "none"


def warnings(lists: Sequence[Listed]) -> list[dict[str, str]]:
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
