"""Which kernel is meant, what decides its key, how it is built in the image, and what fails."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from model.errors import BuildError, RunError, StudyError, UnsupportedError
from testbed.command.cli import command_status
from testbed.labs.booted import debian
from testbed.labs.confinement import host_tools, lab_user
from testbed.labs.confinement.host_tools import Mirrors
from testbed.labs.virtual import kernel, kernel_build
from testbed.machine import cache, process
from testbed.machine.process import StatusError
from tests.support.fake_lab import nothing

IMAGE = Path("/img")


@pytest.mark.parametrize("version", ["6.12", "7.3", "10.0", "6.1"])
def test_versions(version: str) -> None:
    assert kernel.check_version(version) == version


@pytest.mark.parametrize(
    "version",
    ["", "6", "6.", ".12", "6.12.1", "v6.12", "6.12 ", "6.12\n", "6,12", "../6.1", "6.12; true",
     "\u0666.\u0661"],
)  # fmt: skip
def test_what_is_no_version(version: str) -> None:
    with pytest.raises(StudyError, match=r"^KERNEL: no such kernel: wanted a version such as"):
        kernel.check_version(version)
    with pytest.raises(StudyError):
        kernel.ensure(version, IMAGE, "key", nothing)


def test_default_is_a_version() -> None:
    assert kernel.check_version(kernel.DEFAULT)


def test_key_follows_version_image_tick_and_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = tuple(Path(shutil.copy(path, tmp_path)) for path in kernel.INPUTS)
    first = kernel.key("7.3", "image")
    monkeypatch.setattr(kernel, "INPUTS", twice)
    assert kernel.key("7.3", "image") == first
    assert kernel.key("7.3", "image", kernel.Config()) == first
    keys = [first, kernel.key("6.12", "image"), kernel.key("7.3", "another")]
    keys += [
        kernel.key("7.3", "image", config) for config in
        (kernel.Config(tick_hz=1000), kernel.Config(options=b"A=y\n"), kernel.Config(scripts=True))
    ]  # fmt: skip
    for copy in twice:
        with copy.open("a") as file:
            file.write("\n")
        keys.append(kernel.key("7.3", "image"))
    assert len(set(keys)) == len(keys)


def test_inputs_are_there_and_leave_out_the_hosts_randomness() -> None:
    assert [path.name for path in kernel.INPUTS] == [
        "kernel.config",
        "kernel-optional.config",
        "configure-and-make.sh",
        "left-out.patterns",
        "build-kernel.sh",
    ]
    wanted = kernel.INPUTS[0].read_text().splitlines()
    assert "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" in wanted
    options = "".join(path.read_text() for path in kernel.INPUTS[:2])
    assert "CONFIG_UML_RANDOM=y" not in options
    assert "CONFIG_HW_RANDOM=y" not in options


class Debian:
    """Has the packages that are asked for."""

    @staticmethod
    def lists(_sources: Sequence[str]) -> contextlib.AbstractContextManager[type[Debian]]:
        return contextlib.nullcontext(Debian)

    @staticmethod
    def download(package: str, target: Path) -> None:
        (target / f"{package}_7.3.4-1.deb").write_text("a package")


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Let the build script run as told; return how it was run."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(host_tools, "find", lambda tool: Path("/usr/bin") / tool.program)
    monkeypatch.setattr(
        host_tools,
        "mirrors",
        lambda: Mirrors(main="m", security="", apt_options=('Acquire::http::Proxy "p";', "A b")),
    )
    monkeypatch.setattr(cache, "need_space", lambda *_: None)
    monkeypatch.setattr(kernel_build, "debian", Debian)
    ran: list[Any] = []

    def prepare(log_text: str = "", error: Exception | None = None) -> list[Any]:
        def run_logged(argv: list[str], *, log: Path, **options: Any) -> None:
            work = Path(argv[argv.index("--bind") + 1])
            ran.append((argv, {p.name: p.read_text() for p in work.iterdir()}, options))
            log.write_text(log_text)
            if error:
                raise error
            for name in ("linux", "config", "version", "tree.tar.gz", "left.o"):
                (work / name).write_text(name)

        monkeypatch.setattr(kernel_build, "run_logged", run_logged)
        return ran

    return prepare


def test_a_kernel_is_built_once(build: Callable[..., list[Any]]) -> None:
    ran = build()
    assert kernel.built("7.3", "key") is None
    place = kernel.ensure("7.3", IMAGE, "key", nothing)
    assert kernel.ensure("7.3", IMAGE, "key", nothing) == kernel.built("7.3", "key") == place
    assert place == cache.root() / f"kernel-7.3-{kernel.key('7.3', 'key')}"
    assert sorted(path.name for path in place.iterdir()) == [
        "build.log",
        "built",
        "config",
        "linux",
        "version",
    ]
    assert len(ran) == 1


def test_how_the_build_is_confined(
    build: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_user, "of_sandbox", lambda: lab_user.STARTER)
    ran = build()
    kernel.ensure("7.3", IMAGE, "key", nothing)
    ((argv, files, options),) = ran
    command = argv[argv.index("bash") :]
    assert command == ["bash", "/cell/build-kernel.sh", "7.3", str(os.cpu_count()), "250"]
    assert "--share-net" not in argv
    assert "--unshare-all" in argv
    assert argv.count("--bind") == 1
    limits = ["--fsize=536870912", "--core=0"]
    assert argv[argv.index("prlimit") : argv.index("bash")] == ["prlimit", *limits]
    for place in ("/tmp", "/run"):
        assert argv[argv.index(place) - 3] == "--size"
    packages = {"linux-source-7.3_7.3.4-1.deb", "patch_7.3.4-1.deb"}
    assert set(files) == {path.name for path in kernel.INPUTS} | packages
    assert options["watch"].what == "kernel 7.3"


@pytest.fixture
def requested(build: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Let apt offer three kernels; return how it was asked."""
    ran: list[list[str]] = []

    def run_logged(argv: list[str], **_: Any) -> None:
        ran.append([argv[0], argv[-1], Path(argv[argv.index("-c") + 1]).read_text()])

    def output_of(argv: list[str]) -> str:
        ran.append([argv[0], argv[-1]])
        return "linux-source-6.12 - x\nlinux-source-10.0 - x\nlinux-source-7.3 - x\n"

    monkeypatch.setattr(debian, "run_logged", run_logged)
    monkeypatch.setattr(debian, "output_of", output_of)
    return ran


