"""What a run repeats, as JSON: how far its points are. Pure; docs/data-format.md describes it."""

from __future__ import annotations

from typing import Any

from reports.replication import Replication
from reports.rounding import rounded

SCHEMA = 1


def replication_record(found: Replication) -> dict[str, Any]:
    """Return ``replication.json``: what is to be known how precisely, and how far each point is."""
    wanted = found.precision
    return {
        "schema": SCHEMA,
        "metric": found.metric,
        "chosen": found.chosen,
        "half_width": wanted.half_width,
        "relative_half_width": wanted.relative_half_width,
        "at_least": wanted.at_least,
        "at_most": wanted.at_most,
        "points": [
            {
                "point": state.point.as_dict(),
                "runs": state.runs,
                "half_width": rounded(state.half_width),
                "wanted": rounded(state.wanted),
                "stopped": state.stopped,
                "more": state.more,
                "words": state.words,
            }
            for state in found.points
        ],
    }
