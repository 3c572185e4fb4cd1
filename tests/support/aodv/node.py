"""One AODV state machine in a process of its own, driven with times and messages by a test.

Invariant: the programme is built with sanitizers; whatever they say fails the test that caused it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

from scapy.packet import Packet

from tests.support.aodv.messages import MESSAGES, Rerr, Rrep, Rreq

MS = 1_000_000
S = 1_000_000_000
BROADCAST = "255.255.255.255"
#: Addresses: the node itself, neighbours A and B, and who is farther away.
ME, A, B, C, FAR, FARTHER = (f"10.0.0.{last}" for last in (1, 2, 3, 4, 9, 10))
#: Section 10's defaults; no jitter, so that what is sent is sent at once.
DEFAULTS = {
    "active_route_timeout_ns": 3 * S,
    "my_route_timeout_ns": 11_200 * MS,
    "delete_period_ns": 15 * S,
    "node_traversal_ns": 40 * MS,
    "net_traversal_ns": 2800 * MS,
    "path_discovery_ns": 5600 * MS,
    "blacklist_timeout_ns": 16_800 * MS,
    "next_hop_wait_ns": 50 * MS,
    "hello_interval_ns": S,
    "jitter_ns": 0,
    "allowed_hello_loss": 2,
    "net_diameter_hops": 35,
    "rreq_retries": 2,
    "rreq_per_s": 10,
    "rerr_per_s": 10,
    "timeout_buffer_hops": 2,
    "ttl_start_hops": 1,
    "ttl_increment_hops": 2,
    "ttl_threshold_hops": 7,
    "local_add_ttl_hops": 2,
    "max_repair_ttl_hops": 10,
    "seed": 1,
}
DROPS = (
    "truncated", "wrong_length", "unknown_type", "unknown_extension", "no_destinations",
    "hop_count", "wrong_address", "subnet", "duplicate", "own", "blacklisted", "ttl",
    "no_reverse_route", "stale", "waiting_after_reboot", "table_full",
)  # fmt: skip
EVENTS = (
    "route_added", "route_changed", "route_broken", "route_expired", "route_deleted",
    "discovery_started", "discovery_ring", "discovery_found", "discovery_failed", "rerr_sent",
    "link_broken", "link_blacklisted",
)  # fmt: skip

Action = dict[str, Any]


class Done:
    """What one command did."""

    def __init__(self, actions: list[Action]) -> None:
        self.actions = actions[:-1]
        self.next_ns: int = actions[-1]["next_ns"]
        self.own_seq: int = actions[-1]["own_seq"]

    def all(self, what: str) -> list[Action]:
        return [action for action in self.actions if action["do"] == what]

    def sent(self) -> list[tuple[Action, Packet]]:
        """Return what was sent, dissected."""
        found = []
        for action in self.all("send"):
            data = bytes.fromhex(action["hex"])
            found.append((action, MESSAGES[data[0]](data)))
        return found

    def one_sent(self) -> tuple[Action, Packet]:
        (one,) = self.sent()
        return one

    def events(self) -> list[str]:
        return [EVENTS[action["kind"]] for action in self.all("event")]


class AodvNode:
    """A state machine that was started at time 0."""

    def __init__(
        self,
        argv: list[str],
        interfaces: tuple[str, ...],
        others: tuple[str, ...] = (),
        **config: int,
    ) -> None:
        self._child = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        lines = [f"{name} {int(value)}" for name, value in {**DEFAULTS, **config}.items()]
        lines += [f"interface {address}" for address in interfaces]
        lines += [f"other {address}" for address in others]
        self._write("\n".join(lines) + "\n")
        self._command("start 0")

    def _write(self, text: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(text)
        self._child.stdin.flush()

    def _answers(self) -> Iterator[Action]:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            answer = json.loads(line)
            yield answer
            if answer["do"] == "done":
                return
        assert self._child.stderr is not None
        raise AssertionError(self._child.stderr.read()[-3000:])

    def _command(self, line: str) -> Done:
        self._write(line + "\n")
        return Done(list(self._answers()))

    def receive(
        self,
        t_ns: int,
        message: Packet | bytes,
        *,
        sender: str = A,
        broadcast: bool = False,
        ttl: int = 35,
        interface: int = 0,
    ) -> Done:
        text = bytes(message).hex() or "-"
        return self._command(f"receive {t_ns} {interface} {sender} {broadcast:d} {ttl} {text}")

    def want(self, t_ns: int, destination: str, source: str = ME) -> Done:
        return self._command(f"want {t_ns} {source} {destination}")

    def transit(self, t_ns: int, source: str, destination: str) -> Done:
        return self._command(f"transit {t_ns} {source} {destination}")

    def used(self, t_ns: int, source: str, destination: str) -> None:
        self._command(f"used {t_ns} {source} {destination}")

    def heard(self, t_ns: int, neighbour: str, originator: str) -> Done:
        return self._command(f"heard {t_ns} {neighbour} {originator}")

    def link_broken(
        self, t_ns: int, neighbour: str, source: str = "0.0.0.0", destination: str = "0.0.0.0"
    ) -> Done:
        return self._command(f"break {t_ns} {neighbour} 0 {source} {destination}")

    def reply_failed(self, t_ns: int, neighbour: str) -> Done:
        return self._command(f"reply_failed {t_ns} {neighbour}")

    def advance(self, t_ns: int) -> Done:
        return self._command(f"advance {t_ns}")

    def set_own_seq(self, seq: int) -> Done:
        return self._command(f"own_seq 0 {seq}")

    def route(self, destination: str) -> Action:
        return self._command(f"route 0 {destination}").all("route")[0]

    def counts(self) -> Action:
        return self._command("counts 0").all("counts")[0]

    def dropped(self) -> dict[str, int]:
        """Return the reasons for which messages were dropped, and how many each."""
        counts = zip(DROPS, self.counts()["dropped"], strict=True)
        return {name: count for name, count in counts if count}

    def learn(
        self, t_ns: int, destination: str, seq: int = 5, hops: int = 2, sender: str = A
    ) -> Done:
        """Let the node have a route over a neighbour, ``hops`` long, as a reply to it makes one."""
        reply = Rrep(
            hops=hops - 1, destination=destination, destination_seq=seq, originator=ME,
            lifetime_ms=60_000,
        )  # fmt: skip
        return self.receive(t_ns, reply, sender=sender)

    def close(self) -> None:
        _, words = self._child.communicate(timeout=20)
        assert self._child.returncode == 0, words[-3000:]
        assert words == ""


def request(**fields: Any) -> Packet:
    """Return a request of FAR's for FARTHER, whose number it does not know."""
    values = {
        "unknown": 1, "id": 1, "destination": FARTHER, "originator": FAR, "originator_seq": 7,
        "hops": 1, **fields,
    }  # fmt: skip
    return Rreq(**values)


def error(*unreachable: Packet, **fields: Any) -> Packet:
    return Rerr(unreachable=list(unreachable), **fields)


def on_the_way(node: Callable[..., AodvNode], **config: int) -> AodvNode:
    """A node between FAR, over A, and FARTHER, over B and three hops away."""
    me = node(**config)
    me.receive(0, request(hops=1), sender=A)
    me.receive(
        1,
        Rrep(hops=2, destination=FARTHER, destination_seq=30, originator=FAR, lifetime_ms=10_000),
        sender=B,
    )
    return me
