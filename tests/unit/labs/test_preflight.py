"""A machine that refuses to confine a lab is told so at once, with the commands that allow it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from model.errors import RunError, UnsupportedError
from testbed.labs.booted import image
from testbed.labs.confinement import host_tools, lab_user, preflight
from testbed.labs.confinement.preflight import APPARMOR, CHROOT, CONTAINER, Machine
from testbed.labs.virtual import kernel, virtual_lab

OPEN = {
    "kernel/apparmor_restrict_unprivileged_userns": "0",
    "kernel/unprivileged_userns_clone": "1",
    "user/max_user_namespaces": "96365",
}


@pytest.fixture(autouse=True)
def bwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_tools, "find", lambda tool: Path("/usr/bin") / tool.program)
    monkeypatch.setattr(lab_user, "of_sandbox", lambda: lab_user.STARTER)
    preflight.check.cache_clear()


def machine(
    *, root: bool = False, chroot: bool = False, container: bool = False, **changed: str
) -> Machine:
    settings = {**OPEN, **{name.replace("__", "/"): value for name, value in changed.items()}}
    return Machine(root=root, chroot=chroot, container=container, settings=settings)


@pytest.mark.parametrize(
    ("found", "hint"),
    [
        (machine(root=True, chroot=True), CHROOT),
        (machine(chroot=True, container=True), CHROOT),
        (machine(root=True, container=True), CONTAINER),
        (machine(container=True), CONTAINER),
        (machine(kernel__apparmor_restrict_unprivileged_userns="1"), APPARMOR),
        (machine(kernel__unprivileged_userns_clone="0"), "as root: sysctl -w kernel."),
        (machine(user__max_user_namespaces="0"), "as root: sysctl -w user.max_user_namesp"),
        (machine(container=True, user__max_user_namespaces="0"), "as root: sysctl -w user."),
        (machine(root=True, user__max_user_namespaces="0"), "run it as another user, or on an"),
        (machine(), "run it as another user, or on another machine"),
    ],
)
def test_each_refusal_has_its_remedy(found: Machine, hint: str) -> None:
    assert found.hint().startswith(hint)


def test_remedies_are_commands_to_type() -> None:
    assert "docker run --cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp" in CONTAINER
    assert "systemd-nspawn -D ROOT" in CHROOT
    assert "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" in APPARMOR


def test_a_chroot_is_known_by_a_root_that_is_no_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mountinfo"
    monkeypatch.setattr(preflight, "MOUNTS", mounts)
    mounts.write_text("22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n23 22 0:5 / /proc rw - p p\n")
    assert not preflight.this_machine().chroot
    mounts.write_text("23 22 0:5 / /proc rw - proc proc rw\n")
    assert preflight.this_machine().chroot
    mounts.unlink()  # no /proc in it at all
    assert preflight.this_machine().chroot


def test_nothing_is_built_where_a_lab_cannot_be_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(argv: list[str]) -> str:
        assert argv[0] == "/usr/bin/bwrap"
        raise RunError("bwrap failed", got="bwrap: No permissions to create new namespace")

    monkeypatch.setattr(preflight, "output_of", refuse)
    monkeypatch.setattr(preflight, "this_machine", lambda: machine(container=True))
    for part in (image, kernel):
        monkeypatch.setattr(part, "ensure", lambda *_: pytest.fail("began to build"))
    wanted = (
        "this machine does not let a lab be confined: wanted namespaces of mounts, processes and "
        "users, got bwrap: No permissions to create new namespace (containers refuse"
    )
    with pytest.raises(UnsupportedError, match="^" + re.escape(wanted)):
        virtual_lab.ensure("7.3", lambda what, done: None)


def test_a_filter_that_moves_a_kernels_addresses_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def filtered(argv: list[str]) -> str:
        if "setarch" in argv:
            raise RunError("bwrap failed", got="setarch: failed to set personality")
        return ""

    monkeypatch.setattr(preflight, "output_of", filtered)
    monkeypatch.setattr(preflight, "this_machine", lambda: machine(container=True))
    found = preflight.problem()
    assert found is not None
    assert (found.got, found.hint) == ("setarch: failed to set personality", CONTAINER)


def test_a_root_that_can_be_nobody_else_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> int:
        raise UnsupportedError("root has no other user id", wanted="ids", got="1", hint="do this")

    monkeypatch.setattr(lab_user, "of_sandbox", nobody)
    found = preflight.problem()
    assert found is not None
    assert (found.wanted, found.got, found.hint) == ("ids", "1", "do this")


def test_a_root_without_proc_is_told_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(host_tools, "find", lambda tool: Path("/usr/bin") / tool.program)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(lab_user, "UID_MAP", tmp_path / "none")
    monkeypatch.setattr(preflight, "MOUNTS", tmp_path / "none")
    found = preflight.problem()
    assert found is not None
    assert "No such file" in found.got
    assert found.hint == CHROOT


def test_a_machine_that_allows_it_has_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(preflight, "output_of", ran.append)
    preflight.check()
    preflight.check()
    assert len(ran) == 1, "asked once in a process"
    assert {"--unshare-all", "--proc", "--dev"} <= set(ran[0])
    assert ran[0][-4:] == ["--", "setarch", "--addr-no-randomize", "true"]


def test_the_version_of_landlock_is_a_number() -> None:
    assert preflight.landlock_version() >= 0


def test_a_kernel_without_user_namespaces_has_all_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(lab_user, "UID_MAP", tmp_path / "uid_map")
    (tmp_path / "stat").write_text("1 (init) S 0\n")
    assert lab_user.of_sandbox() >= lab_user.FIRST_UNUSED
