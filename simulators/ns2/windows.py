"""Congestion windows as each acknowledgement met them: rows of ``congestion.parquet``. Pure.

Invariants: as with a kernel's events, a row has the window that held when its acknowledgement came.
Windows are bytes of user data: of TCP, whose window has fractions of a packet, that many messages;
SCTP's, which counts a chunk's header of 16 bytes too, without it. What ns-2 does not tell is null.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from model.cell import Cell, Flow
from model.run_files.kernel_tables import CongestionRow
from model.run_files.tables import fitted, schema
from simulators.ns2 import packet_lines as ns2
from simulators.ns2 import passages as where
from simulators.ns2.packet_lines import Floats, Ints
from simulators.ns2.packets import Told
from simulators.ns2.settings import SCTP_CHUNK_HEADER_BYTES
from simulators.ns2.trace import Change

#: Times of SCTP's windows are rounded to 10 microseconds, those of packets to one.
ROUNDED_S = 6e-6
AT_ONCE_S = 1.5e-6


def congestion(
    told: Told, tcp: Sequence[Change], sctp: Sequence[Change], cell: Cell
) -> pl.DataFrame:
    """Return the congestion table: each acknowledgement, and each timeout's retransmission."""
    parts = [
        _rows(told, number, flow, tcp if flow.protocol == "tcp" else sctp)
        for number, flow in enumerate(cell.flows, 1)
        if flow.protocol != "udp"
    ]
    columns = schema(CongestionRow)
    frames = [fitted(part, columns) for part in parts]
    if not frames:
        return pl.DataFrame(schema=columns)
    return pl.concat(frames).sort("t_s", maintain_order=True)


def _rows(told: Told, number: int, flow: Flow, changes: Sequence[Change]) -> pl.DataFrame:
    tcp = flow.protocol == "tcp"
    lines = told.of(number, where.ACKS, where.DELIVERED)
    lines = lines[told.packets.kind[lines] == (ns2.ACK if tcp else ns2.SACK)]
    mine = [change for change in changes if change.flow == number]
    cwnd = _met(told, lines, [(c, c.cwnd) for c in mine], in_order=tcp)
    ssthresh = _met(told, lines, [(c, c.ssthresh) for c in mine], in_order=tcp)
    unit = flow.message_bytes if tcp else flow.message_bytes / (
        flow.message_bytes + SCTP_CHUNK_HEADER_BYTES
    )  # fmt: skip
    acks = pl.DataFrame(
        {
            "t_s": told.t_s[lines],
            "event": ["ack"] * len(lines),
            "cwnd_bytes": _whole(cwnd * unit),
            "ssthresh_bytes": _whole(ssthresh * unit),
        }
    )
    timeouts = _timeouts(told, number, lines) if tcp else np.zeros(0)
    again = pl.DataFrame(
        {
            "t_s": timeouts,
            "event": ["retransmit"] * len(timeouts),
            "retransmission": ["timeout"] * len(timeouts),
        }
    )
    return pl.concat([acks, again], how="diagonal").with_columns(
        flow=pl.lit(flow.id),
        protocol=pl.lit(flow.protocol),
        local_port=pl.lit(flow.port),
        mss_bytes=pl.lit(flow.message_bytes if tcp else None),
    )


def _met(
    told: Told, lines: Ints, found: Sequence[tuple[Change, float | None]], *, in_order: bool
) -> Floats:
    """Return the value that each acknowledgement met; NaN before the first."""
    known = [(change, value) for change, value in found if value is not None]
    values = np.array([np.nan, *(value for _, value in known)])
    if in_order:  # what an acknowledgement changed comes after its line
        after = np.array([change.after for change, _ in known], np.int64)
        return values[np.searchsorted(after, lines, side="right")]
    t_s = np.array([change.t_s for change, _ in known])
    return values[np.searchsorted(t_s, told.t_s[lines] - ROUNDED_S, side="left")]


def _whole(values: Floats) -> pl.Series:
    return pl.Series(np.round(values)).fill_nan(None).cast(pl.Int64)


def _timeouts(told: Told, number: int, acks: Ints) -> Floats:
    """Return when TCP repeated data that no acknowledgement made it repeat."""
    sent = told.of(number, where.DATA, where.SENT)
    packet = told.packets.packet[sent]
    again = told.t_s[sent[np.isin(packet, np.fromiter(told.repeats, np.int64))]]
    came = told.t_s[acks]
    if not len(came):
        return again
    last = np.searchsorted(came, again + AT_ONCE_S, side="right") - 1
    by_ack = (last >= 0) & (again - came[np.maximum(last, 0)] <= AT_ONCE_S)
    found: Floats = again[~by_ack]
    return found


def mean_cwnd_segments(flow: Flow, cell: Cell, rows: pl.DataFrame) -> float | None:
    """Return the mean over time inside the measuring window; None if no window is known then."""
    mine = rows.filter(pl.col("cwnd_bytes").is_not_null(), flow=flow.id)
    t_s = np.clip(mine["t_s"].to_numpy(), cell.measure_from_s, cell.measure_to_s)
    held_s = np.diff(t_s)
    if not held_s.sum() > 0:
        return None
    mean_bytes = (mine["cwnd_bytes"].to_numpy()[1:] * held_s).sum() / held_s.sum()
    return float(mean_bytes / flow.message_bytes)
