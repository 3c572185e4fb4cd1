"""What of a run or a set goes into a bundle, and what is refused.

Invariants: a file is a plain file below the folder that was named, no link is followed; of cells
only those go in that have finished and are what they were then; what was measured is what the
summary says. What a bundle leaves out is made of what is in it, or is evidence that is asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model import plain_files, run_folder
from model.cell import Cell
from model.errors import DisagreementError, StudyError
from model.run_files import json_file
from model.run_files.cells import OBJECT
from reports.store.run import read_run
from reports.verdict.files import summary_json
from reports.verdict.summary import Summary, summarise
from testbed.campaign import digests, run_cells, saved_runs
from testbed.campaign.study_sets import Found
from testbed.machine.command_line import groundtruth
from testbed.planning.plan import PlannedCell

#: Of a cell's raw files, what a bundle without evidence has: words about it, no recordings.
DOCUMENTS = frozenset({*run_folder.RAW_DOCUMENTS, run_folder.EVENTS, run_folder.MEDIUM})
#: What of a cell is this execution's own and not given away: it may name this machine's folders.
OWN = frozenset({run_folder.CONSOLE, run_folder.DONE_BEFORE, run_folder.DONE_PARTIAL})
#: Outputs a bundle has; exports and traces for other tools are written again from the evidence.
OUTPUTS = (run_folder.SUMMARY_JSON, run_folder.SUMMARY_CSV)
OUTPUT_FOLDERS = (run_folder.REPORT, run_folder.COMPARED)
_PLAIN = re.compile(r"[^A-Za-z0-9.+@_-]+")


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel that cells ran on, as their identity tells of it."""

    name: str
    lab: str
    package: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class CollectedRun:
    """A run that goes into a bundle: whole, or with cells that are not finished named."""

    folder: Path
    name: str
    summary: Summary
    source: Any
    cells: tuple[PlannedCell, ...]
    unfinished: tuple[str, ...]
    provenance: dict[str, Any]
    profiles: dict[str, str]
    configs: dict[str, str]

    @property
    def finished(self) -> tuple[str, ...]:
        """The ids of the cells that go in."""
        left = set(self.unfinished)
        return tuple(planned.id for planned in self.cells if planned.id not in left)

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the kernels of its cells, each once, in order."""
        return tuple(dict.fromkeys(_kernel(planned.cell) for planned in self.cells))


def _kernel(cell: Cell) -> Kernel:
    lab = cell.lab
    return Kernel(
        name=lab.get("kernel", ""), lab=lab.get("name", ""), package=lab.get("kernel_package", ""),
        digest=lab.get("kernel_digest", ""),
    )  # fmt: skip


def collect(found: Found, *, unfinished: bool) -> tuple[CollectedRun, ...]:
    """Return what was found, looked at from end to end.

    Args:
        found: a run or a set.
        unfinished: whether cells may be missing.

    Raises:
        DisagreementError: a file is not what the run left, or the summary not what tables say.
        StudyError: cells are not finished, or there is no report.
        ParseError: it cannot be read.
    """
    runs = tuple(_run(folder, unfinished=unfinished) for folder in found.runs)
    if found.is_set:
        _check_outputs(found.folder)
        if not is_of_its_runs(found):
            raise _stale(found.folder, "the summary of the set is not that of its runs")
    return runs


def is_of_its_runs(found: Found) -> bool:
    """Return whether the summary of a set holds those of its runs; raise :class:`ParseError`."""
    own = [json_file.read(OBJECT, run / run_folder.SUMMARY_JSON) for run in found.runs]
    listed = json_file.read(OBJECT, found.folder / run_folder.SUMMARY_JSON)
    return listed.get("studies") == own


def _run(folder: Path, *, unfinished: bool) -> CollectedRun:
    cells = saved_runs.load_cells(folder)
    left = tuple(planned.id for planned in run_cells.unfinished(folder, cells))
    done = [planned.id for planned in cells if planned.id not in set(left)]
    changed = digests.changed(folder, done)
    digests.raise_if_any(
        {f"cells/{one}": why for one, why in changed.items()}, folder, "cells are changed"
    )
    if left and not unfinished:
        raise StudyError(
            f"{len(left)} of {len(cells)} cells are not finished", where=str(folder),
            hint=groundtruth("resume", folder) + "; or --unfinished, and the bundle says so",
        )  # fmt: skip
    _check_outputs(folder)
    read = read_run(folder)
    summary = summarise(read)
    if plain_files.read_text(folder / run_folder.SUMMARY_JSON) != summary_json(summary):
        raise _stale(folder, f"{run_folder.SUMMARY_JSON} is not what its cells' tables give now")
    lab = _json(folder / run_folder.LAB) if (folder / run_folder.LAB).exists() else {}
    return CollectedRun(
        folder=folder, name=folder.name, summary=summary, source=read.study.source,
        cells=tuple(cells), unfinished=left, provenance=read.provenance,
        profiles=_texts(read.provenance.get("profiles")), configs=_texts(lab.get("configs")),
    )  # fmt: skip


def check_evidence(runs: Sequence[CollectedRun]) -> None:
    """Raise :class:`StudyError` if raw files of cells are gone, ``ParseError`` if none can tell."""
    for run in runs:
        gone = [
            id_ for id_ in run.finished if digests.removed(run_folder.cell_folder(run.folder, id_))
        ]
        if gone:
            raise StudyError(
                f"raw files of {len(gone)} of {len(run.finished)} cells were removed to free the"
                " disk", where=str(run.folder),
                hint=f"by groundtruth gc, see {run_folder.FREED}; a bundle without --evidence needs"
                " none, a new run of the study has them",
            )  # fmt: skip


def _check_outputs(folder: Path) -> None:
    for name in (run_folder.SUMMARY_JSON, run_folder.REPORT_HTML):
        if not plain_files.is_file(folder / name):
            raise StudyError(
                "there is no report", where=str(folder / name),
                hint=groundtruth("report", folder),
            )  # fmt: skip


def _stale(folder: Path, why: str) -> DisagreementError:
    return DisagreementError(why, where=str(folder), hint=groundtruth("report", folder))


def _json(path: Path) -> Any:
    return json.loads(plain_files.read_text(path))


def _texts(value: object) -> dict[str, str]:
    found = value if isinstance(value, dict) else {}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def set_files(found: Found) -> Iterator[tuple[str, Path]]:
    """Yield the set's own files, by their names in it."""
    for name in sorted(run_folder.OF_SET):
        if plain_files.is_file(found.folder / name):
            yield name, found.folder / name
    yield from _below(found.folder, run_folder.REPORT)


