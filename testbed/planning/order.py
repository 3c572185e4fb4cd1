"""In which order cells are begun: drawn, so that what has finished at any time is a fair sample.

Pure. Seeds are drawn one after the other, and for each of them the points anew: so points never
differ by more than one finished run, the same seeds are there at all of them but for the last, and
where a campaign is cut short depends on no setting. The draw is a hash of what the run is of, never
of the time: the same study and seeds give the same order, on every lab and kernel.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from testbed.points.sweep import Point


def drawn(
    study: str, points: Sequence[Point], seeds: Sequence[int], replicates: int
) -> list[tuple[int, int]]:
    """Return the replicates from 1 on at all points, as (replicate, index of the point), drawn.

    Args:
        study: the study's id.
        points: where each replicate is run.
        seeds: all that the run has, of which the first ``replicates`` are run.
        replicates: how many.
    """
    content = json.dumps([study, [point.values for point in points], list(seeds)], sort_keys=True)
    key = hashlib.sha256(content.encode()).hexdigest()

    def rank(*of: int) -> str:
        return hashlib.sha256(f"{key}{of}".encode()).hexdigest()

    return [
        (replicate, index)
        for replicate in sorted(range(1, replicates + 1), key=rank)
        for index in sorted(range(len(points)), key=lambda index: rank(replicate, index))
    ]
