"""Folders to work in beside what is worked on; those of processes that were killed are removed.

Invariant: whoever uses one holds its lock, which the kernel gives back however that process ends.
So what nobody holds is left over, and what is left over is never taken for something else.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from model import plain_files
from testbed.machine import trees

Remove = Callable[[Path], None]


def sweep(folder: Path, prefix: str, remove: Remove = trees.remove) -> None:
    """Remove the folders of that prefix in ``folder`` that nobody uses.

    Raises:
        RunError: something is mounted in one of them.
    """
    for left in folder.glob(f"{prefix}*"):
        with contextlib.suppress(OSError), _held(left):  # another user's stays
            remove(left)


@contextlib.contextmanager
def scratch(folder: Path, prefix: str, remove: Remove = trees.remove) -> Iterator[Path]:
    """Give a new folder in ``folder`` for the block; it is gone afterwards, unless it was moved."""
    sweep(folder, prefix, remove)
    with contextlib.ExitStack() as held:
        place = None
        while place is None:
            made = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
            with contextlib.suppress(OSError):  # who sweeps may have found it before it was held
                held.enter_context(_held(made))
                place = made
        held.callback(remove, place)
        yield place


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold a folder's lock for the block.

    Raises:
        OSError: another process has it, or it is not there any more.
    """
    handle = os.open(folder, plain_files.FOLDER_FLAGS)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.stat()
        yield
    finally:
        os.close(handle)
