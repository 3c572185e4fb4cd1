"""Which sets of mechanisms are run to tell what each of them does. Pure.

Up to four mechanisms: every subset. From five to eight: sixteen subsets, in each of which the
further mechanisms go with three of the first four (E with A, B, C; F with B, C, D; G with A, C, D;
H with A, B, D), and each mechanism alone. That is the fractional factorial design of resolution
IV: what a mechanism does is told apart from every pair's interaction, pairs among themselves are
not (Box, Hunter and Hunter, Statistics for Experimenters, 2nd edition, chapter 6).
Invariant: none and all of them are among the subsets, for every word that generates has four
letters.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

#: The mechanisms of which every subset is run, and which of them each further one goes with.
FREE = 4
UNCHANGED, ALL = "unchanged", "all"
GENERATORS = ((0, 1, 2), (1, 2, 3), (0, 2, 3), (0, 1, 3))


def design(mechanisms: Sequence[str]) -> list[frozenset[str]]:
    """Return the subsets that effects are computed from: each mechanism is in half of them."""
    free = mechanisms[:FREE]
    further = mechanisms[FREE:]
    if len(further) > len(GENERATORS):
        raise ValueError(f"at most {FREE + len(GENERATORS)} mechanisms")
    found = []
    for on in itertools.product((False, True), repeat=len(free)):
        there = {name for name, here in zip(free, on, strict=True) if here}
        for name, by in zip(further, GENERATORS, strict=False):
            if sum(on[index] for index in by) % 2:
                there.add(name)
        found.append(frozenset(there))
    return found


def mechanism_sets(mechanisms: Sequence[str]) -> list[frozenset[str]]:
    """Return all sets to run: none, each alone, the rest of the design, all."""
    alone = [frozenset({name}) for name in mechanisms]
    every = [frozenset(), *alone, *design(mechanisms)]
    place = {name: index for index, name in enumerate(mechanisms)}
    unique = dict.fromkeys(every)
    return sorted(unique, key=lambda one: (len(one), sorted(place[name] for name in one)))


def name_of(those: frozenset[str], mechanisms: Sequence[str]) -> str:
    """Return what a set is called: ``unchanged``, a mechanism, ``all``, or their numbers from 1."""
    if not those:
        return UNCHANGED
    if len(those) == 1:
        (name,) = those
        return name
    if len(those) == len(mechanisms):
        return ALL
    numbers = (str(index + 1) for index, name in enumerate(mechanisms) if name in those)
    return f"mechanisms-{'-'.join(numbers)}"
