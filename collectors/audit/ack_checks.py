"""Acknowledgements as counted where they leave the receiver, against all others who counted. Pure.

Comparisons are exact. Where what a kernel handed to its interface may be more or less than its
socket says it sent, nothing is concluded from that socket.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from collectors.audit.packet_balance import compare
from collectors.packets.seen import is_acknowledgement
from model.cell import Cell, Flow
from model.check import Check
from model.run_files.traffic_tables import AcknowledgementRow

PKTS, BYTES = "packets", "bytes"
#: TCP option: kind and length, and two sequence numbers a block (RFC 2018).
OPTION_BYTES, BLOCK_BYTES = 2, 8
#: SACK chunk: up to the blocks; a gap block or a duplicate TSN (RFC 9260, section 3.3.4).
CHUNK_BYTES, GAP_BYTES = 16, 4
#: Networks in which whatever a host sends leaves it: routes are there from the first moment.
ROUTED = ("dumbbell", "two-paths")
COUNTS = (("all_ack_pkts", PKTS), ("all_ack_ip_bytes", BYTES), ("all_sack_pkts", PKTS),
          ("all_sack_bytes", BYTES))  # fmt: skip


def checks(
    cell: Cell,
    rows: Sequence[AcknowledgementRow],
    packets: pl.DataFrame | None,
    totals: Mapping[tuple[str, str], Mapping[str, Any]],
) -> list[Check]:
    """Return all comparisons of flows whose acknowledgements were counted.

    ``packets`` is the packets table, if the cell was captured; ``totals`` are what the probes wrote
    by flow and side, empty where that is not all of it.
    """
    flows = {flow.id: flow for flow in cell.flows}
    found: list[Check] = []
    captured = None if packets is None else counted(packets)
    for row in rows:
        if cell.network.topology in ROUTED:
            found.append(_by_socket(flows[row.flow], row, totals))
        if captured is not None:
            found += _by_captures(row, captured)
    return found


def _by_socket(
    flow: Flow, row: AcknowledgementRow, totals: Mapping[tuple[str, str], Mapping[str, Any]]
) -> Check:
    """The receiver's socket sent as many; later ones, to what came again at the end, are more.

    A TCP socket without data or FIN of its own counts bare ACKs alone: its SYN-ACK was another's.
    """
    sender, receiver = totals[flow.id, "sender"], totals[flow.id, "receiver"]
    closed = sender and receiver.get("end") in ("eof", "shutdown")
    name = "segs_out" if flow.protocol == "tcp" else "sacks_out"
    told = receiver.get(name) if closed else None
    wanted = told if type(told) is int else None
    got = row.all_ack_pkts if flow.protocol == "tcp" else row.all_sack_pkts
    made = compare(
        "acknowledgements sent by the socket", f"flow {flow.id}, receiver", wanted, got, PKTS
    )
    if wanted is not None and got > wanted:
        return dataclasses.replace(made, agrees=None)
    return made


def _by_captures(
    row: AcknowledgementRow, captured: Mapping[str, Mapping[str, int]]
) -> Iterator[Check]:
    """What left the receiver is what the captures saw come from it, to the byte."""
    seen = captured.get(row.flow, {})
    for name, unit in COUNTS:
        what = name.removeprefix("all_").replace("_", " ")
        yield compare(
            f"acknowledgements captured, {what}", f"flow {row.flow}, receiver",
            seen.get(name, 0), getattr(row, name), unit,
        )  # fmt: skip


def counted(packets: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Return the same counts of a packets table, by flow: acknowledgements as they were sent."""
    blocks = pl.col("sack_blocks").list.len().fill_null(0)
    gaps = pl.col("gap_blocks").list.len().fill_null(0)
    again = pl.col("duplicate_tsns").list.len().fill_null(0)
    option = pl.when(blocks > 0).then(OPTION_BYTES + BLOCK_BYTES * blocks).otherwise(0)
    chunk = CHUNK_BYTES + GAP_BYTES * (gaps + again)
    selective = pl.when(pl.col("protocol") == "sctp").then(chunk).otherwise(option)
    made = (
        packets.lazy()
        .filter(is_acknowledgement(), pl.col("flow").is_not_null(), direction="ack", point="sent")
        .select("flow", "ip_bytes", sack_bytes=selective.cast(pl.Int64))
        .group_by("flow")
        .agg(
            all_ack_pkts=pl.len(),
            all_ack_ip_bytes=pl.col("ip_bytes").sum(),
            all_sack_pkts=(pl.col("sack_bytes") > 0).sum(),
            all_sack_bytes=pl.col("sack_bytes").sum(),
        )
        .collect()
    )
    return {str(row.pop("flow")): row for row in made.to_dicts()}
