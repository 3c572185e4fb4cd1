"""Debian's tshark asked about a capture: fields of each packet, as text."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
#: Fetching tshark may take minutes; finding it takes none.
FIND_TIMEOUT_S, READ_TIMEOUT_S = 600, 120


def tshark() -> str:
    """Return the program's path."""
    found = subprocess.run(
        [str(ROOT / "setup" / "program"), "tshark"], capture_output=True, text=True, check=True,
        timeout=FIND_TIMEOUT_S,
    )  # fmt: skip
    return found.stdout.strip()


def shown(file: Path, fields: Sequence[str], *options: str) -> list[dict[str, str]]:
    """Return fields of every packet; of several in one packet all, parted by a bar.

    A truth is 1 or 0, as tshark 4.0 writes it; later ones have words.
    """
    asked = [tshark(), "-n", "-r", str(file), *options]
    asked += ["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=|"]
    for field in fields:
        asked += ["-e", field]
    said = subprocess.run(
        asked, capture_output=True, text=True, check=True, timeout=READ_TIMEOUT_S
    ).stdout
    words = {"True": "1", "False": "0"}
    rows = [[words.get(one, one) for one in line.split("\t")] for line in said.splitlines()]
    return [dict(zip(fields, row, strict=True)) for row in rows]
