"""What happened to one SCTP association, told on the packets its sender sends and gets. Pure.

Invariants: rows come in order of time, data as sent and acknowledgements as delivered; TSNs count
from 0, as in ``packets.parquet`` and as Wireshark shows relative ones, chunks from 1, as in figures
and in the table of episodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from reports.wireshark.fates import Fate
from reports.wireshark.recovery import AT_ONCE_S, THRESHOLD, Cause, Recovery
from reports.wireshark.tcp_story import nothing_met
from reports.wireshark.words import nth, why_again

#: Columns of ``packets.parquet`` behind :class:`SctpPacket`, in its order; TSNs are derived.
COLUMNS = (
    "row", "t_s", "direction", "packet", "chunk_types", "tsns", "retransmission", "cum_tsn_ack",
    "gap_blocks", "duplicate_tsns", "a_rwnd_bytes", "path",
)  # fmt: skip
REPORT = "SACK that reports it missing"
#: More TSNs than these are counted, not named, in one comment.
MOST_NAMED = 3
CONTROL = {
    "INIT": "connect: INIT",
    "COOKIE_ECHO": "connect: COOKIE-ECHO",
    "SHUTDOWN": "close: SHUTDOWN",
    "ABORT": "abort",
}
ANSWERS = {
    "INIT_ACK": "connect: INIT-ACK",
    "COOKIE_ACK": "connect: accepted (COOKIE-ACK)",
    "SHUTDOWN_ACK": "close: SHUTDOWN-ACK",
    "ABORT": "aborted by the receiver",
}


class SctpPacket(NamedTuple):
    """One packet at the sender's own link; what is unknown is None."""

    row: int
    t_s: float
    direction: str
    packet: int | None
    chunk_types: str | None
    tsns: Sequence[int] | None
    retransmission: bool | None
    cum_tsn_ack: int | None
    gap_blocks: Sequence[Mapping[str, int]] | None
    duplicate_tsns: Sequence[int] | None
    a_rwnd_bytes: int | None
    path: int = 1


def named(tsns: Sequence[int]) -> str:
    """Return chunks in words: ``chunk 8 (TSN 7)``, ``chunks 8, 10, 13 and 4 more (TSN 7, …)``."""
    if len(tsns) == 1:
        return f"chunk {tsns[0] + 1} (TSN {tsns[0]})"
    more = f" and {len(tsns) - MOST_NAMED} more" if len(tsns) > MOST_NAMED else ""
    chunks, numbers = (", ".join(str(tsn + base) for tsn in tsns[:MOST_NAMED]) for base in (1, 0))
    return f"chunks {chunks}{more} (TSN {numbers}{', …' if more else ''})"


def missing(cum_tsn_ack: int, gap_blocks: Sequence[Mapping[str, int]]) -> list[int]:
    """Return the TSNs between those a SACK acknowledges, both included blocks sorted or not."""
    found: list[int] = []
    after = cum_tsn_ack + 1
    for gap in sorted(gap_blocks, key=lambda block: block["start"]):
        found += range(after, gap["start"])
        after = max(after, gap["end"] + 1)
    return found


