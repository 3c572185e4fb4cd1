"""What a command that met a full disk tells: what can be freed, by which commands, how much."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from model import run_folder
from model.errors import GroundtruthError
from model.words import size_text
from testbed.campaign import digests, freeing
from testbed.campaign.study_sets import Found
from testbed.machine import room
from testbed.machine.command_line import groundtruth
from testbed.machine.room import FullDiskError
from testbed.store import cells as store
from testbed.store import upkeep


@contextlib.contextmanager
def told(found: Found) -> Iterator[None]:
    """Tell what can be freed, where the block fails because a disk is full.

    Raises:
        FullDiskError: that is why.
    """
    try:
        yield
    except (GroundtruthError, OSError) as error:
        full: FullDiskError | None = None
        if isinstance(error, FullDiskError):
            full = error
        elif room.is_full(error):
            full = room.full_disk(error, found.folder, Path(tempfile.gettempdir()))
        if full is None:
            raise
        raise with_what_to_free(full, found) from error


def with_what_to_free(error: FullDiskError, found: Found) -> FullDiskError:
    """Return the error with what can be freed in its hint: of the runs, and of the store."""
    own_bytes, shared_bytes, held_bytes = 0, 0, 0
    with contextlib.suppress(OSError, GroundtruthError):  # it is a hint, on a disk that is full
        for run in found.runs:
            for cell in sorted((run / "cells").glob(f"*/{run_folder.DONE}")):
                one = freeing.freeable(cell.parent, digests.read_done(cell.parent))
                own_bytes += one.own_bytes
                shared_bytes += one.size_bytes - one.own_bytes
    root = store.place()
    with contextlib.suppress(OSError):
        if root is not None and root.stat().st_dev == Path(error.where).stat().st_dev:
            held_bytes = sum(one.own_bytes for one in upkeep.held(root))
    hint = f"{groundtruth('gc', found.folder)} frees {size_text(own_bytes)} of raw files"
    if shared_bytes:
        hint += f" and {size_text(shared_bytes)} that the store has too"
    if held_bytes:
        hint += f"; groundtruth gc --older DAYS frees up to {size_text(held_bytes)} of the store's"
    hint += f"; finished cells are kept; then go on with: {groundtruth('resume', found.folder)}"
    return FullDiskError(error.what, where=error.where, got=error.got, hint=hint)
