"""The library that draws a report's figures, bundled once and kept in the cache.

Bundling takes seconds at every report otherwise. A report needs no cache: where there is none to
write to, it bundles for itself.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from testbed.errors import UnsupportedError
from testbed.labs import cache

FILE = "library.js"


def _bundle(folder: Path) -> None:
    from reports import live

    (folder / FILE).write_text(live.library(), encoding="utf-8")


def library() -> str:
    """Return the script, from the cache if this version's is there."""
    from reports import live  # when needed: the library that bundles is slow to load

    with contextlib.suppress(UnsupportedError, OSError, UnicodeDecodeError):
        folder = cache.entry("drawing", cache.digest_of(live.bundler()), _bundle)
        return (folder / FILE).read_text(encoding="utf-8")
    return live.library()
