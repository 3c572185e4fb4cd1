"""Netlink messages and their attributes: what the kernel answers when asked for state.

Standard library only, because both the live parts in a lab and the parsers on the host use it.
Invariant: every length is checked; what does not fit is a :class:`ParseError` naming the byte.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from model.errors import ParseError, RunError

NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_DUMP = 0x1, 0x300
NLA_TYPE_MASK = 0x3FFF
HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence number, port
ATTRIBUTE = struct.Struct("=HH")  # length, type
ERROR = struct.Struct("=i")
RECEIVE_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message: its type, what follows its header, and where in the answer that begins."""

    kind: int
    offset: int
    body: bytes


def dump_request(kind: int, body: bytes) -> bytes:
    """Return the message that asks for everything of a kind."""
    return HEADER.pack(HEADER.size + len(body), kind, NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + body


def connect(protocol: int) -> socket.socket:
    """Return a socket to the kernel of the namespace the caller is in.

    It never waits, because the kernel answers before it returns from the question; and waiting
    with a time limit would look at the clock.
    """
    connection = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    connection.setblocking(False)
    connection.bind((0, 0))
    return connection


def dump(connection: socket.socket, question: bytes, where: str) -> bytes:
    """Return all messages the kernel answers a question with, the last one included.

    Raises:
        RunError: the kernel refuses, or does not answer.
    """
    connection.send(question)
    answer = b""
    while True:
        try:
            part = connection.recv(RECEIVE_BYTES)
        except BlockingIOError as error:
            raise RunError("the kernel does not answer", where=where) from error
        answer += part
        for message in messages(part, where):
            if message.kind == NLMSG_ERROR:
                (status,) = ERROR.unpack_from(message.body)
                raise RunError("the kernel refuses to answer", where=where, got=f"error {status}")
            if message.kind == NLMSG_DONE:
                return answer


def messages(answer: bytes, where: str, origin: int = 0) -> Iterator[Message]:
    """Yield each message of an answer that lies ``origin`` bytes into what ``where`` names.

    Raises:
        ParseError: a length does not fit.
    """
    for begin, end, kind in _pieces(answer, HEADER, "netlink message", where, origin):
        yield Message(kind=kind, offset=origin + begin, body=answer[begin:end])


def attributes(data: bytes, where: str, origin: int = 0) -> dict[int, bytes]:
    """Return the attributes of a message or of a nest by type; raise as :func:`messages`."""
    return {
        kind & NLA_TYPE_MASK: data[begin:end]
        for begin, end, kind in _pieces(data, ATTRIBUTE, "netlink attribute", where, origin)
    }


def _pieces(
    data: bytes, header: struct.Struct, what: str, where: str, origin: int
) -> Iterator[tuple[int, int, int]]:
    """Yield begin and end of each piece's content, and its type."""
    offset = 0
    while offset < len(data):
        left = len(data) - offset
        if left < header.size:
            raise ParseError(
                f"a {what} is cut off", where=f"{where}: byte {origin + offset}",
                wanted=f"{header.size} bytes of header", got=str(left),
            )  # fmt: skip
        length, kind = header.unpack_from(data, offset)[:2]
        if not header.size <= length <= left:
            raise ParseError(
                f"a {what} does not fit", where=f"{where}: byte {origin + offset}",
                wanted=f"{header.size} to {left} bytes", got=str(length),
            )  # fmt: skip
        yield offset + header.size, offset + length, kind
        offset += (length + 3) & ~3
