"""Which packets netem loses, told from its seed: the kernel's generator and loss models. Pure.

Linux draws netem's losses from a generator that its seed fixes (include/linux/prandom.h,
lib/random32.c; models in net/sched/sch_netem.c): what a right path loses is no matter of chance.
A path that loses other packets than told here is another path. How little another one may differ
is known, too: each setting of a loss model is tried a little lower and higher on the same draws,
until another packet is lost. Standard library only, because the lab image reads it too.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from model import draws
from model.links import AnyLoss, BurstLoss, PeriodicLoss

U32_MAX = (1 << 32) - 1
#: Least values of the generator's four words, and per word: a, mask, b and c of TAUSWORTHE().
LEAST = (2, 8, 16, 128)
WORDS = ((6, 13, 4294967294, 18), (2, 27, 4294967288, 2), (13, 21, 4294967280, 7),
         (3, 12, 4294967168, 13))  # fmt: skip
#: By what part of itself each setting of a loss model must not be wrong.
RESOLUTION_FRAC = 0.05
BURST_SETTINGS = ("to_bad_frac", "to_good_frac", "loss_bad_frac", "loss_good_frac")

Fates = Iterator[tuple[bool, ...]]


def first_state(seed: int) -> tuple[int, ...]:
    """Return the generator's four words after it was given a seed of 64 bits."""
    mixed = ((seed >> 32) ^ (seed << 10) ^ seed) & U32_MAX
    return tuple(mixed + least if mixed < least else mixed for least in LEAST)


def uniform(seed: int) -> Iterator[int]:
    """Yield the generator's draws, 32 bits each."""
    words = list(first_state(seed))
    while True:
        drawn = 0
        for i, (a, b, mask, c) in enumerate(WORDS):
            word = words[i]
            word = (((word & mask) << c) & U32_MAX) ^ ((((word << a) & U32_MAX) ^ word) >> b)
            words[i] = word
            drawn ^= word
        yield drawn


def threshold(frac: float) -> int:
    """Return a probability as iproute2 hands it to the kernel."""
    return round(frac * U32_MAX)


def variants(loss: AnyLoss) -> list[AnyLoss]:
    """Return a loss model as asked, then with each of its settings a little lower and higher."""
    if isinstance(loss, PeriodicLoss):
        return _other_periods(loss)
    names = BURST_SETTINGS if isinstance(loss, BurstLoss) else ("loss_frac",)
    found: list[AnyLoss] = [loss]
    for name in names:
        value = getattr(loss, name)
        for factor in (1 - RESOLUTION_FRAC, 1 + RESOLUTION_FRAC):
            changed = min(1.0, value * factor)
            if changed != value:
                found.append(dataclasses.replace(loss, **{name: changed}))
    return found


def _other_periods(loss: PeriodicLoss) -> list[AnyLoss]:
    """Return a periodic loss, then with its settings other by that part, a packet at least."""

    def others(value: int) -> list[int]:
        step = max(1, round(value * RESOLUTION_FRAC))
        return [other for other in (value - step, value + step) if other > 0]

    return [
        loss,
        *(dataclasses.replace(loss, every_pkts=other) for other in others(loss.every_pkts)),
        *(dataclasses.replace(loss, first_pkt=other) for other in others(loss.first_pkt)),
    ]


def fates(models: Sequence[AnyLoss], seed: int) -> Fates:
    """Yield of one packet after another whether it is lost by each of these models of a kind.

    All draw the same. Not netem's, but draws for packets' numbers are ``paired`` and
    ``equal_drops``, whose seed is the cell's; ``periodic`` draws nothing. The packets of these are
    those of one flow.
    """
    first = models[0]
    if isinstance(first, PeriodicLoss):
        periods = [model for model in models if isinstance(model, PeriodicLoss)]
        for number in itertools.count(1):
            yield tuple(period.loses(number) for period in periods)
    elif isinstance(first, BurstLoss):
        yield from burst_fates([m for m in models if isinstance(m, BurstLoss)], uniform(seed))
    elif first.model == "paired":
        below = [draws.threshold(model.loss_frac) for model in models]
        number = 0
        while True:
            number += 1
            drawn = draws.number_draw(seed, number)
            yield tuple(drawn < limit for limit in below)
    elif first.model == "equal_drops":
        shares = [draws.EqualDrops(seed, model.loss_frac, 1) for model in models]
        while True:
            yield tuple(share.loses(0) for share in shares)
    else:
        limits = [threshold(model.loss_frac) for model in models]
        for drawn in uniform(seed):
            yield tuple(limit > 0 and drawn <= limit for limit in limits)


def burst_fates(models: Sequence[BurstLoss], drawn: Iterator[int]) -> Fates:
    """See loss_gilb_ell(): the state met decides the loss, the first draw the next state."""
    limits = [
        (threshold(m.to_bad_frac), threshold(m.to_good_frac), U32_MAX - threshold(m.loss_bad_frac),
         threshold(m.loss_good_frac)) for m in models
    ]  # fmt: skip
    bad = [False] * len(models)
    while True:
        moves, loses = next(drawn), next(drawn)
        lost = []
        for i, (to_bad, to_good, kept_in_bad, lost_in_good) in enumerate(limits):
            if bad[i]:
                bad[i] = moves >= to_good
                lost.append(loses > kept_in_bad)
            else:
                bad[i] = moves < to_bad
                lost.append(loses < lost_in_good)
        yield tuple(lost)


@dataclass(frozen=True, kw_only=True)
class Chance:
    """One place on a way where packets are lost by chance, or by their numbers."""

    where: str
    loss: AnyLoss
    seed: int


class Foretold:
    """What becomes of packets that pass some places in turn, from the first one on.

    ``untold`` are the settings that might be a little different and all so far would be the same.
    """

    def __init__(self, chances: Sequence[Chance]) -> None:
        self.untold: set[tuple[int, int]] = set()
        self._fates: list[Fates] = []
        for place, chance in enumerate(chances):
            models = variants(chance.loss)
            self._fates.append(fates(models, chance.seed))
            self.untold |= {(place, number) for number in range(1, len(models))}

    def lost(self) -> bool:
        """Return whether the next packet is lost."""
        for place, stage in enumerate(self._fates):
            lost, *others = next(stage)
            if self.untold:
                for number, other in enumerate(others, 1):
                    if other != lost:
                        self.untold.discard((place, number))
            if lost:
                return True
        return False
