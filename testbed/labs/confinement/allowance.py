"""What a cell may take of the host: disk, memory, processes, open files, words. Pure.

Derived from the cell's settings with room to spare, never from the machine: a lab that meets one
of these is broken or hostile, and is ended with an error that names the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from model.ad_hoc import RoutingProtocol
from model.cell import Cell
from testbed.labs.confinement.held import DATA_BYTES, HEADERS_BYTES, held_bytes

MIB = 1 << 20
#: For what every cell writes: its settings as read back, counters, samples.
DISK_BYTES = 256 * MIB
#: Per packet at the bottleneck: trace events and socket samples; more with captures at all points.
DISK_PER_PACKET_BYTES, DISK_PER_CAPTURED_PACKET_BYTES = 1024, 4096
FILES, FILES_PER_FLOW, FILES_PER_NODE = 1000, 16, 16
MEMORY_BYTES, MEMORY_STEP_BYTES = 256 * MIB, 64 * MIB
#: Of flows beyond one per host, from so many on: two programs and their sockets each. 450 more
#: between the same 100 hosts were seen to need 246 MiB.
FLOWS_IN_LEAST, PER_FLOW_BYTES = 100, MIB
#: What sockets may hold in the least memory, beside as many hosts as do with it: each host that is
#: not there leaves its share to them.
HELD_IN_LEAST_BYTES = 64 * MIB
PROCESSES, PROCESSES_PER_PART = 256, 8
# A lab of 500 pairs was seen to need 3033.
OPEN_FILES, OPEN_FILES_PER_PART = 1024, 8
#: Of the console all may be read, and these parts are kept.
CONSOLE_BYTES = 8 * MIB


class HostMemory(NamedTuple):
    """How many hosts do with the least memory, and what each needs from there on."""

    in_least: int
    per_host_bytes: int


#: Of hosts that links join: nodes with a namespace of their own.
OF_HOSTS = HostMemory(100, MIB)
#: Of radios, each with its router: 92 were seen to need more than 256 MiB; where each has IPv6 and
#: babeld, 100 were seen to need 480 MiB when they had just begun.
OF_RADIOS: Mapping[RoutingProtocol, HostMemory] = {
    "aodv": HostMemory(50, 4 * MIB),
    "batman-adv": HostMemory(50, 4 * MIB),
    "babel": HostMemory(30, 7 * MIB),
}


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The limits of one lab. ``memory_bytes`` is what its kernel calls its memory."""

    disk_bytes: int = DISK_BYTES
    files: int = FILES
    memory_bytes: int = MEMORY_BYTES
    processes: int = PROCESSES
    open_files: int = OPEN_FILES
    console_bytes: int = CONSOLE_BYTES

    @property
    def file_bytes(self) -> int:
        """The largest file: the memory is one too."""
        return max(self.disk_bytes, self.memory_bytes)


#: What the smallest cell may take.
LEAST = Allowance()


def of_cell(cell: Cell) -> Allowance:
    """Return what that cell may take."""
    hosts = cell.network.sources + cell.network.destinations
    memory = OF_HOSTS
    said_files = FILES_PER_FLOW * len(cell.flows)
    if cell.ad_hoc:  # the router of every radio says what it did
        memory = OF_RADIOS[cell.ad_hoc.routing.protocol]
        hosts = len(cell.ad_hoc.radios())
        said_files += FILES_PER_NODE * hosts
    parts = hosts + len(cell.flows)
    per_packet_bytes = DISK_PER_PACKET_BYTES
    if cell.collect.pcap:
        per_packet_bytes = DISK_PER_CAPTURED_PACKET_BYTES
    further = len(cell.flows) - max(FLOWS_IN_LEAST, hosts // 2)
    more_bytes = (
        (hosts - memory.in_least) * memory.per_host_bytes
        + max(0, further) * PER_FLOW_BYTES
        + (0 if cell.ad_hoc else held_bytes(cell) - HELD_IN_LEAST_BYTES)
    )
    steps = max(0, -(-more_bytes // MEMORY_STEP_BYTES))
    return Allowance(
        disk_bytes=DISK_BYTES + round(most_packets(cell)) * per_packet_bytes,
        files=FILES + said_files,
        memory_bytes=MEMORY_BYTES + steps * MEMORY_STEP_BYTES,
        processes=PROCESSES + PROCESSES_PER_PART * parts,
        open_files=OPEN_FILES + OPEN_FILES_PER_PART * parts,
    )


def most_packets(cell: Cell) -> float:
    """Return how many data packets can pass the bottlenecks, or are sent at fixed rates."""
    sizes = [flow.message_bytes for flow in cell.flows if flow.message_bytes > 0]
    least_bytes = min([DATA_BYTES, *sizes]) + HEADERS_BYTES
    rate_bps = max(cell.carried_bps(), sum(flow.rate_bps for flow in cell.flows))
    return rate_bps / 8 / least_bytes * cell.duration_s
