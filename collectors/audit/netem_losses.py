"""What the bottleneck's loss models should have lost in a whole run, told from their seeds. Pure.

netem draws for every packet it is offered, whosever it is, so how many are lost of so many is no
matter of chance (:mod:`model.netem_draws`). Here the same draws are made many at a time: the
generator is linear, so its state some thousand draws on is one matrix away, and pieces of the
sequence are made side by side. Invariant: the draws are those of :func:`model.netem_draws.uniform`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.audit.packet_balance import Evidence, compare, roots
from model import draws, netem_draws
from model.cell import Cell
from model.check import Check
from model.links import AnyLoss, BurstLoss

#: How many draws a piece of the sequence has.
PIECE = 512
WORD_BITS = 32
U32 = NDArray[np.uint32]
A, B, MASK, C = (
    np.array(column, np.uint32)[:, None] for column in zip(*netem_draws.WORDS, strict=True)
)  # fmt: skip
#: The bottleneck's channel by the direction of what it loses, and its seed's name.
WAYS = {"data": "forward", "ack": "reverse"}


def _step(words: U32) -> U32:
    """Return the next state of many generators: one row per word, one column per generator."""
    made: U32 = ((words & MASK) << C) ^ (((words << A) ^ words) >> B)
    return made


@functools.cache
def _piece_on() -> U32:
    """Return where each bit of each word moves to in one piece: words by bits."""
    words = np.tile(
        np.uint32(1) << np.arange(WORD_BITS, dtype=np.uint32), (len(netem_draws.WORDS), 1)
    )
    for _ in range(PIECE):
        words = _step(words)
    return words


def uniform(seed: int, count: int) -> U32:
    """Return the first ``count`` draws of netem's generator."""
    pieces = -(-count // PIECE)
    begins = np.empty((len(netem_draws.WORDS), pieces), np.uint32)
    state = np.array(netem_draws.first_state(seed), np.uint32)
    bits = np.arange(WORD_BITS, dtype=np.uint32)
    for piece in range(pieces):
        begins[:, piece] = state
        set_bits = ((state[:, None] >> bits) & np.uint32(1)).astype(bool)
        state = np.bitwise_xor.reduce(np.where(set_bits, _piece_on(), np.uint32(0)), axis=1)
    drawn = np.empty((pieces, PIECE), np.uint32)
    words = begins
    for row in range(PIECE):
        words = _step(words)
        drawn[:, row] = np.bitwise_xor.reduce(words, axis=0)
    return drawn.reshape(-1)[:count]


def lost_pkts(loss: AnyLoss, seed: int, packets: int) -> int:
    """Return how many of so many packets netem loses."""
    if not isinstance(loss, BurstLoss):
        if loss.model != "random":
            return 0  # of losses by packets' numbers netem knows nothing
        return int((uniform(seed, packets) <= netem_draws.threshold(loss.loss_frac)).sum())
    drawn = iter(uniform(seed, 2 * packets).tolist())
    fates = netem_draws.burst_fates([loss], drawn)
    return sum(next(fates)[0] for _ in range(packets))


def checks(
    cell: Cell, evidence: Evidence, end: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[Check]:
    """Compare what each of the bottleneck's channels lost since it was made with its draws."""
    counted = roots(end)
    found = []
    for stretch in evidence.stretches:
        if stretch.name != "bottleneck channel":
            continue
        way, link = WAYS[stretch.direction], cell.wired.paths()[stretch.path - 1].bottleneck
        loss = link.forward.loss if way == "forward" else link.reverse.loss
        passed, dropped, held = counted[stretch.node, stretch.devices[0]]
        what = "lost by the draws of the seed"
        wanted = None  # a link that something happens to: raw/events.json says what it lost when
        if not any(event.link == stretch.link() for event in cell.events):
            seed = draws.channel_seed(cell.seed, way, stretch.link())
            wanted = lost_pkts(loss, seed, passed + dropped + held)
        found.append(compare(what, stretch.where(), wanted, dropped, "packets"))
    return found
