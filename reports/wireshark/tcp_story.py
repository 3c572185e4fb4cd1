"""What happened to one TCP connection, told on the packets its sender sends and gets. Pure.

Invariants: rows come in order of time, data as sent and acknowledgements as delivered; segments are
numbered from 1 by bytes over the segment size, as in the figures and the table of episodes.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from reports.wireshark.fates import Fate
from reports.wireshark.recovery import AT_ONCE_S, THRESHOLD, Cause, Recovery
from reports.wireshark.words import nth, why_again

FIN, SYN, RST, ACK = 1, 2, 4, 16
#: Columns of ``packets.parquet`` behind :class:`TcpPacket`, in its order; the last is derived.
COLUMNS = (
    "row", "t_s", "direction", "packet", "tcp_flags", "seq", "payload_bytes", "retransmission",
    "ack", "window_bytes", "dupack_count",
)  # fmt: skip
REPORT = "duplicate acknowledgement"
#: What Wireshark 4.0 takes for fast, and what it takes for the round trip if it saw no handshake.
WIRESHARK_FAST_S, WIRESHARK_RTT_S = 0.02, 0.003


def nothing_met(_t_s: float) -> str:
    """Return what is known of the windows that acknowledgements met without the kernel's events."""
    return ""


class TcpPacket(NamedTuple):
    """One packet at the sender's own link; what is unknown is None."""

    row: int
    t_s: float
    direction: str
    packet: int | None
    flags: int | None
    seq: int | None
    payload_bytes: int | None
    retransmission: bool | None
    ack: int | None
    window_bytes: int | None
    dupack_count: int | None


