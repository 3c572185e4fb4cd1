"""Reads the tables of a cell that figures are drawn from; whatever cannot be read raises.

Invariant: times are seconds since the start of the run, rows in order of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from model import run_folder
from model.run_files.kernel_tables import CongestionRow
from model.run_files.loss_tables import EpisodeRow
from model.run_files.path_tables import EventRow, PathStateRow
from model.run_files.traffic_tables import IntervalRow, MessageRow, PacketRow
from reports.store.columns import read_columns, read_rows

_PACKETS = (
    "point", "direction", "flow", "packet", "t_s", "payload_bytes", "retransmission", "seq", "ack",
    "data_chunk_count", "tsn", "cum_tsn_ack",
)  # fmt: skip
#: Lists are dear to read: only of the acknowledgements in a window.
_BLOCKS = ("direction", "point", "flow", "packet", "t_s", "sack_blocks", "gap_blocks")
_CONGESTION = (
    "t_s", "flow", "protocol", "event", "local_port", "path", "state", "cwnd_bytes",
    "cwnd_segments", "ssthresh_bytes", "ssthresh_segments", "flight_bytes", "mss_bytes",
    "mtu_bytes",
)  # fmt: skip


@dataclass(frozen=True)
class CellTables:
    """The tables of one cell; a table the cell does not have is None."""

    folder: Path

    def congestion(self) -> pl.DataFrame | None:
        """Return the kernel's congestion state, or None if it was not traced."""
        return self._read(run_folder.CONGESTION_TABLE, CongestionRow, _CONGESTION)

    def packets(self) -> pl.DataFrame | None:
        """Return every packet at every capture point, without lists, or None without captures."""
        return self._read(run_folder.PACKETS_TABLE, PacketRow, _PACKETS)

    def reported_blocks(self, from_s: float, to_s: float) -> pl.DataFrame:
        """Return what SACKs that arrived at the senders in a window reported, lists and all."""
        arrived = pl.col("t_s").is_between(from_s, to_s)
        wanted = arrived & (pl.col("direction") == "ack") & (pl.col("point") == "delivered")
        found = self._read(run_folder.PACKETS_TABLE, PacketRow, _BLOCKS, wanted)
        return pl.DataFrame() if found is None else found

    def data_chunks(self, flow: str, point: str) -> pl.DataFrame:
        """Return the DATA chunks of a flow's packets as they came by a point of the path."""
        at = (pl.col("direction") == "data") & (pl.col("point") == point)
        columns = ("direction", "point", "flow", "t_s", "data_chunks")
        mine = at & (pl.col("flow") == flow)
        found = self._read(run_folder.PACKETS_TABLE, PacketRow, columns, mine)
        return pl.DataFrame() if found is None else found

    def intervals(self) -> pl.DataFrame | None:
        """Return what the receivers counted per interval."""
        return self._read(run_folder.INTERVALS_TABLE, IntervalRow)

    def messages(self) -> pl.DataFrame | None:
        """Return how long each message took, None if messages were not recorded."""
        return self._read(run_folder.MESSAGES_TABLE, MessageRow, ("flow", "sent_s", "delay_s"))

    def episodes(self) -> pl.DataFrame | None:
        """Return the loss episodes, or None if nothing says where they are."""
        return self._read(run_folder.EPISODES_TABLE, EpisodeRow)

    def path_states(self, flow: str) -> tuple[PathStateRow, ...] | None:
        """Return what both ends of a flow said of its paths, None if no flow has several."""
        path = self.folder / run_folder.PATHS_TABLE
        if not path.exists():
            return None
        return tuple(row for row in read_rows(path, PathStateRow) if row.flow == flow)

    def events(self) -> tuple[EventRow, ...]:
        """Return what happened to links."""
        path = self.folder / run_folder.EVENTS_TABLE
        return read_rows(path, EventRow) if path.exists() else ()

    def _read(
        self, name: str, row_type: type, columns: Sequence[str] = (), rows: pl.Expr | None = None
    ) -> pl.DataFrame | None:
        path = self.folder / name
        return read_columns(path, row_type, columns, rows) if path.exists() else None
