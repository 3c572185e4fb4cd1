"""The comparisons of a cell's audit. Pure; see :mod:`collectors.audit.packet_balance`."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from collectors.audit.packet_balance import Evidence, Stretch, compare
from collectors.packets.path import window_bytes
from collectors.packets.seen import FlowPackets, flow_packets
from collectors.packets.tally import Journeys, Tally
from model import path_names
from model.after_events import directions_over_time
from model.cell import Cell, Flow
from model.check import Check
from model.links import Direction
from model.run_files.traffic_tables import PathRow
from model.tolerances import EXACT, Tolerances

PKTS = "packets"
PACKET_MAX_BYTES = 1500
#: What a bottleneck with a managed queue lets wait for the wire, the packet being sent included.
WIRE_PKTS = 2


def chain_checks(evidence: Evidence) -> list[Check]:
    """Each stretch is offered exactly what the one before it let through."""
    found = []
    for before, after in itertools.pairwise(evidence.stretches):
        if (before.direction, before.path) == (after.direction, after.path):
            wanted = evidence.through(before).passed_pkts
            got = evidence.through(after).offered_pkts
            found.append(compare(f"offered after {before.name}", after.where(), wanted, got, PKTS))
    return found


def counter_checks(cell: Cell, evidence: Evidence) -> list[Check]:
    """The flows' counters add up to the drops of buffer and loss model.

    Others' packets are in the qdiscs' counters alone, so with iperf3 nothing follows.
    """
    found = []
    alone = all(flow.generator == "probe" for flow in cell.flows)
    for stretch in evidence.stretches:
        if stretch.direction != "data" or not stretch.name.startswith("bottleneck"):
            continue
        before, after = stretch.counters()
        counts = [
            (counted[before], counted[after])
            for counted in evidence.counters.values()
            if before in counted and after in counted
        ]
        whole = alone and len(counts) == len(cell.flows)
        passage = evidence.through(stretch)
        gone = sum(came - went for came, went in counts) if whole else None
        wanted = passage.dropped_pkts + passage.held_pkts
        found.append(compare("dropped by flow counters", stretch.where(), wanted, gone, PKTS))
    return found


def capture_checks(cell: Cell, evidence: Evidence, tally: Tally) -> list[Check]:
    """Captures against flow counters, qdiscs and sockets."""
    found = []
    for flow in cell.flows:
        counted = evidence.counters.get(flow.id, {})
        for path in range(1, 1 + len(cell.wired.paths())):
            for point in ("queue_offered", "loss_offered", "loss_passed"):
                got = tally.pkts(flow.id, "data", point, path)
                where = f"flow {flow.id}, {point}{path_names.said(path)}"
                wanted = counted.get(path_names.counter(point, path))
                found.append(compare("captured", where, wanted, got, PKTS))
        unit = "chunks" if flow.protocol == "sctp" else "segments"
        for check, said, seen in (
            ("data sent", evidence.sent_data, tally.data_sent),
            ("retransmitted", evidence.repeated, tally.repeated),
        ):
            where = f"flow {flow.id}, sender"
            found.append(compare(check, where, said.get(flow.id), seen.get(flow.id, 0), unit))
    for name, count in sorted(tally.unsent.items()):
        where = f"flow {name}" if name else "packets of no flow"
        found.append(compare("seen and never sent", where, 0, count, PKTS))
    for stretch in evidence.stretches:
        found += _against_qdisc(stretch, evidence, tally)
    return found


def _against_qdisc(stretch: Stretch, evidence: Evidence, tally: Tally) -> list[Check]:
    passage = evidence.through(stretch)
    found = []
    for check, point, wanted in (
        ("captured before", stretch.offered_at, passage.offered_pkts),
        ("captured after", stretch.passed_at, passage.passed_pkts),
    ):
        if point:
            got = tally.all_pkts(stretch.direction, point, stretch.path)
            found.append(compare(check, stretch.where(), wanted, got, PKTS))
    return found


def goodput_checks(
    cell: Cell,
    evidence: Evidence,
    packets: pl.DataFrame,
    paths: list[PathRow],
    tolerances: Tolerances = EXACT,
) -> list[Check]:
    """What the captures show was accepted is what the receivers say they got.

    A receiver that wakes as the measuring window ends reads what arrives while it looks at the
    clock, so what came within ``event_s`` of either end may count or not.
    """
    found = []
    for flow, row in zip(cell.flows, paths, strict=True):
        said = evidence.received_bytes.get(flow.id)
        inside_bytes, total_bytes = said if said is not None else (None, None)
        where = f"flow {flow.id}, receiver"
        check = compare("goodput", where, inside_bytes, row.goodput_bytes, "bytes")
        if check.agrees is False:
            seen = flow_packets(packets).get(flow.id, FlowPackets())
            least, most = _goodput_range(seen, flow, cell, tolerances.event_s)
            agrees = inside_bytes is not None and least <= inside_bytes <= most
            check = dataclasses.replace(check, agrees=agrees)
        found.append(check)
        found.append(compare("received", where, total_bytes, row.total_bytes, "bytes"))
    return found


def _goodput_range(seen: FlowPackets, flow: Flow, cell: Cell, edge_s: float) -> tuple[int, int]:
    """Return the fewest and most bytes accepted in a window whose ends are so uncertain."""
    start_s, end_s = cell.measure_from_s, cell.measure_to_s
    late_s, early_s = (start_s + edge_s, start_s - edge_s) if start_s > 0 else (0.0, 0.0)
    least = window_bytes(seen, flow, late_s, end_s - edge_s)
    most = window_bytes(seen, flow, early_s, end_s + edge_s)
    return least or 0, most or 0


def place_checks(
    cell: Cell, evidence: Evidence, packets: pl.DataFrame, tolerances: Tolerances = EXACT
) -> list[Check]:
    """The capture points lie where they are said to: the times between them are the path's.

    No packet crosses a stretch faster than its delay and serialisation, the least of all sources',
    and the bottleneck's channel takes every packet exactly its delay; where an event changes that,
    one between the shortest and the longest there was; behind a managed queue the time it takes to
    send besides.
    """
    found = []
    for path, network in enumerate(cell.wired.paths(), 1):
        journeys = Journeys(packets, "data", path)
        accesses = [link.forward for link in network.accesses()]
        leave, between = network.destination_access.forward, network.bottleneck.forward
        over_time = directions_over_time(
            between, path_names.bottleneck(path), "forward", cell.events
        )
        managed = between.discipline.is_active  # then sending is the channel's
        wire_s = WIRE_PKTS * PACKET_MAX_BYTES * 8 / between.rate_bps
        shapes = {
            "source access": _Shape(accesses, delays=True, serialises=True),
            "bottleneck buffer": _Shape(over_time, serialises=not managed),
            "bottleneck channel": _Shape(
                over_time, delays=True, serialises=managed, most_wait_s=wire_s if managed else 0.0
            ),
            "destination access": _Shape([leave], delays=True, serialises=True),
        }
        found += [
            _place(stretch, journeys, shapes[stretch.name], tolerances.delay_s)
            for stretch in evidence.stretches
            if (stretch.direction, stretch.path) == ("data", path)
        ]
    return found


@dataclass(frozen=True)
class _Shape:
    """How long packets stay on a stretch: its delay and sending them, as far as that is there.

    ``links`` is what it was like at one time after the other, or of each source; ``most_wait_s``
    how long they wait besides at most, None: as long as there is a queue.
    """

    links: Sequence[Direction]
    delays: bool = False
    serialises: bool = False
    most_wait_s: float | None = None


def _place(stretch: Stretch, journeys: Journeys, shape: _Shape, tolerance_s: float) -> Check:
    least_s, most_s = 0.0, 0.0
    if shape.delays:
        least_s, most_s = (bound(link.owd_s for link in shape.links) for bound in (min, max))
    quickest_bps = max(link.rate_bps for link in shape.links)
    found = journeys.extremes_s(
        stretch.offered_at, stretch.passed_at, 8 / quickest_bps if shape.serialises else 0.0
    )
    most_s += shape.most_wait_s or 0.0
    kind = "at least" if shape.most_wait_s is None else "always"
    wanted = f"{kind} {least_s * 1000:.3f} ms"
    if shape.most_wait_s is not None and most_s > least_s:
        wanted = f"{least_s * 1000:.3f} to {most_s * 1000:.3f} ms"
    check = "time without serialisation" if shape.serialises else "time"
    if found is None:
        return Check(
            check=check, where=stretch.where(), wanted=wanted, got="no packet passed", agrees=None
        )
    shortest_s, longest_s = found
    agrees = shortest_s >= least_s - tolerance_s
    if shape.most_wait_s is not None:
        agrees = agrees and longest_s <= most_s + tolerance_s
    return Check(
        check=check, where=stretch.where(), wanted=wanted, agrees=agrees,
        got=f"{shortest_s * 1000:.3f} to {longest_s * 1000:.3f} ms",
    )  # fmt: skip
