"""Write a program for the kernel's eBPF machine instruction by instruction, as exact bytes. Pure.

Invariant: a jump goes to a label, and every label that is jumped to is there.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

#: One instruction: operation, registers (destination in the low half), jump offset, constant.
INSTRUCTION = struct.Struct("=BBhi")
#: What a classifier with direct action answers (linux/pkt_cls.h): go on, drop.
TC_ACT_UNSPEC, TC_ACT_SHOT = -1, 2

# Operations (linux/bpf.h), named as in the kernel's instruction set: 64-bit, constant or register.
LOAD_BYTE, LOAD_HALF = 0x30, 0x28  # r0 = packet[constant], in host byte order
LOAD_BYTE_AT, LOAD_HALF_AT = 0x50, 0x48  # r0 = packet[source + constant]
LOAD_CONSTANT64, MAP_VALUE = 0x18, 2  # two instructions; with this source: an address in a map
LOAD64_AT, STORE64_AT = 0x79, 0x7B  # a register = what lies at source + offset, and the reverse
LOAD32_AT = 0x61  # the same of 32 bits
MOVE, MOVE_FROM, ADD, ADD_FROM, SUBTRACT, AND, SHIFT_LEFT, SHIFT_RIGHT = (
    0xB7, 0xBF, 0x07, 0x0F, 0x1F, 0x57, 0x67, 0x77,
)  # fmt: skip
JUMP, JUMP_EQUAL, JUMP_NOT_EQUAL, JUMP_ANY_BIT, JUMP_LESS, JUMP_NOT_LESS, EXIT = (
    0x05, 0x15, 0x55, 0x45, 0xA5, 0x35, 0x95,
)  # fmt: skip
REMAINDER = 0x97  # of the division by a constant
MULTIPLY_BY, XOR_WITH, JUMP_LESS_THAN, JUMP_NOT_LESS_THAN = 0x2F, 0xAF, 0xAD, 0x3D  # of registers
ATOMIC64, FETCH_AND_ADD = 0xDB, 0x01
CALL, TIME_NS = 0x85, 5  # of the kernel's functions: r0 = CLOCK_MONOTONIC; r1 to r5 are gone

# Registers: r0 is the answer, r1 to r5 do not outlive a load from the packet.
R0, R1, R2, R3, R4, R5, CONTEXT, AT, END, ROUND = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
STACK = 10  # where the program's own memory ends

ETHERTYPE_AT, ETHERTYPE_IPV4 = 12, 0x0800
IP_AT = 14
#: Added to a place: from where the IP header begins, whatever lies before it (SKF_NET_OFF).
FROM_IP = -0x100000
LENGTH_IN_IP, FRAGMENT_IN_IP, PROTOCOL_IN_IP = 2, 6, 9
IP_LENGTH_AT, IP_FRAGMENT_AT, IP_PROTOCOL_AT = (
    IP_AT + place for place in (LENGTH_IN_IP, FRAGMENT_IN_IP, PROTOCOL_IN_IP)
)
FRAGMENT_OFFSET = 0x1FFF
IP_PROTOCOLS = {"tcp": 6, "udp": 17, "sctp": 132}
PORT_AT = 2
TCP_OFFSET_AT = 12
SCTP_HEADER_BYTES, CHUNK_HEADER_BYTES, CHUNK_ALIGN_BYTES = 12, 4, 4
CHUNK_LENGTH_AT, CHUNK_DATA = 2, 0
#: More chunks than fit into a packet of 1500 bytes; the kernel wants to see that a loop ends.
CHUNKS_MAX = 375


@dataclass
class Assembly:
    """Instructions so far, labels, and jumps that wait for theirs."""

    code: list[tuple[int, int, int, int]] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    jumps: list[tuple[int, str]] = field(default_factory=list)

    def add(self, op: int, to: int = 0, source: int = 0, constant: int = 0, at: int = 0) -> None:
        """Write an instruction; ``at`` is the offset of what it loads or stores."""
        self.code.append((op, to | source << 4, at, constant))

    def constant64(self, to: int, value: int, source: int = 0) -> None:
        """Load a constant of 64 bits, which takes two instructions."""
        low, high = struct.unpack("=ii", struct.pack("=Q", value))
        self.add(LOAD_CONSTANT64, to, source, low)
        self.add(0, constant=high)

    def jump(self, op: int, label: str, to: int = 0, source: int = 0, constant: int = 0) -> None:
        """Write a jump to a label, which may be set later."""
        self.jumps.append((len(self.code), label))
        self.add(op, to, source, constant)

    def label(self, name: str) -> None:
        """Name the place of the next instruction."""
        self.labels[name] = len(self.code)

    def done(self) -> bytes:
        """Return the program's bytes, jumps filled in."""
        for at, name in self.jumps:
            op, registers, _, constant = self.code[at]
            self.code[at] = (op, registers, self.labels[name] - at - 1, constant)
        return b"".join(INSTRUCTION.pack(*instruction) for instruction in self.code)
