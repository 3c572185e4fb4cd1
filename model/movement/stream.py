"""Numbers drawn one after the other for one purpose, from a seed: the same on every machine.

Standard library only. Invariant: the streams of two purposes share nothing, so what one draws, or
whether there is another, changes no other.
"""

from __future__ import annotations

from model.draws import DRAW_BITS, UNIFORM_BITS, number_draw, seed_for


class Stream:
    """The outputs of SplitMix64 from a seed for a purpose, each as a number from 0 up to 1."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._seed, self._drawn = seed_for(seed, purpose), 0

    def uniform(self) -> float:
        """Return the next number from 0 up to 1, 1 excluded; a multiple of 2 to the power -53."""
        self._drawn += 1
        return (number_draw(self._seed, self._drawn) >> (DRAW_BITS - UNIFORM_BITS)) / (
            1 << UNIFORM_BITS
        )

    def whole(self, most: int) -> int:
        """Return a whole number from 0 to ``most``, the ends half as often as the others."""
        return round(self.uniform() * most)


def of_node(seed: int, node: int) -> Stream:
    """Return what a node's movement is drawn from in cells of a seed."""
    return Stream(seed, f"movement of node {node}")
