"""What is said of a machine: each finding, and that looking changes nothing."""

from __future__ import annotations

import collections
import os
import platform
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from model.errors import RunError, StudyError, UnsupportedError
from testbed.command import examine_machine, labs
from testbed.labs import registry
from testbed.labs.booted import doctor as virtual_doctor
from testbed.labs.booted import image, lab_code
from testbed.labs.confinement import host_tools, preflight
from testbed.labs.confinement.host_tools import BUBBLEWRAP
from testbed.labs.contract.lab import Finding
from testbed.labs.virtual import kernel, kernel_build
from testbed.machine import contents

Usage = collections.namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def programs(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in names else None)


def test_examining_writes_nothing_and_says_all(
    cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_tools, "debian_addresses", list)
    names = [finding.name for finding in examine_machine.examine(registry.DEFAULT, ["7.3", "6.12"])]
    assert names == [
        "Python",
        "processor",
        "apt",
        "mmdebstrap",
        "bwrap",
        "sandbox",
        "Landlock",
        "cache",
        "programs in the cache",
        "memory",
        "lab image",
        "kernel 7.3",
        "kernel 6.12",
        "browser, for the tests",
        "store of finished cells",
        "SCTP in this machine's kernel",
    ]
    assert not cache_home.exists()


def test_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert examine_machine._python().well
    assert examine_machine._python().state == sys.version.split()[0]
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    assert not examine_machine._python().well


@pytest.mark.parametrize(
    ("there", "cached", "state", "well"),
    [
        (("bwrap",), False, "/usr/bin/bwrap", True),
        ((), True, "tool-bubblewrap", True),
        (("apt-get", "dpkg-deb"), False, "will be fetched with apt-get download", True),
        (("apt-get",), False, "missing", False),
        ((), False, "missing", False),
    ],
)
def test_tools(
    monkeypatch: pytest.MonkeyPatch,
    cache_home: Path,
    there: tuple[str, ...],
    cached: bool,
    state: str,
    well: bool,
) -> None:
    programs(monkeypatch, *there)
    if cached:
        (cache_home / "groundtruth" / "tool-bubblewrap").mkdir(parents=True)
    finding = virtual_doctor._tool(BUBBLEWRAP)
    assert finding.state.endswith(state)
    assert (finding.name, finding.well, finding.needed) == ("bwrap", well, True)
    assert finding.well or finding.hint == "install the package bubblewrap"


def test_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    programs(monkeypatch)
    assert virtual_doctor._sandbox().state == "cannot be tried before bwrap is there"
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/true")
    monkeypatch.setattr(preflight, "problem", lambda: None)
    assert virtual_doctor._sandbox() == Finding(
        name="sandbox", state="namespaces work", well=True, needed=True
    )
    refused = UnsupportedError("not confined", got="Permission denied", hint="allow it so")
    monkeypatch.setattr(preflight, "problem", lambda: refused)
    finding = virtual_doctor._sandbox()
    assert (finding.well, finding.needed) == (False, True)
    assert (finding.state, finding.hint) == ("not confined: Permission denied", "allow it so")


@pytest.mark.parametrize(("version", "well"), [(0, False), (7, True)])
def test_second_walls_are_wanted_but_not_needed(
    monkeypatch: pytest.MonkeyPatch, version: int, well: bool
) -> None:
    monkeypatch.setattr(preflight, "landlock_version", lambda: version)
    finding = virtual_doctor._second_walls()
    assert (finding.well, finding.needed) == (well, False)


@pytest.mark.parametrize(
    ("free_bytes", "built", "writable", "well"),
    [
        (5_600_000_000, False, True, True),
        (5_400_000_000, False, True, False),
        (5_400_000_000, True, True, True),
        (9_000_000_000, True, False, False),
    ],
)
def test_space(
    monkeypatch: pytest.MonkeyPatch, free_bytes: int, built: bool, writable: bool, well: bool
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(0, 0, free_bytes))
    monkeypatch.setattr(image, "built", lambda: Path("/img") if built else None)
    monkeypatch.setattr(os, "access", lambda place, mode: writable)
    finding = virtual_doctor._space(kernel_build.BUILD_BYTES)
    assert finding.well is well
    assert f"{free_bytes / 1e9:.1f} GB free" in finding.state
    assert "5.5 GB are needed for the first build" in finding.hint


@pytest.mark.parametrize(
    ("content", "state", "well", "needed"),
    [
        ("MemTotal: 1 kB\nMemAvailable:    2000000 kB\n", "2.0 GB available", True, True),
        ("MemAvailable:     500000 kB\n", "0.5 GB available", False, True),
        ("MemTotal: 1 kB\n", "unknown", True, False),
    ],
)
def test_memory(
    monkeypatch: pytest.MonkeyPatch, content: str, state: str, well: bool, needed: bool
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self: content)
    finding = virtual_doctor._memory()
    assert (finding.state, finding.well, finding.needed) == (state, well, needed)


def test_image_that_is_built_can_be_or_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "build_mode", lambda: "unshare")
    assert virtual_doctor._builder().state == "not built yet; can be (unshare mode)"

    def refused() -> str:
        raise UnsupportedError("cannot build the lab's image as this user", hint="install uidmap")

    monkeypatch.setattr(image, "built", lambda: None)
    monkeypatch.setattr(image, "build_mode", refused)
    assert virtual_doctor._builder() == Finding(
        name="lab image",
        state="cannot build the lab's image as this user",
        well=False,
        needed=True,
        hint="install uidmap",
    )


def test_another_processor_cannot_run_the_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    assert virtual_doctor._processor("").state.startswith("x86_64, ")
    assert virtual_doctor._processor("").well
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert not virtual_doctor._processor("").well


