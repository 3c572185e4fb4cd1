"""A cell that runs on several machines: who waits where, what clocks say, what machines left.

Agents wait at the same moments for each other; time zero is one moment on all their clocks.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from model import run_folder
from model.cell import Cell
from model.errors import RunError
from model.units import NS_PER_S
from testbed.guest.team import EPOCH
from testbed.labs.contract import accept
from testbed.labs.remote import clocks
from testbed.labs.remote.clocks import Clock, Exchange
from testbed.labs.remote.connections import Connections, Said

#: How often clocks are asked: so many times at once before and after, and then at these times.
EXCHANGES, EVERY_S = 20, 1.0
#: Where one machine's files lie until all are put together.
MACHINES = ".machines"
FETCH_WITHIN_S = 600.0


@dataclass(kw_only=True)
class RunningCell:
    """A cell that runs on several machines: who waits where, and what clocks said."""

    cell: Cell
    connections: Connections
    console: TextIO
    deadline_s: float
    exchanges: dict[str, list[Exchange]] = field(default_factory=dict)
    waiting: dict[str, tuple[str, Any]] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=itertools.count)
    phase: str = "boot"
    ended: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    ask_at_s: float = 0.0

    def to_end(self) -> dict[str, Mapping[str, Any]]:
        """Bring agents together until all have ended; return what each machine says of its end.

        Raises:
            RunError: one failed or was lost.
        """
        while len(self.ended) < len(self.connections.by_name):
            self._ask_clocks_in_time()
            said = self.connections.hear(self.deadline_s, f"phase {self.phase}")
            if said:
                self._heed(said)
        return self.ended

    def fetch(self, name: str, files: Mapping[str, int], into: Path) -> None:
        """Fetch what one machine's agent left, of names and sizes that a cell's are.

        Raises:
            RunError: it left anything else, or is lost.
        """
        may = accept.expected(self.cell)
        connection = self.connections.by_name[name]
        into.mkdir(parents=True, exist_ok=True)
        connection.into = into
        deadline_s = time.monotonic() + FETCH_WITHIN_S
        for file, size in files.items():
            if size > may.get(file, -1):
                raise RunError(
                    "a machine left what no cell leaves", where=f"{name}: {file:.200}",
                    wanted=f"at most {may[file]} bytes" if file in may else "no such name",
                    got=f"{size} bytes", hint="nothing of it was opened",
                )  # fmt: skip
            connection.most_bytes, connection.wanted = may[file], file
            connection.ask("fetch", name=file)
            while True:
                self._ask_clocks_in_time()  # others end if they hear nothing
                said = self.connections.hear(deadline_s, f"fetching {file} of {name}")
                if said and said.kind == "file":
                    break
                if said:
                    self._heed(said)

    def clocks(self) -> dict[str, Clock]:
        """Return each machine's clock, asked a last time."""
        for _ in range(EXCHANGES):
            self._ask_clocks()
            self._hear_clocks()
        return {name: clocks.fit(made) for name, made in self.exchanges.items()}

    def _heed(self, said: Said) -> None:
        content = said.content
        if said.kind == "console":
            self.console.write(f"{said.machine}: {content['line']}\n")
            self.console.flush()
            if content["line"].startswith("lab: phase "):
                self.phase = content["line"].removeprefix("lab: phase ")
        elif said.kind == "clock":
            self._keep_clock(said)
        elif said.kind == "ended":
            self.ended[said.machine] = content
            if content["status"] != 0:
                raise self._failed(said)
        elif said.kind == "meet":
            self.waiting[said.machine] = (content["what"], content["told"])
            if len(self.waiting) == len(self.connections.by_name):
                self._go_on()

    def _go_on(self) -> None:
        """Let all agents go on from where they met."""
        waiting, self.waiting = self.waiting, {}
        (what,) = {what for what, _ in waiting.values()}
        told = [waiting[name][1] for name in self.connections.by_name]
        answers: dict[str, Any] = dict.fromkeys(waiting, told)
        if what == EPOCH:
            for _ in range(EXCHANGES):
                self._ask_clocks()
                self._hear_clocks()
            at_ns = time.monotonic_ns() + (1 + max(told)) * NS_PER_S
            answers = {n: [clocks.fit(made).shows(at_ns)] for n, made in self.exchanges.items()}
        for name, connection in self.connections.by_name.items():
            connection.ask("go on", told=answers[name])

    def _ask_clocks_in_time(self) -> None:
        if time.monotonic() >= self.ask_at_s:
            self._ask_clocks()
            self.ask_at_s = time.monotonic() + EVERY_S

    def _ask_clocks(self) -> None:
        for name, connection in self.connections.by_name.items():
            number = next(self.numbers)
            self.asked[number] = time.monotonic_ns()
            connection.ask("clock", number=number)
            self.exchanges.setdefault(name, [])

    def _hear_clocks(self) -> None:
        """Await the answers to what was asked."""
        deadline_s = time.monotonic() + 30
        while self.asked:
            said = self.connections.hear(deadline_s, "asking clocks")
            if said:
                self._heed(said)

    def _keep_clock(self, said: Said) -> None:
        asked_ns = self.asked.pop(said.content["number"])
        self.exchanges[said.machine].append(
            Exchange(
                asked_ns=asked_ns, heard_ns=said.content["heard_ns"],
                clock_ns=said.content["monotonic_ns"], ahead_ns=said.content["ahead_ns"],
            )
        )  # fmt: skip

    def _failed(self, said: Said) -> RunError:
        """Return what a machine's agent says of its failure."""
        where = f"{said.machine}, phase {self.phase}"
        if run_folder.ERROR in said.content["files"]:
            place = Path(self.console.name).parent / MACHINES / said.machine
            wanted = {run_folder.ERROR: said.content["files"][run_folder.ERROR]}
            self.fetch(said.machine, wanted, place)
            if message := accept.error_message(place):
                return RunError(message, where=where)
        return RunError(
            f"the agent ended with status {said.content['status']}", where=where,
            hint=f"what it said: {self.console.name}",
        )  # fmt: skip
