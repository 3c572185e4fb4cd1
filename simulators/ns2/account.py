"""What became of every packet of a cell, and whether all of it fits together. Pure.

ns-2's trace is the only source, so what is compared are different lines of it: what was sent with
what arrived, was dropped, or was under way at the end; what receivers acknowledged with what had
arrived; listed packets with those dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from collectors.audit.packet_balance import compare
from model.cell import Cell, Flow
from model.check import Check
from model.links import Direction
from model.run_files.kernel_tables import DropRow, QueueRow
from model.run_files.traffic_tables import AuditRow
from model.units import bits
from simulators.ns2 import packet_lines as ns2
from simulators.ns2 import passages as where
from simulators.ns2.packet_lines import Ints
from simulators.ns2.packets import Told
from simulators.ns2.settings import FIRST_SOURCE, before_data
from simulators.ns2.trace import Trace

BASIS = "trace"
MOST_PACKET_BYTES = 1500
#: Who drops, as the tables on the kernel's drops name it.
NODES = {
    (where.DATA, where.FIRST): ("src", "access"),
    (where.DATA, where.BOTTLENECK): ("r1", "r1-bottleneck"),
    (where.DATA, where.LAST): ("r2", "access"),
    (where.ACKS, where.FIRST): ("dst", "access"),
    (where.ACKS, where.BOTTLENECK): ("r2", "r2-bottleneck"),
    (where.ACKS, where.LAST): ("r1", "access"),
}
BUFFER = {"node": "r1", "device": "r1-bottleneck", "handle": "", "role": "shaper"}


def audit_rows(told: Told, cell: Cell) -> list[AuditRow]:
    """Return both directions of every flow."""
    return [
        _row(told, cell, number, flow, way)
        for number, flow in enumerate(cell.flows, 1)
        for way in (where.DATA, where.ACKS)
    ]


def _row(told: Told, cell: Cell, number: int, flow: Flow, way: int) -> AuditRow:
    packet, what = told.packets.packet, told.packets.what

    def dropped(link: int) -> Ints:
        lines = told.places.lost(way, link)
        found: Ints = lines[told.packets.flow[lines] == number]
        return found

    sent = told.of(number, way, where.SENT)
    delivered = told.of(number, way, where.DELIVERED)
    first, middle, last = (dropped(k) for k in (where.FIRST, where.BOTTLENECK, where.LAST))
    ended = np.concatenate([packet[part] for part in (delivered, first, middle, last)])
    pending = sent[~np.isin(packet[sent], ended)]
    held = pending[told.t_s[pending] >= cell.duration_s - longest_s(cell, way)]
    by_queue = int((what[middle] == ns2.DROPPED).sum())
    explained = len(first) + len(middle) + len(last) + len(delivered) + len(held)
    return AuditRow(
        flow=flow.id,
        direction="data" if way == where.DATA else "ack",
        basis=BASIS,
        sent_pkts=len(sent),
        access_dropped_pkts=len(first),
        queue_dropped_pkts=by_queue,
        loss_dropped_pkts=len(middle) - by_queue,
        exit_dropped_pkts=len(last),
        delivered_pkts=len(delivered),
        in_flight_pkts=len(held),
        unexplained_pkts=len(sent) - explained,
        closes=len(sent) == explained,
    )


def longest_s(cell: Cell, way: int) -> float:
    """Return a time in which a packet that is not lost has arrived."""
    links = (cell.wired.source_access, cell.wired.bottleneck, cell.wired.destination_access)
    ways = [link.forward if way == where.DATA else link.reverse for link in links]
    return sum(map(_longest_s, ways))


def _longest_s(way: Direction) -> float:
    return way.owd_s + (way.queue_pkts + 1) * bits(MOST_PACKET_BYTES) / way.rate_bps


def checks(told: Told, trace: Trace, cell: Cell, rows: list[AuditRow]) -> list[Check]:
    """Return all comparisons of a cell."""
    return [
        *_conserved(rows),
        *_ends(trace, cell),
        *_answers(told, cell),
        *_listed(told, cell),
    ]


def _conserved(rows: list[AuditRow]) -> Iterator[Check]:
    for row in rows:
        what = "neither delivered, dropped nor under way"
        where_ = f"flow {row.flow}, {row.direction}"
        yield compare(what, where_, 0, row.unexplained_pkts, "packets")


def _ends(trace: Trace, cell: Cell) -> Iterator[Check]:
    """Yield whether each flow's sender is the node that the cell gives it."""
    node = {flow: node for (node, _), flow in trace.ends.items()}
    for number, flow in enumerate(cell.flows, 1):
        wanted, got = FIRST_SOURCE + flow.source, node.get(number)
        yield compare("sender's node", f"flow {flow.id}", wanted, -1 if got is None else got, "")


