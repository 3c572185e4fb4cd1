"""Two hidden stations that ask by RTS before each frame, and what that spares them.

As ``hidden_terminals.py`` is without RTS: an event simulation of its own, in continuous time, of
two saturated stations that do not hear each other and the one between them. Pure; randomness from
the seed given. Invariants: both stations hear all that the one between sends, unless they send
themselves; what overlaps there, or comes while it sends, is lost.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from mininet_topos.radio.dcf_theory import NS_PER_S, Dcf

Kind = Literal["rts", "data"]


@dataclass(frozen=True, kw_only=True)
class HiddenRts:
    """What both stations sent together, and what came of it, per second."""

    rts_per_s: float
    attempts_per_s: float
    delivered_per_s: float


@dataclass
class _Station:
    slots: int = 0
    ready_ns: int = 0
    quiet_until_ns: int = 0
    counts: bool = False
    turn: int = 0
    window: int = 0
    rts_tries: int = 0
    data_tries: int = 0
    on_air: bool = False
    spoilt: bool = False
    listens: bool = False


@dataclass
class _Run:
    dcf: Dcf
    data_ns: int
    draws: random.Random
    stations: tuple[_Station, _Station] = field(default_factory=lambda: (_Station(), _Station()))
    events: list[tuple[int, int, str, int, int]] = field(default_factory=list)
    answering: bool = False
    found: Counter[str] = field(default_factory=Counter)

    def add(self, t_ns: int, rank: int, what: str, who: int, turn: int = 0) -> None:
        heapq.heappush(self.events, (t_ns, rank, what, who, turn))

    def resume(self, who: int) -> None:
        """Count down from when the medium is free for a station."""
        station = self.stations[who]
        station.turn += 1
        due_ns = self.free_ns(station) + station.slots * self.dcf.slot_ns
        self.add(due_ns, 4, "start", who, station.turn)

    def free_ns(self, station: _Station) -> int:
        return max(station.ready_ns, station.quiet_until_ns + self.dcf.difs_ns)

    def back_off(self, who: int, ready_ns: int) -> None:
        station = self.stations[who]
        station.slots = self.draws.randrange(station.window + 1)
        station.ready_ns, station.counts = ready_ns, True
        if not self.answering:
            self.resume(who)

    def next_frame(self, who: int, ready_ns: int) -> None:
        station = self.stations[who]
        station.rts_tries = station.data_tries = 0
        station.window = self.dcf.cw_min_slots
        self.back_off(who, ready_ns)

    def fail(self, who: int, t_ns: int, *, last: bool) -> None:
        station = self.stations[who]
        if last:
            self.next_frame(who, t_ns + self.dcf.difs_ns)
            return
        station.window = min(station.window * 2 + 1, self.dcf.cw_max_slots)
        self.back_off(who, t_ns + self.dcf.difs_ns)

    def send(self, who: int, t_ns: int, kind: Kind) -> None:
        station, other = self.stations[who], self.stations[1 - who]
        self.found[kind] += 1
        station.counts, station.on_air, station.listens = False, True, False
        station.spoilt = other.on_air or self.answering
        other.spoilt = True
        self.add(t_ns + (self.dcf.rts_ns() if kind == "rts" else self.data_ns), 0, kind, who)

    def sent(self, who: int, t_ns: int, kind: Kind) -> None:
        """End an RTS or a frame: it is answered, or its sender waits in vain."""
        station = self.stations[who]
        station.on_air = False
        if not station.spoilt:
            self.add(t_ns + self.dcf.sifs_ns, 1, "cts" if kind == "rts" else "ack", who)
            return
        waited_ns = t_ns + self.dcf.sifs_ns + self.dcf.ack_ns()
        self.add(waited_ns, 3, "no cts" if kind == "rts" else "no ack", who)

    def answer(self, who: int, t_ns: int, kind: str) -> None:
        """Begin a CTS or an ACK: who counts down stands still, what comes meanwhile is lost."""
        self.answering = True
        for station in self.stations:
            station.spoilt, station.listens = True, not station.on_air
            if station.counts:
                station.turn += 1
                gone = max(t_ns - self.free_ns(station), 0) // self.dcf.slot_ns
                station.slots = max(station.slots - gone, 0)
        self.add(t_ns + self.dcf.ack_ns(), 0, f"end of {kind}", who)

    def answered(self, who: int, t_ns: int, kind: str) -> None:
        self.answering = False
        other = self.stations[1 - who]
        if other.listens and kind == "cts":
            other.quiet_until_ns = t_ns + 2 * self.dcf.sifs_ns + self.data_ns + self.dcf.ack_ns()
        if other.counts:
            other.ready_ns = max(other.ready_ns, t_ns + self.dcf.difs_ns)
            self.resume(1 - who)
        if kind == "cts":
            self.stations[who].rts_tries = 0
            self.add(t_ns + self.dcf.sifs_ns, 2, "cleared", who)
        else:
            self.found["delivered"] += 1
            self.next_frame(who, t_ns + self.dcf.difs_ns)


def _step(run: _Run, t_ns: int, what: str, who: int, turn: int) -> None:
    station, dcf = run.stations[who], run.dcf
    if what == "start":
        if station.counts and turn == station.turn:
            station.rts_tries += 1
            run.send(who, t_ns, "rts")
    elif what == "cleared":
        station.data_tries += 1
        run.send(who, t_ns, "data")
    elif what == "rts" or what == "data":
        run.sent(who, t_ns, "rts" if what == "rts" else "data")
    elif what == "no cts":
        run.fail(who, t_ns, last=station.rts_tries >= dcf.retry_limit)
    elif what == "no ack":
        run.fail(who, t_ns, last=station.data_tries >= dcf.long_retry_limit)
    elif what in ("cts", "ack"):
        run.answer(who, t_ns, what)
    else:
        run.answered(who, t_ns, what.removeprefix("end of "))


def simulate_rts(dcf: Dcf, frame_bytes: int, duration_s: float, seed: int) -> HiddenRts:
    """Return what two hidden stations achieve over so long when each asks before it sends."""
    run = _Run(dcf, dcf.air_ns(frame_bytes, dcf.data_rate_bps), random.Random(seed))
    for who in (0, 1):
        run.next_frame(who, dcf.difs_ns)
    while run.events[0][0] < duration_s * NS_PER_S:
        t_ns, _, what, who, turn = heapq.heappop(run.events)
        _step(run, t_ns, what, who, turn)
    return HiddenRts(
        rts_per_s=run.found["rts"] / duration_s,
        attempts_per_s=run.found["data"] / duration_s,
        delivered_per_s=run.found["delivered"] / duration_s,
    )
