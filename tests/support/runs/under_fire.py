"""Campaigns of a lab of functions, through the command, whose processes are killed as they run.

Invariants: cells wait for tickets and none is given before it was killed for, so each kill meets
cells that run, however busy the machine is. What has finished is looked at again and again: it must
stay as it is, and never begin again.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from model import run_folder
from tests.support import killing
from tests.support.runs.lab_of_functions import BEGUN, OPEN, POLL_S, TICKET, WITHIN_S, times_begun
from tests.support.runs.one_point import STUDY
from tests.support.study_file import HOSTS

#: The status of a command some of whose cells failed, or that was interrupted.
NOT_ALL = 3
Victims = Callable[["Campaign"], Sequence[psutil.Process]]


@dataclass(kw_only=True)
class Campaign:
    """A study's run, begun and resumed until all of it is there."""

    place: Path
    reps: int
    env: Mapping[str, str] = field(default_factory=dict)
    #: Of each cell that was seen finished, how often it had begun by then, and when it was done.
    finished: dict[str, tuple[int, int]] = field(default_factory=dict)
    commands: int = 0
    kills: int = 0
    command: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        """Make its folders."""
        (self.place / BEGUN).mkdir(parents=True)
        (self.place / "hosts").symlink_to(HOSTS)
        (self.place / "study.yaml").write_text(STUDY)

    def run(self) -> Path | None:
        """Return its run folder, if there is one yet."""
        return next(iter(self.place.glob("results/2*")), None)

    def begun(self) -> dict[str, int]:
        """Return how often each of its cells began."""
        return times_begun(self.place)

    def said(self) -> str:
        """Return what its commands said."""
        return (self.place / "log").read_text()

    def _start(self, reps: int) -> subprocess.Popen[bytes]:
        """Begin the command that goes on with it."""
        run = self.run()
        words = ["resume", str(run)] if run else [
            "run", "study.yaml", "--reps", str(reps), "-D", "results", "--no-sensitivity",
        ]  # fmt: skip
        module = "tests.support.runs.lab_of_functions"
        argv = [sys.executable, "-m", module, str(self.place), *words, "-j", "2"]
        env = {**os.environ, "PYTHONPATH": str(killing.PROJECT), **self.env}
        self.commands += 1
        with (self.place / "log").open("ab") as said:
            return subprocess.Popen(
                argv, cwd=self.place, env=env, stdin=subprocess.DEVNULL, stdout=said,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def disturb(self, victims: Victims, chance: random.Random) -> None:
        """Kill one of the victims once another cell has begun; then let one cell go on."""
        wanted = sum(self.begun().values()) + 1
        deadline_s = time.monotonic() + WITHIN_S
        while sum(self.begun().values()) < wanted:
            if self.command is None or self.command.poll() is not None:
                assert self.command is None or self.command.returncode != 0, self.said()
                self.command = self._start(self.reps)
            assert time.monotonic() < deadline_s, self.said()
            time.sleep(POLL_S)
        self.look()
        victim = chance.choice(victims(self))
        victim.kill()
        if self.command and victim.pid == self.command.pid:
            self.command.wait()
        self.kills += 1
        (self.place / f"{TICKET}{self.kills}").touch()
        self.look()

    def in_peace(self) -> None:
        """Let it come to its end; what failed for the last kill's sake is resumed."""
        (self.place / OPEN).touch()
        try:
            status = NOT_ALL if self.command is None else self.command.wait(WITHIN_S)
            if status:
                self.command = self._start(self.reps)
                status = self.command.wait(WITHIN_S)
        finally:
            self.end()
        assert status == 0, self.said()
        self.look()

    def look(self) -> None:
        """See which cells have finished, and that those that had before are as they were."""
        done = {
            path.parent.name: path.stat().st_mtime_ns
            for path in self.place.glob(f"results/2*/cells/*/{run_folder.DONE}")
        }
        begun = self.begun()  # after that: a cell that is done does not begin meanwhile
        for cell, done_ns in done.items():
            now = begun.get(cell, 0), done_ns
            before = self.finished.setdefault(cell, now)
            assert now == before, f"{cell} had finished and began again"

    def contents(self) -> dict[str, bytes]:
        """Return every file of its run but those that say when, and what failed attempts left."""
        run = self.run()
        assert run is not None
        found = killing.contents(run)
        return {name: found[name] for name in found if not name.startswith(f"{run_folder.FAILED}/")}

    def end(self) -> None:
        """End its command, if a test left it alone."""
        if self.command is not None and self.command.poll() is None:
            self.command.kill()
            self.command.wait()


def cells_processes(campaign: Campaign) -> Sequence[psutil.Process]:
    """Return the processes of this machine in which cells run, and what these are forked from.

    Those that outlive what they were forked from are of the command's session all the same.
    """
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            if campaign.command and os.getsid(one.pid) == campaign.command.pid:
                found += [one] if "forkserver" in " ".join(one.cmdline()) else []
    return found


def own_process(campaign: Campaign) -> Sequence[psutil.Process]:
    """Return the command's own process."""
    return [psutil.Process(campaign.command.pid)] if campaign.command else []
