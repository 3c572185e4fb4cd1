"""Conservation of a cell's packets: what was sent was delivered, dropped, or is still held. Pure.

Who counts independently of each other: captures at both ends of a stretch, the flower filters of
each flow, the qdiscs' own counters, and the hosts' sockets. Invariants: comparisons are exact; what
nobody counted is null and closes nothing; without captures the counters are audited alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from collectors.packets.packets import DIRECTIONS
from collectors.packets.tally import Tally
from collectors.raw.files import whole, word
from model import path_names
from model.cell import Cell, Flow
from model.check import Check
from model.run_files.traffic_tables import AuditRow

RULE = "does-not-add-up"
PKTS = "packets"
#: Kinds of qdisc that shape, delay or lose; what a bucket's queue drops it counts too.
SHAPING = ("netem", "tbf")


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """One qdisc on the way, or one of each host; an entry of ``raw/path.json``.

    Paths are counted from 1.
    """

    name: str
    direction: str
    node: str
    devices: tuple[str, ...]
    offered_at: str
    passed_at: str
    path: int = 1

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Stretch:
        """Return the stretch an entry describes; one that names no path is of the first."""
        keys = ("name", "direction", "node", "offered_at", "passed_at")
        return cls(
            **{key: word(entry[key]) for key in keys},
            devices=tuple(word(device) for device in entry["devices"]),
            path=whole(entry.get("path", 1)),
        )

    def counters(self) -> tuple[str, str]:
        """Return the names of the flows' counters before and after it."""
        return (
            path_names.counter(self.offered_at, self.path),
            path_names.counter(self.passed_at, self.path),
        )

    def link(self) -> str:
        """Return the name of its path's bottleneck."""
        return path_names.bottleneck(self.path)

    def where(self) -> str:
        """Return the stretch in words, for messages."""
        way = "" if self.direction == "data" else ", acknowledgements"
        way += path_names.said(self.path)
        return f"{self.name}{way} ({self.node}: {', '.join(self.devices)})"


