"""How the virtual lab is booted, and what its console says of each kind of failure."""

from __future__ import annotations

import dataclasses
import os
import resource
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Limits
from model.errors import RunError, StudyError, UnsupportedError
from testbed.labs.virtual import (
    allowance,
    host_tools,
    image,
    kernel,
    lab_code,
    lab_user,
    per_kernel,
    preflight,
    virtual_lab,
)
from testbed.labs.virtual.allowance import Allowance
from testbed.labs.virtual.supervise import Ending, Excess
from testbed.labs.virtual.virtual_lab import Boot, VirtualLab
from testbed.machine import contents
from tests.support.recorded import DATA, wireless_cell

LIMITS = Limits(wall_s=60.0, virtual_s=30.4)
BOOT = Boot(seed=1, limits=LIMITS)
CONSOLES = DATA / "lab-console-7.3"


@pytest.fixture(autouse=True)
def bwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_tools, "find", lambda tool: Path("/usr/bin") / tool.program)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VirtualLab:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "linux").write_text("kernel")
    (tmp_path / "kernel" / "version").write_text("7.3.4-1\n")
    (tmp_path / "image" / "root").mkdir(parents=True)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "init").write_text("init")
    for name in ("image", "kernel", "code"):
        contents.settle(tmp_path / name)
    monkeypatch.setattr(lab_user, "of_sandbox", lambda: lab_user.STARTER)
    monkeypatch.setattr(lab_user, "lend", lambda folder, uid: None)
    return VirtualLab(
        image=tmp_path / "image" / "root",
        kernel=tmp_path / "kernel",
        code=tmp_path / "code",
        kernel_version="7.3",
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "c1" / run_folder.GUEST
    place.mkdir(parents=True)
    return place


def problem(
    folder: Path, name: str, *, ended: bool = True, cancelled: bool = False
) -> RunError | None:
    console = folder.parent / run_folder.CONSOLE
    shutil.copy(CONSOLES / f"{name}.log", console)
    return virtual_lab._problem(folder, console, BOOT, Ending(by_itself=ended), cancelled)


def test_a_finished_lab_has_no_problem(folder: Path) -> None:
    assert problem(folder, "finished") is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "agent-exited-7",
            (
                "cell c1, phase run the flows: agent exited 7: got \n  lab: phase run the flows\n"
                "  doing\n  lab: agent exited 7\n  reboot: Power down"
            ),
        ),
        ("agent-killed", "cell c1, phase boot: agent killed by signal 9: got "),
        ("virtual-limit", "cell c1, phase boot: virtual-time limit of 30 s: got "),
        ("panic", "cell c1, phase torture: the lab's kernel panicked: got "),
        (
            "no-program",
            "cell c1, phase boot: init: cannot run /bin/nonesuch: No such file or directory: got ",
        ),
        ("spinning", "cell c1, phase spin: the lab's kernel ended before its agent: got "),
    ],
)
def test_each_failure_is_named_with_its_phase_and_the_console(
    folder: Path, name: str, message: str
) -> None:
    found = problem(folder, name)
    assert found is not None
    assert str(found).startswith(message)


def test_a_lab_past_its_wall_clock_limit(folder: Path) -> None:
    found = problem(folder, "spinning", ended=False)
    assert str(found) == (
        "cell c1, phase spin: the lab did not end: wanted within 60 s of wall-clock time, got \n"
        "  lab: phase spin (a program that polls without sleeping stops the virtual clock)"
    )


def test_a_cancelled_lab_was_interrupted_however_it_ended(folder: Path) -> None:
    for ended in (False, True):
        found = problem(folder, "finished", ended=ended, cancelled=True)
        assert str(found) == "cell c1, phase write the evidence: interrupted"


def test_a_lab_that_took_too_much_is_told_so_whatever_it_said(folder: Path) -> None:
    shutil.copy(CONSOLES / "finished.log", console := folder.parent / run_folder.CONSOLE)
    took = Excess("the lab wrote too much into its folder", "at most 1.0 MB", "2.0 MB or more")
    for by_itself in (False, True):
        ending = Ending(by_itself=by_itself, excess=took)
        found = virtual_lab._problem(folder, console, BOOT, ending, False)
        assert str(found) == (
            "cell c1, phase write the evidence: the lab wrote too much into its folder: wanted at "
            "most 1.0 MB, got 2.0 MB or more (a cell of this size needs far less; a program in the "
            "lab runs wild)"
        )