class TcpStory:
    """Follows one connection; ``said`` is by row, ``labels`` names what a lost packet carried.

    ``misjudged`` are the rows of retransmissions that Wireshark 4.0 calls out of order.
    """

    def __init__(
        self, fates: Mapping[int, Fate], recovery: Recovery, segment_bytes: int,
        met: Callable[[float], str] = nothing_met,
    ) -> None:  # fmt: skip
        self.said: dict[int, list[str]] = {}
        self.labels: dict[int, str] = {}
        self.misjudged: list[int] = []
        self._segment_bytes = segment_bytes
        self._met = met
        self._fates = fates
        self._recovery = recovery
        self._starts: list[int] = []
        self._copies: dict[int, list[int | None]] = {}
        self._sent_s: dict[int, float] = {}
        self._reached = 0
        self._acked = 0
        self._heard_s = -math.inf
        self._progress_s = -math.inf
        self._dupacks = 0
        self._on_duplicate = False
        self._last_ack = 0
        self._syn_s: float | None = None
        self._handshake_s = WIRESHARK_RTT_S
        self._reached_s = -math.inf
        self._rtt_s = math.inf
        self._window_shut = False

    def tell(self, packets: Iterable[TcpPacket]) -> None:
        """Take in all packets."""
        for packet in packets:
            if packet.flags is None:
                continue
            self._time_handshake(packet, packet.flags)
            if packet.direction == "data":
                self._sent(packet, packet.flags)
            else:
                self._heard(packet, packet.flags)

    def _time_handshake(self, packet: TcpPacket, flags: int) -> None:
        """Take the first round trip as Wireshark does."""
        if flags & (SYN | ACK) == SYN:
            self._syn_s = packet.t_s
        elif flags & (SYN | ACK) == ACK and self._syn_s is not None:
            self._handshake_s, self._syn_s = packet.t_s - self._syn_s, None

    def _say(self, row: int, text: str) -> None:
        self.said.setdefault(row, []).append(text)

    def _sent(self, packet: TcpPacket, flags: int) -> None:
        if flags & SYN:
            again = "connect again: the SYN was not answered in time"
            self._say(packet.row, again if packet.retransmission else "connect: SYN")
        if flags & FIN and not packet.retransmission:
            self._say(packet.row, "close: FIN, no more data")
        if flags & RST:
            self._say(packet.row, "reset")
        seq, payload_bytes = packet.seq, packet.payload_bytes
        if seq is None or not payload_bytes:
            self._name_lost(packet, "SYN" if flags & SYN else "FIN" if flags & FIN else "no data")
            return
        end = seq + payload_bytes
        if packet.retransmission:
            self._repeated(packet, seq, end)
        else:
            if not self._starts:
                self._say(packet.row, "first data")
            self._say_if_on_duplicate(packet, seq)
            self._starts.append(seq)
            self._copies[seq] = []
            self._sent_s[end] = packet.t_s
        if end > self._reached:
            self._reached, self._reached_s = end, packet.t_s
        self._copies.setdefault(seq, []).append(packet.packet)
        self._name_lost(packet, self._label(seq))

    def _name_lost(self, packet: TcpPacket, label: str) -> None:
        if packet.packet is not None and packet.packet in self._fates:
            self.labels[packet.packet] = label

    def _label(self, seq: int) -> str:
        return f"segment {(seq - 1) // self._segment_bytes + 1} (seq {seq})"

    def _say_if_on_duplicate(self, packet: TcpPacket, seq: int) -> None:
        if self._on_duplicate and packet.t_s - self._heard_s <= AT_ONCE_S:
            on = f"on the {nth(self._dupacks)} {REPORT}"
            self._say(packet.row, f"new data {on}: {self._label(seq)}")

    def _looks_out_of_order(self, packet: TcpPacket, seq: int, end: int) -> bool:
        """Return whether Wireshark 4.0 takes this retransmission for an original, come late."""
        fast = (
            self._dupacks >= THRESHOLD - 1
            and seq == self._last_ack
            and packet.t_s - self._heard_s < WIRESHARK_FAST_S
        )
        late = packet.t_s - self._reached_s < self._handshake_s and end != self._reached
        return late and not fast and end > self._last_ack

    def _repeated(self, packet: TcpPacket, seq: int, end: int) -> None:
        if self._looks_out_of_order(packet, seq, end):
            self.misjudged.append(packet.row)
        what, cause = self._label(seq), self._cause(packet, seq, end)
        timer = cause.by in ("timeout", "probe", "silence")
        if not self._recovery.going_on:
            text = self._recovery.begin(packet.t_s, self._reached, cause).text(what, REPORT)
            text += self._recovery.windows
        elif timer:
            if cause.by != "probe":
                self._recovery.timed_out(self._reached)
            text = cause.text(what, REPORT)
        elif self._recovery.after_timeout:
            text = f"retransmission of {what}, in the recovery after the timeout"
        else:
            text = f"retransmission of {what}, in the same recovery"
        self._say(packet.row, text + self._why(seq))

    def _why(self, seq: int) -> str:
        before = self._copies.get(seq, [])
        if not before or before[-1] is None:
            return ""
        return f"; {why_again(self._fates.get(before[-1]), len(before))}"

    def _cause(self, packet: TcpPacket, seq: int, end: int) -> Cause:
        silent_s = packet.t_s - self._heard_s
        if silent_s <= AT_ONCE_S:
            return Cause(
                by="dupacks" if self._dupacks >= THRESHOLD else "rack", reports=self._dupacks
            )
        # RACK's timer is shorter than a round trip; the others are longer, counted from progress.
        if (
            min(silent_s if self._dupacks else math.inf, packet.t_s - self._progress_s)
            < self._rtt_s
        ):
            return Cause(by="rack", reports=self._dupacks)
        lowest, highest = seq <= self._acked, end >= self._reached
        by = "timeout" if not highest else "silence" if lowest else "probe"
        return Cause(by=by, reports=self._dupacks)

    def _heard(self, packet: TcpPacket, flags: int) -> None:
        if flags & RST:
            self._say(packet.row, "reset by the receiver")
        if packet.ack is None:
            return
        if flags & SYN:
            self._say(packet.row, "connect: accepted (SYN, ACK)")
        self._heard_s = packet.t_s
        self._look_at_window(packet, flags)
        count = packet.dupack_count or 0
        self._on_duplicate = bool(count) and self._acked >= packet.ack < self._reached
        if packet.ack > self._acked:
            self._advanced(packet.ack, packet.t_s)
        elif self._on_duplicate:
            asks = f"asks for {self._label(packet.ack)}"
            self._say(packet.row, f"{nth(count)} {REPORT}, {asks}{self._met(packet.t_s)}")
        self._dupacks, self._last_ack = count, packet.ack
        over = self._recovery.acknowledged(packet.t_s, self._acked)
        if over:
            self._say(packet.row, over)

    def _advanced(self, ack: int, t_s: float) -> None:
        self._acked, self._progress_s = ack, t_s
        sent_s = self._sent_s.get(ack)
        start = self._starts[bisect_right(self._starts, ack - 1) - 1] if self._starts else 0
        if sent_s is not None and len(self._copies.get(start, [])) == 1:
            self._rtt_s = min(self._rtt_s, t_s - sent_s)

    def _look_at_window(self, packet: TcpPacket, flags: int) -> None:
        shut = packet.window_bytes == 0 and not flags & (SYN | RST)
        if shut != self._window_shut:
            self._say(packet.row, "zero window" if shut else "the window is open again")
        self._window_shut = shut
