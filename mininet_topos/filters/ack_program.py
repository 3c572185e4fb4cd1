"""The eBPF program that counts what acknowledging takes of one flow, as exact bytes. Pure.

It runs as a tc classifier with direct action at the egress of the host the flow goes to, and lets
every packet pass. Of IPv4 packets from the flow's port it counts those that acknowledge and carry
no data: a TCP segment with ACK, without SYN, FIN or RST and without payload; an SCTP packet with a
SACK chunk and without a DATA chunk. The counts are kept in the single value of an array map: in all
and, by the kernel's clock, inside the measuring window.

Invariants: places are told from where the IP header begins, so any kind of interface will do; a
packet too short for the headers it should have passes uncounted (the kernel ends a program that
reads past one). Of options and chunks only what is there to be skipped is believed: their lengths.
"""

from __future__ import annotations

import struct

from mininet_topos.filters.assembly import (
    ADD,
    ADD_FROM,
    AND,
    AT,
    ATOMIC64,
    CALL,
    CHUNK_ALIGN_BYTES,
    CHUNK_DATA,
    CHUNK_HEADER_BYTES,
    CHUNK_LENGTH_AT,
    CHUNKS_MAX,
    CONTEXT,
    END,
    EXIT,
    FETCH_AND_ADD,
    FRAGMENT_IN_IP,
    FRAGMENT_OFFSET,
    FROM_IP,
    IP_PROTOCOLS,
    JUMP,
    JUMP_ANY_BIT,
    JUMP_EQUAL,
    JUMP_LESS,
    JUMP_LESS_THAN,
    JUMP_NOT_EQUAL,
    JUMP_NOT_LESS_THAN,
    LENGTH_IN_IP,
    LOAD64_AT,
    LOAD_BYTE,
    LOAD_BYTE_AT,
    LOAD_HALF,
    LOAD_HALF_AT,
    MAP_VALUE,
    MOVE,
    MOVE_FROM,
    PROTOCOL_IN_IP,
    R0,
    R1,
    R2,
    R3,
    ROUND,
    SCTP_HEADER_BYTES,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    STACK,
    STORE64_AT,
    TC_ACT_UNSPEC,
    TCP_OFFSET_AT,
    TIME_NS,
    Assembly,
)
from model.cell import Protocol

#: The map's value: from when and until when to count a packet as inside the measuring window
#: (CLOCK_MONOTONIC), then, inside it and in all: acknowledgements, bytes of these IP packets, those
#: of them with selective acknowledgements, and bytes of the TCP options or SACK chunks.
VALUE = struct.Struct("=10Q")
FROM_NS_AT, TO_NS_AT, INSIDE_AT, ALL_AT = 0, 8, 16, 48
PKTS_AT, IP_BYTES_AT, SACK_PKTS_AT, SACK_BYTES_AT = 0, 8, 16, 24
#: In the program's own memory: bytes of the selective acknowledgements of this packet.
SACK_AT = -8

TCP_FLAGS_AT, TCP_HEADER_BYTES = 13, 20
FIN_SYN_RST_ACK, ACK_ALONE = 0x17, 0x10
OPTION_END, OPTION_NOP, OPTION_SACK = 0, 1, 5
#: A TCP header has room for so many options of one byte.
OPTIONS_MAX = 40
CHUNK_SACK = 3


def instructions(protocol: Protocol, port: int, map_fd: int) -> bytes:
    """Return the program that counts acknowledgements of the flow to ``port``.

    ``map_fd`` is the descriptor, in the process that loads it, of the map that holds the counts.

    Raises:
        ValueError: the protocol has no acknowledgements.
    """
    program = Assembly()
    _match_flow(program, protocol, port)
    if protocol == "tcp":
        _match_bare_ack(program)
    elif protocol == "sctp":
        _match_sack(program)
    else:
        raise ValueError(f"{protocol} has no acknowledgements")
    program.label("count")
    _count(program, map_fd, ALL_AT)
    program.add(CALL, constant=TIME_NS)
    program.constant64(R2, map_fd, MAP_VALUE)
    program.add(LOAD64_AT, R3, R2, at=FROM_NS_AT)
    program.jump(JUMP_LESS_THAN, "next", R0, R3)
    program.add(LOAD64_AT, R3, R2, at=TO_NS_AT)
    program.jump(JUMP_NOT_LESS_THAN, "next", R0, R3)
    _count(program, map_fd, INSIDE_AT)
    program.label("next")
    program.add(MOVE, R0, constant=TC_ACT_UNSPEC)
    program.add(EXIT)
    return program.done()


def _match_flow(program: Assembly, protocol: Protocol, port: int) -> None:
    """Go on if it is no later fragment and is from the flow's port; leave ``AT``, ``END``.

    ``AT`` is where the transport header begins, ``END`` how long the IP packet is. No selective
    acknowledgement has been found so far.
    """
    program.add(MOVE_FROM, CONTEXT, R1)
    program.add(MOVE, R1, constant=0)
    program.add(STORE64_AT, STACK, R1, at=SACK_AT)
    program.add(LOAD_BYTE, constant=FROM_IP + PROTOCOL_IN_IP)
    program.jump(JUMP_NOT_EQUAL, "next", R0, constant=IP_PROTOCOLS[protocol])
    program.add(LOAD_HALF, constant=FROM_IP + FRAGMENT_IN_IP)
    program.jump(JUMP_ANY_BIT, "next", R0, constant=FRAGMENT_OFFSET)
    program.add(LOAD_HALF, constant=FROM_IP + LENGTH_IN_IP)
    program.add(MOVE_FROM, END, R0)
    program.add(LOAD_BYTE, constant=FROM_IP)
    program.add(AND, R0, constant=0x0F)
    program.add(SHIFT_LEFT, R0, constant=2)
    program.add(MOVE_FROM, AT, R0)
    program.add(LOAD_HALF_AT, source=AT, constant=FROM_IP)
    program.jump(JUMP_NOT_EQUAL, "next", R0, constant=port)


