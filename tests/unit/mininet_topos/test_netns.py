"""Commands in a node's namespace: journalled, failures named; offloads by the ethtool ioctl."""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mininet_topos import netns, offloads
from mininet_topos.netns import Journal, Namespace
from model.errors import RunError, UnsupportedError


class Here(Namespace):
    """The namespace the tests run in."""

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        yield


@pytest.fixture
def here() -> Here:
    return Here(name="src1", handle=0, home=0, journal=Journal())


def test_a_command_gets_its_input_and_is_journalled(here: Here) -> None:
    assert here.run(["cat"], "some\ntext") == "some\ntext"
    (entry,) = here.journal.entries
    assert {name: entry[name] for name in ("node", "argv", "input", "status")} == {
        "node": "src1",
        "argv": ["cat"],
        "input": "some\ntext",
        "status": 0,
    }
    assert 0 < entry["began_ns"] <= entry["ended_ns"]


def test_a_command_that_does_not_end_is_an_error_like_any_other(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(netns, "COMMAND_TIMEOUT_S", 0.01)
    with pytest.raises(RunError, match=r"src1: sleep did not end: wanted within .* got sleep 9"):
        here.run(["sleep", "9"])
    assert [entry["status"] for entry in here.journal.entries] == [-signal.SIGKILL]


@pytest.mark.parametrize(
    ("script", "got"),
    [
        ("echo out; echo err >&2; exit 2", "err"),
        ("echo out; exit 2", "out"),
        ("exit 2", "no output"),
    ],
)
def test_a_failed_command_is_named_with_its_words_and_input(
    here: Here, script: str, got: str
) -> None:
    with pytest.raises(RunError) as caught:
        here.run(["sh", "-c", script], "the input")
    assert str(caught.value) == (
        f"src1: sh -c {script} failed with status 2: got {got} (input was:\nthe input)"
    )
    assert here.journal.entries[0]["status"] == 2


def test_json_of_no_output_is_an_empty_list(here: Here) -> None:
    assert here.json(["true"]) == []
    assert here.json(["echo", '[{"a": 1}]']) == [{"a": 1}]


def test_a_batch_prints_one_value_per_question(here: Here) -> None:
    assert here.json_batch(["cat"], '[{"a": 1}]\n[ ]\n\n[2,\n3]\n') == [[{"a": 1}], [], [2, 3]]
    assert here.json_batch(["cat"], "") == []
    with pytest.raises(json.JSONDecodeError):
        here.json_batch(["cat"], "[1]\n[2")


def test_sysctls(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert netns._sysctl_path("net.ipv4.tcp_sack") == Path("/proc/sys/net/ipv4/tcp_sack")
    monkeypatch.setattr(netns, "_sysctl_path", lambda name: tmp_path / name)
    (tmp_path / "a").touch()
    here.write_sysctl("a", "4096 131072")
    (tmp_path / "b").write_text("4096\t131072\t6291456\n")
    assert (here.read_sysctl("a"), here.read_sysctl("b")) == ("4096 131072", "4096 131072 6291456")
    with pytest.raises(RunError, match=r"^src1: cannot read sysctl nonesuch: got .*No such file"):
        here.read_sysctl("nonesuch")
    with pytest.raises(RunError, match=r"^src1: cannot set sysctl x/y: wanted 1, got .* \(this"):
        here.write_sysctl("x/y", "1")


def test_read_file(here: Here, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    assert here.read_file(str(tmp_path / "f")) == "text"


def test_python_without_setns_is_not_supported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(netns, "NAMES", tmp_path)
    monkeypatch.setattr(sys, "version_info", (3, 11, 2))
    space = Namespace(name="src1", handle=0, home=0, journal=Journal())
    with pytest.raises(UnsupportedError, match=r"^src1: .*wanted Python 3.12 or newer"):
        space.run(["true"])
    with pytest.raises(UnsupportedError, match=r"cannot make .*wanted Python 3.12 or newer"):
        netns.create(["src1"], Journal())


class Kernel:
    """The kernel's side of unshare and setns for one thread: what it was told, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[tuple[str, int]] = []
        monkeypatch.setattr(sys, "version_info", (3, 13, 5))
        for name in ("setns", "unshare"):
            monkeypatch.setattr(os, name, self.call(name), raising=False)

    def call(self, name: str) -> Callable[..., None]:
        def told(*arguments: int) -> None:
            assert arguments[-1] == 0x40000000
            self.told.append((name, arguments[0]))

        return told


def test_the_thread_comes_home_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(monkeypatch)
    space = Namespace(name="src1", handle=7, home=3, journal=Journal())
    with pytest.raises(ZeroDivisionError), space.entered():
        raise ZeroDivisionError
    assert kernel.told == [("setns", 7), ("setns", 3)]


def test_namespaces_are_made_and_known_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel = Kernel(monkeypatch)
    monkeypatch.setattr(netns, "NAMES", tmp_path / "netns")
    made = netns.create(["src1", "r1"], Journal())
    home = made["r1"].home
    try:
        assert kernel.told == [("unshare", 0x40000000), ("setns", home)] * 2
        assert list(made) == ["src1", "r1"]
        assert {space.home for space in made.values()} == {home}
        for name, space in made.items():
            assert space.name == name
            assert (tmp_path / "netns" / name).stat().st_ino == os.fstat(space.handle).st_ino
    finally:
        for descriptor in (home, *(space.handle for space in made.values())):
            os.close(descriptor)


class Ethtool:
    """The kernel's side of SIOCETHTOOL for one device: all offloads on at first."""

    def __init__(self) -> None:
        self.on = {offload.get: 1 for offload in offloads.OFFLOADS}
        self.refused: set[int] = set()

    def ioctl(self, sock: Any, request: int, data: bytes) -> int:
        assert request == 0x8946
        name, address = struct.unpack("16sP", data)
        assert name.rstrip(b"\0") == b"r1-src1"
        value = (ctypes.c_uint32 * 2).from_address(address)
        if value[0] in self.refused:
            raise OSError(95, "Operation not supported")
        setters = {offload.set: offload.get for offload in offloads.OFFLOADS}
        if value[0] in setters:
            self.on[setters[value[0]]] = value[1]
        else:
            value[1] = self.on[value[0]]
        return 0


def test_offloads_are_switched_off_and_read(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Ethtool()
    monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
    assert set(offloads.read(here, "r1-src1").values()) == {True}
    offloads.switch_off(here, "r1-src1")
    assert offloads.read(here, "r1-src1") == {
        "tcp-segmentation-offload": False,
        "generic-segmentation-offload": False,
        "generic-receive-offload": False,
        "tx-checksumming": False,
        "scatter-gather": False,
    }


def test_an_offload_the_kernel_keeps_is_named(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Ethtool()
    kernel.refused = {0x2C}
    monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
    with pytest.raises(RunError, match="src1:r1-src1: cannot switch off generic-receive-offload"):
        offloads.switch_off(here, "r1-src1")


def test_an_offload_that_a_device_has_not_is_none_to_switch_off(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Ethtool()
    kernel.refused, kernel.on[0x1E] = {0x1F}, 0
    monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
    offloads.switch_off(here, "r1-src1")
    assert not any(offloads.read(here, "r1-src1").values())


def test_ethtool_values_are_32_bits() -> None:
    assert array.array("I").itemsize == 4
