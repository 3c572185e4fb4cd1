"""The library that draws a report's figures, bundled once and kept in the cache.

Bundling takes seconds at every report otherwise. A report needs no cache: where there is none to
write to, it bundles for itself.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from model.errors import UnsupportedError
from testbed.machine import cache

FILE = "library.js"


def _bundle(folder: Path) -> None:
    from reports.page import zoomable

    (folder / FILE).write_text(zoomable.library(), encoding="utf-8")


def library() -> str:
    """Return the script, from the cache if this version's is there."""
    from reports.page import zoomable  # when needed: the library that bundles is slow to load

    with contextlib.suppress(UnsupportedError, OSError, UnicodeDecodeError):
        folder = cache.entry("drawing", cache.digest_of(zoomable.bundler()), _bundle)
        return (folder / FILE).read_text(encoding="utf-8")
    return zoomable.library()
