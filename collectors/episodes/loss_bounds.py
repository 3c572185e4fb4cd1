"""The rate that loss allows a Reno-like sender: square-root and PFTK bounds. Pure.

Both are in packets per second at loss fraction ``loss_frac`` with ``per_ack_pkts`` packets for each
acknowledgement (b in the papers). Without loss, or if all is lost, there is no such bound: None.
"""

from __future__ import annotations

import math

#: The timer is taken to double six times, then to stay.
BACKOFF = (1, 1, 2, 4, 8, 16, 32)


def sqrt_bound_pps(loss_frac: float, rtt_s: float, per_ack_pkts: int) -> float | None:
    """Return Mathis, Semke, Mahdavi and Ott, CCR 27(3), 1997, equation 3, C = sqrt(3 / 2b)."""
    if not 0 < loss_frac < 1 or rtt_s <= 0:
        return None
    return math.sqrt(3 / (2 * per_ack_pkts * loss_frac)) / rtt_s


def pftk_bound_pps(
    loss_frac: float, rtt_s: float, rto_s: float, window_pkts: float, per_ack_pkts: int
) -> float | None:
    """Return Padhye, Firoiu, Towsley and Kurose, ToN 8(2), 2000, the full model, equation 32.

    ``window_pkts`` is the receive window. It counts what is sent, repeated packets too.
    """
    if not 0 < loss_frac < 1 or rtt_s <= 0 or rto_s <= 0 or window_pkts < 1:
        return None
    p, b = loss_frac, per_ack_pkts
    window = mean_window_pkts(p, b)
    rounds = b / 2 * window + 1
    if window >= window_pkts:
        window = window_pkts
        rounds = b / 8 * window + (1 - p) / (p * window) + 2
    timeouts = timeout_probability(p, window)
    backoff = sum(times * math.pow(p, power) for power, times in enumerate(BACKOFF))
    sent_pkts = (1 - p) / p + window + timeouts / (1 - p)
    return sent_pkts / (rtt_s * rounds + timeouts * rto_s * backoff / (1 - p))


def mean_window_pkts(loss_frac: float, per_ack_pkts: int) -> float:
    """Return the mean window when a loss is met, were there no receive window (equation 13)."""
    p, b = loss_frac, per_ack_pkts
    offset = (2 + b) / (3 * b)
    return offset + math.sqrt(8 * (1 - p) / (3 * b * p) + offset**2)


def timeout_probability(loss_frac: float, window_pkts: float) -> float:
    """Return the probability that a loss in a window leads to a timeout (equation 24)."""
    kept = 1 - loss_frac
    lost = 1 - math.pow(kept, window_pkts)
    few = (1 - kept**3) * (1 + kept**3 * (1 - math.pow(kept, window_pkts - 3)))
    return min(1.0, few / lost)