@dataclass(frozen=True, kw_only=True)
class Passage:
    """What a qdisc did while the cell ran."""

    passed_pkts: int
    dropped_pkts: int
    held_pkts: int

    @property
    def offered_pkts(self) -> int:
        """Everything that reached it."""
        return self.passed_pkts + self.dropped_pkts + self.held_pkts


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that was counted in a cell.

    ``qdiscs`` are the root qdiscs by node and device, with the listed packets dropped on their
    way into one; ``counters`` the flower filters by flow and name; ``tally`` what the captures
    show, or None; ``sent_data`` the data segments or chunks each flow's sender says it sent,
    repetitions included, ``repeated`` how many of them repeated; ``received_bytes`` what its
    receiver says it got.
    """

    stretches: tuple[Stretch, ...]
    qdiscs: Mapping[tuple[str, str], Passage]
    counters: Mapping[str, Mapping[str, int]]
    tally: Tally | None
    sent_data: Mapping[str, int | None]
    repeated: Mapping[str, int | None]
    received_bytes: Mapping[str, tuple[int, int] | None]

    def through(self, stretch: Stretch) -> Passage:
        """Return what all devices of one of its stretches did together."""
        return self._through[stretch]

    @cached_property
    def _through(self) -> dict[Stretch, Passage]:
        return {stretch: self._together(stretch) for stretch in self.stretches}

    def _together(self, stretch: Stretch) -> Passage:
        parts = [self.qdiscs[stretch.node, device] for device in stretch.devices]
        return Passage(
            passed_pkts=sum(part.passed_pkts for part in parts),
            dropped_pkts=sum(part.dropped_pkts for part in parts),
            held_pkts=sum(part.held_pkts for part in parts),
        )

    def held_pkts(self) -> int:
        """Return how many packets were still under way when the counters were read."""
        return sum(self.through(stretch).held_pkts for stretch in self.stretches)


def stretches(entries: Sequence[Mapping[str, Any]], cell: Cell) -> tuple[Stretch, ...]:
    """Return the stretches ``raw/path.json`` lists; raise ``ValueError`` for one unheard of."""
    network = cell.wired
    devices = {
        "source access": network.sources,
        "bottleneck buffer": 1,
        "bottleneck channel": 1,
        "destination access": network.destinations,
    }
    found = tuple(map(Stretch.of, entries))
    for stretch in found:
        known = devices.get(stretch.name) == len(stretch.devices)
        known = known and 1 <= stretch.path <= len(network.paths())
        if not known or stretch.direction not in DIRECTIONS:
            raise ValueError(f"no such stretch in this network: {stretch.where()}")
    return found


Counts = tuple[int, int, int]  # passed, dropped, held


def roots(
    shown: Mapping[str, Sequence[Mapping[str, Any]]],
) -> dict[tuple[str, str], Counts]:
    """Return the counters of each root netem or bucket in ``tc -j -s qdisc show`` of every node."""
    return {
        (node, word(qdisc["dev"])): (
            whole(qdisc["packets"]),
            whole(qdisc["drops"]),
            whole(qdisc["qlen"]),
        )
        for node, qdiscs in shown.items()
        for qdisc in qdiscs
        if qdisc["kind"] in SHAPING and qdisc.get("root")
    }


def passages(
    start: Mapping[tuple[str, str], Counts], end: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[tuple[str, str], Passage]:
    """Return what each root qdisc did since ``start``; one that was not there had done nothing."""
    found = {}
    for place, counts in roots(end).items():
        before = start.get(place, (0, 0, 0))
        passed, dropped, held = (now - then for now, then in zip(counts, before, strict=True))
        found[place] = Passage(passed_pkts=passed, dropped_pkts=dropped, held_pkts=held)
    return found


def compare(check: str, where: str, wanted: int | None, got: int | None, unit: str) -> Check:
    """Return one exact comparison of counts."""

    def words(value: int | None) -> str:
        return "not counted" if value is None else f"{value} {unit}"

    both = wanted is not None and got is not None
    return Check(
        check=check, where=where, wanted=words(wanted), got=words(got),
        agrees=wanted == got if both else None,
    )  # fmt: skip


def warnings(checks: Sequence[Check]) -> list[dict[str, str]]:
    """Return one warning if any comparison does not hold: the first, and how many more."""
    wrong = [check for check in checks if check.agrees is False]
    if not wrong:
        return []
    first = wrong[0]
    text = (
        f"Packets do not add up: {first.check}: wanted {first.wanted}, got {first.got}. "
        f"{len(wrong)} of {len(checks)} comparisons disagree; all are in audit.json."
    )
    return [{"rule": RULE, "where": first.where, "text": text}]


def rows(cell: Cell, evidence: Evidence) -> list[AuditRow]:
    """Return both directions of every flow."""
    held_pkts = evidence.held_pkts()
    return [
        _row(flow, direction, cell, evidence, held_pkts)
        for flow in cell.flows
        for direction in ("data", "ack")
    ]


def _row(flow: Flow, direction: str, cell: Cell, evidence: Evidence, held_pkts: int) -> AuditRow:
    way = [s for s in evidence.stretches if s.direction == direction]
    ends = ("source access", "destination access")
    first, last = ends if direction == "data" else ends[::-1]

    def at(name: str) -> list[Stretch]:
        return [stretch for stretch in way if stretch.name == name]

    def dropped(name: str) -> int | None:
        return _sum([_dropped(flow, stretch, cell, evidence) for stretch in at(name)])

    sent, delivered = _ends(flow, direction, (at(first), at(last)), cell, evidence)
    access, leave = dropped(first), dropped(last)
    queue, loss = dropped("bottleneck buffer"), dropped("bottleneck channel")
    in_flight = 0 if way and held_pkts == 0 else None
    parts = [access, queue, loss, leave, delivered, in_flight]
    explained = None if None in parts else sum(value or 0 for value in parts)
    unexplained = None if sent is None or explained is None else sent - explained
    return AuditRow(
        flow=flow.id,
        direction=direction,
        basis="counters" if evidence.tally is None else "captures",
        sent_pkts=sent,
        access_dropped_pkts=access,
        queue_dropped_pkts=queue,
        loss_dropped_pkts=loss,
        exit_dropped_pkts=leave,
        delivered_pkts=delivered,
        in_flight_pkts=in_flight,
        unexplained_pkts=unexplained,
        closes=None if unexplained is None else unexplained == 0,
    )


def _ends(
    flow: Flow,
    direction: str,
    ends: tuple[Sequence[Stretch], Sequence[Stretch]],
    cell: Cell,
    evidence: Evidence,
) -> tuple[int | None, int | None]:
    """Return how many of a flow's packets its sender sent and its receiver got, on all paths."""
    if evidence.tally is not None:
        return (
            evidence.tally.pkts(flow.id, direction, "sent"),
            evidence.tally.pkts(flow.id, direction, "delivered"),
        )
    first, last = (
        [_alone(flow, stretch, cell, evidence) for stretch in stretches] for stretches in ends
    )
    offered = [None if passage is None else passage.offered_pkts for passage in first]
    passed = [None if passage is None else passage.passed_pkts for passage in last]
    return _sum(offered), _sum(passed)


def _sum(parts: Sequence[int | None]) -> int | None:
    """Return the sum of what was counted; None if there is nothing, or a part was not."""
    return None if not parts or None in parts else sum(part or 0 for part in parts)


def _alone(flow: Flow, stretch: Stretch, cell: Cell, evidence: Evidence) -> Passage | None:
    """Return what the qdisc of a flow's own host did, if no other packets pass there."""
    if not stretch.name.endswith("access") or flow.generator != "probe":
        return None  # iperf3 has a control connection besides
    at_source = stretch.name.startswith("source")
    hosts = [other.source if at_source else other.destination for other in cell.flows]
    host = flow.source if at_source else flow.destination
    return evidence.qdiscs[stretch.node, stretch.devices[host]] if hosts.count(host) == 1 else None


def _dropped(flow: Flow, stretch: Stretch, cell: Cell, evidence: Evidence) -> int | None:
    """Return how many of a flow's packets a stretch dropped, by whoever counted them apart."""
    if evidence.through(stretch).dropped_pkts == 0:
        return 0
    counted = evidence.counters.get(flow.id, {})
    if stretch.direction == "data" and stretch.name.startswith("bottleneck"):
        before, after = (counted.get(name) for name in stretch.counters())
        return None if before is None or after is None else before - after
    own = _alone(flow, stretch, cell, evidence)
    if own is not None:
        return own.dropped_pkts
    if evidence.tally is None:
        return None
    dropping = [
        other
        for other in evidence.stretches
        if (other.direction, other.path) == (stretch.direction, stretch.path)
        and evidence.through(other).dropped_pkts
    ]
    points = (stretch.offered_at, stretch.passed_at)
    if dropping == [stretch]:
        points = ("sent", "delivered")  # then whatever is missing was lost here
    if not all(points):
        return None
    before, after = (
        evidence.tally.pkts(flow.id, stretch.direction, point, stretch.path) for point in points
    )
    return before - after
