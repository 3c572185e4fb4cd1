"""A cell that ns-2 ran, as it left it: one loss of TCP's segment 8, then of SCTP's packet 8.

Recorded with Debian 13's ns2 2.35+dfsg-9 by `groundtruth run anatomy --lab ns2`.
"""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from model import run_folder
from model.cell import Cell, from_dict
from simulators.ns2 import trace
from tests.support.recorded import DATA, value

RECORDED = DATA / "ns2-2.35"
FILES = (run_folder.NS2_SETTINGS, run_folder.NS2_TRACE, run_folder.NS2_WINDOWS,
         run_folder.NS2_READ_BACK)  # fmt: skip
#: Two flows, two routers, two sources and a destination.
BOUNDS = trace.Bounds(flows=2, nodes=5, most_lines=10_000, until_s=40.0)


def ns2_cell() -> Cell:
    return from_dict(value("ns2-2.35/cell.json"))


def leave(folder: Path) -> None:
    """Leave in a folder what ns-2 left of the cell."""
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(RECORDED / Path(name).name, folder / name)


def trace_text() -> bytes:
    return gzip.decompress((RECORDED / "trace.gz").read_bytes())


def windows_text() -> bytes:
    return gzip.decompress((RECORDED / "windows.gz").read_bytes())