def test_a_lab_stopped_at_its_walls_says_why(folder: Path) -> None:
    console = folder.parent / run_folder.CONSOLE
    console.write_text("lab: walls: cannot limit open files: Operation not permitted\n")
    found = virtual_lab._problem(folder, console, BOOT, Ending(by_itself=True), False)
    assert "walls: cannot limit open files" in str(found)


@pytest.mark.parametrize(
    ("console", "what", "may"),
    [
        ("start_userspace : clone failed, errno = 11\n", "processes", 256),
        (
            "bwrap: Creating new namespace failed: Resource temporarily unavailable\n",
            "processes",
            256,
        ),
        ("start_userspace : socketpair failed, errno = 24\n", "open files", 1024),
    ],
)
@pytest.mark.parametrize("granted", [10**6, 100, resource.RLIM_INFINITY])
def test_who_granted_too_little_is_said(
    console: str, what: str, may: int, granted: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _limit: (1, granted))
    (folder.parent / run_folder.CONSOLE).write_text(console)
    path = folder.parent / run_folder.CONSOLE
    found = str(virtual_lab._problem(folder, path, BOOT, Ending(by_itself=True), False))
    if granted == 100:
        assert f"ran out of {what}: wanted at most 100 on the host" in found
        assert f"this machine grants 100 (ulimit -H), a cell of this size may need {may}" in found
    else:
        assert f"ran out of {what}: wanted at most {may} on the host" in found
        assert "runs wild" in found


def test_memory_is_the_cells_and_on_the_command_line(lab: VirtualLab, folder: Path) -> None:
    allowed = Allowance(memory_bytes=512 << 20)
    words = lab.command(folder, Boot(seed=1, limits=LIMITS, allowed=allowed))
    assert "mem=512M" in words
    at = words.index("/dev/shm")
    assert words[at - 5 : at] == ["--perms", "1777", "--size", str(528 << 20), "--tmpfs"]


def test_what_the_agent_says_of_its_failure_is_the_message(folder: Path) -> None:
    (folder / "error.json").write_text('{"kind": "RunError", "message": "src1: tc failed"}\n')
    found = problem(folder, "agent-exited-7")
    assert str(found) == "cell c1, phase run the flows: src1: tc failed"


@pytest.mark.parametrize("content", ["", '{"kind": "Ru', "[]", "null", "{}"])
def test_a_message_cut_short_leaves_the_console(folder: Path, content: str) -> None:
    (folder / "error.json").write_text(content)
    found = problem(folder, "agent-exited-7")
    assert "agent exited 7" in str(found)


def test_an_empty_console_and_bytes_that_are_no_text(folder: Path) -> None:
    console = folder.parent / run_folder.CONSOLE
    for content in (b"", b"\xff\x00\xfe"):
        console.write_bytes(content)
        found = virtual_lab._problem(folder, console, BOOT, Ending(by_itself=True), False)
        assert "phase boot: the lab's kernel ended before its agent" in str(found)


def test_words_of_a_program_are_not_taken_for_the_labs(folder: Path) -> None:
    console = folder.parent / run_folder.CONSOLE
    console.write_text("it says lab: agent exited 0\r\nlab: agent exited 0 or so\r\n")
    assert virtual_lab._problem(folder, console, BOOT, Ending(by_itself=True), False) is not None


def test_the_kernels_command_line_depends_on_the_cell_alone(
    lab: VirtualLab, folder: Path, tmp_path: Path
) -> None:
    boot = Boot(seed=7, limits=LIMITS)
    words = lab.command(folder, boot)
    line = words[words.index("/gt/kernel/linux") :]
    assert line == [
        "/gt/kernel/linux", "mem=256M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/",
        "ro", "umid=lab", "time-travel=inf-cpu", "time-travel-start=1767225600000000000",
        "con=null", "con0=fd:0,fd:1", "quiet", "panic=-1", "init=/gt/code/init", "seccomp=on",
        "--", "30", "/usr/bin/python3", "-S", "-m", "testbed.guest.agent",
    ]  # fmt: skip
    elsewhere = tmp_path / "elsewhere"
    other = dataclasses.replace(lab, image=Path("/other/img"), code=Path("/other/code"))
    again = other.command(elsewhere, boot)
    assert again[again.index("/gt/kernel/linux") :] == line


def test_the_guest_sees_image_code_and_kernel_read_only_and_its_cell(
    lab: VirtualLab, folder: Path
) -> None:
    text = " ".join(lab.command(folder, Boot(seed=7, limits=LIMITS)))
    assert f" --ro-bind {lab.image} / " in text
    assert (
        f" --ro-bind {lab.kernel} /gt/kernel --ro-bind {lab.code} /gt/code --bind {folder} /cell"
        " --remount-ro /gt " in text
    )
    assert text.count(" --bind ") == 1
    assert "--share-net" not in text
    assert " --setenv LD_PRELOAD /gt/code/preload.so --setenv LAB_SEED 7 -- " in text


