"""How the virtual lab is booted, and what its console says of each kind of failure."""

from __future__ import annotations

import dataclasses
import os
import resource
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Limits
from model.errors import MachineError, RunError, UnsupportedError
from testbed.labs.booted import booting
from testbed.labs.booted.booting import Boot
from testbed.labs.confinement import allowance
from testbed.labs.confinement.allowance import Allowance
from testbed.labs.confinement.supervise import Ending, Excess
from testbed.labs.contract.lab import Ran
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine import contents
from tests.support.recorded import DATA, wireless_cell

LIMITS = Limits(wall_s=60.0, virtual_s=30.4)
BOOT = Boot(seed=1, limits=LIMITS)
CONSOLES = DATA / "lab-console-7.3"


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
    return booting._problem(folder, console, BOOT, Ending(by_itself=ended), cancelled)


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


def test_a_kernel_that_ended_without_a_word_was_ended_by_its_machine(folder: Path) -> None:
    for name in ("panic", "agent-killed", "agent-exited-7", "virtual-limit"):
        assert not isinstance(problem(folder, name), MachineError)
    assert isinstance(problem(folder, "spinning"), MachineError)
    console = folder.parent / run_folder.CONSOLE
    console.write_text("lab: phase spin\r\nreboot: Restarting system\r\n")
    found = booting._problem(folder, console, BOOT, Ending(by_itself=True), False)
    assert type(found) is RunError


def test_a_lab_past_its_wall_clock_limit(folder: Path) -> None:
    found = problem(folder, "spinning", ended=False)
    assert type(found) is RunError
    assert str(found) == (
        "cell c1, phase spin: the lab did not end: wanted within 60 s of wall-clock time, got \n"
        "  lab: phase spin (a program polls without sleeping, which stops the virtual clock, or"
        " this machine is far too busy)"
    )


@pytest.mark.parametrize(("cpu_s", "kind"), [(29.0, MachineError), (31.0, RunError)])
def test_a_lab_that_its_machine_gave_too_little_of_a_core(
    folder: Path, cpu_s: float, kind: type[RunError]
) -> None:
    shutil.copy(CONSOLES / "spinning.log", console := folder.parent / run_folder.CONSOLE)
    ending = Ending(by_itself=False, cpu_s=cpu_s)
    found = booting._problem(folder, console, BOOT, ending, False)
    assert type(found) is kind, "what is the machine's is tried again"
    assert ("gave it 29 s of a core's time" in str(found)) == (kind is MachineError)


def test_a_cancelled_lab_was_interrupted_however_it_ended(folder: Path) -> None:
    for ended in (False, True):
        found = problem(folder, "finished", ended=ended, cancelled=True)
        assert str(found) == "cell c1, phase write the evidence: interrupted"


def test_a_lab_that_took_too_much_is_told_so_whatever_it_said(folder: Path) -> None:
    shutil.copy(CONSOLES / "finished.log", console := folder.parent / run_folder.CONSOLE)
    took = Excess("the lab wrote too much into its folder", "at most 1.0 MB", "2.0 MB or more")
    for by_itself in (False, True):
        ending = Ending(by_itself=by_itself, excess=took)
        found = booting._problem(folder, console, BOOT, ending, False)
        assert str(found) == (
            "cell c1, phase write the evidence: the lab wrote too much into its folder: wanted at "
            "most 1.0 MB, got 2.0 MB or more (a cell of this size needs far less; a program in the "
            "lab runs wild)"
        )


def test_a_lab_stopped_at_its_walls_says_why(folder: Path) -> None:
    console = folder.parent / run_folder.CONSOLE
    console.write_text("lab: walls: cannot limit open files: Operation not permitted\n")
    found = booting._problem(folder, console, BOOT, Ending(by_itself=True), False)
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
    error = booting._problem(folder, path, BOOT, Ending(by_itself=True), False)
    assert isinstance(error, MachineError) is (granted == 100)
    found = str(error)
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
        found = booting._problem(folder, console, BOOT, Ending(by_itself=True), False)
        assert "phase boot: the lab's kernel ended before its agent" in str(found)


def test_words_of_a_program_are_not_taken_for_the_labs(folder: Path) -> None:
    console = folder.parent / run_folder.CONSOLE
    console.write_text("it says lab: agent exited 0\r\nlab: agent exited 0 or so\r\n")
    assert booting._problem(folder, console, BOOT, Ending(by_itself=True), False) is not None


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
        "clock": "virtual",
        "tick_hz": "250",
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
    monkeypatch.setattr("testbed.labs.confinement.supervise.POLL_S", 0.02)
    monkeypatch.setattr("testbed.machine.process.GRACE_S", 0.3)
    return lab


def boot(lab: VirtualLab, folder: Path, program: str, cancelled: threading.Event) -> Ran:
    limits = Limits(wall_s=1.0 if "hang" in program else 20.0, virtual_s=1.0)
    return lab.boot(Boot(seed=1, limits=limits, program=(program,)), folder, cancelled)


def test_a_boot_that_ends_well(scripted: VirtualLab, folder: Path) -> None:
    began_s = time.monotonic()
    ran = boot(scripted, folder, "print('lab: agent exited 0')", threading.Event())
    assert 0 < ran.wall_s <= time.monotonic() - began_s
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

    def boot(self: VirtualLab, boot: Boot, *_: object) -> Ran:
        booted.append(boot)
        return Ran(wall_s=1.5)

    monkeypatch.setattr(VirtualLab, "boot", boot)
    cell = wireless_cell(seed=9)
    assert lab.run(cell, folder, threading.Event()).wall_s == 1.5
    allowed = allowance.of_cell(cell)
    assert booted == [
        Boot(seed=9, limits=cell.limits, allowed=allowed, program=booting.AGENT_AT_ONCE)
    ]
