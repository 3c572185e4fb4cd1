"""``groundtruth gc``: what of runs and of the store can go, and its going."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from model import plain_files, run_folder
from model.errors import StudyError, UnsupportedError
from model.words import how_many, size_text
from testbed.campaign import digests, freeing, saved_runs, study_sets
from testbed.campaign.freeing import Freeing
from testbed.command.runs.run_and_report import finished
from testbed.machine import trees
from testbed.machine.console import out, words
from testbed.store import cells as store
from testbed.store import upkeep

#: After so many days in which nothing of it was of use, an entry of the store goes.
OLDER_DAYS = 30.0


def of_run(run_name: str, *, dry_run: bool) -> None:
    """Remove the raw files of finished cells that no report needs, and what failed attempts left.

    Raises:
        StudyError: there is no such run, or another process works on it.
        DisagreementError: a file of a run is not what the run wrote.
    """
    found = study_sets.find(run_name)
    with study_sets.locked(found):
        for run in found.runs:
            _of_run(run, dry_run=dry_run)


def _of_run(run: Path, *, dry_run: bool) -> None:
    done = finished(run, saved_runs.load_cells(run))
    changed = digests.changed(run, [planned.id for planned in done])
    for cell_id, why in changed.items():
        words().print(f"left as it is: cells/{cell_id}: {why}", soft_wrap=True)
    folders = [run_folder.cell_folder(run, p.id) for p in done if p.id not in changed]
    every = [freeing.freeable(folder, digests.read_done(folder)) for folder in folders]
    going = [one for one in every if one.sha256]
    failed = run / run_folder.FAILED
    failed_bytes = upkeep.sizes(failed)[0] if plain_files.is_folder(failed) else 0
    if not dry_run:
        for one in going:
            freeing.free(one)
        if failed_bytes:
            trees.remove(failed)
    _say(run, going, failed_bytes, dry_run=dry_run)


def _say(run: Path, going: Sequence[Freeing], failed_bytes: int, *, dry_run: bool) -> None:
    files = sum(len(one.sha256) for one in going)
    freed_bytes = sum(one.own_bytes for one in going) + failed_bytes
    shared_bytes = sum(one.size_bytes - one.own_bytes for one in going)
    what = f"{how_many(files, 'raw file')} of {how_many(len(going), 'cell')}"
    if failed_bytes:
        what += " and what failed attempts left"
    would = "would be freed" if dry_run else "freed"
    line = f"{run}: {size_text(freed_bytes)} {would}: {what}"
    if shared_bytes:
        line += f"; {size_text(shared_bytes)} more once the store has them no longer"
    out().print(line)


def of_store(older_days: float, *, dry_run: bool) -> None:
    """Remove entries of the store that were of no use for so many days, and what was set aside.

    Raises:
        StudyError: it is no folder, or one that cannot be read.
        UnsupportedError: what is to go cannot be removed.
    """
    root = store.place()
    if root and (trouble := upkeep.unreadable(root)):
        raise StudyError(
            f"the store {trouble}", where=str(root), hint=f"{store.VARIABLE} names another"
        )
    if root is None or not root.exists():
        out().print("no store" if root is None else f"{root}: nothing is there")
        return
    old = upkeep.unused(root, older_days, time.time())
    aside = upkeep.set_aside(root)
    aside_bytes = sum(upkeep.sizes(place)[0] for place in aside)
    freed_bytes = sum(one.own_bytes for one in old) + aside_bytes
    if not dry_run:
        try:
            for place in (*(one.entry.folder for one in old), *aside):
                upkeep.remove(root, place)
        except OSError as error:
            raise UnsupportedError(
                "cannot remove entries of the store", where=str(root), got=str(error)
            ) from error
    would = "would be freed" if dry_run else "freed"
    line = f"{root}: {size_text(freed_bytes)} {would}: {how_many(len(old), 'entry', 'entries')} "
    line += f"of no use for {older_days:g} days"
    if aside:
        line += f", {len(aside)} that were damaged"
    out().print(line)
