"""What the host lab is: its kernel, its rights, its limits, and what it refuses."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path

import pytest

from model.errors import StudyError, UnsupportedError
from testbed.labs import registry
from testbed.labs.booted import booting
from testbed.labs.booted.booting import Boot
from testbed.labs.host import kind, machine_facts
from testbed.labs.host.host_lab import HostLab
from tests.support.recorded import wireless_cell
from tests.support.said import said_by


@pytest.mark.parametrize(
    ("release", "asked", "wanted"),
    [
        ("6.12.117+deb13-amd64", "6.12", True), ("6.12.117+deb13-amd64", "6.12.117", True),
        ("6.12.117+deb13-amd64", "6.1", False), ("6.1.0-49-amd64", "6.1", True),
        ("6.1.0-49-amd64", "6.12", False), ("6.8.0-90-generic", "6.8.0-90", True),
    ],
)  # fmt: skip
def test_the_running_kernel_and_no_other(
    release: str, asked: str, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "uname", lambda: dataclasses.make_dataclass("U", ["release"])(release))
    assert machine_facts.is_asked(asked) is wanted
    of_lab = registry.named("host")
    if wanted:
        assert of_lab.kernel_instead(asked) == asked
    else:
        with pytest.raises(UnsupportedError, match=r"this machine's kernel and no other.*stock"):
            of_lab.kernel_instead(asked)
    assert of_lab.kernel_instead("") == ".".join(release.split(".")[:2])


def test_without_root_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for act in (
        lambda: kind.HOST.ready([], lambda *_: None),
        lambda: kind.HOST.clean(lambda _: None),
    ):
        with pytest.raises(UnsupportedError, match=r"wanted root, got user 1000 \(sudo make"):
            act()


def test_an_agent_has_the_same_environment_where_a_lab_boots() -> None:
    init = Path(booting.__file__).with_name("boot").joinpath("init.c").read_text()
    given = re.search(r"env\[\] = \{(.*?)NULL", init, re.DOTALL)
    assert given is not None
    wanted = [f"{name}={value}" for name, value in booting.ENVIRONMENT.items()]
    assert re.findall(r'"(.*?)"', given[1]) == wanted


def test_of_roots_rights_an_agent_has_those_it_needs(tmp_path: Path) -> None:
    argv = HostLab(image=tmp_path, code=tmp_path).command(
        tmp_path, Boot(seed=1, limits=wireless_cell().limits)
    )
    assert argv[argv.index("--cap-drop") + 1] == "ALL"
    kept = {argv[at + 1] for at, word in enumerate(argv) if word == "--cap-add"}
    assert {f"CAP_{name}" for name in ("NET_ADMIN", "SYS_ADMIN")} <= kept
    unneeded = ("SYS_MODULE", "SYS_RAWIO", "SYS_BOOT", "SYS_TIME", "MKNOD", "DAC_READ_SEARCH",
                "SYS_PTRACE", "DAC_OVERRIDE", "SETUID", "KILL")  # fmt: skip
    assert not kept & {f"CAP_{name}" for name in unneeded}


def test_a_cells_limits_have_room_for_real_time() -> None:
    cell = wireless_cell()
    limits = kind.HOST.limits(cell)
    assert limits.wall_s > limits.virtual_s > cell.duration_s
    assert kind.HOST.cell_wall_s(cell) > cell.duration_s
    assert kind.HOST.slots() == 1


def test_other_labs_leave_nothing_to_undo() -> None:
    for name in ("virtual", "stock"):
        assert said_by(registry.named(name).clean) == []
        assert registry.named(name).kernel_instead("") == ""
    with pytest.raises(StudyError):
        registry.named("stock").kernel_instead("old")
