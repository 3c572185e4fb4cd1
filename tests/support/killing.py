"""What a killed command left on the machine: its processes, its mounts, and changed places.

The process that asks adopts all orphans, so whatever outlives a command is seen, whoever started
it and whatever it is called; nobody else's process is looked at.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.study_file import whole_runs_only

PROJECT = Path(__file__).resolve().parents[2]
PR_SET_CHILD_SUBREAPER = 36
#: Cells that another command has finished are run again: they are to be killed.
ALL_RUN = {"GROUNDTRUTH_STORE": "off"}
#: Places of a machine whose owner and mode no command may change.
PLACES = ("/", "/dev", "/dev/null", "/dev/pts", "/dev/shm", "/etc", "/home", "/proc", "/proc/sys",
          "/root", "/run", "/sys", "/tmp", "/usr", "/var", "/var/tmp")  # fmt: skip
#: Within this time all that a killed command had started must be gone.
GONE_WITHIN_S = 10.0
#: Files of a run that say when and how long it ran.
OF_THE_TIME = ("timing.json", "provenance.json", "manifest.json", "console.log")
POLL_S = 0.001


def short_wireless(*, duration: str, seeds: str, losses: str = "[1 %, 3 %]") -> str:
    """Return the wireless study's text at few points, without what its full sweep is needed for."""
    text = whole_runs_only((PROJECT / "studies" / "wireless.yaml").read_text())
    text = text.replace("duration: 1000 s", f"duration: {duration}")
    text = text.replace("seeds: [1, 2, 3, 4, 5]", f"seeds: {seeds}")
    before, _, rest = text.partition("sweep:")
    metrics = rest.partition("metrics:")[2].partition("published:")[0]
    assumptions = re.sub(r"\n    at: .*\[.*\]\}", "", rest.partition("assumptions:")[2])
    points = f"sweep:\n  network.bottleneck.loss.data: {losses}\n\n"
    return f"{before}{points}metrics:{metrics}assumptions:{assumptions}"


def adopt_orphans() -> None:
    """Let every orphan below this process become its child."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(others: frozenset[int] = frozenset()) -> dict[int, str]:
    """Return the running processes below this one but not below others, with command lines."""
    parents, lines = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (entry / "stat").read_text().rpartition(") ")[2].split()[:2]
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if state != "Z":
            parents[int(entry.name)], lines[int(entry.name)] = int(parent), line[:200]

    def ours(pid: int) -> bool:
        while pid in parents and pid not in others:
            pid = parents[pid]
            if pid == os.getpid():
                return True
        return False

    return {pid: line for pid, line in lines.items() if ours(pid)}


def reap(others: frozenset[int]) -> None:
    """Take the statuses of orphans that have ended; those of others are waited for by others."""
    for task in Path("/proc/self/task").iterdir():
        for pid in map(int, (task / "children").read_text().split()):
            if pid not in others:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine as it is: owner and mode of its places, what lies in shared memory, mounts, and
    this process's other children (tests of a browser keep one for the whole session)."""

    places: dict[str, tuple[int, int, int]]
    shared_memory: frozenset[str]
    mounts: frozenset[str]
    running: frozenset[int]

    @classmethod
    def seen(cls, folder: Path) -> Machine:
        """Look at the machine, and at the mounts that have to do with a folder."""
        places = {}
        for place in PLACES:
            if Path(place).exists():
                found = Path(place).stat()
                places[place] = (found.st_mode, found.st_uid, found.st_gid)
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        points = [line.split(" ")[4] for line in lines]
        return cls(
            places=places,
            shared_memory=frozenset(path.name for path in Path("/dev/shm").iterdir()),
            mounts=frozenset(point for point in points if str(folder) in point),
            running=frozenset(descendants()),
        )

    def changes(self, folder: Path) -> list[str]:
        """Return what is not as it was; shared memory may have got more meanwhile, of others."""
        now = Machine.seen(folder)
        found = [f"{name}: {was} before, {now.places.get(name)} now" for name, was in
                 self.places.items() if now.places.get(name) != was]  # fmt: skip
        found += [f"mounted: {point}" for point in now.mounts - self.mounts]
        return found


def left_behind(before: Machine, folder: Path) -> list[str]:
    """Return what a killed command left, after the time it has to be gone."""
    deadline_s = time.monotonic() + GONE_WITHIN_S
    while (running := descendants(before.running)) and time.monotonic() < deadline_s:
        reap(before.running)
        time.sleep(0.01)
    reap(before.running)
    return [f"runs: {pid} {line}" for pid, line in running.items()] + before.changes(folder)


