"""Kernel modules: loaded where they are missing, unloaded in the order in which they can be."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from model.errors import UnsupportedError
from testbed.labs.host import kernel_modules, undo
from testbed.labs.host.undo import Journal, Places
from tests.support.said import said_by

MODULES = ("veth 36864 0 - Live 0x0\n", "sctp 430080 4 - Live 0x0\n", "libcrc32c 12288 1 sctp\n")


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """A kernel with three modules, of which libcrc32c cannot go before sctp."""
    loaded = tmp_path / "modules"
    loaded.write_text("".join(MODULES))
    monkeypatch.setattr(kernel_modules, "LOADED", loaded)
    ran: list[tuple[str, ...]] = []

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        ran.append(argv)
        lines = loaded.read_text().splitlines(keepends=True)
        status, error, out = 0, "", ""
        if argv[0] == "rmmod":
            busy = argv[1] == "libcrc32c" and any(line.startswith("sctp") for line in lines)
            status = int(busy)
            if not busy:
                loaded.write_text("".join(x for x in lines if not x.startswith(argv[1] + " ")))
        elif "--show-depends" in argv:
            if "sctp" in argv:
                out = "insmod /lib/libcrc32c.ko.xz\ninsmod /lib/sctp.ko.xz opt=1\nbuiltin ipv4\n"
            if "dummy" in argv and (tmp_path / "forbidden").exists():
                out += "install /bin/true \n"
        elif "sch_netem" in argv and not (tmp_path / "forbidden").exists():
            status, error = 1, "x\nmodprobe: FATAL: Module sch_netem not found.\n"
        return subprocess.CompletedProcess(argv, status, out, error)

    monkeypatch.setattr(kernel_modules, "_run", run)
    return ran


def test_modules_go_in_the_order_in_which_they_can(kernel: list[tuple[str, ...]]) -> None:
    assert kernel_modules.unload({"sctp", "libcrc32c", "never_there"}) == (
        ["sctp", "libcrc32c"], [],
    )  # fmt: skip
    assert kernel_modules.loaded() == {"veth"}


def test_a_module_in_use_stays_and_is_named(
    kernel: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_modules, "UNLOAD_WITHIN_S", 0.0)
    assert kernel_modules.unload({"libcrc32c"}) == ([], ["libcrc32c"])


def test_only_modules_that_were_not_there_are_unloaded(
    kernel: list[tuple[str, ...]], places: Places
) -> None:
    with undo.alone(places):
        Journal(modules_before=["veth"], modules_ours=["veth", "sctp", "libcrc32c"]).write(places)
        assert said_by(lambda say: undo.undo(places, say)) == ["modules unloaded: sctp libcrc32c"]
    assert kernel_modules.loaded() == {"veth"}


def test_a_module_of_links_stays(kernel: list[tuple[str, ...]]) -> None:
    # Unloading it would take the links of others, which do not count as its users.
    assert kernel_modules.unload({"veth", "sctp"}) == (["sctp"], ["veth"])
    assert ("rmmod", "veth") not in kernel


def test_what_a_module_needs_is_known_and_what_is_loaded_on_demand(
    kernel: list[tuple[str, ...]],
) -> None:
    found = kernel_modules.with_those_they_need()
    assert found[:2] == ["libcrc32c", "sctp"]
    assert "tcp_vegas" in found


def test_a_rule_in_place_of_a_module_is_told(
    kernel: list[tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "forbidden").touch()
    monkeypatch.setattr(kernel_modules, "LOCKDOWN", tmp_path / "none")
    rule = "install dummy /bin/true"
    with pytest.raises(UnsupportedError, match=rf"got dummy: {rule} \(an administrator's rule"):
        kernel_modules.load()
    assert kernel_modules.missing() == {"dummy": rule}


def test_no_links_are_made_for_everybody(kernel: list[tuple[str, ...]]) -> None:
    with contextlib.suppress(UnsupportedError):
        kernel_modules.load()
    assert ("modprobe", "ifb", "numifbs=0") in kernel
    assert ("modprobe", "dummy", "numdummies=0") in kernel


def test_all_are_asked_for_together(
    kernel: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_modules, "WANTED", ("veth", "ifb", "dummy", "sctp"))
    kernel_modules.load()
    assert len(kernel) == 4


@pytest.mark.parametrize("has", [True, False])
def test_a_kernel_that_takes_no_modules_has_sctp_built_in_or_not_at_all(
    has: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(_family: int, _kind: int, protocol: int) -> SimpleNamespace:
        assert protocol == socket.IPPROTO_SCTP
        if not has:
            raise OSError(93, "Protocol not supported")
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(kernel_modules, "LOADED", tmp_path / "none")
    monkeypatch.setattr(kernel_modules, "socket", SimpleNamespace(
        socket=opened, AF_INET=2, SOCK_STREAM=1, IPPROTO_SCTP=socket.IPPROTO_SCTP))  # fmt: skip
    assert kernel_modules.missing() == ({} if has else {"sctp": kernel_modules.NO_MODULES})
    if not has:
        with pytest.raises(UnsupportedError, match=r"kernel has not what a lab needs.*install a"):
            kernel_modules.load()


def test_a_kernel_without_a_module_is_told_by_its_name(kernel: list[tuple[str, ...]]) -> None:
    with pytest.raises(
        UnsupportedError, match=r"wanted sch_netem, got sch_netem: modprobe: FATAL: .*extra"
    ):
        kernel_modules.load()


@pytest.mark.parametrize(
    ("why", "wanted"),
    [
        ("could not insert 'sctp': Key was rejected by service", "Secure Boot"),
        ("could not insert 'sctp': Operation not permitted", "container"),
        ("Module sctp not found in directory", "linux-modules-extra"),
    ],
)
def test_each_refusal_has_its_advice(
    why: str, wanted: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel_modules, "LOCKDOWN", tmp_path / "none")
    assert wanted in kernel_modules.advice(why)


def test_lockdown_is_read_by_its_brackets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_modules, "LOCKDOWN", tmp_path / "lockdown")
    (tmp_path / "lockdown").write_text("none [integrity] confidentiality\n")
    assert kernel_modules.lockdown() == "integrity"
    assert "Secure Boot" in kernel_modules.advice("anything")
