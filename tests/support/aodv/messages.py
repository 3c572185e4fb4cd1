"""AODV's messages for scapy, which has none: written from RFC 3561, section 5, alone."""

from __future__ import annotations

from typing import Any

from scapy.fields import (
    BitField,
    ByteEnumField,
    ByteField,
    FieldLenField,
    IntField,
    IPField,
    PacketListField,
)
from scapy.packet import Packet

TYPES = {1: "RREQ", 2: "RREP", 3: "RERR", 4: "RREP-ACK"}


class Rreq(Packet):  # type: ignore[misc]
    """5.1: flags J, R, G, D, U, then 11 reserved bits."""

    name = "RREQ"
    fields_desc = [  # noqa: RUF012
        ByteEnumField("type", 1, TYPES),
        BitField("join", 0, 1),
        BitField("repair", 0, 1),
        BitField("gratuitous", 0, 1),
        BitField("destination_only", 0, 1),
        BitField("unknown", 0, 1),
        BitField("reserved", 0, 11),
        ByteField("hops", 0),
        IntField("id", 0),
        IPField("destination", "0.0.0.0"),
        IntField("destination_seq", 0),
        IPField("originator", "0.0.0.0"),
        IntField("originator_seq", 0),
    ]


class Rrep(Packet):  # type: ignore[misc]
    """5.2: flags R and A, 9 reserved bits, 5 of prefix size."""

    name = "RREP"
    fields_desc = [  # noqa: RUF012
        ByteEnumField("type", 2, TYPES),
        BitField("repair", 0, 1),
        BitField("ack", 0, 1),
        BitField("reserved", 0, 9),
        BitField("prefix", 0, 5),
        ByteField("hops", 0),
        IPField("destination", "0.0.0.0"),
        IntField("destination_seq", 0),
        IPField("originator", "0.0.0.0"),
        IntField("lifetime_ms", 0),
    ]


class Unreachable(Packet):  # type: ignore[misc]
    """One destination of a route error."""

    name = "unreachable"
    fields_desc = [IPField("destination", "0.0.0.0"), IntField("seq", 0)]  # noqa: RUF012

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        return b"", s


class Rerr(Packet):  # type: ignore[misc]
    """5.3: flag N, 15 reserved bits, and how many destinations."""

    name = "RERR"
    fields_desc = [  # noqa: RUF012
        ByteEnumField("type", 3, TYPES),
        BitField("no_delete", 0, 1),
        BitField("reserved", 0, 15),
        FieldLenField("count", None, count_of="unreachable", fmt="B"),
        PacketListField(
            "unreachable", [], Unreachable, count_from=lambda packet: packet.count, max_count=255
        ),
    ]


class RrepAck(Packet):  # type: ignore[misc]
    """5.4: a type and a reserved byte."""

    name = "RREP-ACK"
    fields_desc = [ByteEnumField("type", 4, TYPES), ByteField("reserved", 0)]  # noqa: RUF012


class HelloInterval(Packet):  # type: ignore[misc]
    """9.1: the only extension."""

    name = "hello interval"
    fields_desc = [  # noqa: RUF012
        ByteField("type", 1), ByteField("length", 4), IntField("interval_ms", 1000),
    ]  # fmt: skip


MESSAGES: dict[int, Any] = {1: Rreq, 2: Rrep, 3: Rerr, 4: RrepAck}
