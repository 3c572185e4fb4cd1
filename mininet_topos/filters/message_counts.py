"""Count the messages of one protocol that leave an interface, whoever sends them.

A program on a packet socket sees what the interface sends, counts IPv6 packets of UDP to a port,
and keeps none, so that nobody is woken; the first alone is handed up, and is the sign that whoever
sends them has begun. Bytes are those of IP packets. Qdiscs and filters of the interface are left as
they are. Numbers are those of ``linux/bpf.h``, ``linux/if_packet.h`` and ``linux/filter.h``.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
from dataclasses import dataclass

from mininet_topos.filters.assembly import (
    ADD,
    ATOMIC64,
    CONTEXT,
    EXIT,
    FETCH_AND_ADD,
    FROM_IP,
    IP_PROTOCOLS,
    JUMP_NOT_EQUAL,
    LOAD32_AT,
    LOAD_BYTE,
    LOAD_HALF,
    MAP_VALUE,
    MOVE,
    MOVE_FROM,
    R0,
    R1,
    R2,
    SHIFT_RIGHT,
    Assembly,
)
from mininet_topos.netns import Namespace
from model.errors import RunError

#: The map's value: packets, and their bytes from the IPv6 header on.
VALUE = struct.Struct("=2Q")
PKTS_AT, IP_BYTES_AT = 0, 8
#: In what a program is called with (struct __sk_buff), and what it says of packets that leave.
PACKET_TYPE_AT, PACKET_OUTGOING = 4, 4
#: In an IPv6 header: the length of what follows it, and what that is; its own length.
IPV6, PAYLOAD_LENGTH_AT, NEXT_HEADER_AT, IPV6_HEADER_BYTES = 6, 4, 6, 40
UDP_PORT_AT = 2
ETH_P_ALL, SO_ATTACH_BPF = 3, 50
MS_PER_S = 1000
#: What a program answers of a packet: nothing of it is kept, or all.
NOTHING, WHOLE = 0, 0xFFFF


@dataclass(frozen=True, kw_only=True)
class Sent:
    """Messages so far, and the bytes of their IP packets, headers included."""

    packets: int
    ip_bytes: int


@dataclass(frozen=True, kw_only=True)
class Counter:
    """The socket that a program sits on, and the map that it counts in."""

    where: str
    tap: socket.socket
    map_fd: int

    def await_first(self, deadline_s: float, sender: int | None = None) -> None:
        """Wait until the first message has left.

        Raises:
            RunError: none has by the deadline, or by the end of that process, a child of this one.
        """
        poll = select.poll()
        poll.register(self.tap, select.POLLIN)
        with contextlib.ExitStack() as stack:
            if sender is not None:
                process = os.pidfd_open(sender)
                stack.callback(os.close, process)
                poll.register(process, select.POLLIN)
            ready = [descriptor for descriptor, _ in poll.poll(deadline_s * MS_PER_S)]
        if self.tap.fileno() not in ready:
            raise RunError(
                "no routing message left", where=self.where, wanted=f"one within {deadline_s:.0f} s"
            )

    def sent(self) -> Sent:
        """Return what has left so far."""
        from mininet_topos.filters import bpf

        packets, ip_bytes = VALUE.unpack(bpf.read_value(self.map_fd, VALUE.size))
        return Sent(packets=packets, ip_bytes=ip_bytes)

    def close(self) -> None:
        """Take the program away, and its map with what it counted."""
        self.tap.close()
        os.close(self.map_fd)


def count(node: Namespace, interface: str, port: int) -> Counter:
    """Have IPv6 messages to a UDP port counted from now on, where they leave the interface.

    Raises:
        RunError: the kernel refuses the program.
    """
    # ctypes takes as long to load as two processes: only if needed
    from mininet_topos.filters import bpf

    where = f"{node.name} {interface}"
    with contextlib.ExitStack() as unless_done, contextlib.ExitStack() as stack:
        map_fd = bpf.create_value(VALUE.size)
        unless_done.callback(os.close, map_fd)
        program = bpf.load_socket_filter(instructions(port, map_fd))
        stack.callback(os.close, program.fd)  # the socket keeps it
        try:
            with node.entered():
                tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # hears nothing yet
            unless_done.callback(tap.close)
            tap.setsockopt(socket.SOL_SOCKET, SO_ATTACH_BPF, program.fd)
            tap.bind((interface, ETH_P_ALL))
        except OSError as error:
            raise RunError("cannot count messages", where=where, got=str(error)) from error
        unless_done.pop_all()
    return Counter(where=where, tap=tap, map_fd=map_fd)


def instructions(port: int, map_fd: int) -> bytes:
    """Return the program; ``map_fd`` is its map's descriptor in the process that loads it. Pure.

    It keeps nothing of a packet that is not counted, or is too short for the headers it should
    have. Extension headers are none of a message that is counted.
    """
    program = Assembly()
    program.add(MOVE_FROM, CONTEXT, R1)
    program.add(LOAD32_AT, R0, CONTEXT, at=PACKET_TYPE_AT)
    program.jump(JUMP_NOT_EQUAL, "nothing", R0, constant=PACKET_OUTGOING)
    program.add(LOAD_BYTE, constant=FROM_IP)
    program.add(SHIFT_RIGHT, R0, constant=4)
    program.jump(JUMP_NOT_EQUAL, "nothing", R0, constant=IPV6)
    program.add(LOAD_BYTE, constant=FROM_IP + NEXT_HEADER_AT)
    program.jump(JUMP_NOT_EQUAL, "nothing", R0, constant=IP_PROTOCOLS["udp"])
    program.add(LOAD_HALF, constant=FROM_IP + IPV6_HEADER_BYTES + UDP_PORT_AT)
    program.jump(JUMP_NOT_EQUAL, "nothing", R0, constant=port)
    program.add(LOAD_HALF, constant=FROM_IP + PAYLOAD_LENGTH_AT)
    program.add(ADD, R0, constant=IPV6_HEADER_BYTES)
    program.constant64(R2, map_fd, MAP_VALUE)
    program.add(ATOMIC64, R2, R0, FETCH_AND_ADD, IP_BYTES_AT)
    program.add(MOVE, R1, constant=1)
    program.add(ATOMIC64, R2, R1, FETCH_AND_ADD, PKTS_AT)  # and so many there were before
    program.jump(JUMP_NOT_EQUAL, "nothing", R1, constant=0)
    program.add(MOVE, R0, constant=WHOLE)
    program.add(EXIT)
    program.label("nothing")
    program.add(MOVE, R0, constant=NOTHING)
    program.add(EXIT)
    return program.done()
