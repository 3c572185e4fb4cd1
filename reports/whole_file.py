"""Files that appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

_MODE = 0o644


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by renaming a complete one into place."""
    write_pieces(path, (content,))


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file that is too large to hold, piece by piece; rename it into place when whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, _MODE)
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(descriptor)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