class SctpStory:
    """Follows one association; ``said`` is by row, ``labels`` names what a lost packet carried."""

    def __init__(
        self, fates: Mapping[int, Fate], recovery: Recovery,
        met: Callable[[float], str] = nothing_met,
    ) -> None:  # fmt: skip
        self.said: dict[int, list[str]] = {}
        self.labels: dict[int, str] = {}
        self._fates = fates
        self._met = met
        self._missing: int | None = None
        self._recovery = recovery
        self._copies: dict[int, list[int | None]] = {}
        self._reports: dict[int, int] = {}
        self._reached = -1
        self._acked = -1
        self._heard_s = -math.inf
        self._window_shut = False
        self._path: int | None = None

    def tell(self, packets: Iterable[SctpPacket]) -> None:
        """Take in all packets."""
        for packet in packets:
            if packet.direction == "data":
                self._sent(packet)
            else:
                self._heard(packet)

    def _say(self, row: int, text: str) -> None:
        self.said.setdefault(row, []).append(text)

    def _sent(self, packet: SctpPacket) -> None:
        kinds = (packet.chunk_types or "").split("+")
        for kind in kinds:
            if kind in CONTROL:
                self._say(packet.row, CONTROL[kind])
        tsns = packet.tsns or ()
        if tsns and not self._copies:
            self._say(packet.row, "first data")
        if tsns and packet.path != self._path:
            if self._path is not None:
                self._say(packet.row, f"over path {packet.path}, after path {self._path}")
            self._path = packet.path
        again = [tsn for tsn in tsns if tsn in self._copies]
        if again:
            self._repeated(packet, again)
        elif tsns and self._missing is not None and packet.t_s - self._heard_s <= AT_ONCE_S:
            on = f"{nth(self._reports[self._missing])} SACK that reports {named([self._missing])}"
            self._say(packet.row, f"new data on the {on} missing: {named(tsns)}")
        for tsn in tsns:
            self._copies.setdefault(tsn, []).append(packet.packet)
            self._reached = max(self._reached, tsn)
        if packet.packet is not None and packet.packet in self._fates:
            self.labels[packet.packet] = named(tsns) if tsns else packet.chunk_types or "no data"

    def _repeated(self, packet: SctpPacket, again: Sequence[int]) -> None:
        what, cause = named(again), self._cause(packet, again)
        if not self._recovery.going_on:
            text = self._recovery.begin(packet.t_s, self._reached, cause).text(what, REPORT)
            text += self._recovery.windows
        elif cause.by == "timeout":
            self._recovery.timed_out(self._reached)
            text = cause.text(what, REPORT)
        elif self._recovery.after_timeout:
            text = f"retransmission of {what}, in the recovery after the timeout"
        elif cause.reports >= THRESHOLD and len(self._copies[again[0]]) == 1:
            text = f"{cause.text(what, REPORT)}, in the same recovery"
        else:
            text = f"retransmission of {what}, in the same recovery"
        self._say(packet.row, text + self._why(again[0]))

    def _why(self, tsn: int) -> str:
        before = self._copies[tsn]
        if before[-1] is None:
            return ""
        return f"; {why_again(self._fates.get(before[-1]), len(before))}"

    def _cause(self, packet: SctpPacket, again: Sequence[int]) -> Cause:
        """Return why: SCTP acts on the threshold of reports, or when its timer ends.

        What a timeout marked is sent then and whenever any packet, be it a HEARTBEAT, arrives.
        """
        reports = max(self._reports.get(tsn, 0) for tsn in again)
        answering = packet.t_s - self._heard_s <= AT_ONCE_S
        fast = answering and (reports >= THRESHOLD or self._recovery.after_timeout)
        return Cause(by="dupacks" if fast else "timeout", reports=reports)

    def _heard(self, packet: SctpPacket) -> None:
        self._heard_s, self._missing = packet.t_s, None
        for kind in (packet.chunk_types or "").split("+"):
            if kind in ANSWERS:
                self._say(packet.row, ANSWERS[kind])
        if packet.cum_tsn_ack is None:
            return
        for tsn in [tsn for tsn in self._reports if tsn <= packet.cum_tsn_ack]:
            del self._reports[tsn]
        self._acked = max(self._acked, packet.cum_tsn_ack)
        self._look_at_window(packet)
        if packet.gap_blocks:
            self._count(packet, missing(packet.cum_tsn_ack, packet.gap_blocks))
        if packet.duplicate_tsns:
            self._say(packet.row, f"reports {named(packet.duplicate_tsns)} received again")
        over = self._recovery.acknowledged(packet.t_s, self._acked)
        if over:
            self._say(packet.row, over)

    def _count(self, packet: SctpPacket, lacking: Sequence[int]) -> None:
        """Count the reports of each missing TSN and tell the first few."""
        times: list[str] = []
        for tsn in lacking:
            self._reports[tsn] = self._reports.get(tsn, 0) + 1
            if len(times) < MOST_NAMED:
                times.append(f"{named([tsn])} missing for the {nth(self._reports[tsn])} time")
        more = f", and {len(lacking) - MOST_NAMED} more" if len(lacking) > MOST_NAMED else ""
        if times:
            self._missing = lacking[0]
            self._say(packet.row, f"reports {', '.join(times)}{more}{self._met(packet.t_s)}")

    def _look_at_window(self, packet: SctpPacket) -> None:
        shut = packet.a_rwnd_bytes == 0
        if shut != self._window_shut:
            self._say(packet.row, "zero window" if shut else "the window is open again")
        self._window_shut = shut
