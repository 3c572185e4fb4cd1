"""Which points of variations need their own calibration, and what a run folder says of them."""

from __future__ import annotations

from typing import Any

from testbed.points.load import Study
from testbed.points.resolve import resolve_network


def calibrated_points(study: Study) -> tuple[int, ...]:
    """Return, for each point of the study and its variations, the point calibrated in its stead.

    A point of the study is calibrated itself; one of a variation only if its network is a new one,
    or its kernel is.
    """
    paths = [
        (resolve_network(point.settings.network), study.kernel_at(point))
        for point in study.all_points
    ]
    base = range(len(study.points))
    return (*base, *(paths.index(path) for path in paths[len(base) :]))


def variations_record(study: Study, *, run: bool) -> dict[str, Any]:
    """Return what ``resolved.json`` says of variations; if they are not run, which are left out."""
    if not run:
        return {"variations": [], "left_out": [v.words for v in study.variations]}
    calibrated = calibrated_points(study)
    return {
        "variations": [
            {
                "assumption": variation.assumption,
                "settings": variation.settings,
                "words": variation.words,
                "of": list(variation.of),
                "points": list(variation.points),
                "calibrated": [calibrated[i] for i in variation.points],
            }
            for variation in study.variations
        ],
        "variation_parameters": [{"name": p.name, "path": p.path} for p in study.varied.parameters],
    }
