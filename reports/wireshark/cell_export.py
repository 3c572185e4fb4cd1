"""Export one cell's captures: a pcapng with the story in it, and the senders' view for tcptrace.

Invariants: nothing is written unless the captures and ``packets.parquet`` are of the same packets;
each file appears whole or not at all; the same cell gives the same bytes.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from model import plain_files, run_folder
from model.cell import Cell
from model.errors import ParseError
from model.run_files.traffic_tables import PacketRow
from model.units import NS_PER_S
from reports.store.columns import read_columns
from reports.wireshark import capture_files
from reports.wireshark.captured import CapturedPackets, Ints, Octets
from reports.wireshark.episodes import read_episodes
from reports.wireshark.points import CapturePoints, Interface, file_stem, interfaces, point_text
from reports.wireshark.story import USED, comments

APPLICATION = "Groundtruth"
LINUX_SLL2 = 276
#: Times of the table are floats: good to this, a thousand times finer than packets are apart.
SAME_TIME_NS = 1000


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A cell's captures as they were read: all packets in order of time, link type LINUX_SLL2.

    ``points`` is ``raw/pcap/points.json``, ``epoch_ns`` time zero since 1970; ``files`` are indexes
    into ``names``; ``ifindexes`` the capturing kernel's.
    """

    points: CapturePoints
    epoch_ns: int
    kernel: str
    names: tuple[str, ...]
    files: Ints
    ifindexes: Ints
    octets: Octets
    t_ns: Ints
    starts: Ints
    network: Ints
    captured_bytes: Ints
    wire_bytes: Ints


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What was written for one cell."""

    pcapng: Path
    senders_view: Path
    packets: int
    comments: int


def export_cell(run: Path, cell_id: str, cell: Cell, recorded: Recorded) -> Exported:
    """Write both files of a cell below the run's ``pcap`` folder.

    Raises:
        ParseError: captures and tables do not belong together, or a table cannot be read.
        OSError: a file cannot be written.
    """
    folder = run_folder.cell_folder(run, cell_id)
    table = read_columns(folder / run_folder.PACKETS_TABLE, PacketRow, USED)
    _check_same(table, recorded, str(folder))
    places = interfaces(recorded.points)
    captured = _captured(recorded, places)
    listed = {flow.id: flow.drop_data_pkts for flow in cell.flows}
    said = comments(table, read_episodes(folder / run_folder.EPISODES_TABLE), listed)
    stem = file_stem(cell.study, cell.point, cell.seed, cell_id)
    into = run / run_folder.PCAP
    traced, view = into / f"{stem}.pcapng", into / f"{stem}-senders.pcap"
    snap_bytes = recorded.points.snap_bytes
    head = _head(section_comment(cell, cell_id, recorded), places, snap_bytes)
    plain_files.write_pieces(
        traced, chain(head, capture_files.pcapng_packets(captured, said)), unlocked=True
    )
    traces = capture_files.classic_packets(captured, _senders_rows(table))
    plain_files.write_pieces(view, chain([capture_files.classic_header()], traces), unlocked=True)
    return Exported(pcapng=traced, senders_view=view, packets=len(captured), comments=len(said))


def section_comment(cell: Cell, cell_id: str, recorded: Recorded) -> str:
    """Return what the file says of itself."""
    since_1970 = f"{recorded.epoch_ns // NS_PER_S}.{recorded.epoch_ns % NS_PER_S:09d}"
    zero = datetime.datetime.fromtimestamp(recorded.epoch_ns // NS_PER_S, tz=datetime.UTC)
    flows = [
        f"  {flow.id}: {flow.protocol.upper()}, src{flow.source + 1} to dst{flow.destination + 1}, "
        f"port {flow.port}"
        for flow in cell.flows
    ]
    lines = [
        f"{cell.study}: {point_text(cell.point)}; seed {cell.seed}; cell {cell_id}",
        f"kernel {recorded.kernel}, lab {cell.lab.get('name', 'unknown')}",
        "Every packet at every point where it was captured, as it was captured.",
        "The interface says where, a comment what happened to it.",
        f"Time zero of the experiment: {since_1970} s since 1970 ({zero:%Y-%m-%d %H:%M:%S} UTC).",
        f"At most {recorded.points.snap_bytes} bytes of each packet were kept.",
        "Flows:",
        *flows,
    ]
    return "\n".join(lines)


def _head(comment: str, places: Sequence[Interface], snap_bytes: int) -> list[bytes]:
    described = [
        capture_files.interface(
            name=place.name, description=place.description, linktype=LINUX_SLL2,
            snap_bytes=snap_bytes,
        )
        for place in places
    ]  # fmt: skip
    return [capture_files.section(comment=comment, application=APPLICATION), *described]


def _check_same(table: pl.DataFrame, recorded: Recorded, where: str) -> None:
    """Raise unless row i of the table is packet i of the captures."""
    captured = len(recorded.t_ns)
    if len(table) != captured:
        raise ParseError(
            "captures and packets table differ", where=where, wanted=f"{len(table)} packets",
            got=f"{captured} captured", hint="were the captures changed after the run?",
        )  # fmt: skip
    table_ns = table["t_s"].fill_null(np.nan).to_numpy() * NS_PER_S
    apart = ~(np.abs(recorded.t_ns - recorded.epoch_ns - table_ns) <= SAME_TIME_NS)
    if apart.any():
        raise ParseError(
            f"captures and packets table differ at packet {int(np.argmax(apart)) + 1}",
            where=where, hint="were the captures changed after the run?",
        )  # fmt: skip


def _captured(recorded: Recorded, places: Sequence[Interface]) -> CapturedPackets:
    interface = np.full(len(recorded.t_ns), -1, np.int64)
    for number, place in enumerate(places):
        for file, name in enumerate(recorded.names):
            if name.rpartition("/")[2] == place.file:
                here = (recorded.files == file) & (recorded.ifindexes == place.ifindex)
                interface[here] = number
    if (interface < 0).any():
        first = int(np.argmax(interface < 0))
        raise ParseError(
            "a packet of no capture point", where=recorded.names[int(recorded.files[first])],
            wanted="an interface of raw/pcap/points.json",
            got=f"interface {int(recorded.ifindexes[first])}, packet {first + 1} in all",
        )  # fmt: skip
    return CapturedPackets(
        octets=recorded.octets,
        t_ns=recorded.t_ns,
        starts=recorded.starts,
        network=recorded.network,
        captured_bytes=recorded.captured_bytes,
        wire_bytes=recorded.wire_bytes,
        interfaces=interface,
    )


def _senders_rows(table: pl.DataFrame) -> Ints:
    """Return the rows senders see: data as sent, acknowledgements as delivered."""
    sent = (pl.col("point") == "sent") & (pl.col("direction") == "data")
    heard = (pl.col("point") == "delivered") & (pl.col("direction") == "ack")
    rows: Ints = table.with_row_index("row").filter(sent | heard)["row"].to_numpy().astype(np.int64)
    return rows
