"""IPv6 packets of a medium's capture, each once: what tests of babeld compare its counts with."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from model.units import NS_PER_S

HOP_OPTIONS, UDP, ICMPV6, IPV6_HEADER_BYTES = 0, 17, 58, 40
RETRY = 0x08


@dataclass(frozen=True)
class Sent:
    """An IPv6 packet on the air, of which only the first transmission counts."""

    t_ns: int  #: since 1970, when it began
    mac: str
    header: int
    port: int
    ip_bytes: int
    to: str


def packets(content: bytes) -> Iterator[Sent]:
    """Yield the IPv6 packets of the medium's capture, each once."""
    at = 24
    while at < len(content):
        seconds, nanoseconds, length = struct.unpack_from("<III", content, at)
        frame = content[at + 16 : at + 16 + length]
        at += 16 + length
        frame = frame[int.from_bytes(frame[2:4], "little") :]  # behind radiotap
        if frame[0] & 0x0C != 0x08 or frame[1] & RETRY:
            continue
        header_bytes = 26 if frame[0] & 0x80 else 24  # QoS data has two more
        if frame[header_bytes + 6 : header_bytes + 8] != b"\x86\xdd":
            continue
        ip = frame[header_bytes + 8 :]
        yield Sent(
            t_ns=seconds * NS_PER_S + nanoseconds, mac=frame[10:16].hex(":"), header=ip[6],
            to=ip[24:40].hex(),
            port=int.from_bytes(ip[IPV6_HEADER_BYTES + 2 : IPV6_HEADER_BYTES + 4], "big"),
            ip_bytes=IPV6_HEADER_BYTES + int.from_bytes(ip[4:6], "big"),
        )  # fmt: skip
