"""One flow's packets at each capture point, as arrays: the packets table taken apart once. Pure.

Invariants: the arrays of a :class:`Seen` are parallel and in the order of the table; what is null
there is ``UNKNOWN``. Chunks are those of packets with user data, in the order of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNKNOWN = -1
NUMBERS = ("packet", "ip_bytes", "payload_bytes", "seq", "tsn")
CHUNK_NUMBERS = ("tsn", "stream", "flags", "payload_bytes")
PLACE = ("flow", "direction", "point")


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Packets at one point; ``acknowledges`` says which carry nothing but an acknowledgement."""

    t_s: Floats
    packet: Ints
    ip_bytes: Ints
    payload_bytes: Ints
    seq: Ints
    tsn: Ints
    acknowledges: Bools

    def only(self, wanted: Bools) -> Seen:
        """Return some of the packets."""
        return Seen(**{name: values[wanted] for name, values in vars(self).items()})


@dataclass(frozen=True, kw_only=True)
class Chunks:
    """SCTP's DATA chunks at one point; ``t_s`` is their packet's time."""

    t_s: Floats
    tsn: Ints
    stream: Ints
    flags: Ints
    payload_bytes: Ints


NOBODY = Seen(
    t_s=np.zeros(0),
    acknowledges=np.zeros(0, np.bool_),
    **{name: np.zeros(0, np.int64) for name in NUMBERS},
)
NO_CHUNKS = Chunks(t_s=np.zeros(0), **{name: np.zeros(0, np.int64) for name in CHUNK_NUMBERS})


@dataclass(frozen=True, kw_only=True)
class FlowPackets:
    """A flow's packets by direction and point, and its chunks of user data by point."""

    packets: Mapping[tuple[str, str], Seen] = field(default_factory=dict)
    chunks: Mapping[str, Chunks] = field(default_factory=dict)

    def packets_at(self, direction: str, point: str) -> Seen:
        """Return the packets seen at a point, which may be none."""
        return self.packets.get((direction, point), NOBODY)

    def chunks_at(self, point: str) -> Chunks:
        """Return the chunks seen at a point, which may be none."""
        return self.chunks.get(point, NO_CHUNKS)


def flow_packets(packets: pl.DataFrame) -> dict[str, FlowPackets]:
    """Return every flow's packets by the flow's id."""
    numbers = (pl.col(name).fill_null(UNKNOWN) for name in NUMBERS)
    placed = packets.filter(pl.col("flow").is_not_null(), pl.col("point").is_not_null())
    bare = placed.select(*PLACE, "t_s", *numbers, acknowledges=is_acknowledgement())
    seen: dict[str, dict[tuple[str, str], Seen]] = {}
    for (flow, way, point), part in _parts(bare, *PLACE):
        seen.setdefault(flow, {})[way, point] = Seen(**part)
    chunks: dict[str, dict[str, Chunks]] = {}
    for (flow, point), part in _parts(_chunks(placed), "flow", "point"):
        chunks.setdefault(flow, {})[point] = Chunks(**part)
    return {
        flow: FlowPackets(packets=here, chunks=chunks.get(flow, {})) for flow, here in seen.items()
    }


def _chunks(packets: pl.DataFrame) -> pl.DataFrame:
    """Return the chunks of data packets at both ends of the path, one row each."""
    # Lists are dear to copy: only what carries chunks comes along.
    chosen = packets.lazy().filter(
        pl.col("payload_bytes") > 0,
        pl.col("point").is_in(("sent", "delivered")),
        pl.col("data_chunks").is_not_null(),
        direction="data",
    )
    one = chosen.select("flow", "point", "t_s", chunk="data_chunks").explode("chunk").drop_nulls()
    fields = (pl.col("chunk").struct.field(name) for name in CHUNK_NUMBERS)
    return one.select("flow", "point", "t_s", *fields).collect()


def _parts(
    rows: pl.DataFrame, *by: str
) -> list[tuple[tuple[str, ...], dict[str, npt.NDArray[Any]]]]:
    """Return the rows of each place as arrays by column."""
    parts = rows.partition_by(*by, as_dict=True, include_key=False)
    return [
        (tuple(map(str, place)), {column.name: column.to_numpy() for column in part})
        for place, part in parts.items()
    ]


def is_acknowledgement() -> pl.Expr:
    """Return what packets acknowledge and carry no data: a bare TCP ACK, a SACK chunk."""
    # FIN, SYN and RST are the low three bits; the ACK bit is what makes `ack` known.
    bare = (pl.col("tcp_flags") & 0x07 == 0) & pl.col("ack").is_not_null()
    # A SHUTDOWN acknowledges too, but has no window.
    sack = pl.col("cum_tsn_ack").is_not_null() & pl.col("a_rwnd_bytes").is_not_null()
    return ((bare | sack) & (pl.col("payload_bytes") == 0)).fill_null(value=False)
