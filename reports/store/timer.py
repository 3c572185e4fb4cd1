"""What a cell says of its kernel's timer: how long a tick is, as the sampler of sockets read it."""

from __future__ import annotations

from pathlib import Path

from model import plain_files, run_folder
from model.run_files import json_file
from model.run_files.cells import OBJECT
from model.units import NS_PER_S


def read_timer_hz(run: Path, cell_id: str) -> float | None:
    """Return the timer frequency of a cell's kernel; None if its sockets were not sampled.

    Raises:
        ParseError: the file is no JSON.
    """
    path = run_folder.cell_folder(run, cell_id) / run_folder.SOCKET_SOURCES
    if not plain_files.is_file(path):
        return None
    tick_ns = json_file.read(OBJECT, path, schema=None).get("tick_ns")
    return NS_PER_S / tick_ns if isinstance(tick_ns, int) and tick_ns > 0 else None
