"""The eBPF program that drops data packets of one flow by their numbers, as exact bytes. Pure.

It runs as a tc classifier with direct action and sees Ethernet frames. Packets of the flow that
carry data are counted from 1, retransmissions too; one whose number is listed is dropped, then one
that is drawn (paired loss, equal drops) or whose turn it is (periodic loss), every other packet
goes on to the next filter. The counts are kept in the single value of an array map; where flows
lose equally many, another map counts for all of them together. A number's draw is
:func:`model.draws.number_draw`.
Invariants: a program is written out for one flow, so what is loaded says all it can do; a packet
too short for the headers it should have goes on (the kernel ends a program that reads past one).
What contradicts itself, as no stack sends it, is not told apart: a chunk is DATA by its type alone.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from mininet_topos.filters.assembly import (
    ADD,
    ADD_FROM,
    AND,
    AT,
    ATOMIC64,
    CHUNK_ALIGN_BYTES,
    CHUNK_DATA,
    CHUNK_HEADER_BYTES,
    CHUNK_LENGTH_AT,
    CHUNKS_MAX,
    CONTEXT,
    END,
    ETHERTYPE_AT,
    ETHERTYPE_IPV4,
    EXIT,
    FETCH_AND_ADD,
    FRAGMENT_OFFSET,
    IP_AT,
    IP_FRAGMENT_AT,
    IP_LENGTH_AT,
    IP_PROTOCOL_AT,
    IP_PROTOCOLS,
    JUMP,
    JUMP_ANY_BIT,
    JUMP_EQUAL,
    JUMP_LESS,
    JUMP_LESS_THAN,
    JUMP_NOT_EQUAL,
    JUMP_NOT_LESS,
    JUMP_NOT_LESS_THAN,
    LOAD64_AT,
    LOAD_BYTE,
    LOAD_BYTE_AT,
    LOAD_HALF,
    LOAD_HALF_AT,
    MAP_VALUE,
    MOVE,
    MOVE_FROM,
    MULTIPLY_BY,
    PORT_AT,
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    REMAINDER,
    ROUND,
    SCTP_HEADER_BYTES,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    SUBTRACT,
    TC_ACT_SHOT,
    TC_ACT_UNSPEC,
    TCP_OFFSET_AT,
    XOR_WITH,
    Assembly,
)
from model import draws
from model.cell import Protocol

#: The map's value: data packets seen, listed ones dropped, drawn ones dropped.
COUNTS = struct.Struct("=QQQ")
SEEN_AT, LISTED_AT, DRAWN_AT = 0, 8, 16
#: The value of the map that equal drops share: data packets of all flows, how many were drawn.
TOGETHER = struct.Struct("=QQ")
TOGETHER_SEEN_AT, TOGETHER_DRAWN_AT = 0, 8


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Paired loss: the seed of all draws, and below which draw a packet is dropped."""

    seed: int
    threshold: int


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """Equal drops (:class:`model.draws.EqualDrops`): both seeds, and below which draw to draw."""

    seed: int
    pay_seed: int
    threshold: int


@dataclass(frozen=True, kw_only=True)
class Period:
    """Periodic loss (`model.links.PeriodicLoss`): the first packet to drop, and each then."""

    first_pkt: int
    every_pkts: int


#: What decides which packets are dropped besides listed ones.
Drawing = Pairing | Sharing | Period


def instructions(
    protocol: Protocol,
    port: int,
    drop_pkts: tuple[int, ...],
    map_fd: int,
    drawing: Drawing | None = None,
    together_fd: int = 0,
) -> bytes:
    """Return the program that drops these data packets of the flow to ``port``, and drawn ones.

    ``map_fd`` is the descriptor, in the process that loads it, of the map that holds the counts;
    ``together_fd`` of the map that all flows share, for equal drops.
    """
    program = Assembly()
    _match_flow(program, protocol, port)
    _match_data(program, protocol)
    program.label("count")
    program.constant64(R2, map_fd, MAP_VALUE)
    program.add(MOVE, R1, constant=1)
    program.add(ATOMIC64, R2, R1, FETCH_AND_ADD, SEEN_AT)
    program.add(ADD, R1, constant=1)  # this packet's number
    for number in drop_pkts:
        program.jump(JUMP_EQUAL, "drop", R1, constant=number)
    if isinstance(drawing, Pairing):
        _draw(program, drawing.seed)
        program.constant64(R3, drawing.threshold)
        program.jump(JUMP_LESS_THAN, "drop drawn", R4, R3)
    elif isinstance(drawing, Period):
        program.jump(JUMP_LESS, "next", R1, constant=drawing.first_pkt)
        program.add(ADD, R1, constant=-drawing.first_pkt)
        program.add(REMAINDER, R1, constant=drawing.every_pkts)
        program.jump(JUMP_EQUAL, "drop drawn", R1, constant=0)
    elif drawing:
        _share(program, drawing, together_fd)
    program.label("next")
    program.add(MOVE, R0, constant=TC_ACT_UNSPEC)
    program.add(EXIT)
    if drop_pkts:  # the kernel refuses what is never reached
        _drop(program, "drop", LISTED_AT)
    if drawing:
        _drop(program, "drop drawn", DRAWN_AT)
    return program.done()


def _drop(program: Assembly, label: str, count_at: int) -> None:
    program.label(label)
    program.add(MOVE, R1, constant=1)
    program.add(ATOMIC64, R2, R1, FETCH_AND_ADD, count_at)
    program.add(MOVE, R0, constant=TC_ACT_SHOT)
    program.add(EXIT)


