"""Netlink requests: messages built, sent, and their answers read, without a process.

Standard library only. Invariants: a request that the kernel refuses is a :class:`RunError` naming
it; a socket speaks to the namespace that its maker was in.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from model.errors import RunError, UnsupportedError

HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence number, port
GENERIC = struct.Struct("=BBH")  # command, version, reserved
ATTRIBUTE = struct.Struct("=HH")  # length, type
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST, ACK, DUMP, CREATE, EXCLUSIVE = 0x1, 0x4, 0x300, 0x400, 0x200
NESTED, TYPE_MASK = 0x8000, 0x3FFF
CONTROL, GET_FAMILY, FAMILY_ID, FAMILY_NAME, FAMILY_GROUPS = 0x10, 3, 1, 2, 7
GROUP_NAME, GROUP_ID = 1, 2
SOL_NETLINK, ADD_MEMBERSHIP = 270, 1
NETLINK_GENERIC = 16  # no name in the module socket
RECEIVE_BYTES = 1 << 16

Value = bytes | int | str | bool


def attribute(kind: int, content: bytes) -> bytes:
    """Return one attribute, padded."""
    length = ATTRIBUTE.size + len(content)
    return ATTRIBUTE.pack(length, kind) + content + bytes(-length % 4)


def pack(values: Mapping[int, Value]) -> bytes:
    """Return attributes: numbers as 32 bits, words ended by a zero, True as a flag."""
    return b"".join(attribute(kind, _content(value)) for kind, value in values.items())


def _content(value: Value) -> bytes:
    if value is True:
        return b""
    if isinstance(value, int):
        return struct.pack("=I", value)
    return value.encode() + b"\0" if isinstance(value, str) else value


def unpack(data: bytes) -> dict[int, bytes]:
    """Return attributes by type.

    Raises:
        RunError: one does not fit.
    """
    found, at = {}, 0
    while at + ATTRIBUTE.size <= len(data):
        length, kind = ATTRIBUTE.unpack_from(data, at)
        if not ATTRIBUTE.size <= length <= len(data) - at:
            raise RunError("a netlink attribute does not fit", where=f"byte {at}", got=str(length))
        found[kind & TYPE_MASK] = data[at + ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3
    return found


def number(content: bytes) -> int:
    """Return a number of up to 64 bits, in this machine's order."""
    return int.from_bytes(content, "little")


@dataclass(frozen=True)
class Netlink:
    """A socket to the kernel, of the namespace it was made in."""

    connection: socket.socket

    @classmethod
    def of(cls, protocol: int) -> Netlink:
        """Return a socket of a protocol; the kernel answers before a request returns."""
        connection = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        connection.setblocking(False)
        connection.bind((0, 0))
        return cls(connection)

    def close(self) -> None:
        """Close the socket."""
        self.connection.close()

    def ask(self, kind: int, body: bytes, what: str, flags: int = ACK) -> list[bytes]:
        """Send a request and return the bodies of its answers.

        Raises:
            RunError: the kernel refuses or does not answer.
        """
        head = HEADER.pack(HEADER.size + len(body), kind, REQUEST | flags, 1, 0)
        self.connection.send(head + body)
        found: list[bytes] = []
        while True:
            try:
                answer = self.connection.recv(RECEIVE_BYTES)
            except BlockingIOError as error:
                raise RunError("the kernel does not answer", where=what) from error
            for answered, content in _messages(answer):
                if answered == NLMSG_ERROR:
                    (status,) = struct.unpack_from("=i", content)
                    if status < 0:
                        raise RunError(
                            "the kernel refuses", where=what, got=os.strerror(-status)
                        )  # fmt: skip
                    return found
                if answered == NLMSG_DONE:
                    return found
                found.append(content)

    def await_event(self, command: int, what: str, deadline_s: float) -> None:
        """Wait until a command is told of; raise :class:`RunError` if it never is."""
        while select.select([self.connection], [], [], deadline_s)[0]:
            for _, content in _messages(self.connection.recv(RECEIVE_BYTES)):
                if content[:1] == bytes([command]):
                    return
        raise RunError("nothing was told", where=what, wanted=f"within {deadline_s} s")


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + HEADER.size <= len(data):
        length, kind = HEADER.unpack_from(data, at)[:2]
        if not HEADER.size <= length <= len(data) - at:
            raise RunError("a netlink message does not fit", where=f"byte {at}", got=str(length))
        yield kind, data[at + HEADER.size : at + length]
        at += (length + 3) & ~3


@dataclass(frozen=True)
class Family:
    """A family of generic netlink, and the socket to speak to it with."""

    netlink: Netlink
    number: int
    groups: Mapping[str, int]

    @classmethod
    def of(cls, name: str) -> Family:
        """Return a family of this kernel's.

        Raises:
            UnsupportedError: the kernel has none of that name.
        """
        netlink = Netlink.of(NETLINK_GENERIC)
        body = GENERIC.pack(GET_FAMILY, 1, 0) + pack({FAMILY_NAME: name})
        try:
            (answer,) = netlink.ask(CONTROL, body, f"the family {name}")
        except RunError as error:
            netlink.close()
            raise UnsupportedError(
                "this kernel has no radios", wanted=name, got=str(error),
                hint="a kernel of radio.config has them",
            ) from error  # fmt: skip
        found = unpack(answer[GENERIC.size :])
        groups = [unpack(group) for group in unpack(found.get(FAMILY_GROUPS, b"")).values()]
        names = {g[GROUP_NAME].rstrip(b"\0").decode(): number(g[GROUP_ID]) for g in groups}
        return cls(netlink, number(found[FAMILY_ID]), names)

    def events(self, group: str) -> Netlink:
        """Return a socket that is told of this namespace's events from now on."""
        told = Netlink.of(NETLINK_GENERIC)
        told.connection.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, self.groups[group])
        return told

    def ask(
        self, command: int, values: Mapping[int, Value], what: str, flags: int = ACK
    ) -> list[dict[int, bytes]]:
        """Send a command; return the attributes of each answer; raise as :meth:`Netlink.ask`."""
        body = GENERIC.pack(command, 1, 0) + pack(values)
        answers = self.netlink.ask(self.number, body, what, flags)
        return [unpack(answer[GENERIC.size :]) for answer in answers]
