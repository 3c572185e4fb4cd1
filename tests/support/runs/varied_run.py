"""A synthetic run with variations: five of the seven points stand for alternatives of assumptions.

At point i SCTP has 10 + 2 i % more goodput than TCP in the mean of five seeds, half of the 95 %
interval being about 2 points.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.runs.report_run import LOSSES, build_run


def claim(name: str, points: tuple[int, ...], low: float) -> dict[str, Any]:
    """Return a claim as ``resolved.json`` has it: the increase is above ``low`` at some points."""
    return {
        "id": name,
        "text": f"The increase is above {low:g} %.",
        "where": "Section 4",
        "untested": None,
        "comparisons": [
            {
                "metric": "pct_increase", "point": {"loss_frac": LOSSES[i]}, "versus": None,
                "relative": False, "low": low, "high": None, "strict": True,
            }
            for i in points
        ],
    }  # fmt: skip


CLAIMS = [claim("large", (0, 1), 16.0), claim("positive", (0,), 0.0), claim("second", (1,), 0.0)]


def variation(assumption: str, of: list[int], points: list[int]) -> dict[str, Any]:
    """Return a variation as ``resolved.json`` has it, each point calibrated itself."""
    return {
        "assumption": assumption,
        "settings": {"loss_frac": LOSSES[points[-1]]},
        "words": f"bottleneck loss data {100 * LOSSES[points[-1]]:g} %",
        "of": of,
        "points": points,
        "calibrated": points,
    }


def build_varied(run: Path, *, seeds: int = 5, **changes: Any) -> Path:
    """Write a run of two points, three variations, and three claims."""
    return build_run(
        run,
        seeds=seeds,
        changes={
            "published": None,
            "base_points": 2,
            "variations": [
                variation("loss", [0, 1], [5, 6]),
                variation("loss", [0, 1], [3, 4]),
                variation("other", [0], [2]),
            ],
            "variation_parameters": [],
            "claims": CLAIMS,
            **changes,
        },
    )