def _share(program: Assembly, sharing: Sharing, together_fd: int) -> None:
    """Go to "drop drawn" if this packet pays for one that its flow owes; see draws.EqualDrops."""
    program.constant64(R0, together_fd, MAP_VALUE)
    program.add(MOVE, R1, constant=1)
    program.add(ATOMIC64, R0, R1, FETCH_AND_ADD, TOGETHER_SEEN_AT)
    program.add(ADD, R1, constant=1)  # this packet's number among those of all flows
    _draw(program, sharing.seed)
    program.constant64(R3, sharing.threshold)
    program.jump(JUMP_NOT_LESS_THAN, "owed", R4, R3)
    program.add(MOVE, R5, constant=1)
    program.add(ATOMIC64, R0, R5, FETCH_AND_ADD, TOGETHER_DRAWN_AT)
    program.label("owed")
    program.add(LOAD64_AT, ROUND, R0, at=TOGETHER_DRAWN_AT)
    program.add(LOAD64_AT, R3, R2, at=DRAWN_AT)
    program.add(SUBTRACT, ROUND, R3)
    program.jump(JUMP_NOT_LESS, "drop drawn", ROUND, constant=1 << draws.PAY_BITS)
    program.add(SHIFT_LEFT, ROUND, constant=draws.DRAW_BITS - draws.PAY_BITS)
    _draw(program, sharing.pay_seed)
    program.jump(JUMP_LESS_THAN, "drop drawn", R4, ROUND)


def _draw(program: Assembly, seed: int) -> None:
    """Leave in r4 the draw for the number in r1."""
    program.add(MOVE_FROM, R4, R1)
    program.constant64(R3, draws.STEP)
    program.add(MULTIPLY_BY, R4, R3)
    program.constant64(R3, seed)
    program.add(ADD_FROM, R4, R3)
    for shift, factor in draws.ROUNDS:
        program.add(MOVE_FROM, R5, R4)
        program.add(SHIFT_RIGHT, R5, constant=shift)
        program.add(XOR_WITH, R4, R5)
        program.constant64(R3, factor)
        program.add(MULTIPLY_BY, R4, R3)
    program.add(SHIFT_RIGHT, R4, constant=64 - draws.DRAW_BITS)


def _match_flow(program: Assembly, protocol: Protocol, port: int) -> None:
    """Go on unless it is IPv4, not a later fragment, and to the flow's port; leave ``AT``, ``END``.

    ``AT`` is where the transport header begins, ``END`` where the IP packet ends.
    """
    program.add(MOVE_FROM, CONTEXT, R1)
    program.add(LOAD_HALF, constant=ETHERTYPE_AT)
    program.jump(JUMP_NOT_EQUAL, "next", R0, constant=ETHERTYPE_IPV4)
    program.add(LOAD_BYTE, constant=IP_PROTOCOL_AT)
    program.jump(JUMP_NOT_EQUAL, "next", R0, constant=IP_PROTOCOLS[protocol])
    program.add(LOAD_HALF, constant=IP_FRAGMENT_AT)
    program.jump(JUMP_ANY_BIT, "next", R0, constant=FRAGMENT_OFFSET)
    program.add(LOAD_HALF, constant=IP_LENGTH_AT)
    program.add(MOVE_FROM, END, R0)
    program.add(ADD, END, constant=IP_AT)
    program.add(LOAD_BYTE, constant=IP_AT)
    program.add(AND, R0, constant=0x0F)
    program.add(SHIFT_LEFT, R0, constant=2)
    program.add(MOVE_FROM, AT, R0)
    program.add(ADD, AT, constant=IP_AT)
    program.add(LOAD_HALF_AT, source=AT, constant=PORT_AT)
    program.jump(JUMP_NOT_EQUAL, "next", R0, constant=port)


def _match_data(program: Assembly, protocol: Protocol) -> None:
    """Go on unless it carries data: TCP payload, a DATA chunk anywhere, any UDP packet."""
    if protocol == "tcp":
        program.add(LOAD_BYTE_AT, source=AT, constant=TCP_OFFSET_AT)
        program.add(SHIFT_RIGHT, R0, constant=4)
        program.add(SHIFT_LEFT, R0, constant=2)
        program.add(ADD_FROM, R0, AT)
        program.jump(JUMP_NOT_LESS_THAN, "next", R0, END)
    elif protocol == "sctp":
        program.add(ADD, AT, constant=SCTP_HEADER_BYTES)
        program.add(MOVE, ROUND, constant=0)
        program.label("chunk")
        program.jump(JUMP_NOT_LESS_THAN, "next", AT, END)
        program.add(LOAD_BYTE_AT, source=AT)
        program.jump(JUMP_EQUAL, "count", R0, constant=CHUNK_DATA)
        program.add(LOAD_HALF_AT, source=AT, constant=CHUNK_LENGTH_AT)
        program.jump(JUMP_LESS, "next", R0, constant=CHUNK_HEADER_BYTES)
        program.add(ADD, R0, constant=CHUNK_ALIGN_BYTES - 1)
        program.add(AND, R0, constant=-CHUNK_ALIGN_BYTES)
        program.add(ADD_FROM, AT, R0)
        program.add(ADD, ROUND, constant=1)
        program.jump(JUMP_LESS, "chunk", ROUND, constant=CHUNKS_MAX)
        program.jump(JUMP, "next")
