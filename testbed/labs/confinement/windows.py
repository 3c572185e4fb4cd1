"""What a host profile makes of Linux's sockets: advertised windows and segment sizes. Pure.

Defaults are those of Linux 6.12 where a profile is silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from model.cell import Cell, KnobKind, Side

#: Largest window without window scaling (RFC 9293).
UNSCALED_WINDOW_BYTES = 65535
#: Third value of net.ipv4.tcp_rmem: where autotuning ends.
TCP_RMEM_MAX_BYTES = 6291456
#: net.core.rmem_default.
RMEM_DEFAULT_BYTES = 212992
#: Payload of a 1500-byte IPv4 packet without TCP options, and what timestamps take of it.
TCP_MSS_BYTES = 1460
TCP_TIMESTAMPS_BYTES = 12
_SOCKETS: dict[str, KnobKind] = {"tcp": "tcp_socket", "sctp": "sctp_socket"}


@dataclass(frozen=True, kw_only=True)
class Window:
    """The largest window a receiver advertises, and what sets it."""

    size_bytes: int
    source: str


def knob(cell: Cell, kind: KnobKind, name: str, side: Side) -> str:
    """Return the value a profile gives a setting on one side, or nothing."""
    return cell.hosts.setting(kind, name, side)


def _number(cell: Cell, kind: KnobKind, name: str, side: Side) -> int | None:
    """Return a whole-number setting, without its lock and as its last word; None if not set."""
    words = knob(cell, kind, name, side).split()
    return int(words[-1]) if words and words[-1].isdecimal() else None


def advertised_window(cell: Cell, protocol: str) -> Window:
    """Return the window of a protocol's receivers: the smallest of all that bounds it."""
    bounds = _tcp_bounds(cell) if protocol == "tcp" else _sctp_bounds(cell)
    return min(bounds, key=lambda window: window.size_bytes)


def sender_buffer_bytes(cell: Cell, protocol: str) -> int | None:
    """Return what a protocol's senders set their buffers to; None: the kernel sizes them."""
    return _number(cell, _SOCKETS[protocol], "sndbuf_bytes", "sender")


def _tcp_bounds(cell: Cell) -> Iterator[Window]:
    yield _of_buffer(cell, "tcp", "net.ipv4.tcp_rmem", TCP_RMEM_MAX_BYTES)
    clamps: tuple[tuple[KnobKind, str], ...] = (
        ("tcp_socket", "window_clamp_bytes"), ("route", "window"),
    )  # fmt: skip
    for kind, name in clamps:
        size_bytes = _number(cell, kind, name, "receiver")
        if size_bytes:
            yield Window(size_bytes=size_bytes, source=f"{kind} {name}")
    if knob(cell, "sysctl", "net.ipv4.tcp_window_scaling", "receiver") == "0":
        yield Window(size_bytes=UNSCALED_WINDOW_BYTES, source="no window scaling")


def _sctp_bounds(cell: Cell) -> Iterator[Window]:
    yield _of_buffer(cell, "sctp", "net.core.rmem_default", RMEM_DEFAULT_BYTES)


def _of_buffer(cell: Cell, protocol: str, sysctl: str, unset_bytes: int) -> Window:
    """Return the window that a receiver's buffer allows: about half of it, with both protocols.

    SO_RCVBUF sets the buffer to twice its argument; where it is not set, ``sysctl`` says it.
    """
    argument_bytes = _number(cell, _SOCKETS[protocol], "rcvbuf_bytes", "receiver")
    if argument_bytes:
        return Window(size_bytes=argument_bytes, source="rcvbuf_bytes")
    buffer_bytes = _number(cell, "sysctl", sysctl, "receiver") or unset_bytes
    return Window(size_bytes=max(1, buffer_bytes // 2), source=f"half of {sysctl}")


def tcp_payload_bytes(cell: Cell) -> int:
    """Return the bytes a full TCP segment carries."""
    maxseg_bytes = _number(cell, "tcp_socket", "maxseg_bytes", "sender") or TCP_MSS_BYTES
    timestamps = knob(cell, "sysctl", "net.ipv4.tcp_timestamps", "sender") != "0"
    return min(maxseg_bytes, TCP_MSS_BYTES) - (TCP_TIMESTAMPS_BYTES if timestamps else 0)
