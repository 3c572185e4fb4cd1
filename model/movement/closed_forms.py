"""What is known of the random waypoint model without a simulation: its means in the steady state.

Standard library only, and of it only what IEEE 754 rounds in one way (+, -, *, /, square roots and
exact changes of the exponent): a library's logarithm may differ in its last bit between machines,
and where a node begins depends on these numbers. Source: W. Navidi and T. Camp, "Stationary
distributions for the random waypoint mobility model", IEEE Transactions on Mobile Computing 3(1),
2004; the mean distance of two places of a rectangle: B. Ghosh, "Random distances within a rectangle
and between two rectangles", Bulletin of the Calcutta Mathematical Society 43, 1951.
"""

from __future__ import annotations

import math

from model.movement.paths import Field
from model.units import MM_PER_M

#: A field so many times as long as wide is a line, to within a millionth.
_LINE = 10_000
_LN_2, _ROOT_HALF = 0.6931471805599453, 0.7071067811865476


def natural_log(value: float) -> float:
    """Return ln of a number above 0, right to within about two units of its last place.

    ln(m 2^e) = e ln 2 + 2 artanh((m - 1) / (m + 1)), the series of artanh added from its end.
    """
    mantissa, exponent = math.frexp(value)
    if mantissa < _ROOT_HALF:
        mantissa, exponent = 2 * mantissa, exponent - 1
    ratio = (mantissa - 1) / (mantissa + 1)
    square, total = ratio * ratio, 0.0
    for odd in range(27, 0, -2):  # ratio is below 0.1716: what is left out is below 1e-22 of it
        total = total * square + 1 / odd
    return exponent * _LN_2 + 2 * ratio * total


def mean_trip_mm(field: Field) -> float:
    """Return the mean distance of two places drawn uniformly in a field."""
    a, b, d = float(field.width_mm), float(field.height_mm), field.diagonal_mm
    if max(a, b) > _LINE * min(a, b):  # where the terms below are large and cancel
        return max(a, b) / 3
    straight = (
        a * a * a / (b * b) + b * b * b / (a * a) + d * (3 - a * a / (b * b) - b * b / (a * a))
    )
    curved = b * b / a * natural_log((a + d) / b) + a * a / b * natural_log((b + d) / a)
    return straight / 15 + curved / 6


def mean_moving_speed_mps(min_speed_mps: float, max_speed_mps: float) -> float:
    """Return the mean speed of nodes that move: slow trips last longer, and so count for more."""
    if min_speed_mps == max_speed_mps:
        return min_speed_mps
    return (max_speed_mps - min_speed_mps) / natural_log(max_speed_mps / min_speed_mps)


def mean_trip_s(field: Field, min_speed_mps: float, max_speed_mps: float) -> float:
    """Return how long a trip takes on average."""
    return mean_trip_mm(field) / MM_PER_M / mean_moving_speed_mps(min_speed_mps, max_speed_mps)


def paused_frac(field: Field, min_speed_mps: float, max_speed_mps: float, pause_s: float) -> float:
    """Return the share of nodes that pause at any moment."""
    return pause_s / (pause_s + mean_trip_s(field, min_speed_mps, max_speed_mps))


def mean_speed_mps(
    field: Field, min_speed_mps: float, max_speed_mps: float, pause_s: float
) -> float:
    """Return the mean speed of all nodes, those that pause among them."""
    moving_frac = 1 - paused_frac(field, min_speed_mps, max_speed_mps, pause_s)
    return moving_frac * mean_moving_speed_mps(min_speed_mps, max_speed_mps)
