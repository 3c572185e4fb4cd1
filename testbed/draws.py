"""Draws from a seed that can be made again anywhere: which packets are lost, when a flow starts.

Standard library only, because the lab image reads it too. Invariants: a draw depends on the seed
and on what it is for, on nothing drawn before; :func:`number_draw` is computed by the lab's eBPF
programs too, bit for bit (:mod:`mininet_topos.drop_program`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from testbed.cell import Cell

#: Constants of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
#: 2014): the step between two states; shift and factor of each round, the last without a factor.
STEP = 0x9E3779B97F4A7C15
ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
MASK = (1 << 64) - 1
#: Draws for packets have 63 bits, so that the threshold of certain loss still fits 64.
DRAW_BITS = 63
#: What a double holds exactly.
UNIFORM_BITS = 53


def seed_for(seed: int, what: str) -> int:
    """Return a seed of 63 bits for one purpose: as good as independent of all the others."""
    digest = hashlib.sha256(f"{seed} {what}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def uniform(seed: int, what: str) -> float:
    """Return a number from 0 up to 1, 1 excluded."""
    return (seed_for(seed, what) >> (DRAW_BITS - UNIFORM_BITS)) / (1 << UNIFORM_BITS)


def number_draw(seed: int, number: int) -> int:
    """Return the draw for a packet's number: 63 bits, output so many of SplitMix64."""
    state = (seed + number * STEP) & MASK
    for shift, factor in ROUNDS:
        state = ((state ^ (state >> shift)) * factor) & MASK
    return state >> (64 - DRAW_BITS)


def threshold(loss_frac: float) -> int:
    """Return below which draw a packet is lost; exact, for a double times a power of two is."""
    return int(loss_frac * (1 << DRAW_BITS))


def pairing_seed(seed: int) -> int:
    """Return the seed of paired loss in cells of this seed."""
    return seed_for(seed, "bottleneck paired")


def channel_seed(seed: int, way: str) -> int:
    """Return the seed of the bottleneck's own loss in cells of this seed, forward or reverse."""
    return seed_for(seed, f"bottleneck {way}")


def paired_losses(cell: Cell, last_pkt: int, besides: Collection[int] = ()) -> tuple[int, ...]:
    """Return which packets up to a number are lost by pairing, those of ``besides`` left out."""
    loss = cell.network.bottleneck.forward.loss
    if loss.model != "paired":
        return ()
    seed, below = pairing_seed(cell.seed), threshold(loss.loss_frac)
    numbers = range(1, last_pkt + 1)
    return tuple(k for k in numbers if number_draw(seed, k) < below and k not in besides)
