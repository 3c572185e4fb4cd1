"""Runs the C probes on the loopback of this machine.

The binaries come from GROUNDTRUTH_PROBES_DIR if it is set; otherwise they are built here, once per
session, with AddressSanitizer and UBSan. Nothing sleeps to wait for another: a receiver says on a
descriptor that it is ready.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).parents[2] / "probes"
DEADLINE_S = 20.0

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


class Probes:
    """Starts probes from one folder and leaves none behind."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self._folder = folder
        self._stack = stack

    def run(self, probe: str, *options: object) -> Finished:
        done = subprocess.run(
            self._argv(probe, options),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def start(self, probe: str, *options: object) -> subprocess.Popen[str]:
        return self._popen(self._argv(probe, options), ())

    def start_receiver(self, probe: str, *options: object) -> Running:
        """Starts a receiver on a port of the kernel's choice and waits for its ready byte."""
        read_fd, write_fd = os.pipe()
        argv = self._argv(
            probe, ("--port", 0, "--bind", "127.0.0.1", "--ready-fd", write_fd, *options)
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

    def _argv(self, probe: str, options: Sequence[object]) -> list[str]:
        return [str(self._folder / probe), *map(str, options)]

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
def probes_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the binaries."""
    given = os.environ.get("GROUNDTRUTH_PROBES_DIR")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("probes")
    command = [
        "make",
        "-s",
        f"-j{os.cpu_count() or 1}",
        "-C",
        str(SOURCES),
        f"OUT={folder}",
        "SANITIZE=1",
        "CFLAGS=-O1",
    ]
    built = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, f"probes do not build; is libsctp-dev installed?\n{built.stderr}"
    return folder


@pytest.fixture
def probes(probes_folder: Path) -> Iterator[Probes]:
    with contextlib.ExitStack() as stack:
        yield Probes(probes_folder, stack)


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
