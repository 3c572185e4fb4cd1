"""State of every flow's sockets and of the hosts' protocol counters, sampled while traffic runs.

No process is started: each host has one netlink socket per protocol (sock_diag, what ``ss`` asks)
and open descriptors of its files in /proc/net. Answers are kept as the kernel gave them, in one
file, and parsed elsewhere. ``sockets.json`` says what the sources are; ``sockets.bin.gz`` is a row
of frames, each a head (:data:`FRAME`: time, number of the source, length) and an answer.
A host's files cost more than its sockets, and tell less, so they have a period of their own.
Invariants: a sample asks its sources in their order; equal runs leave equal files.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.recording import compressing
from collectors.recording.netlink import connect, dump, dump_request

if TYPE_CHECKING:
    import gzip

    from model.node import Node

SCHEMA = 1
SAMPLES, SOURCES = "sockets.bin.gz", "sockets.json"
#: CLOCK_MONOTONIC in ns, number of the source, bytes that follow.
FRAME = struct.Struct("<QII")
BUFFER_BYTES = 1 << 20
CLOCK_MONOTONIC_COARSE = 6  # linux/time.h; its resolution is the kernel's tick

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20
PROTOCOLS = {"tcp": socket.IPPROTO_TCP, "sctp": socket.IPPROTO_SCTP}
#: inet_diag_req_v2: family, protocol, attributes and states wanted; no socket in particular.
REQUEST = struct.Struct("=BBBxI48x")
#: linux/inet_diag.h; attribute n is asked for by bit n - 1.
INET_DIAG_MEMINFO, INET_DIAG_INFO, INET_DIAG_VEGASINFO, INET_DIAG_CONG = 1, 2, 3, 4
INET_DIAG_SKMEMINFO = 7
WANTED = (
    INET_DIAG_MEMINFO, INET_DIAG_INFO, INET_DIAG_VEGASINFO, INET_DIAG_CONG, INET_DIAG_SKMEMINFO,
)  # fmt: skip
#: net/tcp_states.h: ESTABLISHED to FIN_WAIT2, CLOSE_WAIT, LAST_ACK and CLOSING. What else there is
#: has no congestion state.
CONNECTED = sum(1 << state for state in (1, 2, 3, 4, 5, 8, 9, 11))

IP_FILES = ("/proc/net/snmp", "/proc/net/netstat")
SCTP_FILES = ("/proc/net/sctp/snmp", "/proc/net/sctp/assocs", "/proc/net/sctp/remaddr")
READ_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Source:
    """Something to ask a host: ``what`` is a protocol's sockets, or a file of /proc/net."""

    node: str
    what: str


@dataclass(kw_only=True)
class Recorder:
    """Open sockets and descriptors in the order of the sources, and the file answers go to."""

    sources: tuple[Source, ...]
    handles: list[socket.socket | int]
    file: gzip.GzipFile
    pending: bytearray = field(default_factory=bytearray)


def sources(host: str, protocols: Iterable[str]) -> list[Source]:
    """Return what to ask a host whose flows have these protocols."""
    names = [name for name in PROTOCOLS if name in protocols]
    files = IP_FILES + (SCTP_FILES if "sctp" in names else ())
    return [Source(node=host, what=what) for what in (*names, *files)]


def request(protocol: str) -> bytes:
    """Return the question for all connected sockets of a protocol."""
    wanted = sum(1 << attribute - 1 for attribute in WANTED)
    body = REQUEST.pack(socket.AF_INET, PROTOCOLS[protocol], wanted, CONNECTED)
    return dump_request(SOCK_DIAG_BY_FAMILY, body)


def tick_ns() -> int:
    """Return the length of a tick of the running kernel, from one timer interrupt to the next."""
    return round(time.clock_getres(CLOCK_MONOTONIC_COARSE) * 1_000_000_000)


def start(hosts: Sequence[tuple[Node, Sequence[Source]]], folder: Path) -> Recorder:
    """Open everything that will be asked; nothing is sampled yet.

    A file this kernel lacks is no source.
    """
    found: list[Source] = []
    handles: list[socket.socket | int] = []
    for host, host_sources in hosts:
        with host.entered():
            for source in host_sources:
                with contextlib.suppress(FileNotFoundError):
                    handles.append(_open(source))
                    found.append(source)
    described = {
        "schema": SCHEMA,
        "byte_order": sys.byteorder,
        "tick_ns": tick_ns(),
        "sources": [dataclasses.asdict(source) for source in found],
    }
    (folder / SOURCES).write_text(json.dumps(described, indent=1, sort_keys=True) + "\n")
    return Recorder(
        sources=tuple(found), handles=handles, file=compressing.opened(folder / SAMPLES)
    )


def _open(source: Source) -> socket.socket | int:
    if source.what not in PROTOCOLS:
        return os.open(source.what, os.O_RDONLY)
    return connect(NETLINK_SOCK_DIAG)


def take_sockets(recorder: Recorder, t_ns: int) -> None:
    """Ask every host for its sockets.

    Raises:
        RunError: the kernel refused.
    """
    for number, (source, handle) in enumerate(zip(recorder.sources, recorder.handles, strict=True)):
        if isinstance(handle, socket.socket):
            where = f"{source.node} {source.what}"
            _keep(recorder, t_ns, number, dump(handle, REQUESTS[source.what], where))


def take_counters(recorder: Recorder, t_ns: int) -> None:
    """Read every host's files."""
    for number, handle in enumerate(recorder.handles):
        if isinstance(handle, int):
            _keep(recorder, t_ns, number, read(handle))


def _keep(recorder: Recorder, t_ns: int, number: int, answer: bytes) -> None:
    recorder.pending += FRAME.pack(t_ns, number, len(answer))
    recorder.pending += answer
    if len(recorder.pending) >= BUFFER_BYTES:
        _flush(recorder)


def read(descriptor: int) -> bytes:
    """Return a file of /proc from its beginning."""
    content = b""
    while part := os.pread(descriptor, READ_BYTES, len(content)):
        content += part
    return content


def stop(recorder: Recorder, t_ns: int) -> None:
    """Take a last sample, when all flows have ended, and close everything."""
    take_sockets(recorder, t_ns)
    take_counters(recorder, t_ns)
    _flush(recorder)
    recorder.file.close()
    for handle in recorder.handles:
        if isinstance(handle, int):
            os.close(handle)
        else:
            handle.close()


def _flush(recorder: Recorder) -> None:
    recorder.file.write(recorder.pending)
    recorder.pending.clear()


REQUESTS = {protocol: request(protocol) for protocol in PROTOCOLS}
