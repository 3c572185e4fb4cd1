"""Recorded samples of sockets, and answers made by hand from them."""

from __future__ import annotations

import gzip
import struct

from collectors.recording.netlink import ATTRIBUTE, HEADER, NLMSG_DONE
from collectors.recording.socket_sampler import FRAME, INET_DIAG_INFO, SOCK_DIAG_BY_FAMILY
from collectors.sockets.samples import Samples, read_samples
from collectors.sockets.sock_diag import INET_DIAG_PEERS
from tests.support.recorded import DATA

KERNELS = ("7.3", "6.12")
EPOCH_NS = 8_000_000_000
DONE = HEADER.pack(20, NLMSG_DONE, 2, 1, 0) + bytes(4)


def samples(kernel: str) -> Samples:
    """Return what the recorder left on a kernel."""
    folder = DATA / f"sockets-{kernel}"
    return read_samples(folder / "sockets.bin.gz", folder / "sockets.json")


def content(kernel: str) -> bytes:
    """Return the recorder's file, decompressed."""
    return gzip.decompress((DATA / f"sockets-{kernel}" / "sockets.bin.gz").read_bytes())


def frame(t_ns: int, source: int, answer: bytes) -> bytes:
    """Return one answer as the recorder frames it."""
    return FRAME.pack(t_ns, source, len(answer)) + answer


def attribute(kind: int, data: bytes) -> bytes:
    """Return one netlink attribute, filled up to whole words."""
    return ATTRIBUTE.pack(4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(
    info: bytes, *, sport: int, dport: int, peers: int = 0, timer: tuple[int, int] = (0, 0)
) -> bytes:
    """Return sock_diag's message about an established socket from 10.0.0.1 to 10.0.0.2.

    ``timer`` is the timer's kind and after how many milliseconds it ends.
    """
    ends = (b"\n\0\0\1", b"\n\0\0\2")
    head = struct.pack(">BBBBHH4s12x4s12x12x", 2, 1, timer[0], 0, sport, dport, *ends)
    head += struct.pack("<I", timer[1])
    body = head + bytes(72 - len(head)) + attribute(INET_DIAG_INFO, info)
    if peers:
        body += attribute(INET_DIAG_PEERS, bytes(128 * peers))
    return HEADER.pack(HEADER.size + len(body), SOCK_DIAG_BY_FAMILY, 2, 1, 0) + body
