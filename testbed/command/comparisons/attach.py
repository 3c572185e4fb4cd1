"""``groundtruth report RUN --simulated RUN``: a simulator's run beside a kernel's made before.

Invariants: both are of the same cells but for lab and hosts, point by point and seed by seed; the
simulator's is whole and as it was left; nothing of the kernel's run changes but ``simulator.json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model.cell import Cell, to_dict
from model.errors import StudyError
from model.run_files.point import Point
from model.words import how_many
from testbed.campaign import saved_runs, study_sets
from testbed.command.comparisons.crosscheck import check_whole
from testbed.command.runs import simulators

#: What of a cell a simulator imitates; the rest is of lab and hosts.
SAME = ("duration_s", "measure_from_s", "measure_to_s", "network", "flows")
Key = tuple[tuple[tuple[str, str], ...], int]


def attach(run_name: str, simulated_name: str) -> None:
    """Keep what a simulator's run gave in a kernel's run folder; of sets, study by study.

    Raises:
        StudyError: they are not of the same study, points, seeds and path, or the one is no
            simulator's or the other is.
    """
    found, its = study_sets.find(run_name), study_sets.find(simulated_name)
    pairs = _pairs(found, its)
    records = []
    for run, simulated in pairs:
        check_whole(simulated)
        _check_same(run, simulated)
        records.append((run, simulators.taken_from(simulated)))
    with study_sets.locked(found):
        for run, record in records:
            simulators.record(run, record)


def _pairs(found: study_sets.Found, its: study_sets.Found) -> list[tuple[Path, Path]]:
    """Return each run with the simulator's of the same study."""
    from reports.store.run import read_study  # when needed: tables take long to load

    by_study: dict[str, Path] = {}
    for run in its.runs:
        study = read_study(run).id
        if study in by_study:
            raise StudyError(
                "two runs of one study", where=str(its.folder), wanted="one of each",
                got=f"{by_study[study].name} and {run.name}", hint="name one of them",
            )  # fmt: skip
        by_study[study] = run
    pairs = []
    for run in found.runs:
        study = read_study(run).id
        if study not in by_study:
            raise StudyError(
                "not simulated", where=str(its.folder), wanted=f"a run of {study}",
                got=", ".join(by_study),
                hint=f"groundtruth run {study} --lab ns2, with the same seeds",
            )  # fmt: skip
        pairs.append((run, by_study[study]))
    return pairs


def _check_same(run: Path, simulated: Path) -> None:
    """Raise unless two runs measure the same points with the same seeds over the same path."""
    from reports.store.run import read_study  # when needed, as above

    points = set(read_study(run).points)
    ours = {key: cell for key, cell in _measured(run).items() if Point.of(cell.point) in points}
    theirs = _measured(simulated)
    if any(cell.simulated() for cell in ours.values()):
        raise StudyError("a simulator beside a simulator", where=str(run), wanted="a kernel's run")
    for more, than, who in ((ours, theirs, simulated), (theirs, ours, run)):
        if missing := [cell for key, cell in more.items() if key not in than]:
            first = missing[0]
            raise StudyError(
                "not the same points and seeds", where=str(who),
                wanted=f"seed {first.seed} at {first.point}",
                got=f"no such cell, nor {how_many(len(missing) - 1, 'other')}",
                hint="run both with the same --reps, --at and --seeds of the study",
            )  # fmt: skip
    for key, cell in ours.items():
        a, b = (to_dict(one) for one in (cell, theirs[key]))
        if other := [name for name in SAME if a[name] != b[name]]:
            raise StudyError(
                "not the same cells", where=str(simulated),
                wanted=f"{other[0]} as in {run.name}: {_differing(a[other[0]], b[other[0]])}",
                got=f"{_differing(b[other[0]], a[other[0]])} at {cell.point}",
                hint="the study file or --scale was another",
            )  # fmt: skip


def _measured(run: Path) -> Mapping[Key, Cell]:
    """Return a run's measuring cells by point and seed."""
    cells = (planned.cell for planned in saved_runs.load_cells(run))
    return {
        (tuple(sorted((name, repr(one)) for name, one in cell.point.items())), cell.seed): cell
        for cell in cells
        if cell.purpose == "measure"
    }


def _differing(a: Any, b: Any) -> str:
    """Return the first innermost part of ``a`` that ``b`` has not."""
    if isinstance(a, dict) and isinstance(b, dict):
        name = next(name for name in a if a[name] != b.get(name))
        inner = _differing(a[name], b.get(name))
        return f"{name} {inner}"
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return _differing(*next((x, y) for x, y in zip(a, b, strict=True) if x != y))
    return str(a)[:80]
