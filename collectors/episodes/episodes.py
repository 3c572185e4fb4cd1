"""Every loss episode of every flow of a cell: rows of ``episodes.parquet``. Pure.

From captures where there are any, which are exact; the congestion window then comes from the
kernel's events, if they were recorded. Without captures from the kernel's events alone. A flow over
several paths has a window on each: none is given to an episode that captures tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from collectors.episodes.captured import captured_rows
from collectors.episodes.congestion_window import with_windows
from collectors.episodes.retransmissions import Kinds
from collectors.episodes.sctp import sctp_rows
from collectors.episodes.sent_data import captured_flows
from collectors.episodes.tcp import tcp_rows
from collectors.episodes.window import main_rows, window
from model.cell import Cell, Flow
from model.run_files.loss_tables import EpisodeRow


def episodes(
    cell: Cell, packets: pl.DataFrame | None, told: Mapping[str, pl.DataFrame] | None
) -> list[EpisodeRow] | None:
    """Return the episodes of all TCP and SCTP flows in the study's order; None: nothing tells.

    ``told`` are each flow's rows of the kernel's events.
    """
    if packets is not None:
        return _captured(cell, packets, told or {})
    if told is not None:
        flows = (flow for flow in cell.flows if flow.protocol != "udp")
        return [row for flow in flows for row in _told(flow, told[flow.id])]
    return None


def told_rows(flow: Flow, congestion: pl.DataFrame) -> list[EpisodeRow]:
    """Return a flow's episodes from the kernel's events alone."""
    return (tcp_rows if flow.protocol == "tcp" else sctp_rows)(flow, congestion)


def _told(flow: Flow, congestion: pl.DataFrame) -> Iterator[EpisodeRow]:
    rows = told_rows(flow, congestion)
    return with_windows(rows, window(congestion, flow.id), flow.message_bytes)


def _captured(
    cell: Cell, packets: pl.DataFrame, told: Mapping[str, pl.DataFrame]
) -> list[EpisodeRow]:
    found: list[EpisodeRow] = []
    for flow, captured in captured_flows(cell, packets):
        if flow.protocol != "udp":
            cwnd, own = None, told.get(flow.id)
            if own is not None and not flow.is_multihomed():
                cwnd = window(own, flow.id)
            rows = captured_rows(flow, captured, _kinds(flow, own), cwnd)
            found += rows if cwnd is None else with_windows(rows, cwnd, flow.message_bytes)
    return found


def _kinds(flow: Flow, congestion: pl.DataFrame | None) -> Kinds | None:
    """Return when the kernel repeated TCP's segments, and why by its own account."""
    if congestion is None or flow.protocol != "tcp":
        return None
    rows = main_rows(congestion, flow.id).filter(event="retransmit")
    return rows["t_s"].to_numpy(), rows["retransmission"].to_list()
