"""A reader of pcapng that shares nothing with the writer: blocks and options by the draft."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Capture:
    """What a file holds: its section's options, interfaces, packets."""

    section: dict[int, bytes] = field(default_factory=dict)
    interfaces: list[dict[str, Any]] = field(default_factory=list)
    packets: list[dict[str, Any]] = field(default_factory=list)


def options(data: bytes) -> dict[int, bytes]:
    """Return a block's options by code; whatever follows the end of options is an error."""
    found: dict[int, bytes] = {}
    offset = 0
    while offset < len(data):
        code, length = struct.unpack_from("<HH", data, offset)
        if code == 0:
            assert (length, offset + 4) == (0, len(data))
            return found
        assert code not in found
        found[code] = data[offset + 4 : offset + 4 + length]
        padding = -length % 4
        assert data[offset + 4 + length : offset + 4 + length + padding] == bytes(padding)
        offset += 4 + length + padding
    assert not data
    return found


def read(data: bytes) -> Capture:
    """Return what a file holds; anything malformed is an AssertionError."""
    found, offset = Capture(), 0
    while offset < len(data):
        kind, size = struct.unpack_from("<II", data, offset)
        assert size % 4 == 0
        assert struct.unpack_from("<I", data, offset + size - 4) == (size,)
        body = data[offset + 8 : offset + size - 4]
        if kind == 0x0A0D0D0A:
            assert offset == 0
            assert struct.unpack_from("<IHHq", body) == (0x1A2B3C4D, 1, 0, -1)
            found.section = options(body[16:])
        elif kind == 1:
            linktype, _, snap_bytes = struct.unpack_from("<HHI", body)
            found.interfaces.append(
                {"linktype": linktype, "snap_bytes": snap_bytes, "options": options(body[8:])}
            )
        else:
            assert kind == 6
            interface, high, low, captured, wire = struct.unpack_from("<IIIII", body)
            assert interface < len(found.interfaces)
            end = 20 + captured + -captured % 4
            found.packets.append(
                {
                    "interface": interface,
                    "t_ns": high << 32 | low,
                    "data": body[20 : 20 + captured],
                    "wire_bytes": wire,
                    "comment": options(body[end:]).get(1, b"").decode(),
                }
            )
        offset += size
    return found
