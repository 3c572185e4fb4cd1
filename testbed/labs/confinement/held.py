"""What the sockets of flows over links may hold of their lab's memory. Pure.

A packet's data is some 0.6 of the memory that it takes.
"""

from __future__ import annotations

from model.cell import Cell, Flow
from testbed.labs.confinement.windows import advertised_window, sender_buffer_bytes

#: Of data that the receiver has not read, or that is out of order; and of data that the sender
#: keeps, sent or not, where the kernel sets its buffer: two windows.
PER_WINDOW_RECEIVED, PER_WINDOW_SENT = 1 / 0.6, 2 / 0.6
#: A window may reach twice what the path holds before a loss is seen.
PER_PATH = 8
#: The kernel makes a buffer that is set twice as large, and counts in it what packets take.
PER_SET_BUFFER = 2
HEADERS_BYTES, DATA_BYTES = 28, 1448


def held_bytes(cell: Cell) -> int:
    """Return the memory that sockets may hold: what windows or paths allow, and set buffers.

    A sender whose buffer is set fills it, however little the path holds; one that sends at a rate
    no more than it hands over.
    """
    in_windows, in_set_buffers = 0.0, 0.0
    for flow in cell.flows:
        if flow.protocol == "udp":
            continue
        window_bytes = advertised_window(cell, flow.protocol).size_bytes
        in_windows += PER_WINDOW_RECEIVED * window_bytes
        set_bytes = sender_buffer_bytes(cell, flow.protocol)
        if set_bytes is None:
            in_windows += PER_WINDOW_SENT * window_bytes
        else:
            in_set_buffers += PER_SET_BUFFER * min(set_bytes, _handed_over_bytes(flow))
    return round(in_set_buffers + min(in_windows, PER_PATH * _in_paths_bytes(cell)))


def _handed_over_bytes(flow: Flow) -> float:
    if flow.rate_bps == 0:
        return float("inf")
    return flow.rate_bps / 8 * max(0.0, flow.stop_s - flow.start_s)


def _in_paths_bytes(cell: Cell) -> float:
    """Return what is under way and queued on all paths, at the fastest and longest they get."""
    rates = [event.rate_bps for event in cell.events if event.rate_bps is not None]
    delays = [event.owd_s for event in cell.events if event.owd_s is not None]
    later_rtt_s = 2 * max(delays, default=0.0)
    found_bytes = 0.0
    for path in cell.wired.paths():
        forward = path.bottleneck.forward
        queued_bytes = forward.queue_pkts * (HEADERS_BYTES + DATA_BYTES)
        fastest_bps = max([forward.rate_bps, *rates])
        found_bytes += fastest_bps / 8 * (path.longest_rtt_s() + later_rtt_s) + queued_bytes
    return found_bytes
