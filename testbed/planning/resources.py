"""What cells take of the disk, and of memory while they run. Pure.

Estimated from a cell's settings alone; the constants are fits to measured cells
(benchmarks/README.md).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from model.ad_hoc import AdHoc
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
#: Of radios, also for each second of each radio, warm-up included; what its medium carried, for
#: each second of each channel, compressed and, while it runs, not; what daemons did, while it runs.
OF_RADIOS_BYTES, PER_RADIO_S_BYTES = 580_000, 78
PER_MEDIUM_S_BYTES, PER_UNPACKED_MEDIUM_S_BYTES, PER_UNPACKED_RADIO_S_BYTES = 17_500, 185_000, 300
#: One that measures radios: they send for the same time, whatever the study.
OF_CALIBRATED_RADIOS_BYTES, CALIBRATED_MEDIUM_BYTES = 2_020_000, 605_000
UNPACKED_CALIBRATED_MEDIUM_BYTES = 10_500_000
#: Of a simulator: its trace and tables; the table of packets.
SIMULATED_BYTES, PER_SIMULATED_PACKET_BYTES, PER_SIMULATED_ROW_BYTES = 150_000, 76, 70
#: The report of a study, and of a set of some; and what each cell may add.
REPORT_BYTES, REPORT_PER_CELL_BYTES = 4_500_000, 20_000
#: The process that runs and parses cells, one for each that runs at once.
WORKER_BYTES = 360 << 20


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What cells take: to stay, besides while they run, and of memory at most."""

    disk_bytes: int
    scratch_bytes: int
    memory_bytes: int


def cell_bytes(cell: Cell) -> int:
    """Return what a finished cell has on the disk."""
    if cell.simulated():
        each_bytes = PER_SIMULATED_PACKET_BYTES + PER_SIMULATED_ROW_BYTES * cell.collect.pcap
        return round(SIMULATED_BYTES + each_bytes * expected_packets(cell))
    if cell.ad_hoc:
        return round(_of_radios_bytes(cell, cell.ad_hoc))
    if cell.purpose == "calibrate":
        hosts = cell.network.sources + cell.network.destinations
        return CALIBRATED_BYTES + PER_HOST_BYTES * hosts
    per_packet = PER_PACKET_BYTES + (PER_CAPTURED_PACKET_BYTES if cell.collect.pcap else 0)
    packets = expected_packets(cell)
    return round(MEASURED_BYTES + PER_FLOW_BYTES * len(cell.flows) + per_packet * packets)


def _of_radios_bytes(cell: Cell, network: AdHoc) -> float:
    captured = cell.collect.pcap
    if cell.purpose == "calibrate":
        return OF_CALIBRATED_RADIOS_BYTES + CALIBRATED_MEDIUM_BYTES * captured
    per_s = PER_RADIO_S_BYTES * len(network.radios())
    per_s += PER_MEDIUM_S_BYTES * network.channels * captured
    return OF_RADIOS_BYTES + per_s * (network.warm_up_s + cell.duration_s)


def scratch_bytes(cell: Cell) -> int:
    """Return what a cell has on the disk while it runs, and no longer when it is finished."""
    if cell.ad_hoc:
        return round(_unpacked_of_radios_bytes(cell, cell.ad_hoc))
    if cell.simulated():
        return 0
    if cell.purpose == "calibrate" or not cell.collect.pcap:
        return 0
    return round(PER_UNPACKED_PACKET_BYTES * expected_packets(cell))


def _unpacked_of_radios_bytes(cell: Cell, network: AdHoc) -> float:
    captured = cell.collect.pcap
    if cell.purpose == "calibrate":
        return UNPACKED_CALIBRATED_MEDIUM_BYTES * captured
    per_s = PER_UNPACKED_RADIO_S_BYTES * len(network.radios())
    per_s += PER_UNPACKED_MEDIUM_S_BYTES * network.channels * captured
    return per_s * (network.warm_up_s + cell.duration_s)


def memory_bytes(cell: Cell) -> int:
    """Return the most memory that a cell, and what runs and parses it, may take."""
    return allowance.of_cell(cell).memory_bytes + WORKER_BYTES


def needed(cells: Iterable[Cell], jobs: int) -> Resources:
    """Return what cells take, so many at once, with the reports of their studies."""
    every = list(cells)
    studies = len({cell.study for cell in every})
    report_bytes = REPORT_BYTES * (studies + (studies > 1)) + REPORT_PER_CELL_BYTES * len(every)
    return Resources(
        disk_bytes=sum(map(cell_bytes, every)) + report_bytes,
        scratch_bytes=sum(heapq.nlargest(jobs, map(scratch_bytes, every))),
        memory_bytes=sum(heapq.nlargest(jobs, map(memory_bytes, every))),
    )