@pytest.mark.parametrize("built", [True, False])
def test_apt_is_needed_until_the_image_is_built(
    monkeypatch: pytest.MonkeyPatch, built: bool
) -> None:
    monkeypatch.setattr(image, "built", lambda: Path("/img") if built else None)
    listed = "http://v/ubuntu/dists/n/InRelease\nhttp://m/debian/dists/trixie/InRelease\n"
    monkeypatch.setattr(host_tools, "output_of", lambda argv: listed)
    finding = virtual_doctor._apt()
    assert (finding.state, finding.well) == ("http://m/debian/dists/trixie/InRelease", True)
    assert finding.needed is not built
    monkeypatch.setattr(host_tools, "output_of", lambda argv: "http://v/ubuntu/dists/n/InRelease\n")
    assert (virtual_doctor._apt().state, virtual_doctor._apt().well) == (
        "no source of Debian",
        False,
    )

    def refused(argv: list[str]) -> str:
        raise RunError("setup/debian failed", got="this machine has no apt-get")

    monkeypatch.setattr(host_tools, "output_of", refused)
    assert (virtual_doctor._apt().state, virtual_doctor._apt().well) == (
        "this machine has no apt-get",
        False,
    )


@pytest.mark.parametrize(("flags", "well"), [(0, True), (os.ST_NOEXEC, False)])
def test_a_cache_from_which_nothing_may_start(
    monkeypatch: pytest.MonkeyPatch, flags: int, well: bool
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda place: types.SimpleNamespace(f_flag=flags))
    assert virtual_doctor._programs_start().well is well


def test_browser(monkeypatch: pytest.MonkeyPatch, cache_home: Path) -> None:
    monkeypatch.delenv("GROUNDTRUTH_BROWSER", raising=False)
    programs(monkeypatch)
    assert (examine_machine._browser().state, examine_machine._browser().well) == ("missing", False)
    programs(monkeypatch, "apt-get", "dpkg-deb")
    assert examine_machine._browser().state == "will be fetched by make test"
    place = cache_home / "groundtruth" / "browser" / "browser"
    place.parent.mkdir(parents=True)
    place.touch()
    assert examine_machine._browser().state == str(place)
    programs(monkeypatch, "chromium")
    assert examine_machine._browser().state == "/usr/bin/chromium"
    monkeypatch.setenv("GROUNDTRUTH_BROWSER", "/opt/mine")
    assert examine_machine._browser().state == "/opt/mine"


def test_browsers_are_looked_for_as_the_tests_do() -> None:
    script = (Path(__file__).parents[3] / "setup" / "browser").read_text()
    assert f"for program in {' '.join(examine_machine.BROWSERS)}; do" in script


def test_a_kernel_that_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        virtual_doctor.kernel("kernel 6.12", None).state == "not built yet; built on the first run"
    )
    assert virtual_doctor._code() == []


def test_what_is_built_is_read_whole_and_what_differs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("image", "kernel", "code"):
        (tmp_path / name / "root").mkdir(parents=True)
        (tmp_path / name / "root" / "file").write_text("as built")
        contents.settle(tmp_path / name)
    monkeypatch.setattr(image, "built", lambda: tmp_path / "image" / "root")
    monkeypatch.setattr(kernel, "built", lambda version, digest: tmp_path / "kernel")
    monkeypatch.setattr(lab_code, "built", lambda digest: tmp_path / "code")

    def look() -> list[Finding]:
        return [
            virtual_doctor._builder(),
            virtual_doctor.kernel("kernel 6.12", kernel.built("6.12", "")),
            *virtual_doctor._code(),
        ]

    assert [(finding.name, finding.state) for finding in look()] == [
        ("lab image", f"built: {tmp_path}/image"),
        ("kernel 6.12", f"built: {tmp_path}/kernel"),
        ("code in the lab", f"built: {tmp_path}/code"),
    ]
    (tmp_path / "image/root/file").write_text("as builT")
    os.utime(tmp_path / "image/root/file", ns=(contents.TIME_NS, contents.TIME_NS))
    (tmp_path / "kernel/root/file").unlink()
    (tmp_path / "code/root/more").touch()
    assert [(finding.well, finding.state) for finding in look()] == [
        (False, f"not as it was built: root/file: changed; in {tmp_path}/image"),
        (False, f"not as it was built: root/file: missing; in {tmp_path}/kernel"),
        (False, f"not as it was built: root/more: new; in {tmp_path}/code"),
    ]


def found(*, well: bool, needed: bool) -> Finding:
    return Finding(name="thing [x]", state="so", well=well, needed=needed, hint="do this")


@pytest.mark.parametrize(
    ("finding", "lines"),
    [
        (
            found(well=True, needed=True),
            ["ok  thing [x]: so", "the virtual lab can run here"],
        ),
        (
            found(well=False, needed=False),
            ["--  thing [x]: so", "    do this", "the virtual lab can run here"],
        ),
        (found(well=False, needed=True), ["NO  thing [x]: so", "    do this"]),
    ],
)
def test_the_command_prints_findings_and_fails_on_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, finding: Finding, lines: list[str]
) -> None:
    monkeypatch.setattr(examine_machine, "examine", lambda kind, versions: [finding])
    if finding.needed and not finding.well:
        with pytest.raises(UnsupportedError, match=r"cannot run here: got not well: thing \[x\]"):
            labs.doctor("virtual", "7.3")
    else:
        labs.doctor("virtual", "7.3")
    assert capsys.readouterr().out.splitlines() == lines


def test_the_command_checks_the_version_first() -> None:
    with pytest.raises(StudyError):
        labs.doctor("virtual", "seven")
