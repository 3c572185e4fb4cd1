"""Effects of mechanisms from runs with sets of them, each effect a number per seed. Pure.

With s = 1 for a mechanism as published and -1 for the kernel's own, a set of mechanisms M has the
contrast (2/N) sum over the N runs of prod(s, M) y: of one mechanism it is how much the metric
changes, averaged over the others' settings; of a pair it is half of how much more the one changes
it with the other than without (Box, Hunter and Hunter, Statistics for Experimenters, chapter 5).
Invariants: a seed is in every run, so what luck the runs of a seed share drops out; pairs of which
the runs have the same contrast are told of together.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mechanisms = frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """What mechanisms change, seed by seed: shape (seeds,), in the metric's unit.

    ``sets`` are all those that have this contrast, largest effects being those of few mechanisms.
    """

    sets: tuple[Mechanisms, ...]
    by_seed: Floats


def signs(runs: Sequence[Mechanisms], those: Mechanisms) -> tuple[int, ...]:
    """Return the product over these mechanisms of 1 in a run that has it and -1 in one without."""
    return tuple(-1 if sum(name not in there for name in those) % 2 else 1 for there in runs)


def balanced(runs: Sequence[Mechanisms], mechanisms: Sequence[str]) -> bool:
    """Return whether these runs tell each mechanism from every other, and from every pair."""
    plus = [signs(runs, frozenset({name})) for name in mechanisms]
    pairs = itertools.combinations(mechanisms, 2)
    columns = [*plus, *(signs(runs, frozenset(pair)) for pair in pairs)]
    return (
        bool(runs)
        and all(
            sum(column) == 0 and all(_dot(column, other) == 0 for other in plus if other != column)
            for column in columns
        )
        and len(set(plus)) == len(plus)
        and not set(plus) & set(columns[len(plus) :])
    )


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def contrasts(
    values: Mapping[Mechanisms, Floats], mechanisms: Sequence[str]
) -> tuple[list[Contrast], list[Contrast]]:
    """Return the contrasts of single mechanisms, and of pairs.

    Args:
        values: of each run of the design, a metric by seed, in the same order of seeds.
        mechanisms: those of which the runs have sets.
    """
    runs = list(values)
    table = np.stack([values[run] for run in runs])

    def of(those: Mechanisms) -> Floats:
        weights = np.array(signs(runs, those), dtype=np.float64)
        return np.asarray(2 / len(runs) * (weights @ table))

    single = [frozenset({name}) for name in mechanisms]
    pairs = [frozenset(pair) for pair in itertools.combinations(mechanisms, 2)]
    alike: dict[tuple[int, ...], list[Mechanisms]] = {}
    for pair in pairs:
        alike.setdefault(signs(runs, pair), []).append(pair)
    return (
        [Contrast(sets=(one,), by_seed=of(one)) for one in single],
        [Contrast(sets=tuple(those), by_seed=of(those[0])) for those in alike.values()],
    )
