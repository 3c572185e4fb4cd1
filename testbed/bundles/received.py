"""A bundle that somebody sent: unpacked, and held against its digests. Nothing in it is trusted.

Invariants: what it says is read only once every file is what ``SHA256SUMS`` says and there is no
other; that finds accidents and single edits, and who writes the digests anew is found out by
repeating cells alone. Of a run without its evidence exactly the raw recordings are missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model import plain_files, run_folder
from model.errors import DisagreementError, ParseError
from testbed.bundles import archive, collect, make
from testbed.campaign import digests

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
    """Return how many files are as they were packed; raise unless all are."""
    recorded = dict(_sums(folder / make.SUMS))
    found = {name: plain_files.sha256(path) for name, path in plain_files.files(folder)
             if name != make.SUMS}  # fmt: skip
    if lines := digests.differences(recorded, found):
        raise DisagreementError(
            f"{len(lines)} files are not what was packed:\n  " + "\n  ".join(lines[:MOST_NAMED]),
            where=folder.name, hint="get the bundle again",
        )  # fmt: skip
    return len(found)


def _sums(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each name with its digest; raise :class:`ParseError` for any line of another kind."""
    try:
        lines = plain_files.read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError("not a bundle", where=path.name, got=str(error)) from error
    for number, line in enumerate(lines, 1):
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
