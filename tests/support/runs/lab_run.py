"""A short run in the virtual lab, by the command as people type it: begun, disturbed, resumed.

Invariants: each run has a folder of its own for temporary files, so that what is left there is its
own; a cell that was seen finished must stay as it is, file for file.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from model import run_folder
from testbed.store import cells as store
from tests.support import killing

#: How many seeds a whole run has, at one point; one cell more is the point's calibration.
SEEDS = 4
CELLS = 1 + SEEDS
STUDY = killing.short_wireless(duration="20 s", seeds="[1, 2, 3, 4]", losses="[1 %]")
WITHIN_S = 600.0
POLL_S = 0.005
#: Of each file of a finished cell, by its name: which file it is, and when it was written.
Files = dict[str, tuple[int, int]]
#: Processes of a command that are to be killed.
Victims = Callable[[subprocess.Popen[bytes]], list[psutil.Process]]
#: How long after the beginning of a lab one is killed at most.
MOMENT_S = 0.3


@dataclass(kw_only=True)
class LabRun:
    """One run folder, and the commands that work on it; ``env`` is theirs besides."""

    place: Path
    env: Mapping[str, str] = field(default_factory=dict)
    #: The folder that gets the run folder, if that is elsewhere.
    results: Path = field(default=Path("results"))
    finished: dict[str, Files] = field(default_factory=dict)
    #: Labs that had begun when one of its processes was killed last.
    met: set[tuple[str, int]] = field(default_factory=set)
    #: For temporary files of its commands, and gone with it. The name is so short that worker
    #: processes are reached there, and not in /tmp.
    temporary: Path = field(init=False)

    def __post_init__(self) -> None:
        """Make its folders."""
        self.results = self.place / self.results
        self.place.mkdir(parents=True)
        self.temporary = Path(tempfile.mkdtemp(prefix="gt-", dir="/tmp"))
        weakref.finalize(self, shutil.rmtree, self.temporary, ignore_errors=True)
        (self.place / "study.yaml").write_text(STUDY)

    @property
    def folder(self) -> Path:
        """The run folder."""
        (found,) = self.results.glob("2*")
        return found

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Begin a command, in a session of its own; what it says is in a file."""
        env = {
            **os.environ, store.VARIABLE: store.OFF, "TMPDIR": str(self.temporary), **self.env,
        }  # fmt: skip
        with self.log.open("wb") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "testbed", *words],
                cwd=killing.PROJECT, env=env, stdin=subprocess.DEVNULL, stdout=said,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    @property
    def log(self) -> Path:
        """What its last command says."""
        return self.place / "log"

    def begin(self, *options: str) -> subprocess.Popen[bytes]:
        """Begin the run; all seeds unless the options say otherwise."""
        return self.start(
            "run", str(self.place / "study.yaml"), "--no-sensitivity", "-j", "2",
            "--data-dir", str(self.results), *options,
        )  # fmt: skip

    def resume(self) -> subprocess.Popen[bytes]:
        """Go on with the run."""
        return self.start("resume", str(self.folder), "-j", "2")

    def ended(self, command: subprocess.Popen[bytes], status: int = 0) -> str:
        """Wait for the end of a command that ends so; return what it said."""
        found = command.wait(WITHIN_S)
        said = self.log.read_text()
        assert found == status, said
        return " ".join(said.split())

    def done(self) -> dict[str, Path]:
        """Return the folders of finished cells, by their ids."""
        found = self.results.glob(f"2*/cells/*/{run_folder.DONE}")
        return {path.parent.name: path.parent for path in found}

    def look(self) -> dict[str, Files]:
        """See which cells have finished, and that those that had before are as they were."""
        for cell, folder in self.done().items():
            now = {
                path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
                for path in folder.rglob("*")
                if path.is_file()
            }
            assert self.finished.setdefault(cell, now) == now, f"{cell} had finished: run again"
        return self.finished

    def until(self, what: Callable[[], object], command: subprocess.Popen[bytes]) -> None:
        """Wait until something is so while a command runs."""
        deadline_s = time.monotonic() + WITHIN_S
        while not what():
            assert command.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline_s, self.log.read_text()
            time.sleep(POLL_S)

    def another_lab(self) -> bool:
        """Return whether a lab has begun since one of its processes was killed last."""
        return bool(self.labs_begun() - self.met)

    def disturb(
        self, command: subprocess.Popen[bytes], victims: Victims, chance: random.Random
    ) -> None:
        """Kill one of the victims a moment after one more lab has begun."""
        self.until(self.another_lab, command)
        time.sleep(chance.uniform(0, MOMENT_S))
        found: list[psutil.Process] = []

        def there() -> bool:
            found[:] = victims(command)
            return bool(found)

        self.until(there, command)
        chance.choice(found).kill()
        self.met |= self.labs_begun()
        self.look()

    def labs_begun(self) -> set[tuple[str, int]]:
        """Return the labs that run or were cut short: of which cell each is, and since when."""
        found = set()
        for guest in self.results.glob(f"2*/cells/*/{run_folder.GUEST}"):
            with contextlib.suppress(FileNotFoundError):
                found.add((guest.parent.name, (guest / run_folder.CELL).stat().st_mtime_ns))
        return found

    def stored(self) -> dict[str, str]:
        """Return the cells that came from the store, each with its evidence's key there."""
        timings = {
            cell: json.loads((folder / run_folder.TIMING).read_text())
            for cell, folder in self.done().items()
        }
        return {
            cell: timing["from_store"]["evidence"]
            for cell, timing in timings.items()
            if "from_store" in timing
        }

    def contents(self) -> dict[str, bytes]:
        """Return every file of its run but those that say when, and what failed attempts left."""
        return contents(self.folder)

    def left(self) -> list[str]:
        """Return what should have been removed: folders to work in, temporary files.

        What failed attempts at cells left is kept on purpose.
        """
        found = [*self.results.rglob(".*"), *self.temporary.iterdir()]
        return [str(path) for path in found if run_folder.FAILED not in path.parts]


def contents(run: Path) -> dict[str, bytes]:
    """Return every file of a run but those that say when, and what failed attempts left."""
    found = killing.contents(run)
    return {name: found[name] for name in found if not name.startswith(f"{run_folder.FAILED}/")}


def forked_from(command: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the process that a command's worker processes are forked from, if it is there."""
    return [one for one, parent, _ in _forked(command) if parent == command.pid]


def at_work(command: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the worker processes of a command that have begun a lab."""
    return [one for one, parent, busy in _forked(command) if parent != command.pid and busy]


def _forked(command: subprocess.Popen[bytes]) -> list[tuple[psutil.Process, int, bool]]:
    """Return both kinds, each with its parent and whether it has children.

    Those that outlive what they were forked from are of the same session.
    """
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            if os.getsid(one.pid) == command.pid and "forkserver" in " ".join(one.cmdline()):
                found.append((one, one.ppid(), bool(one.children())))
    return found
