"""Netlink messages and attributes: exact, and nothing is read beyond an answer's end."""

from __future__ import annotations

import contextlib
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.recording.netlink import (
    ATTRIBUTE,
    HEADER,
    NLMSG_DONE,
    NLMSG_ERROR,
    Message,
    attributes,
    dump,
    dump_request,
    messages,
)
from model.errors import ParseError, RunError


def test_a_request_is_a_message() -> None:
    request = dump_request(20, b"question")
    assert list(messages(request, "r")) == [Message(kind=20, offset=16, body=b"question")]
    assert HEADER.unpack_from(request) == (24, 20, 0x301, 1, 0)


def test_messages_begin_at_whole_words() -> None:
    first = HEADER.pack(18, 20, 2, 1, 0) + b"ab" + bytes(2)
    last = HEADER.pack(20, NLMSG_DONE, 2, 1, 0) + bytes(4)
    found = list(messages(first + last, "r", 100))
    assert [(m.kind, m.offset, m.body) for m in found] == [(20, 116, b"ab"), (3, 136, bytes(4))]


def test_attributes_are_told_by_type_without_its_flags() -> None:
    data = ATTRIBUTE.pack(5, 7) + b"x" + bytes(3) + ATTRIBUTE.pack(6, 0x8002) + b"yz"
    assert attributes(data, "r") == {7: b"x", 2: b"yz"}


DONE = HEADER.pack(20, NLMSG_DONE, 2, 1, 0) + bytes(4)
PART = HEADER.pack(20, 20, 2, 1, 0) + b"part"


def test_an_answer_may_come_in_parts(pair: tuple[socket.socket, socket.socket]) -> None:
    mine, kernels = pair
    kernels.send(PART)
    kernels.send(PART + DONE)
    assert dump(mine, b"question", "src1 tcp") == PART + PART + DONE
    assert kernels.recv(100) == b"question"


def test_a_refusal_is_named(pair: tuple[socket.socket, socket.socket]) -> None:
    mine, kernels = pair
    kernels.send(HEADER.pack(20, NLMSG_ERROR, 0, 1, 0) + struct.pack("<i", -2))
    with pytest.raises(RunError, match=r"^src1 sctp: the kernel refuses to answer: got error -2"):
        dump(mine, b"question", "src1 sctp")


def test_silence_is_named(pair: tuple[socket.socket, socket.socket]) -> None:
    mine, kernels = pair
    kernels.send(PART)
    with pytest.raises(RunError, match=r"^src1 sctp: the kernel does not answer"):
        dump(mine, b"question", "src1 sctp")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bytes(7), "r: byte 40: a netlink message is cut off: wanted 16 bytes of header, got 7"),
        (HEADER.pack(15, 20, 2, 1, 0), "r: byte 40: a netlink message does not fit: wanted 16 to"),
        (HEADER.pack(17, 20, 2, 1, 0), "r: byte 40: a netlink message does not fit: wanted 16 to"),
        (
            HEADER.pack(16, 20, 2, 1, 0) + b"abc",
            "r: byte 56: a netlink message is cut off: wanted 16 bytes of header, got 3",
        ),
    ],
)
def test_what_does_not_fit_is_named(data: bytes, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        list(messages(data, "r", 40))
    assert str(caught.value).startswith(message)


def test_an_attribute_that_does_not_fit_is_named() -> None:
    with pytest.raises(ParseError, match=r"^r: byte 8: a netlink attribute does not fit"):
        attributes(ATTRIBUTE.pack(5, 7) + b"x" + bytes(3) + ATTRIBUTE.pack(3, 1), "r")


@given(data=st.binary(max_size=80))
def test_anything_is_messages_or_a_parse_error(data: bytes) -> None:
    with contextlib.suppress(ParseError):
        for message in messages(data, "r"):
            attributes(message.body, "r")
