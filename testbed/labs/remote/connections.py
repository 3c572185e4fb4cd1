"""Sessions on all machines of a cell, over ssh: what is asked of them, and what each says.

Each connection has a thread that reads what its machine says and puts it into one queue for all; of
a file it keeps the bytes. Invariants: whoever leaves the block has closed all connections, upon
which each machine undoes what was changed there; a machine that is lost is named.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from model.errors import RunError
from testbed.labs.remote.inventory import Machine

#: Ssh and a machine's Python are up within this; a machine has undone all within that.
READY_WITHIN_S, CLOSED_WITHIN_S = 150.0, 60.0
#: A session that hears nothing for long ends: who must wait for others is told so that often.
WORD_EVERY_S = 10.0
#: No word of a session is longer.
MOST_LINE_BYTES = 16 << 20
PART_BYTES = 1 << 20
SESSION = "testbed.labs.remote.on_machine.session"
#: What ssh says, and what to do about it.
ADVICE = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "known_hosts has another key: if the machine is new, ssh-keygen -R; if not, find out why",
    ),
    ("Host key verification failed", "ssh does not know this machine yet: connect once by hand"),
    (
        "Permission denied",
        "ssh-copy-id, or ansible_user and ansible_ssh_private_key_file in the inventory",
    ),
    ("a password is required", "root, or sudo without a password, is needed there"),
    ("sudo: not found", "install sudo there, or connect as root: ansible_user in the inventory"),
    ("Could not resolve hostname", "ansible_host in the inventory"),
    ("timed out", "is the machine on, and ansible_host in the inventory right?"),
    ("No route to host", "is the machine on, and ansible_host in the inventory right?"),
    ("Network is unreachable", "is the machine on, and ansible_host in the inventory right?"),
    ("Connection refused", "does sshd run there, at ansible_port?"),
    ("No module named", "groundtruth clean --lab remote, then run again: that deploys anew"),
    ("No such file or directory", "groundtruth clean --lab remote, then run again"),
)
#: Where ssh says nothing that is known.
WHEN_LOST = (
    "was it restarted, its network cut, or its session killed? It gives back by itself what it "
    "lent, in two minutes; after a kill, groundtruth clean --lab remote or the next run does"
)


@dataclass(frozen=True, kw_only=True)
class Said:
    """Something a machine said; ``kind`` "lost" is that it says nothing any more."""

    machine: str
    kind: str
    content: Mapping[str, Any]


@dataclass(kw_only=True)
class Connection:
    """One machine's session."""

    machine: Machine
    child: subprocess.Popen[bytes]
    errors: Path
    into: Path | None = None
    wanted: str = ""
    most_bytes: int = 0
    ended: bool = False
    thread: threading.Thread | None = None

    def ask(self, what: str, **content: Any) -> None:
        """Ask for something; an answer, if there is one, comes by itself."""
        assert self.child.stdin is not None
        self.ended = self.ended or what == "end"
        with contextlib.suppress(BrokenPipeError, ValueError):  # its end is told by its thread
            self.child.stdin.write(f"{json.dumps({'do': what, **content})}\n".encode())
            self.child.stdin.flush()

    def why_lost(self) -> tuple[str, str]:
        """Return the last that ssh said, and what to do about it."""
        return last_words(self.errors.read_text(errors="replace"))


@dataclass(kw_only=True)
class Connections:
    """All of them, by the machine's name, and what they say."""

    by_name: dict[str, Connection]
    said: queue.SimpleQueue[Said] = field(default_factory=queue.SimpleQueue)
    cancelled: threading.Event = field(default_factory=threading.Event)

    def ask_all(self, what: str, **content: Any) -> None:
        """Ask all machines for the same."""
        for connection in self.by_name.values():
            connection.ask(what, **content)

    def hear(self, deadline_s: float, what: str) -> Said | None:
        """Return the next thing said, or None after a moment's silence.

        Raises:
            RunError: a machine was lost or failed; or the deadline passed.
        """
        if self.cancelled.is_set():
            raise RunError("interrupted", where=what)
        if time.monotonic() > deadline_s:
            raise RunError("machines do not answer in time", where=what)
        try:
            said = self.said.get(timeout=0.2)
        except queue.Empty:
            return None
        if said.kind == "lost" or (said.kind == "bye" and not self.by_name[said.machine].ended):
            raise lost(self.by_name[said.machine], what)
        if said.kind == "error":
            raise RunError(f"{said.machine}: {said.content.get('message')}")
        return said

    def gather(self, kind: str, within_s: float) -> dict[str, Mapping[str, Any]]:
        """Return what each machine says of a kind, once all have; other words are passed over."""
        found: dict[str, Mapping[str, Any]] = {}
        word_s = time.monotonic()
        deadline_s = word_s + within_s
        while len(found) < len(self.by_name):
            if time.monotonic() > word_s + WORD_EVERY_S:
                self.ask_all("wait")
                word_s = time.monotonic()
            said = self.hear(deadline_s, f"awaiting {kind!r} of {', '.join(self._missing(found))}")
            if said and said.kind == kind:
                found[said.machine] = said.content
        return {name: found[name] for name in self.by_name}

    def _missing(self, found: Mapping[str, Any]) -> list[str]:
        return [name for name in self.by_name if name not in found]


