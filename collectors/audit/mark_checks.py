"""Marked packets counted twice: by the queue that marked them, by the hosts that got them. Pure.

A managed queue marks packets (Congestion Experienced, RFC 3168) and counts them; the IP layer of
each host counts the marked ones it gets. Where nothing is dropped between the two the numbers are
equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from collectors.audit.packet_balance import PKTS, Evidence, compare
from collectors.sockets.protocol import growth
from model.cell import Cell
from model.check import Check
from model.run_files.traffic_tables import QdiscRow

#: Of which way, and by which access link packets come to the hosts.
WAYS = (("data", "destination access"), ("ack", "source access"))
#: What a host's IP layer calls marked packets that it got.
MARKED = "InCEPkts"


def received_by_host(cell: Cell, protocol: pl.DataFrame) -> dict[str, int]:
    """Return how many marked packets came to each host, by its own counter."""
    if cell.ad_hoc:
        return {}
    found = {}
    grown = growth(protocol, (MARKED,))
    for direction, _ in WAYS:
        for host in _hosts(cell, direction):
            count = grown(host, "IpExt", (MARKED,))
            if count is not None:
                found[host] = count
    return found


def _hosts(cell: Cell, direction: str) -> list[str]:
    """Return the hosts that packets of one way come to."""
    ends = ("dst", cell.wired.destinations) if direction == "data" else ("src", cell.wired.sources)
    return [f"{ends[0]}{number + 1}" for number in range(ends[1])]


def of_flows(cell: Cell, received: Mapping[str, int]) -> dict[str, int]:
    """Return how many marked packets came to each flow's receiving host, if it has no other."""
    ends = [flow.destination for flow in cell.flows]
    return {
        flow.id: received[host]
        for flow in cell.flows
        if ends.count(flow.destination) == 1 and (host := f"dst{flow.destination + 1}") in received
    }


def checks(
    cell: Cell, evidence: Evidence, qdiscs: Sequence[QdiscRow], received: Mapping[str, int]
) -> list[Check]:
    """Compare the marks of each way with what came to the hosts behind the bottlenecks.

    Nothing where no buffer manages its queue.
    """
    if cell.wired.disciplines() == {"fifo"}:
        return []
    marks = {
        (row.node, row.device): row.marked_pkts for row in qdiscs if row.marked_pkts is not None
    }
    found = []
    for direction, last in WAYS:
        way = [stretch for stretch in evidence.stretches if stretch.direction == direction]
        buffers = [stretch for stretch in way if stretch.name == "bottleneck buffer"]
        behind = [s for s in way if s.name in ("bottleneck channel", last)]
        lost_pkts = sum(evidence.through(stretch).dropped_pkts for stretch in behind)
        hosts = _hosts(cell, direction)
        known = not lost_pkts and all(host in received for host in hosts)
        found.append(
            compare(
                "marked packets received", ", ".join(map(str, hosts)),
                sum(marks.get((s.node, s.devices[0]), 0) for s in buffers),
                sum(received[host] for host in hosts) if known else None, PKTS,
            )
        )  # fmt: skip
    return found
