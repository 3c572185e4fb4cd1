"""Machines' clocks against each other: offset, drift, and how well both are known. Pure.

A clock is asked for its time again and again; an answer was given somewhere between question and
answer, so the middle is its time to half of what both took. The quickest exchanges say most. A line
through them is the clock's offset and drift against that of who asked. It is known to what the
worst of them is off, with half of what that one took: a line so near at both ends is so between,
and little farther off before and after. Unless another exchange, however slow, cannot have been
there: a clock that somebody slewed for a while went by no line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

#: Exchanges that took at most so many times what the quickest did are believed.
QUICK = 2.0
#: So are the quickest in the first and in the last part of all of the time: without these a line
#: through exchanges of one moment would be told to hold hours later.
ENDS_FRAC = 0.1
#: As much as a line may be farther off in those parts than at what is believed there.
BEYOND = 1 + 2 * ENDS_FRAC / (1 - 2 * ENDS_FRAC)
#: Over a shorter time than this no drift is told from noise, in ns.
LEAST_SPAN_NS = 10_000_000_000


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One question and its answer: our time at both, and the machine's between, in ns.

    ``ahead_ns`` is the machine's date since 1970 less its CLOCK_MONOTONIC.
    """

    asked_ns: int
    heard_ns: int
    clock_ns: int
    ahead_ns: int

    @property
    def took_ns(self) -> int:
        """How long it took."""
        return self.heard_ns - self.asked_ns

    @property
    def middle_ns(self) -> int:
        """Our time in its middle."""
        return (self.asked_ns + self.heard_ns) // 2


@dataclass(frozen=True, kw_only=True)
class Clock:
    """A machine's CLOCK_MONOTONIC against ours.

    It shows ``t + offset_ns + drift * (t - at_ns)`` when ours shows t, to ``within_ns``.
    """

    at_ns: int
    offset_ns: float
    drift: float
    within_ns: float
    ahead_ns: int
    exchanges: int

    def shows(self, our_ns: int) -> int:
        """Return what it shows when ours shows that."""
        return our_ns + round(self.offset_ns + self.drift * (our_ns - self.at_ns))

    def ours(self, shown_ns: int) -> int:
        """Return what ours shows when it shows that."""
        since_ns = (shown_ns - self.at_ns - self.offset_ns) / (1 + self.drift)
        return self.at_ns + round(since_ns)


def fit(exchanges: Sequence[Exchange]) -> Clock:
    """Return a clock as its exchanges tell it; at least one is needed."""
    quick = _believed(exchanges)
    at_ns = quick[0].middle_ns
    times = [one.middle_ns - at_ns for one in quick]
    offsets = [one.clock_ns - one.middle_ns for one in quick]
    base_ns = offsets[0]  # so that no digit is lost
    # As much as each says: all is right to half of what it took.
    weights = [1 / max(one.took_ns, 1) ** 2 for one in quick]
    mean_t = fmean(times, weights)
    mean_offset = fmean((offset - base_ns for offset in offsets), weights)
    drift = 0.0
    if times[-1] - times[0] >= LEAST_SPAN_NS:
        spread = sum(w * (t - mean_t) ** 2 for w, t in zip(weights, times, strict=True))
        together = sum(
            w * (t - mean_t) * (offset - base_ns - mean_offset)
            for w, t, offset in zip(weights, times, offsets, strict=True)
        )
        drift = together / spread
    offset_ns = mean_offset - drift * mean_t
    ahead_ns = round(median(one.ahead_ns for one in quick))
    line = Clock(
        at_ns=at_ns, offset_ns=base_ns + offset_ns, drift=drift, within_ns=0.0,
        ahead_ns=ahead_ns, exchanges=len(exchanges),
    )  # fmt: skip
    within_ns = BEYOND * max(
        # A date that was set meanwhile is not known.
        one.took_ns / 2 + _off_ns(line, one) + abs(one.ahead_ns - ahead_ns)
        for one in quick
    )
    against = (
        one.took_ns / 2 + _off_ns(line, one)
        for one in exchanges
        if _off_ns(line, one) - one.took_ns / 2 > within_ns
    )
    return replace(line, within_ns=max((within_ns, *against)))


def _off_ns(line: Clock, one: Exchange) -> int:
    return abs(one.clock_ns - line.shows(one.middle_ns))


def _believed(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Return the quick ones, and the quickest at both ends of the time, in order."""
    took_ns = min(exchange.took_ns for exchange in exchanges) * QUICK
    began_ns, ended_ns = (f(one.middle_ns for one in exchanges) for f in (min, max))
    part_ns = (ended_ns - began_ns) * ENDS_FRAC
    ends = (
        min((one for one in exchanges if one.middle_ns <= began_ns + part_ns), key=_took),
        min((one for one in exchanges if one.middle_ns >= ended_ns - part_ns), key=_took),
    )
    return [one for one in exchanges if one.took_ns <= took_ns or one in ends]


def _took(one: Exchange) -> int:
    return one.took_ns


@dataclass(frozen=True, kw_only=True)
class Shift:
    """Times of one machine's clocks as those of another, the reference."""

    of: Clock
    to: Clock

    def monotonic_ns(self, shown_ns: int) -> int:
        """Return what the reference's CLOCK_MONOTONIC showed when this machine's did that."""
        return shown_ns if self.of == self.to else self.to.shows(self.of.ours(shown_ns))

    def realtime_ns(self, shown_ns: int) -> int:
        """Return the same of the date, in ns since 1970."""
        if self.of == self.to:
            return shown_ns
        return self.monotonic_ns(shown_ns - self.of.ahead_ns) + self.to.ahead_ns

    @property
    def within_ns(self) -> float:
        """How well that is known; the reference's own times are exact."""
        return 0.0 if self.of == self.to else self.of.within_ns + self.to.within_ns
