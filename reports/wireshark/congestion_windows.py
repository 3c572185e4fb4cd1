"""The congestion window an acknowledgement met, for cells that have the kernel's events. Pure.

Invariant: a window is told only if the sender's kernel took in an acknowledgement right after the
captures have one; a cell without the table has no windows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from model.run_files.kernel_tables import CongestionRow
from reports.store.columns import read_columns

#: Times of the table come in steps of 256 ns; and from its link to its TCP a host may take this.
STEP_S, SOON_S = 1e-6, 1e-3
_USED = ("flow", "event", "t_s", "cwnd_bytes")


@dataclass(frozen=True, kw_only=True)
class Windows:
    """A flow's windows, in bytes, by when the kernel took in the acknowledgements that met them."""

    t_s: Sequence[float] = ()
    cwnd_bytes: Sequence[int] = ()

    def met(self, t_s: float) -> str:
        """Return, to be appended, what an acknowledgement met that came then; else nothing."""
        place = bisect_left(self.t_s, t_s - STEP_S)
        if place == len(self.t_s) or self.t_s[place] > t_s + SOON_S:
            return ""
        return f", congestion window {self.cwnd_bytes[place]} bytes"


def read_windows(path: Path) -> Mapping[str, Windows]:
    """Return the windows of each flow; none if there is no such table.

    Raises:
        ParseError: the file is no such table.
    """
    if not path.exists():
        return {}
    known = (pl.col("event") == "ack") & pl.col("cwnd_bytes").is_not_null()
    table = read_columns(path, CongestionRow, _USED, known).sort("t_s", maintain_order=True)
    return {
        str(flow): Windows(t_s=of["t_s"].to_list(), cwnd_bytes=of["cwnd_bytes"].to_list())
        for (flow,), of in table.group_by("flow", maintain_order=True)
    }
