"""A time server for machines that reach no other: this machine's clock, by RFC 5905."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator

#: Between 1900, NTP's beginning, and 1970.
SECONDS_TO_1970 = 2_208_988_800
PACKET_BYTES = 48
#: Leap 0, version 4, mode 4: a server.
SERVER = 0x24
STRATUM = 1
#: Of what a clock read by Python is good for: 2^-18 s.
PRECISION = -18


def stamp(time_ns: int) -> int:
    """Return a time since 1970 as NTP's: seconds since 1900, with 32 bits after the point."""
    seconds, rest_ns = divmod(time_ns, 1_000_000_000)
    return (seconds + SECONDS_TO_1970) << 32 | (rest_ns << 32) // 1_000_000_000


def answer(question: bytes, received_ns: int, sent_ns: int) -> bytes:
    """Return the answer to a client's packet, of 48 bytes or more."""
    return struct.pack(
        "!BBbbII4sQ8sQQ",
        SERVER, STRATUM, 6, PRECISION, 0, 1 << 4, b"LOCL",
        stamp(received_ns), question[40:48], stamp(received_ns), stamp(sent_ns),
    )  # fmt: skip


@contextlib.contextmanager
def serving() -> Iterator[int]:
    """Serve on the loopback for the block; gives the UDP port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                question, client = one.recvfrom(1024)
                received_ns = time.time_ns()
                if len(question) < PACKET_BYTES:
                    return
                one.sendto(answer(question, received_ns, time.time_ns()), client)

        server = threading.Thread(target=serve)
        server.start()
        try:
            yield one.getsockname()[1]
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
                end.sendto(b"", one.getsockname())
            server.join()
