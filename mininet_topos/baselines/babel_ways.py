"""What babeld knows and has set: its routes in the kernel, its neighbours and ways by its own word.

The kernel's routes are what packets take; the daemon's answer says why, and which other ways there
are. The answer is that of babeld's local protocol, version 1.0 (``local.c`` of 1.13.1); numbers in
it that are places in memory are left out.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mininet_topos.baselines.babel import PROTOCOL
from mininet_topos.netns import Namespace
from model.errors import RunError

VERSION = "BABEL 1.0"
#: How an answer ends, if it is one.
OK = "ok"
#: The metric of a way that has been withdrawn.
INFINITE = 0xFFFF
DEADLINE_S = 60.0
READ_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A neighbour by its IPv6 address; costs of links are 256 for each frame that one takes.

    ``reach`` has a bit for each of the last 16 hellos, the newest first; a cost of 65535 is no
    link. ``receive_cost`` is this node's own, ``send_cost`` what the neighbour told of its own.
    """

    address: str
    interface: str
    reach: int
    receive_cost: int
    send_cost: int
    cost: int


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to a prefix that a neighbour told of, at its IPv6 address; 65535: withdrawn."""

    prefix: str
    via: str
    interface: str
    metric: int
    is_installed: bool


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one daemon said: its number, and all that it knows, in order."""

    router_id: str
    announced: tuple[str, ...]
    neighbours: tuple[Neighbour, ...]
    ways: tuple[Way, ...]


def ask(questions: Path, where: str) -> Answer:
    """Return what the daemon behind that socket knows now.

    Raises:
        RunError: nobody answers, or not in this protocol.
    """
    return parse_dump(dump(questions, where), where)


def dump(questions: Path, where: str) -> str:
    """Return the answer as it is; raise :class:`RunError` if there is none."""
    said = b""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(DEADLINE_S)
            connection.connect(str(questions))
            connection.sendall(b"dump\nquit\n")
            while got := connection.recv(READ_BYTES):
                said += got
    except OSError as error:
        raise RunError("babeld does not answer", where=where, got=str(error)) from error
    return said.decode(errors="replace")


def parse_dump(text: str, where: str) -> Answer:
    """Return what an answer to ``dump`` says; pure.

    Raises:
        RunError: it is cut short, of another protocol, or a line says less than it should.
    """
    lines = text.splitlines()
    if not lines or lines[0] != VERSION or lines.count(OK) != 2:  # of the greeting and of the dump
        raise RunError(
            "not babeld's answer", where=where, wanted=f"{VERSION} ... {OK} ... {OK}",
            got=text[:80] or "nothing",
        )  # fmt: skip
    try:
        return _answer(lines)
    except (IndexError, KeyError, ValueError) as error:
        raise RunError(
            "not babeld's answer", where=where, wanted="lines as of 1.13.1",
            got=f"{len(lines)} lines", hint=repr(error),
        ) from error  # fmt: skip


def _answer(lines: Sequence[str]) -> Answer:
    """Return what lines say; raise :class:`ValueError` or its like where one says too little."""
    identities = [line.split()[1] for line in lines if line.split()[0] == "my-id"]
    rows: dict[str, list[dict[str, str]]] = {"neighbour": [], "xroute": [], "route": []}
    for line in lines:
        words = line.split()
        if words[0] == "add" and words[1] in rows:
            rows[words[1]].append(dict(zip(words[3::2], words[4::2], strict=True)))
    neighbours = [_neighbour(row) for row in rows["neighbour"]]
    ways = [_way(row) for row in rows["route"]]
    return Answer(
        router_id=identities[0],
        announced=tuple(sorted(row["prefix"] for row in rows["xroute"])),
        neighbours=tuple(sorted(neighbours, key=lambda one: (one.interface, one.address))),
        ways=tuple(sorted(ways, key=lambda one: (one.prefix, not one.is_installed, one.via))),
    )


def _neighbour(row: Mapping[str, str]) -> Neighbour:
    return Neighbour(
        address=row["address"], interface=row["if"], reach=int(row["reach"], 16),
        receive_cost=int(row["rxcost"]), send_cost=int(row["txcost"]), cost=int(row["cost"]),
    )  # fmt: skip


def _way(row: Mapping[str, str]) -> Way:
    return Way(
        prefix=row["prefix"], via=row["via"], interface=row["if"], metric=int(row["metric"]),
        is_installed=row["installed"] == "yes",
    )  # fmt: skip


def routes(node: Namespace) -> dict[str, str]:
    """Return the next hop to each address that babeld has set in a node's kernel, both IPv4."""
    return parse_routes(node.json(["ip", "-4", "-json", "route", "show", "proto", PROTOCOL]))


def parse_routes(shown: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the next hop by destination of what ``ip -json route`` shows; pure.

    A way that was withdrawn a moment ago stands there as unreachable, and is none.
    """
    return {row["dst"]: row["gateway"] for row in shown if "gateway" in row}
