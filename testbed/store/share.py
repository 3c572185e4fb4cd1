"""One file at two places: by shared blocks, by a second name, or, where neither can be, a copy.

Invariant: what has two names cannot be written through either: its mode has no right to write, and
all of this project writes beside a file and renames.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import BinaryIO, Literal

from model import plain_files

#: ``ioctl`` of linux/fs.h: share the blocks of another file, which copies them when written.
FICLONE = 0x40049409
#: Of what is kept, and of what has two names.
MODE = 0o444

How = Literal["clone", "link", "copy"]


def share(source: Path, target: Path) -> How:
    """Put a plain file at another place too, which must be free; return how.

    ``clone``: blocks are shared, both are files of their own. ``link``: one file of two names,
    which nobody may write any more. ``copy``: the file system can do neither.

    Raises:
        OSError: it could not be put there.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with plain_files.opened(source) as file:
        if _cloned(file, target):
            return "clone"
        if _linked(file, source, target):
            return "link"
        with _new(target) as copy:
            shutil.copyfileobj(file, copy)
    return "copy"


def _cloned(file: BinaryIO, target: Path) -> bool:
    with _new(target) as clone:
        try:
            fcntl.ioctl(clone.fileno(), FICLONE, file.fileno())
        except OSError:  # another file system, or one that cannot
            target.unlink()
            return False
    return True


def _linked(file: BinaryIO, source: Path, target: Path) -> bool:
    found = os.fstat(file.fileno())
    if found.st_dev != target.parent.stat().st_dev:
        return False
    try:
        if found.st_mode & 0o222:
            os.fchmod(file.fileno(), MODE)
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another user's, or a file system without links
        return False
    return True


def _new(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, plain_files.WRITE_FLAGS, plain_files.MODE), "wb")
