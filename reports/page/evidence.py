"""What the HTML page shows of the evidence: checks, ledger, environment, how to repeat it. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.check import Check
from model.run_files.cells import KnobReading, LedgerReading, PlannedCell
from model.words import how_many
from reports.measures.quantities import UNKNOWN, point_words
from reports.page.grid import NONE, Field, Grid, Part, columns, judgement, part
from reports.page.places import place_of
from reports.store.run import FinishedCell, Run
from reports.verdict.summary import Summary


@dataclass(frozen=True, kw_only=True)
class CheckGroup:
    """The checks of one calibrating cell, or the failed ones of a measuring cell."""

    words: str
    failed: bool
    checks: Grid


def _group(plan: PlannedCell, checks: tuple[Check, ...], run: Run) -> CheckGroup:
    title = f"{point_words(plan.point, run.study.parameters)}, seed {plan.seed}"
    agreeing = sum(check.agrees is True for check in checks)
    return CheckGroup(
        words=f"{title}: {agreeing} of {len(checks)} checks agree",
        failed=any(check.agrees is False for check in checks),
        checks=Grid(
            f"Checks: {title}",
            columns("words", "Check", "Where", "Wanted", "Got", "Agrees"),
            [(c.check, c.where, c.wanted, c.got, judgement(_AGREES[c.agrees])) for c in checks],
        ),
    )


_AGREES = {True: "yes", False: "no", None: "not known"}


def calibrations(run: Run) -> tuple[CheckGroup, ...]:
    """Return the checks of every calibrating cell that made any."""
    return tuple(_group(plan, checks, run) for plan, checks in run.checked("calibrate") if checks)


def measuring_checks(run: Run) -> tuple[str, tuple[CheckGroup, ...]]:
    """Return in words how the measuring cells' own checks went, and those that failed."""
    made = [(plan, checks) for plan, checks in run.checked("measure") if checks]
    checks = [check for _, group in made for check in group]
    agreeing = sum(check.agrees is True for check in checks)
    unknown = sum(check.agrees is None for check in checks)
    words = f"{agreeing} of {how_many(len(checks), 'check')} in {how_many(len(made), 'cell')} agree"
    if unknown:
        words += f"; {unknown} could not be made"
    wrong = [
        (plan, tuple(check for check in group if check.agrees is False)) for plan, group in made
    ]
    return words, tuple(_group(plan, group, run) for plan, group in wrong if group)


def ledger(run: Run, summary: Summary) -> Grid:
    """Return the parameter ledger once; where cells differ, one row per variant saying where."""
    cells = run.measured()
    variants: dict[str, dict[LedgerReading, list[FinishedCell]]] = {}
    for cell in cells:
        for entry in cell.ledger:
            variants.setdefault(entry.parameter, {}).setdefault(entry, []).append(cell)
    rows = [
        _ledger_row(entry, "" if len(where) == len(cells) else _applies(where, cells, summary))
        for readings in variants.values()
        for entry, where in readings.items()
    ]
    heads = ("Parameter", "Published", "Fidelity", "Settings and what was read back", "Note")
    caption = f"Published parameters on this {summary.system}"
    return Grid(caption, columns("words", *heads), rows, look="wide")


_FIDELITY = {"exact": "inside", "approximated": "published", "cannot_be_set": "outside"}


def _ledger_row(entry: LedgerReading, applies: str) -> tuple[Field, ...]:
    name = part("", entry.parameter, *[part("readback", f" ({applies})")] * bool(applies))
    look = f"narrow fidelity {_FIDELITY.get(entry.fidelity, '')}".strip()
    knobs = part("", *(_knob(one) for one in entry.knobs)) if entry.knobs else NONE
    fidelity = part(look, entry.fidelity.replace("_", " "))
    return name, entry.published, fidelity, knobs, entry.note


def _knob(knob: KnobReading) -> Part:
    """Return a setting, what was read back and where, and whether they disagree."""
    read_back: list[Field] = ["read back " if knob.read_back else "not read back"]
    for place, value in knob.read_back.items():
        read_back += [", "] * (len(read_back) > 1) + [f"{place}: ", part("code", str(value))]
    return part(
        "knob",
        part("code", f"{knob.name} = {knob.value}"),
        *[f" ({knob.side})"] * (knob.side != "both"),
        part("readback", *read_back),
        *[part("outside", "✗ disagrees")] * (knob.agrees is False),
    )


def _applies(where: list[FinishedCell], cells: tuple[FinishedCell, ...], summary: Summary) -> str:
    points = {cell.plan.point for cell in where}
    if len(where) == sum(cell.plan.point in points for cell in cells):
        every = dict.fromkeys(cell.plan.point for cell in cells)  # in the plan's order
        return "at " + "; ".join(place_of(point, summary) for point in every if point in points)
    return f"in {len(where)} of {len(cells)} cells"


