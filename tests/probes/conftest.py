"""Runs the C probes on the loopback of this machine.

They are built once per session in the lab's image, with AddressSanitizer and UBSan, and run with
its C library: this machine needs neither compiler nor headers. Nothing sleeps to wait for another:
a receiver says on a descriptor that it is ready.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from testbed.labs.booted import image
from testbed.labs.confinement import lab_user
from testbed.labs.confinement.sandbox import Sandbox
from testbed.machine.process import run_logged

SOURCES = Path(__file__).parents[2] / "probes"
DEADLINE_S = 20.0
BUILD_TIMEOUT_S = 300.0
LIBRARIES = "usr/lib/x86_64-linux-gnu"

Event = dict[str, Any]


class Finished:
    """What a probe left behind: exit status, words, and its JSON lines by event."""

    def __init__(self, status: int, stdout: str, stderr: str) -> None:
        self.status = status
        self.stdout = stdout
        self.stderr = stderr

    @property
    def events(self) -> list[Event]:
        return [json.loads(line) for line in self.stdout.splitlines()]

    def all(self, name: str) -> list[Event]:
        return [event for event in self.events if event["event"] == name]

    def one(self, name: str) -> Event:
        found = self.all(name)
        assert len(found) == 1, (name, self.stdout, self.stderr)
        return found[0]


class Running:
    """A receiver that has said that it is ready, and on which port."""

    def __init__(self, process: subprocess.Popen[str], first_lines: str, port: int) -> None:
        self.process = process
        self.port = port
        self._first_lines = first_lines

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def finish(self) -> Finished:
        stdout, stderr = self.process.communicate(timeout=DEADLINE_S)
        return Finished(self.process.returncode, self._first_lines + stdout, stderr)


@dataclass(frozen=True)
class Built:
    """The folder of the binaries, and the image whose libraries they need."""

    folder: Path
    image: Path

    def argv(self, probe: str) -> list[str]:
        libraries = self.image / LIBRARIES
        loader = libraries / "ld-linux-x86-64.so.2"
        return [str(loader), "--library-path", str(libraries), str(self.folder / probe)]


class Probes:
    """Starts probes and leaves none behind."""

    def __init__(self, built: Built, stack: contextlib.ExitStack) -> None:
        self._built = built
        self._stack = stack

    def run(self, probe: str, *options: object) -> Finished:
        done = subprocess.run(
            self.argv(probe, *options),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def start(self, probe: str, *options: object) -> subprocess.Popen[str]:
        return self._popen(self.argv(probe, *options), ())

    def start_receiver(self, probe: str, *options: object) -> Running:
        """Starts a receiver on a port of the kernel's choice and waits for its ready byte."""
        read_fd, write_fd = os.pipe()
        argv = self.argv(
            probe, "--port", 0, "--bind", "127.0.0.1", "--ready-fd", write_fd, *options
        )
        process = self._popen(argv, (write_fd,))
        os.close(write_fd)
        readable, _, _ = select.select([read_fd], [], [], DEADLINE_S)
        byte = os.read(read_fd, 2) if readable else b""
        os.close(read_fd)
        assert byte == b"\n", f"{probe} never got ready"
        lines = ""
        assert process.stdout is not None
        while '"event":"ready"' not in lines:
            lines += process.stdout.readline()
        return Running(process, lines, json.loads(lines.splitlines()[-1])["port"])

    def argv(self, probe: str, *options: object) -> list[str]:
        return [*self._built.argv(probe), *map(str, options)]

    def _popen(self, argv: list[str], keep_fds: tuple[int, ...]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pass_fds=keep_fds
        )
        self._stack.callback(_end, process)
        return process


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait(timeout=DEADLINE_S)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = image.ensure(lambda _what, _done: None)
    folder = tmp_path_factory.mktemp("probes")
    shutil.copytree(SOURCES, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__*__*"))
    command = f"make -s -j{os.cpu_count() or 1} -C /cell OUT=/cell SANITIZE=1 CFLAGS=-O1"
    with lab_user.lent(folder) as uid:
        sandbox = Sandbox(image=root, uid=uid, writable={"/cell": folder})
        run_logged(
            sandbox.argv(command.split()),
            log=folder / "build.log", what="compiling the probes", timeout_s=BUILD_TIMEOUT_S,
        )  # fmt: skip
    return Built(folder, root)


@pytest.fixture
def probes(built: Built) -> Iterator[Probes]:
    with contextlib.ExitStack() as stack:
        yield Probes(built, stack)


@pytest.fixture
def tcp_transfer(probes: Probes) -> Callable[..., tuple[Finished, Finished]]:
    """Sends over TCP on the loopback; returns what sender and receiver said."""

    def transfer(
        sender: Sequence[object], receiver: Sequence[object] = ()
    ) -> tuple[Finished, Finished]:
        receiving = probes.start_receiver("tcp_recv", *receiver)
        sent = probes.run("tcp_send", "--host", "127.0.0.1", "--port", receiving.port, *sender)
        return sent, receiving.finish()

    return transfer