def lost(connection: Connection, what: str) -> RunError:
    """Return the error that a machine is gone."""
    said, hint = connection.why_lost()
    return RunError(
        f"lost the machine {connection.machine.name}", where=what, got=said, hint=hint or WHEN_LOST
    )


def last_words(said: str) -> tuple[str, str]:
    """Return the last line of what ssh said, and what to do about it."""
    lines = said.strip().splitlines() or ["no word"]
    return lines[-1][:600], next((advice for words, advice in ADVICE if words in said), "")


@contextlib.contextmanager
def connected(
    machines: Sequence[Machine], base: str, folder: Path, cancelled: threading.Event
) -> Iterator[Connections]:
    """Begin a session on each machine, where ``base`` has the deployed files; end all.

    What ssh says goes to files in ``folder``.

    Raises:
        RunError: a machine cannot be reached, or does not begin.
    """
    all_of_them = Connections(by_name={}, cancelled=cancelled)
    problem: RunError | None = None
    try:
        for machine in machines:
            command = f"cd / && exec env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={base}/lib "
            command += f"{machine.python} -m {SESSION} {base}"
            all_of_them.by_name[machine.name] = _open(machine, command, folder, all_of_them.said)
        all_of_them.gather("ready", READY_WITHIN_S)
        yield all_of_them
        all_of_them.ask_all("end")
        all_of_them.gather("bye", CLOSED_WITHIN_S)
    except RunError as error:
        problem = error
    finally:
        _close(all_of_them)
    if problem:
        left = list(_complaints(all_of_them.said))
        if not left:
            raise problem
        raise RunError(f"{problem}; besides, {'; '.join(left)}") from problem


def _complaints(said: queue.SimpleQueue[Said]) -> Iterator[str]:
    """Yield what machines could not undo."""
    while not said.empty():
        one = said.get()
        if one.kind == "error":
            yield f"{one.machine}: {one.content.get('message')}"


def _open(
    machine: Machine, command: str, folder: Path, said: queue.SimpleQueue[Said]
) -> Connection:
    errors = folder / f"{machine.name}.ssh"
    with errors.open("wb") as file:
        child = subprocess.Popen(
            machine.ssh(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file,
            start_new_session=True,
        )  # fmt: skip
    connection = Connection(machine=machine, child=child, errors=errors)
    connection.thread = threading.Thread(target=_read, args=(connection, said.put), daemon=True)
    connection.thread.start()
    return connection


def _read(connection: Connection, put: Callable[[Said], None]) -> None:
    """Put all that a machine says into the queue, and its end."""
    name = connection.machine.name
    assert connection.child.stdout is not None
    try:
        while line := connection.child.stdout.readline(MOST_LINE_BYTES):
            content = json.loads(line)
            kind = str(content.pop("say"))
            if kind == "clock":
                content["heard_ns"] = time.monotonic_ns()
            elif kind == "file":
                _keep(connection, connection.child.stdout, str(content["name"]), content["size"])
            put(Said(machine=name, kind=kind, content=content))
            if kind == "bye":
                return
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        put(Said(machine=name, kind="error", content={"message": f"not a session's word: {error}"}))
        return
    except OSError as error:  # of this machine's disk
        put(Said(machine=name, kind="error", content={"message": f"cannot be kept here: {error}"}))
        return
    put(Said(machine=name, kind="lost", content={}))


def _keep(connection: Connection, stream: IO[bytes], name: str, size: int) -> None:
    """Write a file as it comes; its name is the one that was asked for.

    Raises:
        ValueError: it was not asked for, or is cut off.
    """
    wanted, connection.wanted = connection.wanted, ""
    if connection.into is None or name != wanted or not 0 <= size <= connection.most_bytes:
        raise ValueError(f"{name:.100}: {size} bytes, not asked for")
    place = connection.into / name
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("xb") as file:
        while size:
            content = stream.read(min(size, PART_BYTES))
            if not content:
                raise ValueError(f"{name}: cut off")
            file.write(content)
            size -= len(content)


def _close(all_of_them: Connections) -> None:
    """Close all; each machine undoes its changes when it notices."""
    for connection in all_of_them.by_name.values():
        assert connection.child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            connection.child.stdin.close()
    deadline_s = time.monotonic() + CLOSED_WITHIN_S
    for connection in all_of_them.by_name.values():
        try:
            connection.child.wait(max(0.1, deadline_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            connection.child.kill()
            connection.child.wait()
        if connection.thread is not None:
            connection.thread.join()
        if connection.child.stdout is not None:
            connection.child.stdout.close()