def test_a_kernel_debian_has(requested: list[list[str]]) -> None:
    kernel.check_offered(["7.3", "6.12"])
    (update, search) = requested
    assert update[:2] == ["apt-get", "update"]
    assert search == ["apt-cache", "^linux-source-[0-9.]+$"]
    # Nothing of this machine's own lists and sources is read or written.
    for option in ("Dir::State::lists", "Dir::State::status", "Dir::Cache", "Dir::Etc::sourcelist"):
        assert f'{option} "{cache.root()}/.lists-' in update[2]
    assert list(cache.root().iterdir()) == []


def test_an_older_kernel_is_asked_for_where_debian_12_is(
    requested: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    apt_options = debian.apt_options

    def options(folder: Path, sources: Sequence[str] = ()) -> str:
        found = apt_options(folder, sources)
        written.append((folder / "sources.list").read_text())
        return found

    monkeypatch.setattr(debian, "apt_options", options)
    monkeypatch.setattr(debian, "output_of", lambda argv: "linux-source-6.1 - x\n")
    kernel.check_offered(["6.1"])
    (bookworm,) = written
    assert [line.split()[2] for line in bookworm.splitlines()] == ["bookworm"]
    monkeypatch.setattr(debian, "output_of", lambda argv: "linux-source-6.12 - x\n")
    with pytest.raises(UnsupportedError, match=r"wanted a kernel of Debian 12, got 6\.1"):
        kernel.check_offered(["6.12", "6.1"])
    assert ["trixie" in text for text in written[1:]] == [True, False]


def test_a_kernel_debian_does_not_have(requested: list[list[str]]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        kernel.check_offered(["7.3", "9.9"])
    assert str(caught.value) == (
        "KERNEL: Debian has no kernel source package linux-source-9.9: wanted a kernel of Debian "
        "13 or its backports, got 9.9 (on offer: 6.12 7.3 10.0)"
    )


@pytest.mark.parametrize(
    "command", ["plan wireless --kernel 9.9", "run wireless --kernel 9.9", "doctor --kernel 9.9"]
)
def test_a_kernel_that_cannot_be_had_is_refused_before_anything_is_built(
    command: str, requested: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_status(command.split()) == UnsupportedError.exit_status
    assert "got 9.9 (on offer: 6.12 7.3 10.0)" in capsys.readouterr().err
    assert [words[0] for words in requested] == ["apt-get", "apt-cache"]  # lists, and no package
    assert list(cache.root().iterdir()) == []


def test_a_plan_asks_nobody_about_the_projects_own_kernels(requested: list[list[str]]) -> None:
    assert command_status(["plan", "wireless", "--kernel", "7.3"]) == 0
    assert requested == []


def test_no_lists_at_all_are_told_as_such(
    requested: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "output_of", lambda argv: "")
    with pytest.raises(UnsupportedError, match="no mirror of apt's sources answers"):
        kernel.check_offered(["9.9"])


def test_what_is_the_sources_fault_is_told_with_its_log(build: Callable[..., list[Any]]) -> None:
    build("this kernel did not take: CONFIG_X=y\n", StatusError("building failed with status 1"))
    with pytest.raises(BuildError) as caught:
        kernel.ensure("7.3", IMAGE, "key", nothing)
    assert caught.value.got == "not taken by Kconfig: CONFIG_X=y"
    place = cache.root() / kernel_build.FAILED / "kernel-7.3.log"
    assert caught.value.hint == f"its log: {place}"
    assert place.read_text() == "this kernel did not take: CONFIG_X=y\n"
    assert [path.name for path in cache.root().iterdir()] == [kernel_build.FAILED]


def test_too_little_time_is_not_the_sources_fault(build: Callable[..., list[Any]]) -> None:
    late = RunError("building kernel 7.3 did not end", wanted="within 3000 s")
    build("a.c:1:1: error: x\n", late)
    with pytest.raises(RunError, match=r"did not end: wanted within 3000 s \(its log: ") as caught:
        kernel.ensure("7.3", IMAGE, "key", nothing)
    assert not isinstance(caught.value, BuildError)


def test_the_build_needs_space(build: Callable[..., list[Any]], monkeypatch: Any) -> None:
    build()
    requested: list[Any] = []
    monkeypatch.setattr(cache, "need_space", lambda *args: requested.append(args))
    kernel.ensure("7.3", IMAGE, "key", nothing)
    ((folder, wanted_bytes, what),) = requested
    assert (folder.parent, wanted_bytes, what) == (
        cache.root(),
        kernel_build.BUILD_BYTES,
        "building kernel 7.3",
    )


def test_the_script_is_what_bash_can_read(tmp_path: Path) -> None:
    for script in (path for path in kernel.INPUTS if path.suffix == ".sh"):
        words = ["bash", "-n", str(script)]
        process.run_logged(words, log=tmp_path / "log", what="x", timeout_s=20)
