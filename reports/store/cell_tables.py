"""Reads the tables of a cell that figures are drawn from; whatever cannot be read raises.

Invariant: times are seconds since the start of the run, rows in order of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from model import run_folder
from model.errors import ParseError
from model.run_files.loss_tables import EpisodeRow
from model.run_files.tables import schema
from model.run_files.traffic_tables import IntervalRow

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
        return self._read(run_folder.CONGESTION_TABLE, _CONGESTION)

    def packets(self) -> pl.DataFrame | None:
        """Return every packet at every capture point, without lists, or None without captures."""
        return self._read(run_folder.PACKETS_TABLE, _PACKETS)

    def reported_blocks(self, from_s: float, to_s: float) -> pl.DataFrame:
        """Return what SACKs that arrived at the senders in a window reported, lists and all."""
        arrived = pl.col("t_s").is_between(from_s, to_s)
        wanted = arrived & (pl.col("direction") == "ack") & (pl.col("point") == "delivered")
        found = self._read(run_folder.PACKETS_TABLE, _BLOCKS, wanted)
        return pl.DataFrame() if found is None else found

    def data_chunks(self, flow: str, point: str) -> pl.DataFrame:
        """Return the DATA chunks of a flow's packets as they came by a point of the path."""
        at = (pl.col("direction") == "data") & (pl.col("point") == point)
        columns = ("direction", "point", "flow", "t_s", "data_chunks")
        found = self._read(run_folder.PACKETS_TABLE, columns, at & (pl.col("flow") == flow))
        return pl.DataFrame() if found is None else found

    def intervals(self) -> pl.DataFrame | None:
        """Return what the receivers counted per interval."""
        return self._read(run_folder.INTERVALS_TABLE, tuple(schema(IntervalRow)))

    def episodes(self) -> pl.DataFrame | None:
        """Return the loss episodes, or None if nothing says where they are."""
        return self._read(run_folder.EPISODES_TABLE, tuple(schema(EpisodeRow)))

    def _read(
        self, name: str, columns: Sequence[str], wanted: pl.Expr | None = None
    ) -> pl.DataFrame | None:
        path = self.folder / name
        if not path.exists():
            return None
        try:
            table = pl.scan_parquet(path)
            missing = [column for column in columns if column not in table.collect_schema()]
            if missing:
                raise ParseError(
                    "columns are missing", where=str(path), wanted=", ".join(missing),
                    got=", ".join(table.collect_schema()) or "none",
                )  # fmt: skip
            if wanted is not None:
                table = table.filter(wanted)
            return table.select(columns).collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise ParseError(
                "file is not a Parquet table", where=str(path), got=str(error)
            ) from error
