"""A lab's process: it starts only with a living starter, and ends at the first limit it meets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from testbed.labs.confinement import supervise as module
from testbed.labs.confinement import taken, unnamed_files
from testbed.labs.confinement.allowance import Allowance
from testbed.labs.confinement.supervise import ConsoleEnds, Ending, Usage, excess, supervise, usage
from testbed.labs.confinement.unnamed_files import UnnamedFiles

SMALL = Allowance(disk_bytes=1 << 20, files=20, memory_bytes=1 << 20, console_bytes=100_000)
ASK = "import os; os.write(0, b'r'); got = os.read(0, 1); print('got', got, flush=True)\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "guest"
    place.mkdir()
    return place


def run(folder: Path, program: str, wall_s: float = 30.0) -> tuple[Ending, str]:
    console = folder.parent / "console.log"
    ending = supervise(
        [sys.executable, "-c", program],
        folder=folder,
        console=console,
        allowed=SMALL,
        deadline_s=time.monotonic() + wall_s,
        cancelled=threading.Event(),
    )
    return ending, console.read_text(errors="replace")


def test_a_lab_that_says_all_is_in_place_is_let_go(folder: Path) -> None:
    assert run(folder, ASK) == (Ending(by_itself=True), "got b'g'\n")


def test_what_a_lab_had_of_processors_is_that_of_all_its_processes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.02)
    spin = "import time\nwhile time.process_time() < 0.4: pass\n"
    other = f"subprocess.Popen([sys.executable, '-c', {spin!r} + 'time.sleep(60)'])"
    program = (
        f"import subprocess, sys, pathlib\nothers = [{other}, {other}]\n{spin}"
        f"subprocess.run([sys.executable, '-c', {spin!r}])\n"
        f"while not pathlib.Path({str(folder)!r}, 'go').exists(): time.sleep(0.01)\n"
        "[one.kill() for one in others]\n"
    )

    def look(self: taken.Taken) -> None:
        plain_look(self)
        if (self.cpu_s or 0) >= 1.6:
            (folder / "go").touch()

    plain_look = taken.Taken.look
    monkeypatch.setattr(taken.Taken, "look", look)
    ending, _ = run(folder, program)
    assert ending.by_itself
    assert ending.cpu_s is not None
    assert 1.6 <= ending.cpu_s < 20


@pytest.mark.parametrize("led_to", [0, 2])
def test_the_most_memory_of_a_lab_is_its_own_and_not_that_of_who_watches(
    folder: Path, led_to: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.02)
    ours = bytearray(os.urandom(1)) * (300 << 20)
    inner = (
        "x = b'x' * (64 << 20); del x; import time, pathlib\n"
        f"while not pathlib.Path({str(folder)!r}, 'go').exists(): time.sleep(0.01)\n"
    )
    for _ in range(led_to):
        inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"

    def look(self: taken.Taken) -> None:
        plain_look(self)
        if (self.peak_memory_bytes or 0) > 60 << 20:
            (folder / "go").touch()

    plain_look = taken.Taken.look
    monkeypatch.setattr(taken.Taken, "look", look)
    ending, _ = run(folder, inner)
    assert len(ours) == 300 << 20
    assert ending.by_itself
    assert ending.peak_memory_bytes is not None
    assert 64 << 20 <= ending.peak_memory_bytes < 150 << 20


def test_a_dear_look_is_followed_by_a_longer_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, takes = [100.0], []

    def take(_: taken.Taken) -> None:
        takes.append(now_s[0])
        now_s[0] += 0.02

    monkeypatch.setattr(taken.Taken, "_take", take)
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(time, "thread_time", lambda: now_s[0])
    found = taken.Taken(process=1)
    while now_s[0] < 103.0:
        found.look()
        now_s[0] += 0.2
    assert takes == pytest.approx([100.0, 101.02, 102.04])


def test_a_process_that_has_ended_tells_nothing() -> None:
    done = subprocess.Popen(["true"])
    done.wait()
    found = taken.Taken(process=done.pid)
    found.look()
    assert (found.cpu_s, found.peak_memory_bytes) == (None, None)


def test_a_lab_whose_starter_dies_before_that_reads_an_end(folder: Path) -> None:
    # The starter is killed by its lab's first act: whether it answers is a race that must not be.
    told = folder / "told"
    lab = (
        "import os, signal, pathlib, time\n"
        "os.kill(os.getppid(), signal.SIGKILL)\n"
        "try: got = os.read(0, 1)\n"
        "except ConnectionResetError: got = b''\n"
        f"path = pathlib.Path({str(told)!r}); path.with_name('x').write_bytes(got + b'.')\n"
        "path.with_name('x').rename(path)"
    )
    starter = (
        "import sys, threading, time; from pathlib import Path\n"
        "from testbed.labs.confinement.supervise import supervise\n"
        "from testbed.labs.confinement.allowance import Allowance\n"
        f"supervise([sys.executable, '-c', {lab!r}], folder=Path({str(folder)!r}),"
        f" console=Path({str(folder.parent / 'c')!r}), allowed=Allowance(),"
        " deadline_s=time.monotonic() + 30, cancelled=threading.Event())"
    )
    done = subprocess.run([sys.executable, "-c", starter], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    deadline_s = time.monotonic() + 30
    while not told.exists() and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert told.read_bytes() == b"."


def test_words_are_kept_as_they_are_where_there_are_few(folder: Path) -> None:
    ending, text = run(folder, "import sys; print('a'); sys.stderr.write('b\\n')")
    assert ending == Ending(by_itself=True)
    assert sorted(text.split()) == ["a", "b"]


def test_a_flood_of_words_ends_the_lab_and_is_not_kept(folder: Path) -> None:
    ending, text = run(folder, "import sys\nwhile 1: sys.stdout.write('x' * 1000)")
    assert not ending.by_itself
    assert ending.excess is not None
    assert ending.excess.what == "the lab said too much on its console"
    assert ending.excess.wanted == "at most 0.1 MB"
    assert len(text) <= 2 * module.KEPT_BYTES + 100


def test_a_flood_at_the_very_end_counts_too(folder: Path) -> None:
    ending, _ = run(folder, "import os\nos.write(1, b'x' * 120_000)")
    assert ending.excess is not None


def test_beginning_and_end_of_many_words_are_kept(tmp_path: Path) -> None:
    with (tmp_path / "c").open("wb") as out:
        words = ConsoleEnds(out=out)
        words.add(b"first\n")
        for _ in range(300):
            words.add(b"y" * 9999)
        words.add(b"last\n")
        words.finish()
    text = (tmp_path / "c").read_bytes()
    assert text.startswith(b"first\nyyy")
    assert text.endswith(b"yyylast\n")
    left_out = 11 + 300 * 9999 - 2 * module.KEPT_BYTES
    assert b"\n[%d bytes left out]\n" % left_out in text
    assert len(text) < 2 * module.KEPT_BYTES + 50


@pytest.mark.parametrize("size", [0, 10, module.KEPT_BYTES, 2 * module.KEPT_BYTES])
def test_nothing_is_left_out_of_what_can_be_kept(tmp_path: Path, size: int) -> None:
    with (tmp_path / "c").open("wb") as out:
        words = ConsoleEnds(out=out)
        for begin in range(0, size, 7000):
            words.add(b"z" * min(7000, size - begin))
        words.finish()
    assert (tmp_path / "c").read_bytes() == b"z" * size


def test_a_lab_that_fills_the_disk_is_ended(folder: Path) -> None:
    program = (
        "import time\n"
        f"for n in range(15): open(f'{folder}/{{n}}', 'wb').write(b'x' * 100_000)\n"
        "time.sleep(60)"
    )
    ending, _ = run(folder, program)
    assert not ending.by_itself
    assert ending.excess is not None
    assert ending.excess.what == "the lab wrote too much into its folder"
    assert ending.excess.wanted == "at most 1.0 MB"


@pytest.mark.parametrize("first_bytes", [0, 100_000])
def test_files_without_a_name_count_too(folder: Path, first_bytes: int) -> None:
    # Written after the first look: the disk's room says that there is something to look for.
    program = (
        "import os, time\n"
        f"held = [os.open({str(folder)!r}, os.O_TMPFILE | os.O_RDWR) for n in range(3)]\n"
        f"os.write(held[0], b'x' * {first_bytes})\n"
        "time.sleep(0.5)\n"
        "for one in held: os.write(one, b'x' * 500_000)\n"
        "time.sleep(60)"
    )
    ending, _ = run(folder, program)
    assert not ending.by_itself
    assert ending.excess is not None
    assert ending.excess.what == "the lab wrote too much into its folder"


def test_files_without_a_name_are_found_when_others_make_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unnamed_files, "LOOK_S", 0.1)
    with os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR), "wb") as held:
        files = UnnamedFiles(process=os.getpid(), folder=folder, matters_bytes=1 << 60)
        before = files.bytes()
        held.write(b"x" * 1_000_000)
        held.flush()
        deadline_s = time.monotonic() + 30
        while files.bytes() < before + 1_000_000 and time.monotonic() < deadline_s:
            time.sleep(0.02)
        assert files.bytes() >= before + 1_000_000


def test_a_lab_that_ends_after_too_much_has_taken_too_much(folder: Path) -> None:
    ending, _ = run(folder, f"open('{folder}/hole', 'wb').truncate(1 << 40)")
    assert ending.excess is not None
    assert ending.excess.got == "1.0 MB or more"


def test_too_many_files_and_too_deep_folders(folder: Path) -> None:
    allowed = Allowance(files=20)
    for number in range(20):
        (folder / f"f{number}").touch()
    assert excess(usage(folder, 20), 0, allowed) is None
    (folder / "one more").touch()
    found = excess(usage(folder, 20), 0, allowed)
    assert found is not None
    assert found.wanted == "at most 20, 16 folders deep"
    deep = folder.parent / "deep"
    deep.mkdir()
    assert usage(deep, 20) == Usage(0, 0, 0, 1)
    deep.joinpath(*"abcdefghijklmnop").mkdir(parents=True)
    assert excess(usage(deep, 2000), 0, Allowance()) is not None


def test_measuring_follows_no_link_and_counts_blocks_not_lengths(folder: Path) -> None:
    (folder / "loop").symlink_to(folder)
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    found = usage(folder, 100)
    assert found.files == 2
    assert found.disk_bytes < 1 << 20
    assert found.largest_bytes == 1 << 30


def test_the_deadline_ends_it(folder: Path) -> None:
    works = "import time\nwhile time.process_time() < 0.1: pass\ntime.sleep(60)"
    ending, _ = run(folder, works, wall_s=1.5)
    assert ending == Ending(by_itself=False)
    assert ending.cpu_s is not None
    assert 0.05 < ending.cpu_s < 0.75, "how much it was given says whose fault it is"
