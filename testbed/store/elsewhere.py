"""Cells that another machine finished, put into the store here: what its store has besides them.

Evidence is what a lab left, before anything of it was parsed or judged; most of its files are in
the finished cell as well, and only the others are sent with that.

Invariants: what is kept here of such a cell is what would be if it had run here, each file by the
digest of what arrived; nothing that goes wrong here fails a cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from model import plain_files
from testbed.store import identity
from testbed.store.cells import Shelf
from testbed.store.entries import DamagedError, Record


def besides(shelf: Shelf, folder: Path, finished: Mapping[str, str]) -> Record | None:
    """Put into a folder the evidence's files that the finished cell has not; return its record.

    ``finished`` are the digests of the cell's files. None if the store has no such evidence.
    """
    try:
        record = shelf.evidence.record()
        names = [name for name, sha256 in record.sha256.items() if finished.get(name) != sha256]
        shelf.evidence.lend(record, folder, names)
    except (DamagedError, OSError):
        return None
    return record


def keep(
    shelf: Shelf, record: Record, folder: Path, others: Path, finished: Mapping[str, str]
) -> None:
    """Keep a cell that was finished elsewhere, as if it had run here; ``shelf.said`` if it cannot.

    ``others`` has what :func:`besides` put there, ``finished`` are the digests that the files of
    ``folder`` were just found to have.
    """
    places = {
        name: (folder if finished.get(name) == sha256 else others) / name
        for name, sha256 in record.sha256.items()
    }
    try:
        sound = identity.key(record.identity) == shelf.evidence.key and all(
            finished.get(name) == sha256 or plain_files.sha256(places[name]) == sha256
            for name, sha256 in record.sha256.items()
        )
    except OSError:
        sound = False
    if not sound:
        shelf.said.append("a cell from elsewhere is not in the store: its evidence came damaged")
        return
    with shelf.filled_with(places.items()) as filling:
        filling.keep(folder, finished, record.wall_s)
