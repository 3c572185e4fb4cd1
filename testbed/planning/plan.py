"""The cells of a run: which they are, in which order, how long they take. No I/O.

Invariants: the same study, seeds and lab give the same cells in the same order; a run that adds
seeds as it goes has all it may come to need here, and plans some of it at a time.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.cell import Cell, cell_id
from model.errors import StudyError
from model.run_files.study import Precision
from testbed.labs import registry
from testbed.labs.contract.lab import LabKind
from testbed.planning.order import drawn
from testbed.points.load_study import Study
from testbed.points.resolve import resolve_cell, resolve_network
from testbed.points.sweep import Point
from testbed.study.setting_types import MAX_SEED

#: Virtual time of a calibrating cell: it measures the path, not the flows.
CALIBRATION_VIRTUAL_S = 200.0


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """A cell and the id that names its folder."""

    id: str
    cell: Cell


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All cells of a run in the order they are begun: calibrations first, on which the others rest.

    Then replicate by replicate over all points, both as :mod:`testbed.planning.order` draws them.
    Those of variations follow, ordered in the same way; ``base_cells`` is how many are before them.
    With ``precision`` the run begins with the first replicates and adds some until it is reached;
    with ``rounds`` it has so many replicates, one number after the other, while a claim is
    undecided.
    """

    study: Study
    lab_kind: LabKind
    seeds: tuple[int, ...]
    cells: tuple[PlannedCell, ...]
    base_cells: int
    sensitivity: bool
    precision: Precision | None = None
    rounds: tuple[int, ...] = ()

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels the cells run on, those of the study itself first."""
        return tuple(dict.fromkeys(planned.cell.lab["kernel"] for planned in self.cells))

    @property
    def of_variations(self) -> tuple[PlannedCell, ...]:
        """The cells of variations."""
        return self.cells[self.base_cells :]

    @property
    def first(self) -> tuple[PlannedCell, ...]:
        """The cells the run begins with."""
        least = (*self.rounds, len(self.seeds))[0]
        if self.precision:
            least = self.precision.at_least
        base = self.cells[: self.base_cells]
        return (*(c for c in base if c.cell.replicate <= least), *self.of_variations)


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """How long a plan's cells take: virtual time in all, and wall time with so many jobs."""

    virtual_s: float
    wall_s: float


def replicate_seeds(seeds: Sequence[int], replicates: int) -> tuple[int, ...]:
    """Return so many seeds: the first of a study's, then on from its largest.

    Raises:
        StudyError: fewer than one is asked for, or the seeds run out of range.
    """
    if replicates < 1:
        raise StudyError("replicates", wanted="at least 1", got=str(replicates))
    last = max(seeds) + max(0, replicates - len(seeds))
    if last > MAX_SEED:
        raise StudyError("seeds run out of range", wanted=f"at most {MAX_SEED}", got=str(last))
    extra = range(max(seeds) + 1, last + 1)
    return (*seeds[:replicates], *extra)


def _version_alone(kernel_version: str) -> dict[str, str]:
    return {"kernel": kernel_version}


def make_plan(
    study: Study,
    *,
    seeds: Sequence[int],
    lab: Mapping[str, str],
    lab_kind: LabKind = registry.DEFAULT,
    of_kernel: Callable[[str], Mapping[str, str]] = _version_alone,
    pcap: bool = False,
    telemetry: bool = True,
    sensitivity: bool = True,
    precision: Precision | None = None,
    rounds: tuple[int, ...] = (),
) -> Plan:
    """Return the plan that measures every point with every seed, each point calibrated once.

    ``lab`` holds the digests of what all cells run on, ``of_kernel`` returns those that come with a
    version of the kernel; both are part of a cell's id, as are the limits that its lab's kind sets.
    Points of variations, unless there is to be no ``sensitivity``, get the study's first few seeds,
    and a calibration where no other point has the same network and kernel.
    """

    def planned(point: Point, replicate: int, purpose: Any) -> PlannedCell:
        cell = resolve_cell(
            study,
            point,
            seed=seeds[replicate - 1],
            replicate=replicate,
            lab={**lab, **of_kernel(study.kernel_at(point))},
            purpose=purpose,
            pcap=pcap,
            telemetry=telemetry,
        )
        collect = cell.collect
        if not lab_kind.properties.traces:
            collect = dataclasses.replace(collect, telemetry=False, pcap=True)
        cell = dataclasses.replace(cell, limits=lab_kind.limits(cell), collect=collect)
        return PlannedCell(id=cell_id(cell), cell=cell)

    calibrates = not lab_kind.properties.simulates
    cells = [planned(point, 1, "calibrate") for point in study.points if calibrates]

    def measured(points: Sequence[Point], replicates: int) -> list[PlannedCell]:
        order = drawn(study.settings.study, points, seeds, replicates)
        return [planned(points[index], replicate, "measure") for replicate, index in order]

    cells += measured(study.points, len(seeds))
    base_cells = len(cells)
    if sensitivity:
        own = study.alternatives.points
        first = len(study.points)
        networks = enumerate(calibrated_points(study)[first:], first)
        new = [i for i, at in networks if i == at and calibrates]
        cells += [planned(own[i - first], 1, "calibrate") for i in new]
        few = min(study.settings.sensitivity.seeds, len(seeds))
        cells += measured(own, few)
    return Plan(
        study=study,
        lab_kind=lab_kind,
        seeds=tuple(seeds),
        cells=tuple(cells),
        base_cells=base_cells,
        sensitivity=sensitivity,
        precision=precision,
        rounds=rounds,
    )


def expected(
    cells: Sequence[PlannedCell], *, jobs: int, wall_s: Callable[[Cell], float]
) -> Expectation:
    """Return how long cells take, started in order on ``jobs`` workers.

    ``wall_s`` says how long one worker is busy with a cell.
    """
    workers = [0.0] * max(1, min(jobs, len(cells)))
    for planned in cells:
        heapq.heappush(workers, heapq.heappop(workers) + wall_s(planned.cell))
    virtual = sum(virtual_s(planned.cell) for planned in cells)
    return Expectation(virtual_s=virtual, wall_s=max(workers))


def virtual_s(cell: Cell) -> float:
    """Return the virtual time a cell is expected to take; radios are there before its flows."""
    warm_up_s = cell.ad_hoc.warm_up_s if cell.ad_hoc else 0.0
    return warm_up_s + (cell.duration_s if cell.purpose == "measure" else CALIBRATION_VIRTUAL_S)


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
