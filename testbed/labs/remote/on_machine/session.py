"""A machine of the remote lab while a cell runs: lends its interfaces, runs the agent, answers.

Speaks lines of JSON on standard input and output with :mod:`testbed.labs.remote.connections`. All
that it changes is undone when it ends, and it ends when nobody speaks to it any more; what a killed
session left, the next one undoes first. Runs as root with the machine's own Python.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from model.cell import from_dict
from model.errors import GroundtruthError, UnsupportedError
from testbed.guest.build_network import MEMORY_LIMITS, OF_A_NETWORK
from testbed.guest.team import PART, Part
from testbed.labs.host import machine_facts, undo
from testbed.labs.host.punctuality import Watch
from testbed.labs.host.undo import Journal, Places
from testbed.labs.remote.on_machine import agent, interfaces, links
from testbed.labs.remote.on_machine.lines import SILENCE_S, Lines, Lost, say, tell, tell_clock

#: A session of a lost connection has ended by then.
FREE_WITHIN_S, AGAIN_S = SILENCE_S + 30.0, 1.0
#: What all networks of a machine share.
SHARED_LIMITS = {f"net/{n}": value for n, value in MEMORY_LIMITS.items() if n not in OF_A_NETWORK}
CELLS = Path("/var/lib/groundtruth-cells")


@dataclass
class Session:
    """One connection: where the deployed files are, and what runs."""

    base: Path
    places: Places = field(default_factory=Places)
    heard: Lines = field(default_factory=lambda: Lines(0))
    folder: Path | None = None

    def answer(self) -> None:
        """Do what is asked until nobody asks."""
        acts: dict[str, Callable[..., None]] = {
            "facts": self.facts, "run": self.run, "fetch": self.fetch, "clock": tell_clock,
        }  # fmt: skip
        while True:
            if not select.select([self.heard.handle], [], [], SILENCE_S)[0]:
                raise Lost
            self.heard.read()
            for line in self.heard.taken():
                asked = json.loads(line)
                what = asked.pop("do")
                if what == "end":
                    return
                if what in acts:
                    acts[what](**asked)

    def facts(self, names: list[str]) -> None:
        """Say what this machine is, and what its interfaces are; refuse those not to be taken."""
        for interface in names:
            interfaces.check(interface, reached_at())
        say(
            "facts",
            machine={
                **machine_facts.describe(),
                "tick_hz": str(machine_facts.tick_hz()),
                "time_service": time_service(),
            },
            interfaces={name: interfaces.facts(name) for name in names},
        )

    def run(
        self, cell: dict[str, Any], machine: str, lend: list[tuple[str, str, str]],
        environment: dict[str, str], program: list[str],
    ) -> None:  # fmt: skip
        """Run the agent with what is lent to it; say how it ended, how punctual, what it left."""
        self.folder = CELLS / "cell"
        self.folder.mkdir(parents=True, mode=0o700)
        journal = Journal()
        undo.load_modules(journal, self.places)
        # A machine that is itself a namespace sees some of them, and may set none: its host must.
        seen = {n: v for n, v in SHARED_LIMITS.items() if (self.places.sysctls / n).exists()}
        undo.set_sysctls(seen, journal, self.places)
        held = links.lend(lend, self.places.folder, reached_at())
        with contextlib.ExitStack() as opened:
            spaces = {}
            for node, (pid, _) in held.items():
                handle = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
                opened.callback(os.close, handle)
                spaces[node] = handle
            part = Part(
                machine=machine, spaces=spaces,
                macs={device: mac for _, macs in held.values() for device, mac in macs.items()},
                interfaces={device: interface for interface, _, device in lend},
            )  # fmt: skip
            (self.folder / PART).write_text(json.dumps(asdict(part)))
            (self.folder / "cell.json").write_text(json.dumps(cell))
            with Watch() as watch:
                status = agent.run(
                    self.base, self.folder, tuple(spaces.values()), environment, program, self.heard
                )
        checks = [asdict(one) for one in watch.checks(from_dict(cell))]
        links.give_back(self.places.folder, lambda _line: None)
        for name in (PART, "cell.json"):
            (self.folder / name).unlink()
        files = {
            str(path.relative_to(self.folder)): path.stat().st_size
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }
        say("ended", status=status, checks=checks, files=files)

    def fetch(self, name: str) -> None:
        """Send a file that the agent left: its size, then its bytes."""
        assert self.folder is not None
        with (self.folder / name).open("rb") as file:
            say("file", name=name, size=os.fstat(file.fileno()).st_size)
            while content := file.read(1 << 20):
                while content:
                    content = content[os.write(1, content) :]

    def undo(self) -> None:
        """Undo all that this session, or a killed one before it, changed.

        Raises:
            RunError: not all of it can be.
        """
        try:
            links.give_back(self.places.folder, tell)
        finally:
            undo.undo(self.places, tell)
        if CELLS.exists():
            shutil.rmtree(CELLS)


def reached_at() -> str:
    """Return the address by which this machine is reached; empty if not over a network."""
    words = os.environ.get("SSH_CONNECTION", "").split()
    return words[2].partition("%")[0] if len(words) > 2 else ""


def time_service() -> str:
    """Return which of the usual services keeps the clock."""
    for name in ("chronyd", "systemd-timesyncd", "ntpd", "openntpd", "ptp4l"):
        for place in Path("/proc").glob("[0-9]*/comm"):
            with contextlib.suppress(OSError):
                if place.read_text().strip() == name[:15]:
                    return name
    return "none"


@contextlib.contextmanager
def alone(places: Places) -> Iterator[None]:
    """Hold the machine's lock, as :func:`undo.alone`; wait for a lost connection's session."""
    until_s = time.monotonic() + FREE_WITHIN_S
    with contextlib.ExitStack() as held:
        while True:
            try:
                held.enter_context(undo.alone(places))
                break
            except UnsupportedError:
                if time.monotonic() > until_s:
                    raise
                time.sleep(AGAIN_S)
        yield


def main() -> int:
    """Answer until the other end is done or gone; leave the machine as it was."""
    for number in (signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    session = Session(base=Path(sys.argv[1]))
    status = 0
    try:
        with alone(session.places):
            try:
                session.undo()  # what a killed session left
                say("ready")
                session.answer()
            except Lost:
                pass
            except (GroundtruthError, OSError, ValueError) as error:
                status = 1
                with contextlib.suppress(Lost):
                    say("error", message=str(error))
            finally:
                session.undo()
    except (GroundtruthError, OSError) as error:
        status = 1
        with contextlib.suppress(Lost):
            say("error", message=str(error))
    with contextlib.suppress(Lost):
        say("bye")
    return status


if __name__ == "__main__":
    sys.exit(main())
