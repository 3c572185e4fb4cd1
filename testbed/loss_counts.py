"""How many packets a path loses, and in how many bursts: exact distributions. Pure.

A path is a chain of two states (Gilbert and Elliott) between stages that lose packets
independently. The number of losses among n packets has the generating function start * M(z)^n * 1,
where M(z) is the chain's step with z for each loss; its coefficients are one inverse Fourier
transform away, without a normal approximation. Bursts are counted the same way, by a chain that
also knows whether the packet before was lost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from testbed.cell import BurstLoss

Array = NDArray[np.float64]


def _steps(loss: BurstLoss, before_frac: float, after_frac: float) -> tuple[Array, Array]:
    """Return the chain's steps with a packet lost, and with one delivered; states good, bad.

    A packet lost before the chain does not move it.
    """
    moves = np.array(
        [
            [1 - loss.to_bad_frac, loss.to_bad_frac],
            [loss.to_good_frac, 1 - loss.to_good_frac],
        ]
    )
    own = np.array([loss.loss_good_frac, loss.loss_bad_frac])
    lost = own + (1 - own) * after_frac
    met = 1 - before_frac
    return (
        met * lost[:, None] * moves + before_frac * np.eye(2),
        met * (1 - lost)[:, None] * moves,
    )


def _counts(step: Callable[[NDArray[np.complex128]], NDArray[np.complex128]], start: Array,
            packets: int) -> Array:  # fmt: skip
    """Return the probability of each count up to ``packets``; ``step`` gives M at points z."""
    size = 1 << (packets + 1).bit_length()
    points = np.exp(-2j * np.pi * np.arange(size) / size)
    here = np.broadcast_to(start.astype(np.complex128), (size, 1, start.size)).copy()
    power, left = step(points), packets
    while left:
        if left & 1:
            here = here @ power
        power, left = power @ power, left >> 1
    found = np.fft.ifft(here.sum(axis=(1, 2))).real[: packets + 1]
    return np.clip(found, 0.0, None)


def losses(loss: BurstLoss, packets: int, before_frac: float, after_frac: float) -> Array:
    """Return how probable each number of lost packets is, among so many in the long run."""
    lost, kept = _steps(loss, before_frac, after_frac)
    start = np.array([1 - loss.bad_frac, loss.bad_frac])
    return _counts(lambda z: lost * z[:, None, None] + kept, start, packets)


def bursts(loss: BurstLoss, packets: int, before_frac: float, after_frac: float) -> Array:
    """Return how probable each number of runs of lost packets is; the first follows no loss."""
    lost, kept = _steps(loss, before_frac, after_frac)
    start = np.array([1 - loss.bad_frac, loss.bad_frac, 0.0, 0.0])

    def step(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
        # States: good and bad after a delivered packet, good and bad after a lost one.
        made = np.zeros((z.size, 4, 4), np.complex128)
        made[:, 0:2, 2:4] = lost * z[:, None, None]  # a burst begins
        made[:, 2:4, 2:4] = lost
        made[:, 0:2, 0:2] = made[:, 2:4, 0:2] = kept
        return made

    return _counts(step, start, packets)


def interval(counts: Array, confidence: float) -> tuple[int, int]:
    """Return the least interval of counts outside which, on either side, lies half of the rest."""
    tail = (1 - confidence) / 2
    below = np.cumsum(counts)
    low = int(np.searchsorted(below, tail))
    high = int(np.searchsorted(below, 1 - tail))
    return low, min(high, counts.size - 1)


def mean(counts: Array) -> float:
    """Return the expected count."""
    return float(np.arange(counts.size) @ counts)
