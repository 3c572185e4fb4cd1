"""An eBPF machine for the tests: runs a program's bytes on a frame, as Linux would.

It knows the instructions the project's programs use, up to two maps of one value, and the program's
own memory. Loads from the packet that reach past its end leave the program with answer 0, as the
kernel's do; one at a negative place is from where the IP header begins, 14 bytes into the frame.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

INSTRUCTION = struct.Struct("=BBhi")
MASK = (1 << 64) - 1
#: Where the value of the map lies in this machine that has number 0, 1, ...
VALUE_AT = (1 << 40, 1 << 41)
#: Where the program's own memory ends, and how long it is.
STACK_END, STACK_BYTES = 1 << 42, 512
IP_AT, FROM_IP = 14, -0x100000
STEPS_MAX = 10_000


def run(
    program: bytes, frame: bytes, *maps: tuple[int, bytearray], now_ns: int = 0,
    packet_type: int = 0,
) -> int:  # fmt: skip
    """Run a program on a frame; change the maps' values; return the answer as a signed number.

    A map is a descriptor and its value; ``now_ns`` is what its clock shows, ``packet_type`` all
    that it can read of what it is called with.
    """
    address = {fd: counter for (fd, _), counter in zip(maps, VALUE_AT, strict=False)}
    values = [value for _, value in maps]
    stack = bytearray(STACK_BYTES)
    code = [INSTRUCTION.unpack_from(program, counter) for counter in range(0, len(program), 8)]
    register = [0] * 10 + [STACK_END]
    counter = 0
    for _ in range(STEPS_MAX):
        op, registers, jump, constant = code[counter]
        to, source = registers & 15, registers >> 4
        counter += 1
        if op == 0x95:
            answer = register[0]
            return answer - (1 << 64) if answer >> 63 else answer
        if op in (0x30, 0x28, 0x50, 0x48):
            width = 1 if op in (0x30, 0x50) else 2
            place = _place(constant + (register[source] if op in (0x50, 0x48) else 0))
            if not 0 <= place <= len(frame) - width:
                return 0
            register[0] = int.from_bytes(frame[place : place + width], "big")
            register[1:6] = [MASK] * 5  # gone after a load
        elif op == 0x18:
            high = code[counter][3]
            wide = (high & 0xFFFFFFFF) << 32 | constant & 0xFFFFFFFF
            register[to] = address[constant] if source == 2 else wide
            counter += 1
        elif op in (0xDB, 0x7B, 0x79):
            _access(op, register, (to, source, jump, constant), values, stack)
        elif op in (0x85, 0x61):
            _tell(op, register, (to, jump, constant), now_ns, packet_type)
        elif op & 7 == 7:
            register[to] = _calculate(op, register[to], register[source], constant)
        elif _jumps(op, register[to], register[source], constant):
            counter += jump
    raise AssertionError("the program does not end")


def _place(place: int) -> int:
    """Return where in the frame a load is from."""
    return place + IP_AT - FROM_IP if place < 0 else place


def _tell(
    op: int, register: list[int], fields: tuple[int, int, int], now_ns: int, packet_type: int
) -> None:
    """Answer a call of the kernel's functions, or a load of what a program is called with."""
    to, offset, constant = fields
    if op == 0x85:
        assert constant == 5, "the only function that is known tells the time"
        register[:6] = [now_ns, *[MASK] * 5]
    else:
        assert offset == 4, "the only word that is known tells a packet's type"
        register[to] = packet_type


def _access(
    op: int,
    register: list[int],
    fields: tuple[int, int, int, int],
    values: Sequence[bytearray],
    stack: bytearray,
) -> None:
    """Load from, store to or add to a map's value or the program's own memory."""
    to, source, offset, constant = fields
    value, place = _held(register[source if op == 0x79 else to] + offset, values, stack)
    before = int.from_bytes(value[place : place + 8], "little")
    if op == 0x79:
        register[to] = before
    elif op == 0x7B:
        value[place : place + 8] = register[source].to_bytes(8, "little")
    else:
        assert constant == 1, "fetch and add"
        value[place : place + 8] = ((before + register[source]) & MASK).to_bytes(8, "little")
        register[source] = before


def _held(address: int, values: Sequence[bytearray], stack: bytearray) -> tuple[bytearray, int]:
    """Return the value, or the memory, that holds 8 bytes at an address, and where in it."""
    if address >= STACK_END - STACK_BYTES:
        place = address - (STACK_END - STACK_BYTES)
        assert place <= STACK_BYTES - 8, "no access outside of the program's own memory"
        return stack, place
    number = address >= VALUE_AT[1]
    place = address - VALUE_AT[number]
    assert 0 <= place <= len(values[number]) - 8, "no access outside of a map's value"
    return values[number], place


def _calculate(op: int, left: int, other: int, constant: int) -> int:
    right = other if op & 8 else constant & MASK
    results = {
        0xB0: right, 0x00: left + right, 0x10: left - right, 0x50: left & right,
        0x60: left << (right & 63), 0x70: left >> (right & 63), 0x20: left * right,
        0xA0: left ^ right, 0x90: left % right if right else left,
    }  # fmt: skip
    return results[op & 0xF0] & MASK


def _jumps(op: int, left: int, other: int, constant: int) -> bool:
    right = other if op & 8 else constant & MASK
    results = {
        0x00: True, 0x10: left == right, 0x50: left != right, 0x40: bool(left & right),
        0xA0: left < right, 0x30: left >= right,
    }  # fmt: skip
    return results[op & 0xF0]
