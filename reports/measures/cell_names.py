"""What a cell is called: in the names of files that are made of it, and in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reports.measures.quantities import setting

LONGEST_STEM = 180


def file_stem(study: str, point: Mapping[str, float | int | str], seed: int, cell_id: str) -> str:
    """Return a file name without its ending: ``wireless-loss_frac-0.015-seed-1-02c9bf7ad103c05d``.

    Other characters than letters, digits, ``.``, ``_`` and ``-`` become ``_``; the id stays whole.
    """
    words = [study, *(f"{name}-{value}" for name, value in point.items()), f"seed-{seed}"]
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(words))
    return f"{stem[:LONGEST_STEM]}-{cell_id}"


def point_text(point: Mapping[str, float | int | str]) -> str:
    """Return a point in words: ``loss_frac 1.5 %``."""
    settings = [f"{name} {setting(name, value)}" for name, value in point.items()]
    return ", ".join(settings) or "the study's settings"
