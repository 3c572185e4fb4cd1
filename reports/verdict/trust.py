"""Which cells count, and everything to read before trusting a run. Pure.

Invariants: a cell with a failed check, or whose calibration failed, never counts; every reason not
to trust the numbers becomes one warning, said once, in a stable order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from model import units
from model.check import Check
from model.run_files.cells import LedgerReading, PlannedCell, RunWarning
from model.run_files.point import Point
from model.run_files.study import Study
from model.words import how_many
from reports.measures.quantities import point_words
from reports.store.run import Attempt, FinishedCell, Run

#: The rule that says a finished cell was changed since, or cannot be read.
DAMAGED = "cell-damaged"
#: How many seeds of a point's missing cells are named.
MOST_SEEDS = 10
#: Rules that put a whole run in doubt, told before others.
GRAVE = (
    "no-cell-finished", "cells-unfinished", "cell-excluded", "calibration-failed",
    "not-calibrated", "read-back-disagrees", "cells-differ", "times-scaled", "few-runs",
    "seeds-change-nothing",
)  # fmt: skip


def _cell_words(cell: PlannedCell, study: Study) -> str:
    return f"{point_words(cell.point, study.parameters)}, seed {cell.seed} (cells/{cell.id})"


def lengths_s(study: Study) -> tuple[float, ...]:
    """Return how long runs of a study are: one length, or the shortest and the longest."""
    at = {float(dict(point.settings).get("duration_s", study.duration_s)) for point in study.points}
    return (min(at), max(at)) if len(at) > 1 else tuple(at)


def _failed(checks: Sequence[Check]) -> list[Check]:
    return [check for check in checks if check.agrees is False]


def _check_words(check: Check) -> str:
    return f"{check.check} at {check.where}: wanted {check.wanted}, got {check.got}"


def _failed_calibrations(run: Run) -> list[tuple[PlannedCell, list[Check]]]:
    """Return the calibrations with a failed check; such a cell is usually left without DONE."""
    tried = run.checked("calibrate")
    return [(plan, _failed(checks)) for plan, checks in tried if _failed(checks)]


def exclusions(run: Run) -> dict[str, str]:
    """Return the finished measuring cells that do not count, by id, and why."""
    found: dict[str, str] = {}
    for cell in run.measured():
        failed = _failed(cell.checks)
        if failed:
            found[cell.plan.id] = "; ".join(_check_words(check) for check in failed)
            continue
        for calibration, _ in _failed_calibrations(run):
            if run.study.calibrates(calibration.point, cell.plan.point):
                found[cell.plan.id] = f"its calibration failed (cells/{calibration.id})"
    return found


def _missing_by_point(run: Run, missing: Sequence[PlannedCell]) -> Iterable[str]:
    """Yield for each point how many of its cells are missing, and which seeds these have."""
    purpose = missing[0].purpose
    for point in dict.fromkeys(cell.point for cell in missing):
        here = [cell for cell in missing if cell.point == point]
        planned = sum(cell.point == point and cell.purpose == purpose for cell in run.plan)
        seeds = ", ".join(str(cell.seed) for cell in here[:MOST_SEEDS])
        seeds += f" and {len(here) - MOST_SEEDS} more" if len(here) > MOST_SEEDS else ""
        yield (
            f"{point_words(point, run.study.parameters)}: {len(here)} of {planned}, "
            f"{'seed' if len(here) == 1 else 'seeds'} {seeds} (first cells/{here[0].id})"
        )


def _missing_cells(run: Run) -> Iterable[RunWarning]:
    if not run.measured():
        yield RunWarning(
            rule="no-cell-finished", where="cells/", text="No measuring cell has finished."
        )
    for damaged in run.damaged:
        yield RunWarning(
            rule=DAMAGED,
            where=_cell_words(damaged.plan, run.study),
            text=f"This cell is not what its run left; not part of any number here: {damaged.why}.",
        )
    told = {failure.where: failure for failure in run.failures}
    missing: dict[tuple[str, str], list[PlannedCell]] = {}
    for attempt in run.unfinished:
        failure = told.get(f"cells/{attempt.plan.id}")
        if failure and not _failed(attempt.checks):  # a failed check is told by itself
            yield RunWarning(
                rule=failure.rule,
                where=_cell_words(attempt.plan, run.study),
                text=f"This cell failed; not part of any number here: {failure.text}",
            )
            continue
        state = "started but did not finish" if attempt.started else "not run"
        what = "measurement" if attempt.plan.purpose == "measure" else "calibration"
        missing.setdefault((what, state), []).append(attempt.plan)
    for (what, state), planned_cells in missing.items():
        yield RunWarning(
            rule="cells-unfinished",
            where="; ".join(_missing_by_point(run, planned_cells)),
            text=f"{how_many(len(planned_cells), f'planned {what}')} {state}; not part of any "
            "number here.",
        )
    for folder in run.unplanned:
        yield RunWarning(
            rule="cell-unplanned",
            where=f"cells/{folder}",
            text="This folder is not in plan.json and was left out.",
        )


def _failed_checks(run: Run) -> Iterable[RunWarning]:
    for calibration, checks in _failed_calibrations(run):
        for check in checks:
            yield RunWarning(
                rule="calibration-failed",
                where=_cell_words(calibration, run.study),
                text=f"{_check_words(check)}. No cell at this point counts.",
            )
    for plan, found in run.checked("measure"):
        if _failed(found):
            words = "; ".join(_check_words(check) for check in _failed(found))
            yield RunWarning(
                rule="cell-excluded",
                where=_cell_words(plan, run.study),
                text=f"This cell does not count: {words}.",
            )


def _uncalibrated(run: Run) -> Iterable[RunWarning]:
    if any(cell.cell.simulated() for cell in run.finished):
        return  # a simulator's path is what it was set to
    done = [cell.plan.point for cell in run.calibrated()]
    done += [plan.point for plan, _ in _failed_calibrations(run)]
    points, calibrates = run.study.all_points, run.study.calibrates
    bare = [p for p in points if not any(calibrates(point, p) for point in done)]
    if bare:
        where = "every point" if len(bare) == len(points) else "; ".join(
            point_words(point, run.study.parameters) for point in bare
        )  # fmt: skip
        yield RunWarning(
            rule="not-calibrated",
            where=where,
            text="No finished calibration covers this: rate, delay, loss and buffer are as set, "
            "not as measured on the wire.",
        )


def _ledgers(run: Run) -> dict[str, dict[LedgerReading, int]]:
    found: dict[str, dict[LedgerReading, int]] = {}
    for cell in run.measured():
        for entry in cell.ledger:
            readings = found.setdefault(entry.parameter, {})
            readings[entry] = readings.get(entry, 0) + 1
    return found


def _fidelity(run: Run) -> Iterable[RunWarning]:
    """Yield one warning for each kind of parameter that the hosts do not have as published."""
    entries = {name: next(iter(found)) for name, found in _ledgers(run).items()}
    for fidelity, rule, words in (
        ("cannot_be_set", "cannot-be-set", "cannot be set; the ledger says what Linux does"),
        ("approximated", "approximated", "approximated; the ledger says how"),
    ):
        names = [name for name, entry in entries.items() if entry.fidelity == fidelity]
        if names:
            number = how_many(len(names), "published parameter")
            yield RunWarning(rule=rule, where="; ".join(names), text=f"{number} {words}.")


def _read_back(run: Run) -> Iterable[RunWarning]:
    wrong: dict[tuple[str, str], list[str]] = {}
    tried: tuple[FinishedCell | Attempt, ...] = (*run.measured(), *run.unfinished)
    for cell in tried:
        for entry in cell.ledger:
            for knob in entry.knobs:
                if knob.agrees is False:
                    got = ", ".join(f"{place}: {value}" for place, value in knob.read_back.items())
                    text = f"{knob.name}: wanted {knob.value}, read back {got or 'nothing'}."
                    wrong.setdefault((entry.parameter, text), []).append(cell.plan.id)
    for (parameter, text), ids in wrong.items():
        yield RunWarning(
            rule="read-back-disagrees",
            where=f"{parameter} ({how_many(len(ids), 'cell')}, first cells/{ids[0]})",
            text=text,
        )


def _environment(run: Run) -> Iterable[RunWarning]:
    cells: dict[RunWarning, int] = {}
    for cell in run.finished:
        for warning in dict.fromkeys(cell.warnings):
            cells[warning] = cells.get(warning, 0) + 1
    for warning, number_of_cells in cells.items():
        if number_of_cells == len(run.finished):
            yield warning
        else:
            some = f"{number_of_cells} of {len(run.finished)} cells"
            where = f"{warning.where} ({some})" if warning.where else some
            yield RunWarning(rule=warning.rule, where=where, text=warning.text)
    yield from _mixed(run)


def _mixed(run: Run) -> Iterable[RunWarning]:
    """Points may have a kernel each, but the cells of one point one and the same lab."""
    by_point: dict[Point, dict[tuple[str, str], None]] = {}
    for cell in run.finished:
        lab = (str(cell.env["kernel_release"]), json.dumps(cell.cell.lab, sort_keys=True))
        by_point.setdefault(cell.plan.point, {})[lab] = None
    mixed = [lab for labs in by_point.values() if len(labs) > 1 for lab in labs]
    if mixed:
        kernels, labs = sorted({kernel for kernel, _ in mixed}), {lab for _, lab in mixed}
        yield RunWarning(
            rule="cells-differ",
            where="env.json, cell.json",
            text=f"Cells of one point ran on {how_many(len(kernels), 'kernel')} "
            f"({', '.join(kernels)}) and {how_many(len(labs), 'lab')}; their averages mix them.",
        )


def _audits(run: Run) -> Iterable[RunWarning]:
    for cell in run.measured():
        for found in cell.evidence.warnings:
            where = f"{found.where}, {_cell_words(cell.plan, run.study)}"
            yield RunWarning(rule=found.rule, where=where, text=found.text)


def _local_changes(run: Run) -> Iterable[RunWarning]:
    git = run.provenance.get("git")
    if isinstance(git, dict) and git.get("dirty") is True:
        yield RunWarning(
            rule="local-changes",
            where="provenance.json",
            text=f"The program had changes that are in no commit (on top of {git.get('commit')}).",
        )


def _repeated_seeds(run: Run) -> Iterable[RunWarning]:
    seeds: dict[tuple[Point, int], list[FinishedCell]] = {}
    for cell in run.measured():
        seeds.setdefault((cell.plan.point, cell.plan.seed), []).append(cell)
    for (point, seed), same in seeds.items():
        if len(same) > 1:
            yield RunWarning(
                rule="seed-repeated",
                where=f"{point_words(point, run.study.parameters)}, seed {seed}",
                text=f"{len(same)} cells share this seed: they are not independent runs, and the "
                "intervals are too narrow.",
            )


def _scaled(run: Run) -> Iterable[RunWarning]:
    scale = run.study.scale
    if scale == 1:
        return
    ends = lengths_s(run.study)
    ran = " to ".join(units.format_time(one_s) for one_s in ends)
    written = " to ".join(units.format_time(round(one_s / scale, 9)) for one_s in ends)
    yield RunWarning(
        rule="times-scaled",
        where="resolved.json",
        text=f"All times of the experiment were scaled by {scale:g}: runs of {written} lasted "
        f"{ran}; starts, stops and windows of time moved alike, path and hosts are as they were. "
        "Published values are of the full length, so these verdicts are none on the publication.",
    )


def _some_points(run: Run) -> Iterable[RunWarning]:
    here, gone = len(run.study.points), run.study.points_left_out
    at = [" ".join(run.study.at)] * bool(run.study.at)
    at += [f"the points of the claim {run.study.of_claim}"] * bool(run.study.of_claim)
    if gone:
        yield RunWarning(
            rule="points-left-out",
            where="resolved.json",
            text=f"{here} of {here + gone} points of the study were run, those at "
            f"{', '.join(at)}: claims that need others are not judged.",
        )


def _unmatched_rows(run: Run) -> Iterable[RunWarning]:
    if run.study.published is None:
        return
    points = set(run.study.points)
    rows = [row for row in run.study.published.rows if row.point not in points]
    if rows:
        yield RunWarning(
            rule="published-row-unused",
            where=run.study.published.where,
            text=f"{how_many(len(rows), 'published row')} without a point in this run: "
            f"{'; '.join(point_words(row.point, run.study.parameters) for row in rows)}.",
        )


def collect_warnings(run: Run) -> tuple[RunWarning, ...]:
    """Return every warning of a run once, gravest first within a stable order of sources."""
    found = (
        *_missing_cells(run),
        *_failed_checks(run),
        *_read_back(run),
        *_audits(run),
        *_scaled(run),
        *_some_points(run),
        *run.study.warnings,
        *_local_changes(run),
        *_repeated_seeds(run),
        *_uncalibrated(run),
        *_environment(run),
        *_fidelity(run),
        *_unmatched_rows(run),
    )
    return tuple(dict.fromkeys(found))
