"""Draws from a seed that can be made again anywhere: which packets are lost, when a flow starts.

Standard library only, because the lab image reads it too. Invariants: a draw depends on the seed
and on what it is for, on nothing drawn before; :func:`number_draw` is computed by the lab's eBPF
programs too, bit for bit (:mod:`mininet_topos.filters.drop_program`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from model.cell import Cell
from model.links import PeriodicLoss

#: Constants of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
#: 2014): the step between two states; shift and factor of each round, the last without a factor.
STEP = 0x9E3779B97F4A7C15
ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
MASK = (1 << 64) - 1
#: Draws for packets have 63 bits, so that the threshold of certain loss still fits 64.
DRAW_BITS = 63
#: Equal drops: of the packets of a flow that owes one, one in 2 to this power is lost for it. That
#: is 32, several windows at such a loss: flows do not lose in step, and a flow that was silent
#: loses neither what it sends first nor packets in a row.
PAY_BITS = 5
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


def channel_seed(seed: int, way: str, link: str = "bottleneck") -> int:
    """Return the seed of a bottleneck's own loss in cells of this seed, forward or reverse."""
    return seed_for(seed, f"{link} {way}")


class EqualDrops:
    """Which data packets are lost where every flow loses as many: told one after the other.

    Numbered together as they leave the bottleneck's buffer, 1 packet in ``flows / loss_frac`` is
    drawn; for each drawn one every flow owes a packet. Of the packets of a flow that owes some, one
    in 32 is lost for each that it owes. So of all packets ``loss_frac`` are lost in the long run,
    and each flow has lost as many as were drawn, but for those it owes yet. A queue that serves all
    at once sends out as irregularly as arrives (Poisson in, Poisson out): seen by one flow, losses
    come as if each packet were drawn by itself.
    """

    def __init__(self, seed: int, loss_frac: float, flows: int) -> None:
        self.offered_pkts = self.drawn_pkts = 0
        self.lost_pkts = [0] * flows
        self._seed, self._pay_seed = equal_drops_seeds(seed)
        self._below = threshold(loss_frac / flows)

    def loses(self, flow: int) -> bool:
        """Return whether the next packet, which is of this flow, is lost."""
        self.offered_pkts += 1
        if number_draw(self._seed, self.offered_pkts) < self._below:
            self.drawn_pkts += 1
        owed_pkts = self.drawn_pkts - self.lost_pkts[flow]
        below = owed_pkts << (DRAW_BITS - PAY_BITS)
        lost = owed_pkts > 0 and number_draw(self._pay_seed, self.offered_pkts) < below
        self.lost_pkts[flow] += lost
        return lost


def equal_drops_seeds(seed: int) -> tuple[int, int]:
    """Return the seeds of what is drawn, and of what is paid of it, in cells of this seed."""
    return seed_for(seed, "bottleneck equal drops"), seed_for(seed, "bottleneck paid drops")


def equally_drawn_pkts(cell: Cell, offered_pkts: int) -> int:
    """Return how many packets every flow owes once so many of all flows were offered."""
    below = threshold(cell.wired.bottleneck.forward.loss.loss_frac / len(cell.flows))
    seed, _ = equal_drops_seeds(cell.seed)
    return sum(number_draw(seed, number) < below for number in range(1, offered_pkts + 1))


def losses_by_number(cell: Cell, last_pkt: int, besides: Collection[int] = ()) -> tuple[int, ...]:
    """Return which packets of any flow, up to a number, are lost for that number alone.

    That is paired loss or periodic; those of ``besides`` are left out.
    """
    loss = cell.wired.bottleneck.forward.loss
    if isinstance(loss, PeriodicLoss):
        numbers = range(loss.first_pkt, last_pkt + 1, loss.every_pkts)
        return tuple(k for k in numbers if k not in besides)
    if loss.model != "paired":
        return ()
    seed, below = pairing_seed(cell.seed), threshold(loss.loss_frac)
    numbers = range(1, last_pkt + 1)
    return tuple(k for k in numbers if number_draw(seed, k) < below and k not in besides)
