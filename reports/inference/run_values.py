"""From one metric's values over runs to its estimates. Pure.

Invariant: a run without the metric leaves no estimate at all. The other runs' mean would be that of
a selection: what is missing is seldom missing by chance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from reports.inference.ratio_of_means import ratio_of_means
from reports.inference.statistics import Estimate, estimate, unknown
from reports.measures.metrics import Value

#: Why one run has no interval where no packet is lost at random.
ALL_THERE_IS = "one run is all there is: nothing is left to chance"


def _missing(values: Sequence[Value]) -> Estimate | None:
    """Return the estimate that is none because a run lacks the metric; None if all have it."""
    nulls = [value.reason for value in values if value.reason is not None]
    if not nulls:
        return None
    known = len(values) - len(nulls)
    return unknown(known, f"null in {len(nulls)} of {len(values)} cells: {nulls[0]}")


def _alone(found: Estimate, *, chance: bool) -> Estimate:
    """Return the estimate; that of one run has another reason if nothing is left to chance."""
    if found.n != 1 or found.mean is None or chance:
        return found
    return dataclasses.replace(found, reason=ALL_THERE_IS)


def estimated(values: Sequence[Value], *, chance: bool) -> Estimate:
    """Return the mean over runs with its intervals; ``chance``: runs lose packets at random."""
    known = [value.value for value in values if value.value is not None]
    return _missing(values) or _alone(estimate(known), chance=chance)


def estimated_ratio(values: Sequence[Value], *, chance: bool) -> Estimate | None:
    """Return the ratio of the means of a metric that is a quotient; None of any other."""
    parts = [value.parts for value in values if value.parts is not None]
    if not parts:
        return None
    return _missing(values) or _alone(ratio_of_means(parts), chance=chance)
