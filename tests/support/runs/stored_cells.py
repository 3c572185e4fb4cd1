"""A cell of every study, kept in numbers: what it gives with the code of now, and what is stored.

    python -m tests.support.runs.stored_cells [STUDY]...

runs these cells anew, or all, and stores what they give; it prints what is other than it was.

The cell is the first point's with the first seed, all its packets captured, of MOST_S at most.
Stored are its figures as a summary has them and those of its flows, not the digests of its files:
these also change with the image, with a column more and with every line that runs in a lab.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_DOWN, Decimal
from pathlib import Path
from typing import Any

from model import run_folder
from model.cell import cell_id
from reports.store.run import Run, read_run
from reports.verdict.files import summary_json
from reports.verdict.summary import summarise
from testbed.campaign import new_runs
from testbed.campaign.run_cell import execute
from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.planning.findings import find
from testbed.planning.plan import PlannedCell, make_plan
from testbed.points.load_study import STUDIES_FOLDER, Study, load_study

STORED = Path(__file__).resolve().parents[2] / "data" / "stored-cells"
RENEW = "make stored-cells"
#: The longest that a cell takes of virtual time, unless something happens in it to a link.
MOST_S = Decimal(50)
#: How long one may take of this machine's time, however busy that is; part of no cell's identity.
PATIENCE_S = 1200.0
#: A scale has so many digits after the point.
STEP = Decimal("0.0001")
DIGITS = 9
#: The first lines of a file say what it is of; these are told, not compared.
ABOUT = "# "

Figures = dict[str, str]


def studies() -> dict[str, Path]:
    """Return the files of all studies and examples, by the name of what is stored of each."""
    found = sorted([*STUDIES_FOLDER.glob("*.yaml"), *STUDIES_FOLDER.glob("examples/*.yaml")])
    return {file.stem: file for file in found}


def place(name: str) -> Path:
    """Return the file in which a study's cell is stored."""
    return STORED / f"{name}.txt"


def short(file: Path) -> Study:
    """Return a study whose first point takes at most MOST_S, or as written if it has events.

    What follows an event, a failover for one, takes its time whatever the scale.
    """
    study = load_study(file)
    written_s = Decimal(study.points[0].settings.duration_s)
    if study.settings.events or written_s <= MOST_S:
        return study
    return load_study(file, scale=(MOST_S / written_s).quantize(STEP, ROUND_DOWN))


@functools.cache
def lab_of(kernel: str) -> VirtualLab:
    """Return the virtual lab with a kernel, built if it is not there."""
    return virtual_lab.ensure(kernel, lambda _what, _done: None)


def given_now(file: Path) -> str:
    """Run a study's cell, and return what is stored of it."""
    study = short(file)
    lab = lab_of(study.kernel_at(study.points[0]))
    with tempfile.TemporaryDirectory() as scratch:
        run = _run(study, lab, Path(scratch))
        return text_of(study.settings.study, run)


def _run(study: Study, lab: VirtualLab, scratch: Path) -> Run:
    """Return a run of one cell."""
    seeds = study.settings.seeds[:1]
    plan = make_plan(study, seeds=seeds, lab={}, pcap=True, sensitivity=False)
    values = study.points[0].values
    cell = dataclasses.replace(
        next(
            one.cell for one in plan.cells
            if one.cell.purpose == "measure" and one.cell.point == values
        ),
        lab=lab.describe(),
    )  # fmt: skip
    cell = dataclasses.replace(cell, limits=dataclasses.replace(cell.limits, wall_s=PATIENCE_S))
    planned = PlannedCell(id=cell_id(cell), cell=cell)
    plan = dataclasses.replace(plan, cells=(planned,), base_cells=1)
    run = new_runs.create(scratch, plan, find(study, seeds=seeds), [])
    execute(cell, run_folder.cell_folder(run, planned.id), lab, threading.Event())
    return read_run(run)


def text_of(name: str, run: Run) -> str:
    """Return what is stored of a run of one cell: a figure a line, by name."""
    summary = json.loads(summary_json(summarise(run)))
    (cell,), (ran,) = summary["cells"], run.measured()
    of = f"{ran.cell.duration_s:g} s, scale {summary['scale']:g}, seed {cell['seed']}"
    head = (
        f"{name}: one cell of {of}; written by `{RENEW}`",
        f"kernel {ran.env['kernel_release']}",
    )
    point = next(one for one in summary["points"] if one["point"] == cell["point"])
    found: dict[str, Any] = {
        "counted": cell["counted"],
        "metric": cell["metrics"],
        "flow": {row.flow: dataclasses.asdict(row) for row in ran.flows},
        "happened": {one["group"]: one for one in point["happened"]},
        "episode": {
            f"{one['flow']}.{one['episode']}.{one['name']}": one["kernel"]
            for one in point["published_episodes"]
        },
    }
    lines = (f"{where}: {figure}" for where, figure in flat(found))
    return "\n".join((*(f"{ABOUT}{line}" for line in head), *lines, ""))


def flat(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Yield every figure in objects within objects, with its name: those it lies in, and dots."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from flat(one, f"{where}.{name}" if where else name)
    else:
        yield where, shown(value)


def shown(value: Any) -> str:
    """Return a figure as it is stored, a fraction with DIGITS significant digits."""
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else json.dumps(value)


def figures(text: str) -> Figures:
    """Return the figures of a stored text, by name."""
    lines = (line for line in text.splitlines() if not line.startswith(ABOUT))
    return {name: figure for name, _, figure in (line.partition(": ") for line in lines)}


def about(text: str) -> str:
    """Return what a stored text is of."""
    return "; ".join(
        line.removeprefix(ABOUT) for line in text.splitlines() if line.startswith(ABOUT)
    )


def complaint(name: str, stored: str, got: str) -> str:
    """Return which figures of a study are other than stored, and what to do; empty if none is."""
    before, now = figures(stored), figures(got)
    wrong = [
        f"  {name} {where}: stored {before.get(where, 'none')}, got {now.get(where, 'none')}"
        for where in dict.fromkeys((*before, *now))
        if before.get(where) != now.get(where)
    ]
    if not wrong:
        return ""
    return "\n".join((
        f"{len(wrong)} of {len(before | now)} figures of the study {name} are other than stored",
        f"  stored: {about(stored)}", f"  got:    {about(got)}", *wrong,
        f"  if that is meant: {RENEW}, and say in the commit why",
    ))  # fmt: skip


def difference(name: str, stored: str, got: str) -> str:
    """Return what is other now, as ``diff`` shows it."""
    shown_as = place(name).name
    lines = difflib.unified_diff(
        stored.splitlines(keepends=True), got.splitlines(keepends=True), shown_as, shown_as, n=0
    )
    return "".join(lines)


def renew(names: Sequence[str]) -> None:
    """Store what the cells of these studies give now, or of all; print what is other."""
    known = studies()
    if unknown := set(names) - known.keys():
        raise SystemExit(f"no such study: {', '.join(sorted(unknown))}")
    gone = [] if names else [file for file in STORED.glob("*.txt") if file.stem not in known]
    for file in gone:
        sys.stdout.write(f"{file.name}: gone, as its study is\n")
        file.unlink()
    for name in names or known:
        file = place(name)
        stored = file.read_text() if file.exists() else ""
        got = given_now(known[name])
        sys.stdout.write(difference(name, stored, got) or f"{name}: as stored\n")
        file.parent.mkdir(exist_ok=True)
        file.write_text(got)


if __name__ == "__main__":
    renew(sys.argv[1:])
