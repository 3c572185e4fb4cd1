"""The columns of ``packets.parquet``, and how arrays with unknown values become them. Pure.

Invariant: a frame built here always has all columns, in this order and of these types, whatever
was captured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from collectors.raw.pcap import Flags, Ints
from model.run_files.tables import schema
from model.run_files.traffic_tables import PacketRow

UNKNOWN = -1
COLUMNS = schema(PacketRow)


class Columns:
    """Collects the columns of ``count`` packets; what is never put is null."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._series: dict[str, pl.Series] = {}

    def put(
        self,
        name: str,
        values: npt.NDArray[Any],
        valid: Flags,
        packets: Ints | None = None,
    ) -> None:
        """Set a column: all packets, or just some of them; null where not ``valid``."""
        if packets is not None:
            whole, there = np.zeros(self.count, values.dtype), np.zeros(self.count, np.bool_)
            whole[packets], there[packets] = values, valid
            values, valid = whole, there
        series = pl.Series(name, values, nan_to_null=False)
        if not valid.all():
            series = pl.select(pl.when(pl.Series(valid)).then(series).alias(name)).to_series()
        self._series[name] = series

    def put_text(self, name: str, words: Sequence[str], codes: Ints) -> None:
        """Set a column of few different words by their numbers; null where negative."""
        valid = codes >= 0
        self.put(name, np.where(valid, codes, 0).astype(np.uint32), valid)
        dictionary = pl.Series([*words, ""], dtype=pl.String)
        self._series[name] = dictionary.gather(self._series[name]).alias(name)

    def put_lists(self, name: str, packets: Ints, fields: Mapping[str, Ints], valid: Flags) -> None:
        """Set a column of lists from items ordered by packet; empty where known and without any.

        Args:
            name: the column.
            packets: whose each item is.
            fields: the items, a struct of these; one field alone stands for itself.
            known: per packet.
        """
        flat = pl.DataFrame({"packet": packets, **fields}, schema_overrides={"packet": pl.Int64})
        names = list(fields)
        item = pl.col(names[0]) if len(names) == 1 else pl.struct(names)
        grouped = flat.group_by("packet", maintain_order=True).agg(item.alias(name))
        all_packets = pl.DataFrame({"packet": np.arange(self.count), "known": valid})
        joined = all_packets.join(grouped, on="packet", how="left", maintain_order="left")
        lists = pl.when(pl.col("known")).then(pl.col(name).fill_null([]))
        self._series[name] = joined.select(lists.alias(name)).to_series()

    def frame(self) -> pl.DataFrame:
        """Return all columns as a frame, once: each is let go as it is taken."""
        there = [name for name in COLUMNS if name in self._series]
        frame = pl.DataFrame([self._series.pop(name).cast(COLUMNS[name]) for name in there])
        # As a literal a column that was never put takes no memory.
        never = {name: pl.lit(None, kind) for name, kind in COLUMNS.items() if name not in there}
        return frame.with_columns(**never).select(*COLUMNS)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Who sent each packet and where it was seen; parallel to the packets.

    ``numbers`` is the packet's own, the same at every point, or ``UNKNOWN``; ``at_reference`` says
    whether it was seen at the first point of its direction, where new and repeated are told apart.
    """

    lanes: Ints
    points: Ints
    numbers: Ints
    at_reference: Flags

    def lines(self) -> Ints:
        """Return one number for lane and point together."""
        both: Ints = self.lanes * 8 + self.points + 1
        return both


class Filled:
    """Columns that every protocol fills for its own packets; ``UNKNOWN`` elsewhere."""

    def __init__(self, count: int) -> None:
        self.payload_bytes = np.full(count, UNKNOWN, np.int64)
        self.checksum_ok = np.full(count, UNKNOWN, np.int64)
        self.retransmission = np.full(count, UNKNOWN, np.int64)

    def repeat_everywhere(self, packets: Ints, repeats: Ints, seen: Seen) -> None:
        """Say of some packets at their reference whether they repeat, and so wherever they went.

        Args:
            packets: some of one protocol, at any point.
            repeats: 1 or 0, or ``UNKNOWN`` where there is nothing to repeat; read only at the
                reference.
            seen: all packets.
        """
        there = seen.at_reference[packets] & (seen.numbers[packets] >= 0)
        by_number = np.full(int(seen.numbers.max(initial=0)) + 1, UNKNOWN, np.int64)
        by_number[seen.numbers[packets[there]]] = repeats[there]
        number = seen.numbers[packets]
        self.retransmission[packets] = np.where(number >= 0, by_number[number], UNKNOWN)

    def put(self, columns: Columns) -> None:
        """Put them all."""
        columns.put("payload_bytes", self.payload_bytes, self.payload_bytes >= 0)
        for name, values in (
            ("checksum_ok", self.checksum_ok),
            ("retransmission", self.retransmission),
        ):
            columns.put(name, values == 1, values >= 0)
