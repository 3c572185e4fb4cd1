"""The agents of one cell, where its network is spread over machines: each has some of the nodes.

In most labs one agent has all of them, and is alone. Else each runs the same code on the nodes it
has, and where one must wait for what another does, all meet. What is told there goes to all.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from model.errors import RunError
from model.units import NS_PER_S

#: Of a spread network, beside the cell: :class:`Part`.
PART = "part.json"
#: What an agent says on its standard output when it meets the others, and the answer it awaits.
MEET, GO_ON = "lab: meet ", "go on "
EPOCH = "epoch"


class Team(Protocol):
    """Who has the network's nodes between them."""

    def meet(self, what: str, told: Any = None) -> list[Any]:
        """Wait until all are there; return what each told, in one order for all."""

    def epoch_ns(self, head_start_s: int) -> int:
        """Return on this machine's CLOCK_MONOTONIC one moment for all, so much later than now."""


@dataclass(frozen=True)
class Alone:
    """One agent has all nodes."""

    def meet(self, _what: str, told: Any = None) -> list[Any]:
        """Return what was told."""
        return [told]

    def epoch_ns(self, head_start_s: int) -> int:
        """Return a whole second, so much later than the next."""
        return (time.monotonic_ns() // NS_PER_S + 1 + head_start_s) * NS_PER_S


@dataclass(frozen=True)
class Together:
    """Several agents, brought together over standard input and output by who started them."""

    def meet(self, what: str, told: Any = None) -> list[Any]:
        """Wait until all are there.

        Raises:
            RunError: another agent is no longer there.
        """
        os.write(1, f"{MEET}{json.dumps([what, told])}\n".encode())
        answer = _read_line()
        if not answer.startswith(GO_ON):
            raise RunError("the other machines do not go on", where=what, got=answer or "no word")
        found: list[Any] = json.loads(answer.removeprefix(GO_ON))
        return found

    def epoch_ns(self, head_start_s: int) -> int:
        """Return the moment that all were told, each on its own clock."""
        (own_ns,) = self.meet(EPOCH, head_start_s)
        return int(own_ns)


def _read_line() -> str:
    """Return the next line of standard input; empty at its end."""
    line = bytearray()
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode()


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one agent has of a spread network: its nodes' namespaces, and what links them.

    ``spaces`` are descriptors that the agent was started with. Of each device by its name in the
    layout ``macs`` has the address, ``interfaces`` the name it has on the machine.
    """

    machine: str
    spaces: dict[str, int]
    macs: dict[str, str]
    interfaces: dict[str, str]


def read_part(folder: Path) -> Part | None:
    """Return what this agent has; None if it has all."""
    path = folder / PART
    return Part(**json.loads(path.read_text())) if path.exists() else None
