"""Two saturated stations that do not hear each other, sending to one between them.

A little event simulation of its own, to hold the medium against: it shares no code with it, knows
two stations only, and counts in continuous time. Pure; randomness from the seed given. Invariant:
both stations hear every ACK, neither hears the other's frames.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from dataclasses import dataclass, field

from mininet_topos.radio.dcf_theory import NS_PER_S, Dcf


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """What both stations sent together, and what came of it, per second."""

    attempts_per_s: float
    delivered_per_s: float


@dataclass
class _Station:
    begin_ns: int = 0
    slots: int = 0
    tries: int = 0
    counts: bool = True
    version: int = 0
    clean: bool = False
    sending: bool = False


@dataclass
class _Run:
    dcf: Dcf
    data_ns: int
    draws: random.Random
    stations: tuple[_Station, _Station] = field(default_factory=lambda: (_Station(), _Station()))
    events: list[tuple[int, int, str, int, int]] = field(default_factory=list)
    acking: bool = False
    found: Counter[str] = field(default_factory=Counter)

    def add(self, t_ns: int, rank: int, what: str, who: int, version: int = 0) -> None:
        heapq.heappush(self.events, (t_ns, rank, what, who, version))

    def count_down(self, who: int) -> None:
        station = self.stations[who]
        station.version += 1
        start_ns = station.begin_ns + station.slots * self.dcf.slot_ns
        self.add(start_ns, 3, "start", who, station.version)

    def draw(self, who: int, begin_ns: int) -> None:
        station = self.stations[who]
        window = min((self.dcf.cw_min_slots + 1) << station.tries, self.dcf.cw_max_slots + 1)
        station.slots, station.begin_ns, station.counts = (
            self.draws.randrange(window),
            begin_ns,
            True,
        )
        if not self.acking:
            self.count_down(who)

    def start(self, who: int, t_ns: int) -> None:
        station, other = self.stations[who], self.stations[1 - who]
        self.found["attempts"] += 1
        station.counts, station.sending = False, True
        station.clean = not other.sending and not self.acking
        if other.sending:
            other.clean = False
        self.add(t_ns + self.data_ns, 0, "end", who)

    def end(self, who: int, t_ns: int) -> None:
        station = self.stations[who]
        station.sending = False
        if station.clean:
            self.add(t_ns + self.dcf.sifs_ns, 1, "ack", who)
        else:
            self.add(t_ns + self.dcf.sifs_ns + self.dcf.ack_ns(), 2, "missed", who)

    def ack(self, who: int, t_ns: int) -> None:
        """Begin an ACK: who counts down stands still, who sends into it is not heard."""
        self.acking = True
        for station in self.stations:
            station.clean = False
            if station.counts:
                station.version += 1
                gone = max(t_ns - station.begin_ns, 0) // self.dcf.slot_ns
                station.slots = max(station.slots - gone, 0)
        self.add(t_ns + self.dcf.ack_ns(), 0, "acked", who)

    def acked(self, who: int, t_ns: int) -> None:
        self.found["delivered"] += 1
        self.acking = False
        self.stations[who].tries = 0
        for index, station in enumerate(self.stations):
            if index != who and station.counts:
                station.begin_ns = max(station.begin_ns, t_ns + self.dcf.difs_ns)
                self.count_down(index)
        self.draw(who, t_ns + self.dcf.difs_ns)

    def missed(self, who: int, t_ns: int) -> None:
        station = self.stations[who]
        station.tries = (station.tries + 1) % self.dcf.retry_limit
        self.draw(who, t_ns + self.dcf.difs_ns)


def simulate(dcf: Dcf, frame_bytes: int, duration_s: float, seed: int) -> Hidden:
    """Return what two hidden stations achieve over so long."""
    run = _Run(dcf, dcf.air_ns(frame_bytes, dcf.data_rate_bps), random.Random(seed))
    for who in (0, 1):
        run.draw(who, dcf.difs_ns)
    while run.events[0][0] < duration_s * NS_PER_S:
        t_ns, _, what, who, version = heapq.heappop(run.events)
        if what == "start":
            if version == run.stations[who].version and run.stations[who].counts:
                run.start(who, t_ns)
        elif what == "end":
            run.end(who, t_ns)
        elif what == "ack":
            run.ack(who, t_ns)
        elif what == "acked":
            run.acked(who, t_ns)
        else:
            run.missed(who, t_ns)
    return Hidden(
        attempts_per_s=run.found["attempts"] / duration_s,
        delivered_per_s=run.found["delivered"] / duration_s,
    )
