"""A bundle that somebody sent: unpacked, and held against its digests. Nothing in it is trusted.

Invariants: what it says is read only once every file is what ``SHA256SUMS`` and the description say
and there is no other; that finds accidents and single edits. Who writes all digests anew is found
out by what is made again: the summary from its tables, cells in the lab. Of a run without its
evidence exactly the raw recordings are missing. Only labs that repeat themselves, and so are
confined, are given a stranger's cells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model import plain_files, run_folder
from model.errors import DisagreementError, ParseError, StudyError
from model.words import how_many
from reports.store.run import read_run
from reports.verdict.files import summary_json
from reports.verdict.summary import summarise
from testbed.bundles import archive, collect, crate, make
from testbed.campaign import again, digests, run_cells, saved_runs
from testbed.campaign.study_sets import Found
from testbed.labs import registry
from testbed.planning.plan import PlannedCell

_SUM = re.compile(r"([0-9a-f]{64})  ([^\n]+)")
#: How many files that are not as they were packed are named.
MOST_NAMED = 10


@dataclass(frozen=True, kw_only=True)
class Received:
    """A bundle that was unpacked and is as it was packed; ``run`` is the run or set in it."""

    folder: Path
    run: Path
    evidence: bool
    files: int


@dataclass(frozen=True, kw_only=True)
class CheckedRun:
    """A run of a bundle: its planned cells, and those of them that finished and are as left."""

    cells: tuple[PlannedCell, ...]
    done: tuple[PlannedCell, ...]


def receive(path: Path, into: Path) -> Received:
    """Unpack a bundle into an empty folder and check its digests.

    Raises:
        ParseError: it is no bundle, or not of a version that this one reads.
        DisagreementError: a file is not what was packed.
        RunError, OSError: as :func:`archive.unpack`.
    """
    folder = archive.unpack(path, into)
    files = _check_sums(folder)
    record = _record(folder / make.BUNDLE)
    run = folder / make.RUN.rstrip("/")
    return Received(folder=folder, run=run, evidence=record["evidence"], files=files)


def _check_sums(folder: Path) -> int:
    """Return how many files are as they were packed and described; raise unless all are."""
    recorded = dict(_sums(folder / make.SUMS))
    found = {name: plain_files.sha256(path) for name, path in plain_files.files(folder)
             if name != make.SUMS}  # fmt: skip
    _raise_if_any(digests.differences(recorded, found), "packed", folder)
    described = crate.described(_text(folder / crate.METADATA), crate.METADATA)
    files = {name: crate.What(sha256=digest, size_bytes=(folder / name).lstat().st_size)
             for name, digest in found.items() if name != crate.METADATA}  # fmt: skip
    _raise_if_any(crate.differences(described, files), "described", folder)
    return len(found)


def _raise_if_any(lines: list[str], what: str, folder: Path) -> None:
    if lines:
        raise DisagreementError(
            f"{how_many(len(lines), 'file is', 'files are')} not what was {what}:\n  "
            + "\n  ".join(lines[:MOST_NAMED]),
            where=folder.name, hint="get the bundle again",
        )  # fmt: skip


def _text(path: Path) -> str:
    """Return a file's text; raise :class:`ParseError` if it is none."""
    try:
        return plain_files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError("not a bundle", where=path.name, got=str(error)) from error


def _sums(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each name with its digest; raise :class:`ParseError` for any line of another kind."""
    for number, line in enumerate(_text(path).splitlines(), 1):
        found = _SUM.fullmatch(line)
        if found is None:
            raise ParseError("not a bundle", where=f"{path.name}:{number}",
                             wanted="a digest and a name", got=line[:100])  # fmt: skip
        yield found[2], found[1]


def _record(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(plain_files.read_text(path))
        sound = found["schema"] == make.SCHEMA and isinstance(found["evidence"], bool)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ParseError("not a bundle", where=path.name, got=repr(error)[:200]) from error
    if not sound:
        raise ParseError("not a bundle this version reads", where=path.name,
                         wanted=f"schema {make.SCHEMA}", got=str(found["schema"])[:50])  # fmt: skip
    return dict(found)


def changed(run: Path, cell_ids: list[str], *, evidence: bool) -> dict[str, str]:
    """Return the cells of a received run that are not what their run left, and why.

    Without evidence, the recordings that bundles leave out are missing and no reason.
    """
    if evidence:
        return digests.changed(run, cell_ids)
    found = {}
    for id_ in cell_ids:
        folder = run_folder.cell_folder(run, id_)
        try:
            recorded = digests.read_done(folder)
            there = digests.of_cell(folder)
        except (ParseError, OSError) as error:
            found[id_] = str(error).replace(f"{folder}/", "")
            continue
        packed = {name: one for name, one in recorded.items() if collect.without_evidence(name)}
        if lines := digests.differences(packed, there) or digests.another(folder, id_):
            found[id_] = "; ".join(lines[: digests.MOST_NAMED])
    return found


def checked(run: Path, *, evidence: bool) -> CheckedRun:
    """Return a received run whose cells may be repeated here.

    Raises:
        StudyError: none has finished, or no such lab is known.
        UnsupportedError: cells of its lab leave other bytes each time.
        DisagreementError: something is not what the run left.
        ParseError: it cannot be read.
    """
    cells = saved_runs.load_cells(run)
    for name in dict.fromkeys(planned.cell.lab.get("name", "") for planned in cells):
        again.check_repeatable(registry.named(name).properties)
    left = {planned.id for planned in run_cells.unfinished(run, cells)}
    done = [planned for planned in cells if planned.id not in left]
    if not done:
        raise StudyError("no finished cell to verify", where=run.name)
    wrong = changed(run, [planned.id for planned in done], evidence=evidence)
    digests.raise_if_any({f"cells/{id_}": why for id_, why in wrong.items()}, run,
                         "cells are not what their run left")  # fmt: skip
    return CheckedRun(cells=tuple(cells), done=tuple(done))


def unsummarised(found: Found) -> list[str]:
    """Return the summaries that are not what their cells' tables give here, by name.

    All cells were repeated before: other tables may end the program that reads them.

    Raises:
        ParseError: a run cannot be read, nor can its tables.
    """
    stale = [
        f"{found.named(run)}{run_folder.SUMMARY_JSON}" for run in found.runs
        if _text(run / run_folder.SUMMARY_JSON) != summary_json(summarise(read_run(run)))
    ]  # fmt: skip
    if found.is_set and not collect.is_of_its_runs(found):
        stale.append(f"{run_folder.SUMMARY_JSON} of the set")
    return stale
