"""Small packets tables of one flow, made by hand: what left, what was lost, what came back."""

from __future__ import annotations

from typing import Any

import polars as pl

from collectors.episodes.episodes import episodes
from collectors.packets import columns
from collectors.trace.congestion import by_flow
from model.cell import Cell, Flow
from model.run_files.loss_tables import EpisodeRow
from tests.support.recorded import wireless_cell

CELL: Cell = wireless_cell()
T, S = CELL.flows
MSS = 1000
#: The points a packet of data passes, and the last it is seen at if it is lost.
POINTS = ("sent", "queue_offered", "loss_offered", "loss_passed", "delivered")
SEEN = {None: 5, "access": 1, "queue": 2, "loss": 3, "exit": 4}


class Story:
    """Packets of one flow in order; times are the sender's."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.number = 0
        self.rows: list[dict[str, Any]] = []
        self.highest = 0

    def _row(self, **more: Any) -> dict[str, Any]:
        common = {"flow": self.flow.id, "connection": 0, "packet": self.number}
        return {**common, "protocol": self.flow.protocol, **more}

    def sends(self, t_s: float, *units: int, lost: str | None = None, syn: bool = False) -> None:
        """Send segments or chunks, numbered from 1, one to a packet; what was sent is repeated."""
        for unit in units:
            fields: dict[str, Any] = {
                "direction": "data",
                "payload_bytes": 0 if syn else MSS,
                "retransmission": unit <= self.highest,
            }
            if self.flow.protocol == "tcp":
                fields |= {"seq": 0 if syn else 1 + (unit - 1) * MSS, "tcp_flags": 2 if syn else 16}
            else:
                fields |= {"tsn": unit - 1, "data_chunk_count": 1, "chunk_types": "DATA"}
            self.highest = max(self.highest, 0 if syn else unit)
            for place in range(SEEN[lost]):
                passed = self._row(point=POINTS[place], t_s=t_s + place * 0.001, **fields)
                self.rows.append(passed)
            self.number += 1

    def began(self, count: int, *lost: int, at: str = "loss") -> Story:
        """Send units 1 to ``count``, 10 ms apart, of which some are lost at one place."""
        for unit in range(1, count + 1):
            self.sends(unit / 100, unit, lost=at if unit in lost else None)
        return self

    def hears(self, t_s: float, upto: int, *reported: tuple[int, int]) -> None:
        """Acknowledge all units up to one, and report ranges of others beyond, ends included."""
        fields: dict[str, Any] = {"direction": "ack", "point": "delivered", "payload_bytes": 0}
        if self.flow.protocol == "tcp":
            blocks = [{"start": 1 + (a - 1) * MSS, "end": 1 + b * MSS} for a, b in reported]
            fields |= {"tcp_flags": 16, "seq": 1, "ack": 1 + upto * MSS, "sack_blocks": blocks}
            fields |= {"dupack_count": 0}
        else:
            blocks = [{"start": a - 1, "end": b - 1} for a, b in reported]
            fields |= {"cum_tsn_ack": upto - 1, "gap_blocks": blocks, "a_rwnd_bytes": 65536}
            fields |= {"chunk_types": "SACK", "data_chunk_count": 0}
        self.rows.append(self._row(t_s=t_s, **fields))
        self.number += 1

    def heartbeat(self, t_s: float) -> None:
        """Let a heartbeat of the peer come in."""
        self.rows.append(
            self._row(t_s=t_s, direction="ack", point="delivered", payload_bytes=0,
                      chunk_types="HEARTBEAT", data_chunk_count=0)
        )  # fmt: skip
        self.number += 1

    def packets(self, *, until_s: float = 1000.0) -> pl.DataFrame:
        """Return the packets table of a capture that lasted until a time."""
        empty = dict.fromkeys(columns.COLUMNS)
        last = {"t_s": until_s, "direction": "ack", "point": "sent"}
        rows = [{**empty, **row} for row in (*self.rows, last)]
        return pl.DataFrame(rows, schema=columns.COLUMNS).sort("t_s")

    def episodes(
        self, congestion: pl.DataFrame | None = None, until_s: float = 1000.0
    ) -> list[EpisodeRow]:
        """Return the episodes the captures show."""
        told = None if congestion is None else by_flow(congestion, CELL.flows)
        return episodes(CELL, self.packets(until_s=until_s), told) or []
