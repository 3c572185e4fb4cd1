"""A study without the alternatives that a lab cannot run, each named. Pure.

A study's own points that a lab cannot run are an error; an alternative to an assumption is left
out, as one is that names a kernel where the lab's stands for all.
"""

from __future__ import annotations

from model.errors import UnsupportedError
from testbed.labs.contract.lab import LabKind
from testbed.points.load_study import Study
from testbed.points.resolve import resolve_cell
from testbed.points.some_points import without_variations
from testbed.points.sweep import Point


def expressible(study: Study, lab_kind: LabKind) -> Study:
    """Return the study without variations that the lab refuses; those with a kernel run all."""
    if not lab_kind.properties.simulates:
        return study
    every = study.all_points
    refused = [
        index
        for index, one in enumerate(study.variations)
        if any(_refused(study, every[point], lab_kind) for point in one.points)
    ]
    return without_variations(study, refused) if refused else study


def _refused(study: Study, point: Point, lab_kind: LabKind) -> bool:
    cell = resolve_cell(
        study, point, seed=study.settings.seeds[0], replicate=1,
        lab={"name": lab_kind.properties.name, "kernel": study.kernel_at(point)},
        purpose="measure", pcap=False, telemetry=True,
    )  # fmt: skip
    try:
        lab_kind.limits(cell)
    except UnsupportedError:
        return True
    return False
