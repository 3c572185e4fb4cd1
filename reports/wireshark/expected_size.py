"""How many bytes an export will write, from the packets table alone.

Invariant: packets are counted to the byte, but for zeros that a checksum does not prove; comments
are taken to be as long as they are on average.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from model.run_files.traffic_tables import PacketRow
from reports.store.columns import read_columns
from reports.wireshark import capture_files
from reports.wireshark.story import SENDERS

LINK_BYTES = 20
BLOCK_BYTES = capture_files.PACKET_HEADER_WORDS * 4 + capture_files.LENGTH_BYTES
#: A comment on a report of a loss, or on what is sent again or on such a report.
COMMENT_BYTES = 120
_USED = ("point", "direction", "protocol", "ip_bytes", "retransmission", "dupack_count")


def expected_bytes(packets: Path, snap_bytes: int, *, all_points: bool) -> int:
    """Return about how many bytes the files of a cell will have.

    Args:
        packets: its table.
        snap_bytes: how many bytes of a packet its captures kept at most.
        all_points: whether every capture point is exported, too.

    Raises:
        ParseError: the file is no such table.
    """
    table = read_columns(packets, PacketRow, _USED)
    wire = pl.col("ip_bytes").fill_null(0) + LINK_BYTES
    kept = pl.min_horizontal(wire, snap_bytes)
    shown = pl.when(pl.col("protocol") == "sctp").then(wire).otherwise(kept)
    record_bytes = capture_files.RECORD_HEADER_BYTES - LINK_BYTES
    remarkable = pl.col("retransmission").fill_null(value=False) | (pl.col("dupack_count") > 0)
    comment = pl.when(remarkable).then(COMMENT_BYTES).otherwise(0)
    view = _padded(shown) + BLOCK_BYTES + comment + kept + record_bytes
    found = table.filter(SENDERS).select(view.sum()).item()
    if all_points:
        found += table.select((_padded(kept) + BLOCK_BYTES + comment).sum()).item()
    return int(found)


def _padded(size: pl.Expr) -> pl.Expr:
    return (size + 3) // 4 * 4