def run_files(run: CollectedRun, *, evidence: bool) -> Iterator[tuple[str, Path]]:
    """Yield a run's files that go into a bundle, by their names in the run."""
    for name in (*run_folder.COVERED, run_folder.MANIFEST, *OUTPUTS):
        if plain_files.is_file(run.folder / name):
            yield name, run.folder / name
    for part in (run_folder.MOVEMENTS, *OUTPUT_FOLDERS):
        yield from _below(run.folder, part)
    for id_ in run.finished:
        for name, path in plain_files.files(run_folder.cell_folder(run.folder, id_)):
            if name not in OWN and (evidence or without_evidence(name)):
                yield f"cells/{id_}/{name}", path


def _below(folder: Path, part: str) -> Iterator[tuple[str, Path]]:
    if plain_files.is_folder(folder / part):
        for name, path in plain_files.files(folder / part):
            yield f"{part}/{name}", path


def without_evidence(name: str) -> bool:
    """Return whether a cell's file is in bundles that have no evidence."""
    return not name.startswith("raw/") or name in DOCUMENTS


def texts(runs: Sequence[CollectedRun]) -> Iterator[tuple[str, str, str]]:
    """Yield the host profiles and kernel configurations of runs: file, text, and what it is.

    Where runs have other texts of one name, each but the first says whose it is.
    """
    seen: dict[str, str] = {}
    for run in runs:
        found = [("hosts", name, ".yaml", text) for name, text in run.profiles.items()]
        found += [("kernels", name, ".config", text) for name, text in run.configs.items()]
        for folder, name, suffix, text in found:
            plain = _PLAIN.sub("-", name).strip("-.") or "unnamed"
            for file in (f"{folder}/{plain}{suffix}", f"{folder}/{run.name}-{plain}{suffix}"):
                if file not in seen:
                    seen[file] = text
                    yield file, text, _about(folder, name)
                if seen[file] == text:
                    break


def _about(folder: str, name: str) -> str:
    return f"Host profile {name}" if folder == "hosts" else f"Configuration of the kernel {name}"
