"""The cells of a run: which they are, in which order, how long they take. No I/O.

Invariants: the same study, seeds and lab give the same cells in the same order; a run that adds
seeds as it goes has all it may come to need here, and plans some of it at a time.
"""

from __future__ import annotations

import dataclasses
import heapq
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.cell import Cell, cell_id
from model.errors import StudyError
from testbed.findings import validate
from testbed.planning.precision import Precision
from testbed.planning.time_limits import limits
from testbed.planning.variations import calibrated_points, variations_record
from testbed.points.described import point_paths
from testbed.points.load import Study
from testbed.points.resolve import resolve_cell
from testbed.points.sweep import Point, PointValue
from testbed.study.flow_copies import copies
from testbed.study.settings import MAX_SEED
from testbed.study.vocabulary import FIGURES, SPANS

SCHEMA = 1
#: Virtual time of a calibrating cell: it measures the path, not the flows.
CALIBRATION_VIRTUAL_S = 200.0


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """A cell and the id that names its folder."""

    id: str
    cell: Cell


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All cells of a run: calibrations first, then replicate by replicate over all points.

    Those of variations follow, in the same order; ``base_cells`` is how many are before them. With
    ``precision`` the run begins with the first replicates and adds some until it is reached.
    """

    study: Study
    seeds: tuple[int, ...]
    cells: tuple[PlannedCell, ...]
    base_cells: int
    sensitivity: bool
    precision: Precision | None = None

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels the cells run on, those of the study itself first."""
        return tuple(dict.fromkeys(planned.cell.lab["kernel"] for planned in self.cells))

    @property
    def varied(self) -> tuple[PlannedCell, ...]:
        """The cells of variations."""
        return self.cells[self.base_cells :]

    @property
    def first(self) -> tuple[PlannedCell, ...]:
        """The cells the run begins with."""
        least = self.precision.at_least if self.precision else len(self.seeds)
        base = self.cells[: self.base_cells]
        return (*(c for c in base if c.cell.replicate <= least), *self.varied)


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
    of_kernel: Callable[[str], Mapping[str, str]] = _version_alone,
    pcap: bool = False,
    telemetry: bool = True,
    sensitivity: bool = True,
    precision: Precision | None = None,
) -> Plan:
    """Return the plan that measures every point with every seed, each point calibrated once.

    ``lab`` holds the digests of what all cells run on, ``of_kernel`` returns those that come with a
    version of the kernel; both are part of a cell's id. Points of variations, unless there is to be
    no ``sensitivity``, get the study's first few seeds, and a calibration where no other point has
    the same network and kernel.
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
        cell = dataclasses.replace(cell, limits=limits(cell))
        return PlannedCell(id=cell_id(cell), cell=cell)

    cells = [planned(point, 1, "calibrate") for point in study.points]
    cells += [
        planned(point, replicate, "measure")
        for replicate in range(1, len(seeds) + 1)
        for point in study.points
    ]
    base_cells = len(cells)
    if sensitivity:
        own = study.varied.points
        first = len(study.points)
        networks = enumerate(calibrated_points(study)[first:], first)
        cells += [planned(own[i - first], 1, "calibrate") for i, at in networks if i == at]
        few = min(study.settings.sensitivity.seeds, len(seeds))
        cells += [
            planned(point, replicate, "measure") for replicate in range(1, few + 1) for point in own
        ]
    return Plan(
        study=study,
        seeds=tuple(seeds),
        cells=tuple(cells),
        base_cells=base_cells,
        sensitivity=sensitivity,
        precision=precision,
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
    """Return the virtual time a cell is expected to take."""
    return cell.duration_s if cell.purpose == "measure" else CALIBRATION_VIRTUAL_S


def plan_record(cells: Sequence[PlannedCell]) -> dict[str, Any]:
    """Return ``plan.json`` of these cells."""
    return {
        "schema": SCHEMA,
        "cells": [
            {
                "id": planned.id,
                "purpose": planned.cell.purpose,
                "point": planned.cell.point,
                "replicate": planned.cell.replicate,
                "seed": planned.cell.seed,
            }
            for planned in cells
        ],
    }


def resolved_json(plan: Plan, findings: validate.Findings) -> str:
    """Return the text of ``resolved.json``; published numbers keep the digits they have.

    How far a kernel's result may be from a published value depends on the digits printed, so
    "0.990" must not become 0.99.
    """
    study = plan.study
    at = study.settings
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "study": at.study,
        "title": at.title,
        "source": at.source.model_dump() if at.source else None,
        "duration_s": at.duration_s,
        "seeds": list(plan.seeds),
        "hosts": at.hosts,
        "generator": at.generator,
        "groups": [{"id": group, "label": label} for group, label in at.groups.items()],
        "compare": at.compare.model_dump() if at.compare else None,
        "flows": _flows_everywhere(_run_points(plan)),
        **{name: span.model_dump() if (span := getattr(at, name)) else None for name in SPANS},
        "parameters": [{"name": p.name, "path": p.path} for p in study.parameters],
        "points": [point.values for point in _run_points(plan)],
        "base_points": len(study.points),
        "paths": point_paths(study),
        **variations_record(study, run=plan.sensitivity),
        "replication": None if plan.precision is None else dataclasses.asdict(plan.precision),
        "metrics": list(at.metrics),
        "published": _published(study),
        "figures": _figures(study),
        "claims": _claims(study),
        "assumptions": [a.model_dump(include={"id", "text", "why"}) for a in at.assumptions],
        "warnings": [finding.record() for finding in findings.warnings],
        "acknowledged": [a.record() for a in findings.acknowledged],
    }
    return _with_digits(json.dumps(record, indent=1, ensure_ascii=False)) + "\n"


def _run_points(plan: Plan) -> tuple[Point, ...]:
    """Return the study's points, then its variations' if they are run."""
    return plan.study.all_points if plan.sensitivity else plan.study.points


def _flows_everywhere(points: Sequence[Point]) -> list[str]:
    """Return the flows that run at every point, in order: those that metrics can be of."""
    at = [[copy.id for copy in copies(point.settings.flows)] for point in points]
    return [name for name in at[0] if all(name in flows for flows in at[1:])]


def _published(study: Study) -> dict[str, Any] | None:
    published = study.settings.published
    if published is None:
        return None
    texts = study.document.texts
    rows = [
        {
            "point": study.points[index].values,
            "where": row.where or published.where,
            "values": {
                name: f"\0{texts['published', 'rows', i, 'values', name]}\0" for name in row.values
            },
        }
        for i, (row, indexes) in enumerate(zip(published.rows, study.published_points, strict=True))
        for index in indexes
    ]
    record: dict[str, Any] = {"where": published.where, "rows": rows}
    if published.episodes:
        record["episodes"] = [
            {
                "flow": entry.flow,
                "episode": entry.episode,
                "where": entry.where,
                "points": [study.points[index].values for index in indexes],
                "grown_s": entry.grown_s,
                "values": {
                    name: f"\0{texts['published', 'episodes', i, 'values', name]}\0"
                    for name in entry.values
                },
            }
            for i, (entry, indexes) in enumerate(
                zip(published.episodes, study.episode_points, strict=True)
            )
        ]
    return record


def _figures(study: Study) -> list[dict[str, Any]]:
    """Return the figures asked for: each with its own keys only, and its points written out."""
    names = {parameter.path: parameter.name for parameter in study.parameters}
    record = []
    for figure, indexes in zip(study.settings.figures, study.figure_points, strict=True):
        own = ("where", *FIGURES[figure.kind])
        found: dict[str, Any] = {"kind": figure.kind}
        for field, value in figure.model_dump(exclude={"kind", "at"}).items():
            if (type(figure).model_fields[field].alias or field) in own:
                found[field] = None if value == "end" else value
        if found.get("overlay") is not None:
            found["overlay"] = names[found["overlay"]]
        found["points"] = [study.points[index].values for index in indexes]
        record.append(found)
    return record


def _claims(study: Study) -> list[dict[str, Any]]:
    """Return the claims, each with the comparisons it comes to."""

    def values(index: int) -> dict[str, PointValue]:
        return study.points[index].values

    return [
        {
            **claim.model_dump(include={"id", "text", "where", "untested", "suspects"}),
            "comparisons": [
                {
                    **dataclasses.asdict(one),
                    "point": values(one.point),
                    "versus": one.versus
                    and {"metric": one.versus[0], "point": values(one.versus[1])},
                }
                for one in comparisons
            ],
        }
        for claim, comparisons in zip(study.settings.claims, study.comparisons, strict=True)
    ]


def _with_digits(text: str) -> str:
    """Turn the marked texts of numbers into numbers; no other text can hold the mark."""
    return re.sub(r'"\\u0000([^"]*)\\u0000"', r"\1", text)