def start(
    words: Sequence[str], log: Path, cache_home: Path | None = None
) -> subprocess.Popen[bytes]:
    """Begin a command of the program, with what it says in a file."""
    env = (
        {**os.environ, **ALL_RUN}
        if cache_home is None
        else {**os.environ, **ALL_RUN, "XDG_CACHE_HOME": str(cache_home)}
    )
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "testbed", *words],
            cwd=PROJECT, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip


def kill_after(child: subprocess.Popen[bytes], after_s: float) -> bool:
    """Kill a command at a moment unless it has ended before; return whether it was killed."""
    try:
        child.wait(timeout=after_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return True
    return False


def kill_at_a_lab(
    child: subprocess.Popen[bytes], results: Path, number: int, after_s: float
) -> bool:
    """Kill a command so long after its lab of that number began; return whether it was killed."""
    begun: set[Path] = set()
    while child.poll() is None:
        begun |= set(results.glob("2*/cells/*/.guest"))
        if len(begun) >= number:
            return kill_after(child, after_s)
        time.sleep(POLL_S)
    return False


def contents(run: Path) -> dict[str, bytes]:
    """Return all files of a run, but for those that say when it ran."""
    return {
        str(path.relative_to(run)): path.read_bytes()
        for path in sorted(run.rglob("*"))
        if path.is_file() and path.name not in OF_THE_TIME
    }


def differences(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """Return the names of files that are not the same in both."""
    return [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]


@dataclass(kw_only=True)
class Campaign:
    """Runs of one study, killed and resumed until each is finished, against an undisturbed one."""

    study: Path
    folder: Path
    chance: random.Random
    kills: int = 0
    kills_at_labs: int = 0
    runs: int = 0
    problems: list[str] = field(default_factory=list)
    took_s: float = 0.0
    wanted: dict[str, bytes] = field(default_factory=dict)
    before: Machine = field(init=False)

    def __post_init__(self) -> None:
        """Look at the machine."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.before = Machine.seen(self.folder)

    def undisturbed(self) -> None:
        """Make the run that all others must equal."""
        results, began_s = self.folder / "undisturbed", time.monotonic()
        self._finish(self._run(results), "undisturbed")
        self.took_s = time.monotonic() - began_s
        (run,) = results.glob("2*")
        self.wanted = contents(run)

    def disturbed(self, kills: int, say: Callable[[str], None]) -> None:
        """Kill so often, in runs of one to five kills each, and compare what becomes of each."""
        while self.kills < kills:
            self.runs += 1
            results = self.folder / f"run-{self.runs}"
            for _ in range(min(self.chance.randint(1, 5), kills - self.kills)):
                if not self._kill_one(results, say):
                    break
            self._complete(results)
            say(f"run {self.runs} is complete, {self.kills} kills, {len(self.problems)} problems")

    def _run(self, results: Path) -> subprocess.Popen[bytes]:
        words = ["run", str(self.study), "--no-sensitivity", "--data-dir", str(results)]
        return start(words, self.folder / "log")

    def _next(self, results: Path) -> subprocess.Popen[bytes]:
        found = sorted(results.glob("2*"))
        return (
            start(["resume", str(found[0])], self.folder / "log") if found else self._run(results)
        )

    def _kill_one(self, results: Path, say: Callable[[str], None]) -> bool:
        child = self._next(results)
        if self.chance.random() < 0.5:
            after_s = self.chance.uniform(0, 0.02)
            number = self.chance.randint(1, 3)
            killed = kill_at_a_lab(child, results, number, after_s)
            self.kills_at_labs += killed
            moment = f"{after_s * 1000:.1f} ms after the start of lab {number}"
        else:
            after_s = self.chance.uniform(0, self.took_s)
            killed = kill_after(child, after_s)
            moment = f"{after_s:.3f} s after the start"
        self.kills += killed
        left = left_behind(self.before, self.folder)
        self.problems += [f"run {self.runs}, {moment}: {line}" for line in left]
        say("; ".join((f"{'killed' if killed else 'ended before'} {moment}", *left)))
        return killed

    def _finish(self, child: subprocess.Popen[bytes], what: str) -> None:
        if status := child.wait(timeout=1800):
            self.problems.append(f"{what}: ended with status {status}")
        self.problems += [f"{what}: {line}" for line in left_behind(self.before, self.folder)]

    def _complete(self, results: Path) -> None:
        what = f"run {self.runs}, resumed"
        self._finish(self._next(results), what)
        found = sorted(path for path in results.iterdir() if path.name != "latest")
        if not found or len(found) > 1:
            self.problems.append(f"{what}: left are {[path.name for path in found]}")
            return
        if (results / "latest").resolve() not in (found[0], (results / "latest")):
            self.problems.append(f"{what}: latest is {(results / 'latest').readlink()}")
        wrong = differences(self.wanted, contents(found[0]))
        self.problems += [f"{what}: not the same: {name}" for name in wrong]
