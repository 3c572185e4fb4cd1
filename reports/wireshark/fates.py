"""Where each packet ended: delivered, lost at which place, or not to be told. Pure.

Invariant: a packet counts as lost at a place only if one that came later passed that place: each
is first in, first out. What nothing has overtaken may still be under way, and is left open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from reports.wireshark.captured import Ints
from reports.wireshark.points import POINTS

Place = Literal["access", "queue", "loss", "listed", "exit", "way back", "open"]
#: Place of a data packet last seen at a point; the last point is the receiver.
PLACES: tuple[Place, ...] = ("access", "queue", "loss", "exit")
#: Places that all flows share; the others are each host's own.
SHARED = ("queue", "loss")
UNSEEN = -1


@dataclass(frozen=True, kw_only=True)
class Fate:
    """The end of a packet that was not delivered, and the row of its last sight.

    ``listed`` is its number in the study's list of packets to drop.
    """

    place: Place
    row: int
    listed: int | None = None


def with_paths(packets: pl.DataFrame) -> pl.DataFrame:
    """Return packets with the path of each; where none is said there is one."""
    said = pl.col("path").fill_null(1) if "path" in packets.columns else pl.lit(1)
    return packets.with_columns(path=said)


def fates(
    packets: pl.DataFrame, listed: Mapping[str, Sequence[int]] | None = None
) -> dict[int, Fate]:
    """Return the fate of every packet of ``packets.parquet`` that was not delivered.

    ``listed`` holds by flow which of its data packets, in the order in which they left the
    bottleneck's buffer and counted from 1, the study has dropped.
    """
    numbered = with_paths(packets).select(
        "packet", "direction", "path", pl.col("connection").fill_null(-1),
        row=pl.int_range(pl.len()),
        point=pl.col("point").replace_strict(POINTS, range(len(POINTS)), default=None),
    ).drop_nulls()  # fmt: skip
    count = int(numbered.select(pl.col("packet").max().fill_null(-1)).item()) + 1
    rows = np.full((len(POINTS), count), UNSEEN, np.int64)
    lane, path = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for (point,), here in numbered.group_by("point"):
        rows[int(str(point)), here["packet"].to_numpy()] = here["row"].to_numpy()
    path[numbered["packet"].to_numpy()] = numbered["path"].to_numpy()
    # Of one connection on one path: nothing overtakes what goes another way.
    lane[numbered["packet"].to_numpy()] = numbered["connection"].to_numpy()
    lane += path * (int(lane.max(initial=0)) + 2)
    acks = numbered.filter(pl.col("direction") == "ack")["packet"].to_numpy()
    is_ack = np.zeros(count, np.bool_)
    is_ack[acks] = True
    found: dict[int, Fate] = {}
    for point, place in enumerate(PLACES):
        shared = path if place in SHARED else lane
        _ended(np.flatnonzero(~is_ack), rows, point, shared, place, found)
    _ended(np.flatnonzero(is_ack), rows, 0, lane, "way back", found)
    for flow, numbers in (listed or {}).items():
        _name_listed(packets, flow, numbers, found)
    return found


def _name_listed(
    packets: pl.DataFrame, flow: str, numbers: Sequence[int], found: dict[int, Fate]
) -> None:
    offered = packets.filter(
        pl.col("payload_bytes") > 0, flow=flow, direction="data", point="loss_offered"
    )["packet"].to_list()
    for number in numbers:
        fate = found.get(offered[number - 1]) if number <= len(offered) else None
        if fate is not None and fate.place == "loss":
            found[offered[number - 1]] = Fate(place="listed", row=fate.row, listed=number)


def _ended(
    chosen: Ints, rows: Ints, point: int, lane: Ints, place: Place, found: dict[int, Fate]
) -> None:
    """Add those of the chosen packets that were last seen at this point."""
    here = chosen[rows[point, chosen] != UNSEEN]
    passed = (rows[point + 1 :, here] != UNSEEN).any(axis=0)
    last_passed: dict[int, int] = {}
    for one in np.unique(lane[here[passed]]).tolist():
        last_passed[one] = int(rows[point, here[passed & (lane[here] == one)]].max())
    for packet in here[~passed].tolist():
        row = int(rows[point, packet])
        overtaken = row < last_passed.get(int(lane[packet]), UNSEEN)
        found[packet] = Fate(place=place if overtaken else "open", row=row)
