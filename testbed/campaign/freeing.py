"""Raw files of finished cells removed, and with them nothing that a report is made of.

What goes is the raw files but for their small documents; tables, checks, audit and ledger stay.
``freed.json`` in the cell says which files went and what their digests were, as ``DONE`` does: so a
repeated cell can still be compared with them, and a file that went otherwise is still missed.

Invariant: it is said before it is done. Whoever is killed between has files that are named and are
there, which is the same as not named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from model import plain_files, run_folder
from testbed.campaign import digests
from testbed.campaign.run_cell import json_text

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Freeing:
    """What can go of a cell: the files, their bytes, and those that no other name holds."""

    folder: Path
    sha256: Mapping[str, str]
    size_bytes: int
    own_bytes: int


def freeable(folder: Path, recorded: Mapping[str, str]) -> Freeing:
    """Return what of a finished cell can go, whose files are as recorded; raises ``OSError``."""
    found = {
        name: path.lstat()
        for name, path in plain_files.files(folder)
        if name.startswith(digests.RAW)
        and name not in run_folder.RAW_DOCUMENTS
        and name in recorded
    }
    return Freeing(
        folder=folder,
        sha256={name: recorded[name] for name in found},
        size_bytes=sum(one.st_size for one in found.values()),
        own_bytes=sum(one.st_size for one in found.values() if one.st_nlink == 1),
    )


def free(freeing: Freeing) -> None:
    """Remove it; raises ``OSError``."""
    before = digests.freed(freeing.folder)
    content = {"schema": SCHEMA, "sha256": {**before, **freeing.sha256}}
    plain_files.write_text(freeing.folder / run_folder.FREED, json_text(content))
    for name in freeing.sha256:
        (freeing.folder / name).unlink()
