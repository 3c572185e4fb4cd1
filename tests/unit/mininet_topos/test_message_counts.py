"""The program that counts routing messages: what it makes of frames, and what it answers."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from pathlib import Path

import pytest

from mininet_topos.filters import bpf
from mininet_topos.filters.message_counts import VALUE, Counter, count, instructions
from mininet_topos.netns import Journal, Namespace
from model.errors import RunError
from tests.unit.mininet_topos import bpf_machine

PORT, UDP, ICMPV6 = 6696, 17, 58
TO_HOST, OUTGOING = 0, 4
NOTHING, WHOLE = 0, 0xFFFF


def frame(*, payload: int = 20, port: int = PORT, header: int = UDP, version: int = 6) -> bytes:
    """Return a frame with a message of so many bytes behind the header of UDP."""
    udp = struct.pack("!HHHH", 40_000, port, 8 + payload, 0)
    ip = struct.pack("!IHBB", version << 28, 8 + payload, header, 1) + bytes(32)
    return bytes(12) + b"\x86\xdd" + ip + udp + bytes(payload)


class Tap:
    """A program and its map."""

    def __init__(self) -> None:
        self.program, self.value = instructions(PORT, 7), bytearray(VALUE.size)

    def answer(self, frame: bytes, packet_type: int = OUTGOING) -> int:
        return bpf_machine.run(self.program, frame, (7, self.value), packet_type=packet_type)

    def counts(self) -> tuple[int, ...]:
        """Return packets and the bytes of IP packets."""
        return VALUE.unpack(self.value)


def test_the_first_is_handed_up_and_all_are_counted() -> None:
    tap = Tap()
    assert [tap.answer(frame(payload=size)) for size in (20, 0, 1400)] == [WHOLE, NOTHING, NOTHING]
    assert tap.counts() == (3, 3 * 48 + 1420)


@pytest.mark.parametrize(
    "other",
    [
        frame(port=PORT + 1),
        frame(header=ICMPV6),
        frame(version=4),
        frame()[:40],
        frame()[: 14 + 40 + 3],
        b"",
    ],
)
def test_others_are_not(other: bytes) -> None:
    tap = Tap()
    assert tap.answer(other) == NOTHING
    assert tap.counts() == (0, 0)


def test_what_comes_in_is_not() -> None:
    tap = Tap()
    assert tap.answer(frame(), packet_type=TO_HOST) == NOTHING
    assert tap.counts() == (0, 0)


def descriptors() -> set[str]:
    return {str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()}


def test_nothing_stays_open_of_one_that_is_closed(tmp_path: Path) -> None:
    tap, _ = ends = socket.socketpair()
    (tmp_path / "map").touch()
    map_fd = os.open(tmp_path / "map", os.O_RDONLY)
    assert str(tmp_path / "map") in descriptors()
    Counter(where="n1 wlan0", tap=tap, map_fd=map_fd).close()
    assert tap.fileno() == -1
    assert str(tmp_path / "map") not in descriptors()
    ends[1].close()


@pytest.mark.parametrize("refused", ["program", "interface"])
def test_nothing_stays_open_of_one_that_is_refused(
    refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the program, which the socket keeps, of one that counts."""

    def opened(name: str) -> int:
        (tmp_path / name).touch()
        return os.open(tmp_path / name, os.O_RDONLY)

    def load(_: bytes) -> bpf.Program:
        if refused == "program":
            raise RunError("cannot load a program")
        return bpf.Program(fd=opened("program"), id=1, tag="")

    monkeypatch.setattr(bpf, "create_value", lambda _: opened("map"))
    monkeypatch.setattr(bpf, "load_socket_filter", load)
    monkeypatch.setattr(Namespace, "entered", lambda _: contextlib.nullcontext())
    node = Namespace(name="n1", handle=-1, home=-1, journal=Journal())
    with pytest.raises(RunError, match=r"^(n1 none: cannot count|cannot load)"):
        count(node, "none", PORT)
    assert {one for one in descriptors() if one.startswith(str(tmp_path))} == set()
