"""What a cell's captures add up to, flow by flow and point by point. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from collectors.packets.seen import Floats, Ints

#: Packets of no flow: a control connection, say.
OTHERS = ""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Counts of captured packets.

    ``packets`` by flow, direction, point and path; ``unsent`` how many packets of a flow were seen
    somewhere and never sent; ``data_sent`` by flow data segments, chunks or UDP packets, and
    ``repeated`` how many segments or chunks repeated, whichever way they took; None where the
    capture cannot tell.
    """

    packets: Mapping[tuple[str, str, str, int], int]
    unsent: Mapping[str, int]
    data_sent: Mapping[str, int | None]
    repeated: Mapping[str, int | None]

    def pkts(self, flow: str, direction: str, point: str, path: int | None = None) -> int:
        """Return how many packets of a flow were seen at a point, of one path or of all.

        None is 0: all were captured.
        """
        return sum(
            count
            for (whose, way, place, on), count in self.packets.items()
            if (whose, way, place) == (flow, direction, point) and path in (None, on)
        )

    def all_pkts(self, direction: str, point: str, path: int) -> int:
        """Return how many packets were seen at a point of a path, of any flow or none."""
        return sum(
            count
            for (_, way, place, on), count in self.packets.items()
            if (way, place, on) == (direction, point, path)
        )


def tally(packets: pl.DataFrame) -> Tally:
    """Count the packets of ``packets.parquet``."""
    named = packets.lazy().with_columns(pl.col("flow").fill_null(OTHERS))
    places = named.filter(pl.col("path").is_not_null())
    counted = places.group_by("flow", "direction", "point", "path").len().collect()
    unsent = named.filter(pl.col("packet").is_null()).group_by("flow").len().collect()
    sent = named.filter(pl.col("direction") == "data", pl.col("point") == "sent")
    carries = pl.col("payload_bytes") > 0
    data = (
        sent.group_by("flow")
        .agg(
            units=pl.col("data_chunk_count").fill_null(1).filter(carries).sum(),
            blind=pl.col("payload_bytes").is_null().any(),
            repeats=pl.col("retransmission").sum(),
            unsure=(carries & pl.col("retransmission").is_null()).any(),
        )
        .collect()
        .to_dicts()
    )
    again = _repeated_chunks(sent.collect())
    return Tally(
        packets={
            (str(flow), str(direction), str(point), int(path)): int(count)
            for flow, direction, point, path, count in counted.iter_rows()
        },
        unsent={str(flow): int(count) for flow, count in unsent.iter_rows()},
        data_sent={r["flow"]: None if r["blind"] else r["units"] for r in data},
        repeated={
            r["flow"]: None if r["blind"] or r["unsure"] else again.get(r["flow"], r["repeats"])
            for r in data
        },
    )


def _repeated_chunks(sent: pl.DataFrame) -> dict[str, int]:
    """Return how many chunks repeat, for flows that bundle: there a packet is too coarse a unit."""
    bundled = sent.filter((pl.col("data_chunk_count").max() > 1).over("flow"))
    chunks = bundled.select("flow", "data_chunks").explode("data_chunks").drop_nulls()
    counted = chunks.group_by("flow").agg(
        again=pl.len() - pl.col("data_chunks").struct.field("tsn").n_unique()
    )
    return dict(counted.iter_rows())


class Journeys:
    """When a path's packets of one direction were at each point, and how large they were."""

    def __init__(self, packets: pl.DataFrame, direction: str, path: int = 1) -> None:
        chosen = packets.select("direction", "point", "path", "packet", "t_s", "ip_bytes").filter(
            pl.col("packet").is_not_null(), direction=direction, path=path
        )
        parts = chosen.partition_by("point", as_dict=True)
        self._columns: dict[str, tuple[Ints, Floats, Ints]] = {
            str(point): (
                part["packet"].to_numpy(), part["t_s"].to_numpy(), part["ip_bytes"].to_numpy()
            )
            for (point,), part in parts.items()
        }  # fmt: skip
        highest = [int(numbers.max()) for numbers, _, _ in self._columns.values()]
        self._count = max(highest, default=-1) + 1

    def _times_s(self, point: str) -> Floats:
        """Return when each packet, by its number, was at a point; NaN: it was not."""
        found = np.full(self._count, np.nan)
        if point in self._columns:
            numbers, t_s, _ = self._columns[point]
            found[numbers] = t_s
        return found

    def times_s(self, start: str, end: str) -> Floats:
        """Return how long each packet seen at two points took from one to the other."""
        taken_s = self._times_s(end) - self._times_s(start)
        both: Floats = taken_s[~np.isnan(taken_s)]
        return both

    def extremes_s(
        self, start: str, end: str, serial_s_per_byte: float
    ) -> tuple[float, float] | None:
        """Return the shortest and longest time between two points, serialisation taken off.

        None if no packet was seen at both.
        """
        delay_s = self._times_s(end) - self._times_s(start)
        size_bytes = np.zeros(self._count)
        if end in self._columns:
            numbers, _, ip_bytes = self._columns[end]
            size_bytes[numbers] = ip_bytes
        delay_s = (delay_s - size_bytes * serial_s_per_byte)[~np.isnan(delay_s)]
        return (float(delay_s.min()), float(delay_s.max())) if len(delay_s) else None
