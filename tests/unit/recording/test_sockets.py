"""The recorder of sockets: what it asks, and the file it leaves."""

from __future__ import annotations

import gzip
import json
import os
import socket
import struct
from pathlib import Path

import pytest

from collectors.recording import socket_sampler
from collectors.recording.netlink import HEADER, NLMSG_DONE
from collectors.recording.socket_sampler import Recorder, Source
from collectors.sockets.samples import read_samples
from tests.support.fake_lab import Here

DONE = HEADER.pack(20, NLMSG_DONE, 2, 1, 0) + bytes(4)
PART = HEADER.pack(20, 20, 2, 1, 0) + b"part"


def recorder(folder: Path, handles: list[socket.socket | int], *what: str) -> Recorder:
    sources = tuple(Source(node="src1", what=name) for name in what)
    described = [{"node": source.node, "what": source.what} for source in sources]
    (folder / socket_sampler.SOURCES).write_text(
        json.dumps(
            {"schema": 1, "byte_order": "little", "tick_ns": 10_000_000, "sources": described}
        )
    )
    file = gzip.GzipFile(folder / socket_sampler.SAMPLES, "wb", 1, mtime=0)
    return Recorder(sources=sources, handles=handles, file=file)


def test_a_host_is_asked_what_its_flows_need() -> None:
    assert [s.what for s in socket_sampler.sources("src1", {"tcp"})] == [
        "tcp", "/proc/net/snmp", "/proc/net/netstat",
    ]  # fmt: skip
    assert [s.what for s in socket_sampler.sources("dst1", {"udp", "sctp", "tcp"})] == [
        "tcp", "sctp", "/proc/net/snmp", "/proc/net/netstat", "/proc/net/sctp/snmp",
        "/proc/net/sctp/assocs", "/proc/net/sctp/remaddr",
    ]  # fmt: skip


def test_the_question_is_for_connected_sockets_with_all_there_is() -> None:
    request = socket_sampler.request("sctp")
    assert len(request) == 72
    assert HEADER.unpack_from(request)[1] == 20
    family, protocol, wanted, states = struct.unpack_from("=BBBxI", request, 16)
    assert (family, protocol) == (socket.AF_INET, 132)
    assert wanted == 0b1001111  # memory, info, vegas, congestion control, socket memory
    assert states == 0b101100111110  # all but close, time wait, listen
    assert set(request[24:]) == {0}


def test_a_file_is_read_anew_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "snmp"
    path.write_bytes(b"x" * 100_000)
    descriptor = os.open(path, os.O_RDONLY)
    assert socket_sampler.read(descriptor) == b"x" * 100_000
    path.write_bytes(b"new")
    assert socket_sampler.read(descriptor) == b"new"
    os.close(descriptor)


def test_samples_are_frames_in_the_order_of_the_sources(
    tmp_path: Path, pair: tuple[socket.socket, socket.socket]
) -> None:
    mine, kernels = pair
    path = tmp_path / "snmp"
    path.write_text("Tcp: 1\n")
    descriptor = os.open(path, os.O_RDONLY)
    watch = recorder(tmp_path, [mine, descriptor], "tcp", "/proc/net/snmp")
    kernels.send(PART + DONE)
    socket_sampler.take_sockets(watch, 5)
    socket_sampler.take_counters(watch, 6)
    path.write_text("Tcp: 2\n")
    kernels.send(DONE)
    socket_sampler.stop(watch, 7)
    samples = read_samples(tmp_path / socket_sampler.SAMPLES, tmp_path / socket_sampler.SOURCES)
    assert [(a.t_ns, a.source.what, a.content) for a in samples.answers] == [
        (5, "tcp", PART + DONE), (6, "/proc/net/snmp", b"Tcp: 1\n"),
        (7, "tcp", DONE), (7, "/proc/net/snmp", b"Tcp: 2\n"),
    ]  # fmt: skip
    assert samples.answers[1].offset == 16 + len(PART + DONE) + 16
    assert mine.fileno() == -1
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_large_samples_do_not_pile_up(tmp_path: Path) -> None:
    path = tmp_path / "snmp"
    path.write_bytes(b"x" * socket_sampler.BUFFER_BYTES)
    watch = recorder(tmp_path, [os.open(path, os.O_RDONLY)], "/proc/net/snmp")
    socket_sampler.take_counters(watch, 6)
    assert watch.pending == b""
    socket_sampler.stop(watch, 7)


def test_a_file_the_kernel_lacks_is_no_source(tmp_path: Path) -> None:
    present = tmp_path / "netstat"
    present.write_text("TcpExt: 1\n")
    asked = [Source(node="src1", what=str(path)) for path in (tmp_path / "snmp", present)]
    watch = socket_sampler.start([(Here("src1"), asked)], tmp_path)
    socket_sampler.take_counters(watch, 1)
    socket_sampler.stop(watch, 2)
    samples = read_samples(tmp_path / socket_sampler.SAMPLES, tmp_path / socket_sampler.SOURCES)
    assert {answer.source.what for answer in samples.answers} == {str(present)}
    assert samples.tick_ns > 0
