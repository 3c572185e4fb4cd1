"""``groundtruth export``: a finished run written for tools that people have.

Invariants: only finished cells are read, and only if their files are what the run left; the others
are named, as the report names them. Each file appears whole or not at all. In the run's own folder
an export is written anew; elsewhere no file is overwritten unasked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from model import plain_files, run_folder
from model.errors import GroundtruthError, Interrupted, RunError, StudyError, going_on
from model.words import how_many
from testbed.campaign import digests, new_runs, saved_runs, study_sets
from testbed.campaign.progress import Display
from testbed.command.runs import run_and_report
from testbed.machine.console import out, words

if TYPE_CHECKING:
    from reports.exports.cell import ExportedCell, OutFile
    from reports.store.run import Run

#: What a run is exported to; a test compares them with what ``reports`` writes.
FORMATS = ("flent", "omnetpp", "qlog", "csv")
#: What a run must have recorded for a format that some runs have nothing for.
NEEDS = {"qlog": "a TCP or SCTP flow, and telemetry or captures: groundtruth run STUDY --pcap"}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What of a run is to be written where: formats, beginnings of ids, a folder or none."""

    formats: tuple[str, ...]
    cells: tuple[str, ...] = ()
    to: Path | None = None
    force: bool = False


def command(run_name: str, wanted: Wanted) -> None:
    """Write a run, or each run of a set, for other tools, and say where.

    Raises:
        DisagreementError: a cell was changed since it finished; the others were written.
        RunError: a file could not be made; the others were.
        StudyError: there is nothing to export, or something in its place.
    """
    found = study_sets.find(run_name)
    if wanted.to is not None:
        _check_folder(wanted.to, found)
    overwriting = " with --force" if wanted.to is not None and not wanted.force else ""
    with going_on(f"{Interrupted.how}{overwriting}"):
        errors = run_and_report.each(found, lambda run: _export(found, run, wanted))
    run_and_report.raise_if_any(errors)


def _check_folder(to: Path, found: study_sets.Found) -> None:
    """Raise :class:`StudyError` unless exports may be written to this folder."""
    if to.exists() and not to.is_dir():
        raise StudyError("not a folder", where=str(to), wanted="a folder for --to", got="a file")
    if to.resolve().is_relative_to(found.folder):
        raise StudyError(
            "what a run left is not written to", where=str(to), wanted="a folder outside the run",
            hint="without --to exports go to the run's own folder for them",
        )  # fmt: skip


def _check_writable(folder: Path) -> None:
    """Raise :class:`StudyError` unless exports can be written to a folder; write nothing."""
    if problem := new_runs.unwritable(folder):
        raise StudyError(
            "cannot write exports", where=str(folder), wanted="a folder that can be written",
            got=problem, hint="another folder: --to FOLDER",
        )  # fmt: skip


def _export(found: study_sets.Found, run: Path, wanted: Wanted) -> None:
    # Imported when needed, here and below: reports take longer to load than most commands.
    from reports.exports.formats import FORMATS as MADE
    from reports.exports.formats import exported_cells, files
    from reports.store.run import read_run

    for kind in wanted.formats:
        _check_writable(_folder(found, run, kind, wanted))
    planned = saved_runs.load_cells(run)
    done = run_and_report.finished(run, planned)
    read = read_run(run, digests.changed(run, [one.id for one in done]))
    _tell_left_out(found, run, read)
    cells = _chosen(exported_cells(read, run, _epoch_ns), wanted.cells, run)
    failures: list[str] = []
    for kind in wanted.formats:
        folder = _folder(found, run, kind, wanted)
        made = list(files(read.study, cells, kind)) if cells else []
        if not made and not read.damaged:
            raise StudyError(
                f"nothing to export as {kind}", where=str(run),
                hint=f"it needs {NEEDS.get(kind, 'a finished cell: groundtruth resume RUN')}",
            )  # fmt: skip
        if wanted.to is not None and not wanted.force:
            _check_free(folder, made)
        written = _write(folder, made, failures)
        if written:
            out().print(f"{found.named(run)}{folder}: {how_many(written, 'file')}", soft_wrap=True)
            words().print(f"open: {MADE[kind].opens}", soft_wrap=True)
    if failures:
        raise RunError(
            f"{how_many(len(failures), 'file')} could not be made:\n  " + "\n  ".join(failures),
            where=str(run),
        )
    damaged = {f"cells/{one.plan.id}": one.why for one in read.damaged}
    digests.raise_if_any(damaged, run, "cells are changed, and left out")


def _tell_left_out(found: study_sets.Found, run: Path, read: Run) -> None:
    left = sum(one.plan.purpose == "measure" for one in read.unfinished)
    if left:
        line = f"{found.named(run)}{how_many(left, 'cell')} not finished, and left out"
        words().print(line, soft_wrap=True)


def _chosen(cells: list[ExportedCell], wanted: Sequence[str], run: Path) -> list[ExportedCell]:
    """Return all cells, or those whose ids begin with what is wanted.

    Raises:
        StudyError: what is wanted is not the beginning of one cell's id.
    """
    for word in wanted:
        meant = [cell for cell in cells if word and cell.id.startswith(word)]
        if len(meant) != 1:
            raise StudyError(
                "not one cell", where=f"{run}: --cell", wanted="the beginning of one cell's id",
                got=f"{word!r}, which {len(meant) or 'no'} finished measuring cells begin with",
                hint=f"ids are the names of the folders in {run}/cells",
            )  # fmt: skip
    return [cell for cell in cells if not wanted or cell.id.startswith(tuple(wanted))]


def _folder(found: study_sets.Found, run: Path, kind: str, wanted: Wanted) -> Path:
    if wanted.to is None:
        return run / run_folder.EXPORT / kind
    return wanted.to / run.name if found.is_set else wanted.to


def _check_free(folder: Path, made: Sequence[OutFile]) -> None:
    """Raise :class:`StudyError` if a file to be written is there."""
    there = [one.name for one in made if (folder / one.name).exists()]
    if there:
        raise StudyError(
            "a file is there", where=str(folder / there[0]), wanted="a name that is free",
            got=f"{how_many(len(there), 'file')} of these names" if len(there) > 1 else "",
            hint="another folder, or --force to overwrite",
        )  # fmt: skip


def _write(folder: Path, made: Sequence[OutFile], failures: list[str]) -> int:
    """Write files one after the other, and return how many; add why the others could not be."""
    written = 0
    with Display(words()) as display:
        for done, one in enumerate(made):
            display.writing(done, len(made))
            try:
                plain_files.write_pieces(folder / one.name, one.pieces, unlocked=True)
                written += 1
            except GroundtruthError as error:
                failures.append(f"{one.name}: {error}")
        display.writing(len(made), len(made))
    return written


def _epoch_ns(folder: Path) -> int | None:
    """Return time zero of a cell since 1970; None if it does not tell."""
    from collectors.tables import packet_evidence

    if not (folder / run_folder.EPOCH).exists():
        return None
    return packet_evidence.epoch_ns(folder)
