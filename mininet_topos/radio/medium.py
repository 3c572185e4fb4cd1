"""The medium's program: its files and its command line, started and ended in a lab.

Invariant: it takes frames before :func:`start` returns, so no frame of a radio joined later is
missed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mininet_topos.radio.radios import Radio
from model.errors import RunError

PROGRAM = "/gt/code/bin/wifi_medium"
TABLE_HEADER = "radio,node,mac,freq_mhz"
MOVEMENT_HEADER = "t_ns,node,x_mm,y_mm"
DEADLINE_S = 60.0


def table(radios: Sequence[Radio], nodes: Sequence[str]) -> str:
    """Return the file of radios; nodes are numbered in the order given."""
    number = {node: index for index, node in enumerate(nodes)}
    lines = [f"{r.index},{number[r.node]},{r.mac},{r.cell.freq_mhz}" for r in radios]
    return "\n".join([TABLE_HEADER, *lines, ""])


def standing(places_m: Sequence[tuple[float, float]]) -> str:
    """Return the file of places of nodes that stand still."""
    lines = [f"0,{n},{round(x * 1000)},{round(y * 1000)}" for n, (x, y) in enumerate(places_m)]
    return "\n".join([MOVEMENT_HEADER, *lines, ""])


def command(files: Mapping[str, Path], options: Mapping[str, int]) -> list[str]:
    """Return the command line; keys are the program's options without the dashes."""
    given = [f"--{name}={value}" for name, value in {**files, **options}.items()]
    return [PROGRAM, *given]


@dataclass(frozen=True)
class Medium:
    """The running program and where its standard output goes."""

    process: subprocess.Popen[bytes]
    output: Path

    def end(self) -> dict[str, Any]:
        """End it and return its totals.

        Raises:
            RunError: it did not end well.
        """
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=DEADLINE_S)
        lines = self.output.read_text().splitlines()
        totals = json.loads(lines[-1]) if lines else {}
        if status != 0 or totals.get("event") != "totals":
            raise RunError("the medium failed", where=PROGRAM, got=f"status {status}")
        return dict(totals)


def start(argv: Sequence[str], output: Path) -> Medium:
    """Start the medium and wait until it takes frames.

    Raises:
        RunError: it ends before it is ready; why is on standard error.
    """
    reader, writer = os.pipe()
    with output.open("wb") as stdout:
        process = subprocess.Popen(
            [*argv, f"--ready-fd={writer}"], stdout=stdout, pass_fds=(writer,)
        )
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], DEADLINE_S)
    byte = os.read(reader, 1) if ready else b""
    os.close(reader)
    if byte != b"\n":
        process.kill()
        process.wait(timeout=DEADLINE_S)
        raise RunError("the medium did not get ready", where=PROGRAM, got="no ready line")
    return Medium(process, output)