def _flat(content: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for key, value in content.items():
        if isinstance(value, Mapping):
            found += _flat(value, f"{prefix}{key}.")
        elif isinstance(value, str):
            found.append((prefix + key, value))
        else:
            found.append((prefix + key, json.dumps(value, sort_keys=True, ensure_ascii=False)))
    return found


#: What the environment table always shows; the rest is folded away.
_ESSENTIAL = ("clock", "kernel", "lab.", "tick_hz", "tools.")
#: Not in it: warnings stand at the top, seeds are listed with the runs, schemas say nothing, and
#: machines have a table of their own.
_LEFT_OUT = frozenset({"schema", "seed", "warnings", "machines"})
_MOST_VALUES = 4


def repeat_options(run: Run) -> tuple[str, ...]:
    """Return what ``make experiment`` takes besides the study to run the same cells again."""
    seeds = [one.replicate for one in run.plan] if run.study.rounds else [len(run.study.seeds)]
    words = [f"REPS={'auto' if run.study.precision else max(seeds, default=1)}"]
    words += ["SENSITIVITY=no"] * bool(run.study.left_out)
    words += [f"SCALE={run.study.scale:g}"] * (run.study.scale != 1)
    words += [f"AT={' '.join(run.study.at)}"] * bool(run.study.at)
    for name in ("name", "kernel"):
        values = {cell.cell.lab.get(name) for cell in run.finished}
        variable = {"name": "LAB", "kernel": "KERNEL"}[name]
        words += [f"{variable}={value}" for value in values if value and len(values) == 1]
    return tuple(words)


def repeat_command(studies: Sequence[str], options: Sequence[str]) -> str:
    """Return the command that runs the same cells of one or several studies again."""
    named = " ".join(studies)
    quoted = f'STUDY="{named}"' if len(studies) > 1 else shlex.quote(f"STUDY={named}")
    return " ".join(("make experiment", quoted, *(shlex.quote(option) for option in options)))


def environment(run: Run) -> tuple[Grid, Grid]:
    """Return what the cells recorded of their surroundings: the essential part, and the rest.

    A value that differs between cells is shown with the number of cells that have it.
    """
    values: dict[str, dict[str, int]] = {}
    for cell in run.finished:
        recorded = {key: value for key, value in cell.env.items() if key not in _LEFT_OUT}
        for key, value in _flat({**recorded, "lab": cell.cell.lab}):
            seen = values.setdefault(key, {})
            seen[value] = seen.get(value, 0) + 1
    rows: dict[bool, list[tuple[Field, ...]]] = {True: [], False: []}
    for key, seen in sorted(values.items()):
        words = next(iter(seen))
        if len(seen) > 1 or sum(seen.values()) < len(run.finished):
            shown = [f"{value} ({how_many(n, 'cell')})" for value, n in sorted(seen.items())]
            more = [f"and {len(shown) - _MOST_VALUES} more"] if len(shown) > _MOST_VALUES else []
            words = "; ".join(shown[:_MOST_VALUES] + more)
        row = (part("", part("code", key)), words or UNKNOWN)
        rows[key.startswith(_ESSENTIAL)].append(row)
    head = columns("words", "What", "Value")
    return (
        Grid("What the runs ran on", head, rows[True]),
        Grid("From env.json of every run", head, rows[False]),
    )


def machines(run: Run) -> Grid:
    """Return what each machine is that nodes of cells were; empty where a lab has one for all.

    A machine that was not the same for all cells has a row for each way it was.
    """
    rows = {
        (name, *_machine(told)): None
        for cell in run.finished
        for name, told in cell.env.get("machines", {}).items()
    }
    head = columns("words", "Machine", "Kernel", "Processors", "Clock", "Interfaces")
    return Grid("Machines", head, sorted(rows))


def _machine(told: Mapping[str, Any]) -> tuple[str, ...]:
    interfaces = [
        f"{interface} to {neighbour}: {_interface(told['interfaces'][interface])}"
        for neighbour, interface in sorted(told["links"].items(), key=lambda link: link[1])
    ]
    return (
        f"{told['kernel_package']}, timer {told['tick_hz']} Hz",
        f"{told['cores']} of {told['machine']}",
        f"{told['clock_source']}, kept by {told['time_service']}",
        "; ".join(interfaces),
    )


def _interface(told: Mapping[str, Any]) -> str:
    speed = f"{told['speed_mbps']} Mbit/s" if told["speed_mbps"] else "speed not told"
    offloads = " ".join(told["offloads"]) or "none"
    return f"driver {told['driver']}, {speed}, offloads as found {offloads}"