@pytest.mark.parametrize(
    ("version", "seccomp"),
    [
        ("6.1", False),
        ("6.12", False),
        ("6.15", False),
        ("6.16", True),
        ("7.0", True),
        ("10.1", True),
    ],
)
def test_seccomp_where_the_kernel_has_it(
    lab: VirtualLab, folder: Path, version: str, seccomp: bool
) -> None:
    lab = dataclasses.replace(lab, kernel_version=version)
    words = lab.command(folder, Boot(seed=1, limits=LIMITS))
    assert ("seccomp=on" in words) is seccomp
    assert ("--may-trace" in words) is not seccomp


def test_identity_of_the_lab(lab: VirtualLab) -> None:
    first = lab.describe()
    assert first == {
        "name": "virtual",
        "kernel": "7.3",
        "kernel_package": "7.3.4-1",
        "kernel_digest": contents.digest(lab.kernel),
        "image_digest": contents.digest(lab.image.parent),
        "code_digest": contents.digest(lab.code),
    }
    (lab.kernel / "linux").write_text("another")
    contents.settle(lab.kernel)
    assert lab.describe()["kernel_digest"] != first["kernel_digest"]


def test_a_flipped_bit_in_the_cache_is_named(lab: VirtualLab) -> None:
    lab.check_whole(thorough=True)
    (lab.code / "init").write_bytes(b"inix")
    os.utime(lab.code / "init", ns=(contents.TIME_NS, contents.TIME_NS))
    lab.check_whole(thorough=False)  # as a disk damages it: its time says nothing
    with pytest.raises(UnsupportedError) as caught:
        lab.check_whole(thorough=True)
    assert str(caught.value) == (
        f"{lab.code.parent}: the cached lab is not as it was built: got code/init: changed "
        "(make clean-cache removes it; the next run builds it again)"
    )


@pytest.fixture
def scripted(lab: VirtualLab, monkeypatch: pytest.MonkeyPatch) -> VirtualLab:
    """A lab whose kernel is a Python script, given as the program of a boot."""
    monkeypatch.setattr(
        VirtualLab, "command", lambda self, folder, boot: [sys.executable, "-c", *boot.program]
    )
    monkeypatch.setattr("testbed.labs.virtual.supervise.POLL_S", 0.02)
    monkeypatch.setattr("testbed.machine.process.GRACE_S", 0.3)
    return lab


def boot(lab: VirtualLab, folder: Path, program: str, cancelled: threading.Event) -> float:
    limits = Limits(wall_s=1.0 if "hang" in program else 20.0, virtual_s=1.0)
    return lab.boot(Boot(seed=1, limits=limits, program=(program,)), folder, cancelled)


def test_a_boot_that_ends_well(scripted: VirtualLab, folder: Path) -> None:
    began_s = time.monotonic()
    wall_s = boot(scripted, folder, "print('lab: agent exited 0')", threading.Event())
    assert 0 < wall_s <= time.monotonic() - began_s
    assert (folder.parent / run_folder.CONSOLE).read_text() == "lab: agent exited 0\n"


def test_a_lab_that_hangs_is_ended(scripted: VirtualLab, folder: Path) -> None:
    program = (
        "import os, signal, time, pathlib  # hang\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"pathlib.Path({str(folder)!r}, 'pid').write_text(str(os.getpid()))\n"
        "print('lab: phase hanging', flush=True)\n"
        "time.sleep(60)"
    )
    with pytest.raises(RunError, match="phase hanging: the lab did not end: wanted within 1 s"):
        boot(scripted, folder, program, threading.Event())
    assert not Path("/proc", (folder / "pid").read_text()).exists()


def test_a_cancelled_lab_is_ended_at_once(scripted: VirtualLab, folder: Path) -> None:
    cancelled = threading.Event()
    threading.Timer(0.1, cancelled.set).start()
    began_s = time.monotonic()
    with pytest.raises(RunError, match="interrupted"):
        boot(scripted, folder, "import time; time.sleep(15)", cancelled)
    assert time.monotonic() - began_s < 5