def _answers(told: Told, cell: Cell) -> Iterator[Check]:
    """Yield whether each acknowledgement says what had arrived when it left."""
    for number, flow in enumerate(cell.flows, 1):
        if flow.protocol == "udp":
            continue
        lines = told.of(number, where.ACKS, where.SENT)
        lines = lines[np.isin(told.packets.kind[lines], (ns2.ACK, ns2.SACK))]
        got = told.got[number]
        reached = np.concatenate([[0], got.reached])[np.searchsorted(got.line, lines)]
        wrong = int((told.packets.number[lines] != reached).sum())
        what = "acknowledgements of other than had arrived"
        yield compare(what, f"flow {flow.id}", 0, wrong, "packets")


def _listed(told: Told, cell: Cell) -> Iterator[Check]:
    """Yield whether the listed data packets, and before the loss model no others, were dropped."""
    for number, flow in enumerate(cell.flows, 1):
        if not flow.drop_data_pkts:
            continue
        offered = told.data(told.of(number, where.DATA, where.LOSS_OFFERED))
        packet = told.packets.packet
        lost = packet[told.places.lost(where.DATA, where.BOTTLENECK)]
        is_lost = np.isin(packet[offered], lost)
        place = f"flow {flow.id}"
        if cell.wired.bottleneck.forward.loss.model == "none":
            wanted = [one for one in flow.drop_data_pkts if one <= len(offered)]
            got = (np.flatnonzero(is_lost) + 1).tolist()
            yield Check(check="listed packets dropped", where=place, wanted=str(wanted),
                        got=str(got), agrees=wanted == got)  # fmt: skip
        else:
            kept = [k for k in flow.drop_data_pkts if k <= len(offered) and not is_lost[k - 1]]
            yield compare("listed packets not dropped", place, 0, len(kept), "packets")
        every = told.of(number, where.DATA, where.LOSS_OFFERED)
        before = int(np.searchsorted(every, offered[0])) if len(offered) else 0
        yield compare("packets before data", place, before_data(flow), before, "packets")


def drops(told: Told, cell: Cell) -> list[DropRow]:
    """Return every dropped packet."""
    found = []
    listed = _listed_packets(told, cell)
    for line in np.flatnonzero(told.places.dropped).tolist():
        way, link = int(told.places.way[line]), int(told.places.link[line])
        node, device = NODES[way, link]
        lost = told.packets.what[line] == ns2.LOST
        by_number = lost and int(told.packets.packet[line]) in listed
        role, reason = ("channel", "loss model") if lost else ("shaper", "buffer full")
        if by_number:
            role, reason = "numbered", "listed"
        t_s = float(told.t_s[line])
        found.append(DropRow(t_s=t_s, node=node, device=device, handle=None, role=role,
                             event="ns-2", reason=reason))  # fmt: skip
    return found


def _listed_packets(told: Told, cell: Cell) -> frozenset[int]:
    found: set[int] = set()
    for number, flow in enumerate(cell.flows, 1):
        if flow.drop_data_pkts:
            offered = told.data(told.of(number, where.DATA, where.LOSS_OFFERED))
            chosen = [offered[k - 1] for k in flow.drop_data_pkts if k <= len(offered)]
            found.update(told.packets.packet[chosen].tolist())
    return frozenset(found)


def queue_at_end(told: Told, cell: Cell) -> list[QueueRow]:
    """Return what the bottleneck's buffer held, and had let through, when the run ended."""
    packet, size = told.packets.packet, told.packets.size_bytes
    offered = told.places.at(where.DATA, where.QUEUE_OFFERED)
    left = told.places.at(where.DATA, where.LOSS_OFFERED)
    left = left[told.t_s[left] < cell.duration_s]
    lost = told.places.lost(where.DATA, where.BOTTLENECK)
    dropped = lost[told.packets.what[lost] == ns2.DROPPED]
    held = offered[~np.isin(packet[offered], packet[np.concatenate([left, dropped])])]
    return [
        QueueRow(
            **BUFFER,
            t_s=cell.duration_s,
            backlog_pkts=len(held),
            backlog_bytes=int(size[held].sum()),
            dropped_pkts=len(dropped),
            sent_pkts=len(left),
        )
    ]


def counted(told: Told, number: int) -> dict[str, int]:
    """Return how many of a flow's packets came to the buffer, to the loss model and past it."""
    before = told.of(number, where.DATA, where.QUEUE_OFFERED)
    offered = told.of(number, where.DATA, where.LOSS_OFFERED)
    lost = told.packets.packet[told.places.lost(where.DATA, where.BOTTLENECK)]
    passed = int((~np.isin(told.packets.packet[offered], lost)).sum())
    dropped = np.isin(told.packets.packet[before], lost) & ~np.isin(
        told.packets.packet[before], told.packets.packet[offered]
    )
    return {
        # What is in the buffer at the end was not dropped there.
        "queue_offered": len(offered) + int(dropped.sum()),
        "loss_offered": len(offered),
        "loss_passed": passed,
    }
