"""What IEEE 802.11's DCF yields by calculation: one saturated sender, and many in one cell.

Pure. Times are in ns. Formulas: one sender from the access rules of IEEE 802.11-1999, 9.2.5
(backoff uniform over 0 to CWmin); many from G. Bianchi, "Performance Analysis of the IEEE 802.11
Distributed Coordination Function", IEEE JSAC 18(3), 2000, with the finite retries of H. Wu et al.,
"Performance of Reliable Transport Protocol over IEEE 802.11 Wireless LAN", INFOCOM 2002; with
RTS and CTS (Bianchi's section V.C) a success is longer by both, and a collision costs an RTS only.
"""

from __future__ import annotations

from dataclasses import dataclass

NS_PER_S = 1_000_000_000
ACK_BYTES = 14
RTS_BYTES = 20
BISECTIONS = 200


@dataclass(frozen=True, kw_only=True)
class Dcf:
    """The parameters of the DCF; the defaults are those of 802.11b's long preamble at 2 Mbit/s."""

    slot_ns: int = 20_000
    sifs_ns: int = 10_000
    difs_ns: int = 50_000
    preamble_ns: int = 192_000
    cw_min_slots: int = 31
    cw_max_slots: int = 1023
    retry_limit: int = 7
    long_retry_limit: int = 4
    rts: bool = False
    data_rate_bps: int = 2_000_000
    ack_rate_bps: int = 1_000_000

    def air_ns(self, frame_bytes: int, rate_bps: int) -> int:
        """Return how long a frame of so many bytes, its checksum included, is on the air."""
        return self.preamble_ns + -(-frame_bytes * 8 * NS_PER_S // rate_bps)

    def ack_ns(self) -> int:
        """Return how long an ACK is on the air; a CTS is as long."""
        return self.air_ns(ACK_BYTES, self.ack_rate_bps)

    def rts_ns(self) -> int:
        """Return how long an RTS is on the air."""
        return self.air_ns(RTS_BYTES, self.ack_rate_bps)

    def clearing_ns(self) -> int:
        """Return what precedes a frame that is sent after RTS and CTS, each with SIFS."""
        return self.rts_ns() + self.ack_ns() + 2 * self.sifs_ns if self.rts else 0

    def exchange_ns(self, frame_bytes: int) -> int:
        """Return how long a unicast frame keeps the medium, from its begin to the end of DIFS."""
        data_ns = self.air_ns(frame_bytes, self.data_rate_bps)
        return self.clearing_ns() + data_ns + self.sifs_ns + self.ack_ns() + self.difs_ns

    def collision_ns(self, frame_bytes: int) -> int:
        """Return how long a collision keeps the medium: as long as who sent waits for an answer.

        The others wait for EIFS, which is as long.
        """
        if not self.rts:
            return self.exchange_ns(frame_bytes)
        return self.rts_ns() + self.sifs_ns + self.ack_ns() + self.difs_ns


def one_sender_bps(dcf: Dcf, frame_bytes: int, payload_bytes: int) -> float:
    """Return the payload rate of one saturated sender that meets no other, acknowledgements none.

    The mean backoff is half of CWmin.
    """
    backoff_ns = dcf.cw_min_slots * dcf.slot_ns / 2
    return payload_bytes * 8 * NS_PER_S / (dcf.exchange_ns(frame_bytes) + backoff_ns)


def windows(dcf: Dcf) -> list[int]:
    """Return the number of values a backoff has at each transmission of a frame."""
    return [
        min((dcf.cw_min_slots + 1) << tried, dcf.cw_max_slots + 1)
        for tried in range(dcf.retry_limit)
    ]


def attempt_probability(dcf: Dcf, collision_probability: float) -> float:
    """Return with what probability a saturated station sends in a slot.

    A frame makes sum(p^i) transmissions and waits sum(p^i (W_i - 1) / 2) slots before them; every
    transmission is itself one step of the chain (Bianchi's, ended after the last retry as Wu et
    al. end it).
    """
    tries = [collision_probability**tried for tried in range(dcf.retry_limit)]
    waited = sum(
        chance * (window - 1) / 2 for chance, window in zip(tries, windows(dcf), strict=True)
    )
    return sum(tries) / (sum(tries) + waited)


def solve(dcf: Dcf, stations: int) -> tuple[float, float]:
    """Return the fixed point: how likely a station sends in a slot, and how likely it collides."""
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        others = (1 - attempt_probability(dcf, middle)) ** (stations - 1)
        if 1 - others > middle:
            low = middle
        else:
            high = middle
    return attempt_probability(dcf, low), low


@dataclass(frozen=True, kw_only=True)
class Saturated:
    """What a cell of saturated stations yields."""

    goodput_bps: float
    collision_probability: float


def saturated(dcf: Dcf, stations: int, frame_bytes: int, payload_bytes: int) -> Saturated:
    """Return the goodput of one cell of saturated stations (Bianchi's equation 13).

    Without RTS a collision keeps the medium as long as a success. With it all collisions are of
    RTS, so the retry limit is the short one in both.
    """
    tau, collides = solve(dcf, stations)
    idle = (1 - tau) ** stations
    success = stations * tau * (1 - tau) ** (stations - 1)
    slot_ns = idle * dcf.slot_ns + success * dcf.exchange_ns(frame_bytes)
    slot_ns += (1 - idle - success) * dcf.collision_ns(frame_bytes)
    return Saturated(
        goodput_bps=success * payload_bytes * 8 * NS_PER_S / slot_ns,
        collision_probability=collides,
    )