def test_run_boots_with_the_cells_seed_and_limits(
    lab: VirtualLab, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted: list[Boot] = []

    def boot(self: VirtualLab, boot: Boot, *_: object) -> float:
        booted.append(boot)
        return 1.5

    monkeypatch.setattr(VirtualLab, "boot", boot)
    cell = wireless_cell(seed=9)
    assert lab.run(cell, folder, threading.Event()) == 1.5
    allowed = allowance.of_cell(cell)
    assert booted == [Boot(seed=9, limits=cell.limits, allowed=allowed, program=virtual_lab.AGENT)]


@pytest.fixture
def steps(lab: VirtualLab, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let a lab be built from parts that are there; return what was done, in order."""
    done: list[str] = []

    def step(name: str, place: Path | None) -> Callable[..., Path | None]:
        def take(*_: object) -> Path | None:
            done.append(name)
            return place

        return take

    monkeypatch.setattr(preflight, "check", lambda: None)
    monkeypatch.setattr(image, "built", lambda: None)
    monkeypatch.setattr(image, "installed", lambda _root: {"make": "4.4"})
    monkeypatch.setattr(image, "ensure", step("image", lab.image))
    monkeypatch.setattr(kernel, "check_offered", step("ask for the kernel", None))
    monkeypatch.setattr(kernel, "ensure", step("kernel", lab.kernel))
    monkeypatch.setattr(lab_code, "ensure", step("code", lab.code))
    return done


def nothing(what: str, done_frac: float) -> None:
    pass


def test_the_kernel_is_asked_for_first_and_built_last(lab: VirtualLab, steps: list[str]) -> None:
    assert virtual_lab.ensure("7.3", nothing) == lab
    assert steps == ["ask for the kernel", "image", "code", "kernel"]
    with pytest.raises(StudyError, match="no such kernel"):
        virtual_lab.ensure("six", nothing)
    assert len(steps) == 4


def test_what_is_built_is_not_asked_for(
    lab: VirtualLab, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "built", lambda: lab.image)
    monkeypatch.setattr(kernel, "built", lambda version, digest: lab.kernel)
    virtual_lab.ensure("7.3", nothing)
    assert steps == ["image", "code", "kernel"]


def test_labs_of_several_kernels_share_all_else_and_run_their_own_cells(
    lab: VirtualLab, steps: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    requested: list[list[str]] = []
    monkeypatch.setattr(kernel, "check_offered", lambda versions: requested.append(versions))
    labs = per_kernel.ensure(["6.12", "7.3", "6.12"], nothing)
    assert requested == [["6.12", "7.3"]]
    assert steps == ["image", "code", "kernel", "kernel"]
    assert [labs.describe(version)["kernel"] for version in ("7.3", "6.12")] == ["7.3", "6.12"]
    assert labs.packages() == {"make": "4.4"}
    ran: list[str] = []
    monkeypatch.setattr(VirtualLab, "run", lambda self, *_: ran.append(self.kernel_version))
    for version in ("6.12", "7.3"):
        cell = wireless_cell(lab=labs.describe(version))
        labs.run(cell, tmp_path, threading.Event())
    assert ran == ["6.12", "7.3"]
    (lab.code / "added").touch()
    with pytest.raises(UnsupportedError, match="got code/added: new "):
        labs.check_whole(thorough=True)


def test_no_kernel_is_built_before_all_are_known_to_be_on_offer(
    lab: VirtualLab, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(versions: list[str]) -> None:
        raise UnsupportedError(f"none of {versions}")

    monkeypatch.setattr(kernel, "check_offered", refuse)
    with pytest.raises(UnsupportedError, match="none of"):
        per_kernel.ensure(["7.3", "9.9"], nothing)
    with pytest.raises(StudyError, match="no such kernel"):
        per_kernel.ensure(["7.3", "nine"], nothing)
    assert steps == []


def test_another_lab_is_refused_before_the_kernel_is_built(
    lab: VirtualLab, steps: list[str]
) -> None:
    def check(found: Mapping[str, str], packages: Mapping[str, str]) -> None:
        assert found == {
            "image_digest": contents.digest(lab.image.parent),
            "code_digest": contents.digest(lab.code),
        }
        assert packages == {"make": "4.4"}
        raise StudyError("another lab")

    with pytest.raises(StudyError, match="another lab"):
        virtual_lab.ensure("7.3", nothing, check)
    assert steps == ["ask for the kernel", "image", "code"]


def test_an_edited_cache_is_seen_by_every_run(lab: VirtualLab, steps: list[str]) -> None:
    (lab.code / "added").touch()
    (lab.kernel / "linux").write_text("another kernel")
    with pytest.raises(UnsupportedError, match="got kernel/linux: changed; code/added: new "):
        virtual_lab.ensure("7.3", nothing)
