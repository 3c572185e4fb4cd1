"""How recorders compress what they leave: gzip, by the zlib of where they run, into stable bytes.

In a lab that is the image's, which is part of a cell's identity, as its kernel is: so the bytes are
the same wherever the lab is, whatever zlib its host has. The header has no time.
"""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from model import run_folder

#: The first level leaves a ninth of trace pages and of captures, for hardly any time.
LEVEL = 1
_BLOCK_BYTES = 1 << 20


def opened(path: Path) -> gzip.GzipFile:
    """Open a new file: what is written to it is compressed."""
    return gzip.GzipFile(path, "wb", LEVEL, mtime=0)


def replaced(path: Path) -> Path:
    """Put a file's compressed form, ``.gz`` behind its name, in its place; return where."""
    packed = path.with_name(path.name + run_folder.COMPRESSED)
    with path.open("rb") as content, opened(packed) as into:
        shutil.copyfileobj(content, into, _BLOCK_BYTES)
    path.unlink()
    return packed


def compressed(content: bytes) -> bytes:
    """Return content compressed, with no name in it."""
    return gzip.compress(content, LEVEL, mtime=0)
