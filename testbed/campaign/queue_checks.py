"""Judge a managed queue: what its calibration measured against what it was asked to be. Pure.

A burst comes at once to an empty queue. CoDel (RFC 8289, 5), and FQ-CoDel with one flow, drop its
first packet one interval after the stay has reached the target, and the second an interval later;
which packets these are follows from the rate. PIE (RFC 8033) drops by chance, so its queue is
overloaded for some seconds: packets must come to stay about its target.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Protocol

from model.check import Check
from model.tolerances import Tolerances
from model.units import NS_PER_S
from testbed.guest.link_fill import Fill

#: Packets by which the two first drops may be others: the queue looks one packet ahead, and the
#: bucket above it lets that go a little early.
NEARBY_PKTS = 1
#: Of an overload, the part at its end that is looked at; and how much less or more of the target
#: packets may stay there, besides the two packets that PIE never drops (RFC 8033, 4.1).
SETTLED_FRAC, TARGET_FACTOR, SPARED_PKTS = 0.5, 2.0, 2
#: Overloads that are cut shorter than this say nothing.
LEAST_OVERLOAD_S = 5.0


class Arrived(Protocol):
    """A packet that came, with its number and when it was sent and came."""

    @property
    def seq(self) -> int: ...  # noqa: D102
    @property
    def send_ns(self) -> int: ...  # noqa: D102
    @property
    def recv_ns(self) -> int: ...  # noqa: D102


def checks(
    fill: Fill, where: str, send_s: float, log: Sequence[Arrived], tolerances: Tolerances
) -> list[Check]:
    """Return what one way of a link with a managed queue is judged by, besides its rate."""
    if fill.overload:
        return [_controller(fill, where, send_s, log)]
    found = [_room(fill, where, send_s, log, tolerances)]
    if fill.direction.discipline.kind != "pie":
        found.append(_first_drops(fill, where, send_s, log))
    return found


def _stays_s(fill: Fill, log: Sequence[Arrived]) -> list[float]:
    return [(one.recv_ns - one.send_ns) / NS_PER_S - fill.direction.owd_s for one in log]


def _room(
    fill: Fill, where: str, send_s: float, log: Sequence[Arrived], tolerances: Tolerances
) -> Check:
    """How many packets of a burst the queue takes: as many as were before the last one it took.

    CoDel may drop that one itself later, so one packet less is no mistake of it. FQ-CoDel makes
    room by dropping others: it gets no more than it must hold, and may not do so.
    """
    wanted_pkts, kind = fill.direction.queue_pkts, fill.direction.discipline.kind
    last = max(log, key=lambda one: one.seq)
    missing = last.seq + 1 - len(log)
    if kind == "fq_codel":
        at_once = sum(1 for one in _missing(log)[:2] if one < wanted_pkts and one <= 2)
        got = f"{at_once} dropped at once" if at_once else "none dropped at once"
        wanted = f"at least {wanted_pkts} packets"
        return Check(check="buffer", where=where, wanted=wanted, got=got, agrees=not at_once)
    if fill.direction.loss.model != "none" and kind == "codel":
        wanted = f"{wanted_pkts} packets"
        return Check(check="buffer", where=where, wanted=wanted, agrees=None,
                     got="the loss model loses packets of the burst, too")  # fmt: skip
    slack_s = min(tolerances.delay_s, send_s / 4)
    (stay_s,) = _stays_s(fill, [last])
    held = math.ceil((stay_s - slack_s) / send_s) + (missing if kind == "codel" else 0)
    fewer = 1 if kind == "codel" else 0
    return Check(
        check="buffer", where=where, got=f"{held} packets",
        wanted=f"{wanted_pkts} packets" + (" or one fewer" if fewer else ""),
        agrees=wanted_pkts - fewer <= held <= wanted_pkts,
    )  # fmt: skip


def _missing(log: Sequence[Arrived]) -> list[int]:
    there = {one.seq for one in log}
    return [seq for seq in range(max(there)) if seq not in there]


def first_drops(
    sent_s: Sequence[float], send_s: float, target_s: float, interval_s: float
) -> tuple[int, ...]:
    """Return which two packets of a burst CoDel drops first, as far as it is long enough.

    ``sent_s`` is when each came to the queue. A packet is looked at when the one before it leaves,
    and that of number 0 leaves at once.
    """
    found: list[int] = []
    now_s, above_s, next_s = sent_s[0], math.inf, math.inf
    number = 1
    while number < len(sent_s) and len(found) < 2:
        stay_s = now_s - sent_s[number]
        if math.isinf(above_s) and stay_s >= target_s:
            above_s = now_s + interval_s
        if now_s > above_s and (not found or now_s >= next_s):
            found.append(number)
            next_s = now_s + interval_s
            number += 1
            continue
        now_s += send_s
        number += 1
    return tuple(found)


def _first_drops(fill: Fill, where: str, send_s: float, log: Sequence[Arrived]) -> Check:
    managed = fill.direction.discipline
    what = f"target {managed.target_s * 1000:g} ms, interval {managed.interval_s * 1000:g} ms"
    sent_s = {one.seq: one.send_ns / NS_PER_S for one in log}
    every_s = [sent_s.get(0, min(sent_s.values()))]
    for seq in range(1, fill.direction.queue_pkts):
        every_s.append(sent_s.get(seq, every_s[-1]))
    foretold = first_drops(every_s, send_s, managed.target_s, managed.interval_s)
    lost = _missing(log)[: len(foretold)]
    wanted = f"{what}: of the burst packets {_and(foretold)} are dropped first"
    if len(foretold) < 2 or fill.direction.loss.model != "none":
        why = "the loss model loses some, too" if foretold[1:] else "too few packets fit"
        return Check(check="queue discipline", where=where, wanted=what, agrees=None,
                     got=f"cannot tell: {why}")  # fmt: skip
    near = len(lost) == len(foretold) and all(
        abs(one - other) <= NEARBY_PKTS for one, other in zip(foretold, lost, strict=True)
    )
    return Check(
        check="queue discipline", where=where, wanted=f"{wanted}, or the next to them",
        got=f"{_and(lost)}" if lost else "none", agrees=near,
    )  # fmt: skip


def _and(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers)) or "none"


def _controller(fill: Fill, where: str, send_s: float, log: Sequence[Arrived]) -> Check:
    """Return whether packets of an overload come to stay about the target."""
    target_s = fill.direction.discipline.target_s
    least_s = target_s / TARGET_FACTOR
    most_s = target_s * TARGET_FACTOR + SPARED_PKTS * send_s
    wanted = f"a median stay of {least_s * 1000:.3g} to {most_s * 1000:.3g} ms"
    what = "queue discipline"
    if fill.rounds() * fill.round_s() < LEAST_OVERLOAD_S:
        return Check(check=what, where=where, wanted=wanted, agrees=None,
                     got="cannot tell: too many packets would be needed")  # fmt: skip
    settled = sorted(log, key=lambda one: one.recv_ns)[round(SETTLED_FRAC * len(log)) :]
    stay_s = statistics.median(_stays_s(fill, settled)) - send_s
    return Check(check=what, where=where, wanted=wanted, got=f"{stay_s * 1000:.3g} ms",
                 agrees=least_s <= stay_s <= most_s)  # fmt: skip