def _match_bare_ack(program: Assembly) -> None:
    """Go on if it is a segment with ACK and nothing else; leave its SACK option's bytes."""
    program.add(LOAD_BYTE_AT, source=AT, constant=FROM_IP + TCP_FLAGS_AT)
    program.add(AND, R0, constant=FIN_SYN_RST_ACK)
    program.jump(JUMP_NOT_EQUAL, "next", R0, constant=ACK_ALONE)
    program.add(LOAD_BYTE_AT, source=AT, constant=FROM_IP + TCP_OFFSET_AT)
    program.add(SHIFT_RIGHT, R0, constant=4)
    program.add(SHIFT_LEFT, R0, constant=2)
    program.add(ADD_FROM, R0, AT)
    program.jump(JUMP_LESS_THAN, "next", R0, END)
    # Without payload the options end where the packet does.
    program.add(ADD, AT, constant=TCP_HEADER_BYTES)
    program.add(MOVE, ROUND, constant=0)
    program.label("option")
    program.jump(JUMP_NOT_LESS_THAN, "count", AT, END)
    program.add(ADD, ROUND, constant=1)
    program.add(LOAD_BYTE_AT, source=AT, constant=FROM_IP)
    program.jump(JUMP_EQUAL, "count", R0, constant=OPTION_END)
    program.jump(JUMP_NOT_EQUAL, "long option", R0, constant=OPTION_NOP)
    program.add(ADD, AT, constant=1)
    program.jump(JUMP_LESS, "option", ROUND, constant=OPTIONS_MAX)
    program.jump(JUMP, "count")
    program.label("long option")
    program.jump(JUMP_EQUAL, "sack option", R0, constant=OPTION_SACK)
    program.add(LOAD_BYTE_AT, source=AT, constant=FROM_IP + 1)
    program.jump(JUMP_LESS, "count", R0, constant=2)
    program.add(ADD_FROM, AT, R0)
    program.jump(JUMP_LESS, "option", ROUND, constant=OPTIONS_MAX)
    program.jump(JUMP, "count")
    program.label("sack option")
    program.add(LOAD_BYTE_AT, source=AT, constant=FROM_IP + 1)
    program.add(STORE64_AT, STACK, R0, at=SACK_AT)


def _match_sack(program: Assembly) -> None:
    """Go on if there is a SACK chunk and no DATA chunk; leave the SACK chunk's bytes."""
    program.add(ADD, AT, constant=SCTP_HEADER_BYTES)
    program.add(MOVE, ROUND, constant=0)
    program.label("chunk")
    program.jump(JUMP_NOT_LESS_THAN, "chunks end", AT, END)
    program.add(LOAD_BYTE_AT, source=AT, constant=FROM_IP)
    program.jump(JUMP_EQUAL, "next", R0, constant=CHUNK_DATA)
    program.jump(JUMP_NOT_EQUAL, "skip", R0, constant=CHUNK_SACK)
    program.add(LOAD_HALF_AT, source=AT, constant=FROM_IP + CHUNK_LENGTH_AT)
    program.add(STORE64_AT, STACK, R0, at=SACK_AT)
    program.label("skip")
    program.add(LOAD_HALF_AT, source=AT, constant=FROM_IP + CHUNK_LENGTH_AT)
    program.jump(JUMP_LESS, "next", R0, constant=CHUNK_HEADER_BYTES)
    program.add(ADD, R0, constant=CHUNK_ALIGN_BYTES - 1)
    program.add(AND, R0, constant=-CHUNK_ALIGN_BYTES)
    program.add(ADD_FROM, AT, R0)
    program.add(ADD, ROUND, constant=1)
    program.jump(JUMP_LESS, "chunk", ROUND, constant=CHUNKS_MAX)
    program.jump(JUMP, "next")
    program.label("chunks end")
    program.add(LOAD64_AT, R0, STACK, at=SACK_AT)
    program.jump(JUMP_EQUAL, "next", R0, constant=0)


def _count(program: Assembly, map_fd: int, place: int) -> None:
    """Add the packet to the counts at a place of the map's value."""
    nothing_selective = f"counted at {place}"
    program.constant64(R2, map_fd, MAP_VALUE)
    program.add(MOVE, R1, constant=1)
    program.add(ATOMIC64, R2, R1, FETCH_AND_ADD, place + PKTS_AT)
    program.add(MOVE_FROM, R1, END)
    program.add(ATOMIC64, R2, R1, FETCH_AND_ADD, place + IP_BYTES_AT)
    program.add(LOAD64_AT, R3, STACK, at=SACK_AT)
    program.jump(JUMP_EQUAL, nothing_selective, R3, constant=0)
    program.add(MOVE, R1, constant=1)
    program.add(ATOMIC64, R2, R1, FETCH_AND_ADD, place + SACK_PKTS_AT)
    program.add(ATOMIC64, R2, R3, FETCH_AND_ADD, place + SACK_BYTES_AT)
    program.label(nothing_selective)
