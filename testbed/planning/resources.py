"""What cells take of the disk, and of memory while they run. Pure.

Estimated from a cell's settings alone; the constants are fits to measured cells
(benchmarks/README.md). Cells of radios and of simulators have not been measured: of these nothing
is told.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from model.cell import Cell
from testbed.labs.confinement import allowance
from testbed.labs.confinement.expected_traffic import expected_packets

#: Of a finished cell that measures: documents, samples of sockets and queues; trace and tables.
MEASURED_BYTES, PER_FLOW_BYTES, PER_PACKET_BYTES = 300_000, 80_000, 35
#: More, where it is captured: captures, compressed, and the table of packets.
PER_CAPTURED_PACKET_BYTES = 255
#: While it runs its captures are not compressed.
PER_UNPACKED_PACKET_BYTES = 1110
#: Of one that calibrates.
CALIBRATED_BYTES, PER_HOST_BYTES = 120_000, 28_000
#: The report of a study, and of a set of some; and what each cell may add.
REPORT_BYTES, REPORT_PER_CELL_BYTES = 4_500_000, 20_000
#: The process that runs and parses cells, one for each that runs at once.
WORKER_BYTES = 360 << 20


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What cells take: to stay, besides while they run, and of memory at most.

    ``unknown_cells`` are left out of it.
    """

    disk_bytes: int
    scratch_bytes: int
    memory_bytes: int
    unknown_cells: int


def is_known(cell: Cell) -> bool:
    """Return whether such cells were measured."""
    return cell.ad_hoc is None and not cell.simulated()


def cell_bytes(cell: Cell) -> int:
    """Return what a finished cell has on the disk."""
    if cell.purpose == "calibrate":
        hosts = cell.network.sources + cell.network.destinations
        return CALIBRATED_BYTES + PER_HOST_BYTES * hosts
    per_packet = PER_PACKET_BYTES + (PER_CAPTURED_PACKET_BYTES if cell.collect.pcap else 0)
    packets = expected_packets(cell)
    return round(MEASURED_BYTES + PER_FLOW_BYTES * len(cell.flows) + per_packet * packets)


def scratch_bytes(cell: Cell) -> int:
    """Return what a cell has on the disk while it runs, and no longer when it is finished."""
    if cell.purpose == "calibrate" or not cell.collect.pcap:
        return 0
    return round(PER_UNPACKED_PACKET_BYTES * expected_packets(cell))


def memory_bytes(cell: Cell) -> int:
    """Return the most memory that a cell, and what runs and parses it, may take."""
    return allowance.of_cell(cell).memory_bytes + WORKER_BYTES


def needed(cells: Iterable[Cell], jobs: int) -> Resources:
    """Return what cells take, so many at once, with the reports of their studies."""
    every = list(cells)
    known = [cell for cell in every if is_known(cell)]
    studies = len({cell.study for cell in every})
    report_bytes = REPORT_BYTES * (studies + (studies > 1)) + REPORT_PER_CELL_BYTES * len(every)
    return Resources(
        disk_bytes=sum(map(cell_bytes, known)) + report_bytes,
        scratch_bytes=sum(heapq.nlargest(jobs, map(scratch_bytes, known))),
        memory_bytes=sum(heapq.nlargest(jobs, map(memory_bytes, every))),
        unknown_cells=len(every) - len(known),
    )
