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
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from model.cell import from_dict
from model.errors import GroundtruthError, UnsupportedError
from testbed.guest.build_network import MEMORY_LIMITS, OF_A_NETWORK
from testbed.guest.team import GO_ON, MEET, PART, Part
from testbed.labs.host import machine_facts, undo
from testbed.labs.host.punctuality import Watch
from testbed.labs.host.undo import Journal, Places
from testbed.labs.remote.on_machine import interfaces, links

#: After so long without a word the other end is gone.
SILENCE_S = 60.0
#: A session of a lost connection has ended by then.
FREE_WITHIN_S, AGAIN_S = SILENCE_S + 30.0, 1.0
#: What all networks of a machine share.
SHARED_LIMITS = {f"net/{n}": value for n, value in MEMORY_LIMITS.items() if n not in OF_A_NETWORK}
CELLS = Path("/var/lib/groundtruth-cells")
#: Not every kernel has these.
IPC = Path("/proc/self/ns/ipc")
#: In the image's files, with the machine's own network: the agent finds its nodes by descriptors.
FIRST_PROGRAM = """
set -e
cd /
root=$1/image
mount --rbind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount --rbind /dev "$root/dev"
for place in tmp run gt; do mount -t tmpfs tmpfs "$root/$place"; done
mkdir "$root/gt/code"
mount --bind "$1/code" "$root/gt/code"
mount --bind "$2" "$root/cell"
hostname lab
shift 2
exec chroot "$root" /usr/bin/env -i "$@"
"""


class Lost(Exception):  # noqa: N818  # no error: how a session ends
    """Nobody is at the other end any more."""


def say(kind: str, **content: Any) -> None:
    """Say one line."""
    text = f"{json.dumps({'say': kind, **content})}\n".encode()
    try:
        while text:
            text = text[os.write(1, text) :]
    except OSError as error:
        raise Lost from error


@dataclass
class Lines:
    """Lines of a descriptor as they come; what was read and not yet taken is kept."""

    handle: int
    left: bytes = b""
    whole: deque[str] = field(default_factory=deque)

    def read(self) -> None:
        """Read once; raise :class:`Lost` at the end."""
        content = os.read(self.handle, 1 << 16)
        if not content:
            raise Lost
        *lines, self.left = (self.left + content).split(b"\n")
        self.whole += (line.decode(errors="replace") for line in lines)

    def taken(self) -> Iterator[str]:
        """Take the whole lines that are there, each as it is asked for."""
        while self.whole:
            yield self.whole.popleft()


@dataclass
class Session:
    """One connection: where the deployed files are, and what runs."""

    base: Path
    places: Places = field(default_factory=Places)
    heard: Lines = field(default_factory=lambda: Lines(0))
    agent: subprocess.Popen[bytes] | None = None
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
                status = self._run_agent(tuple(spaces.values()), environment, program)
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

    def _run_agent(
        self, spaces: tuple[int, ...], environment: dict[str, str], program: list[str]
    ) -> int:
        words = [f"{name}={value}" for name, value in environment.items()]
        self.agent = subprocess.Popen(
            [
                "setpriv", "--pdeathsig", "KILL",
                "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--uts",
                *(["--ipc"] if IPC.exists() else []), "--propagation", "private",
                "sh", "-c", FIRST_PROGRAM, "lab", str(self.base), str(self.folder),
                *words, *program,
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            pass_fds=spaces,
        )  # fmt: skip
        assert self.agent.stdin is not None
        assert self.agent.stdout is not None
        said = Lines(self.agent.stdout.fileno())
        try:
            while True:
                for line in self.heard.taken():
                    self._heed(json.loads(line))
                ready = select.select([self.heard.handle, said.handle], [], [], SILENCE_S)[0]
                if not ready:
                    raise Lost
                if self.heard.handle in ready:
                    self.heard.read()
                if said.handle in ready:
                    try:
                        said.read()
                    except Lost:
                        return self.agent.wait()
                    for line in said.taken():
                        self._pass_on(line)
        finally:
            self.end_agent()

    def _heed(self, asked: dict[str, Any]) -> None:
        assert self.agent is not None
        assert self.agent.stdin is not None
        what = asked.pop("do")
        if what == "clock":
            tell_clock(**asked)
        elif what == "go on":
            with contextlib.suppress(BrokenPipeError):
                os.write(
                    self.agent.stdin.fileno(), f"{GO_ON}{json.dumps(asked['told'])}\n".encode()
                )
        elif what == "stop":
            self.agent.kill()

    def _pass_on(self, line: str) -> None:
        if line.startswith(MEET):
            what, told = json.loads(line.removeprefix(MEET))
            say("meet", what=what, told=told)
        else:
            say("console", line=line)

    def end_agent(self) -> None:
        """End it with all that it started."""
        if self.agent is not None:
            self.agent.kill()
            self.agent.wait()
            for pipe in (self.agent.stdin, self.agent.stdout):
                if pipe is not None:
                    pipe.close()
            self.agent = None

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
        self.end_agent()
        try:
            links.give_back(self.places.folder, tell)
        finally:
            undo.undo(self.places, tell)
        if CELLS.exists():
            shutil.rmtree(CELLS)


def tell_clock(number: int) -> None:
    """Say what both clocks show now."""
    before_ns = time.monotonic_ns()
    real_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    middle_ns = (before_ns + after_ns) // 2
    say("clock", number=number, monotonic_ns=middle_ns, ahead_ns=real_ns - middle_ns)


def tell(line: str) -> None:
    """Say what was undone; nobody need hear it."""
    with contextlib.suppress(Lost):
        say("undone", line=line)


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
