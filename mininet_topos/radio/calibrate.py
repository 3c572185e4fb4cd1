"""A medium held against what the DCF must yield: refused if it is off.

Pure: what was measured comes from the medium's own list of transmissions (``--frames``). Invariant:
a measured value outside its margin is a :class:`RunError` that says what was wanted and got.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mininet_topos.radio.dcf_theory import NS_PER_S, Dcf, one_sender_bps, saturated
from mininet_topos.radio.hidden_rts import simulate_rts
from mininet_topos.radio.hidden_terminals import simulate
from model.errors import RunError

#: One sender: only the mean of thousands of backoffs is left to chance.
ONE_SENDER_FRAC = 0.01
#: Bianchi counts a busy period as one slot of the backoff, the standard does not: a few per cent.
SATURATED_FRAC = 0.05
#: Both sides are simulations of some thousand deliveries.
HIDDEN_FRAC = 0.10
SIMULATED_S = 200.0


@dataclass(frozen=True, kw_only=True)
class Sent:
    """One transmission, of a data frame or of an RTS."""

    begin_ns: int
    end_ns: int
    sender: int
    frame_bytes: int
    outcome: str


def data_frames(lines: Iterable[str], least_bytes: int, kind: str = "data") -> Iterator[Sent]:
    """Yield the unicast transmissions of a kind, of so many bytes at least, of a ``--frames`` file.

    ``kind`` is ``data`` or ``rts``.
    """
    for line in lines:
        field = line.rstrip("\n").split("\t")
        if len(field) == 9 and field[2] == kind and int(field[7]) >= least_bytes:
            yield Sent(
                begin_ns=int(field[0]), end_ns=int(field[1]), sender=int(field[3]),
                frame_bytes=int(field[7]), outcome=field[8],
            )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a span of transmissions came to."""

    frame_bytes: int
    attempts_per_s: float
    delivered_per_s: float

    def goodput_bps(self, payload_bytes: int) -> float:
        """Return the payload delivered."""
        return self.delivered_per_s * payload_bytes * 8


def measure(sent: Iterable[Sent], from_ns: int, to_ns: int) -> Measured:
    """Return the rates of what ended in a span; raises :class:`RunError` if that is nothing."""
    inside = [each for each in sent if from_ns <= each.end_ns < to_ns]
    if not inside:
        raise RunError("nothing was sent", where=f"{from_ns} to {to_ns} ns")
    delivered = sum(each.outcome == "delivered" for each in inside)
    span_s = (to_ns - from_ns) / NS_PER_S
    return Measured(
        frame_bytes=max(each.frame_bytes for each in inside),
        attempts_per_s=len(inside) / span_s,
        delivered_per_s=delivered / span_s,
    )


def check(what: str, wanted: float, got: float, margin_frac: float) -> None:
    """Raise :class:`RunError` unless a value is within a fraction of what it should be."""
    if abs(got - wanted) > margin_frac * wanted:
        raise RunError(
            f"the medium's {what} is off", where="calibration of the radio medium",
            wanted=f"{wanted:.6g} within {margin_frac:.0%}", got=f"{got:.6g}",
            hint="is every time and window of the medium that of the DCF assumed?",
        )  # fmt: skip


def check_one_sender(dcf: Dcf, got: Measured, payload_bytes: int) -> None:
    """Raise :class:`RunError` unless one saturated sender gets what its timing leaves."""
    wanted = one_sender_bps(dcf, got.frame_bytes, payload_bytes)
    check("goodput over one hop", wanted, got.goodput_bps(payload_bytes), ONE_SENDER_FRAC)


def check_saturated(dcf: Dcf, stations: int, got: Measured, payload_bytes: int) -> None:
    """Raise :class:`RunError` unless a cell of saturated stations does as Bianchi's model."""
    wanted = saturated(dcf, stations, got.frame_bytes, payload_bytes)
    goodput_bps = got.goodput_bps(payload_bytes)
    check(f"goodput with {stations} stations", wanted.goodput_bps, goodput_bps, SATURATED_FRAC)


def check_hidden(dcf: Dcf, got: Measured) -> None:
    """Raise :class:`RunError` unless two hidden terminals do as another simulation of them."""
    wanted = simulate(dcf, got.frame_bytes, SIMULATED_S, seed=1)
    check("attempts of hidden terminals", wanted.attempts_per_s, got.attempts_per_s, HIDDEN_FRAC)
    check(
        "deliveries of hidden terminals", wanted.delivered_per_s, got.delivered_per_s, HIDDEN_FRAC
    )


def check_hidden_rts(dcf: Dcf, got: Measured, asked: Measured) -> None:
    """Raise :class:`RunError` unless two hidden terminals with RTS do as another simulation.

    ``got`` is of the data frames, ``asked`` of the RTS.
    """
    wanted = simulate_rts(dcf, got.frame_bytes, SIMULATED_S, seed=1)
    for what, expected, measured in (
        ("RTS of hidden terminals", wanted.rts_per_s, asked.attempts_per_s),
        ("frames of hidden terminals with RTS", wanted.attempts_per_s, got.attempts_per_s),
        ("deliveries of hidden terminals with RTS", wanted.delivered_per_s, got.delivered_per_s),
    ):
        check(what, expected, measured, HIDDEN_FRAC)
