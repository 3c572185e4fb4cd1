"""Measure the delay of one pair's idle path by the agent's own sockets. Runs inside a lab.

With hundreds of pairs, starting a sender and a receiver for each way of each would take longer than
what they measure. So the agent sends and receives by itself, packet for packet as those would, and
the kernel says when each came. Invariant: no packet finds another one before it.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from testbed.guest.link_fill import HEAD, LOG_HEADER, STAMP, TIMESTAMPS, stamped
from testbed.guest.team import Team

if TYPE_CHECKING:
    from model.node import Node

PORT = 4998


class Run(Protocol):
    """What is sent: so many packets of that size, from one host to another."""

    @property
    def name(self) -> str:
        """What its files are called."""

    @property
    def source(self) -> str:
        """The host that sends."""

    @property
    def target(self) -> str:
        """The host that they come to."""

    @property
    def message_bytes(self) -> int:
        """What is in each, without headers."""

    @property
    def packets(self) -> int:
        """How many."""

    @property
    def path(self) -> int:
        """Which of several paths, counted from 1."""

    def sending_s(self) -> float:
        """Return how long they take to send."""


def send(
    run: Run,
    hosts: Mapping[str, Node],
    addresses: Mapping[str, Sequence[str]],
    idle_s: float,
    folder: Path,
    team: Team,
) -> None:
    """Send a run's packets one by one; its log is left where they came, what else has none.

    What is under way after ``idle_s`` of silence is lost.
    """
    with contextlib.ExitStack() as opened:
        receiver = None
        if run.target in hosts:
            receiver = opened.enter_context(_socket(hosts[run.target]))
            receiver.setsockopt(socket.SOL_SOCKET, TIMESTAMPS, 1)
            receiver.bind((addresses[run.target][run.path - 1], PORT))
            receiver.settimeout(idle_s + run.sending_s())
        team.meet(f"{run.name}: listening")
        if run.source in hosts:
            sender = opened.enter_context(_socket(hosts[run.source]))
            sender.bind((addresses[run.source][run.path - 1], PORT))
            sender.connect((addresses[run.target][run.path - 1], PORT))
            _send_each(run, sender)
        if receiver:
            lines = _received(run, receiver)
            (folder / f"{run.name}.tsv").write_text("".join([LOG_HEADER, "\n", *lines]))
        team.meet(f"{run.name}: ended")


def _socket(host: Node) -> socket.socket:
    with host.entered():
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def _send_each(run: Run, sender: socket.socket) -> None:
    gap_s = run.sending_s() / run.packets
    for number in range(run.packets):
        sender.send(HEAD.pack(number, time.time_ns()).ljust(run.message_bytes, b"\0"))
        time.sleep(gap_s)


def _received(run: Run, receiver: socket.socket) -> list[str]:
    lines: list[str] = []
    with contextlib.suppress(TimeoutError):
        while len(lines) < run.packets:
            got = receiver.recvmsg(HEAD.size, socket.CMSG_SPACE(STAMP.size))
            lines.append(stamped(got[0], got[1]))
    return lines
