"""Export one cell's captures: the senders' view with the story in it, and all capture points.

Wireshark judges from one point of view, so the first has each packet once: as its sender sends it,
an acknowledgement as it reaches the sender of what it acknowledges.

Invariants: nothing is written unless the captures and ``packets.parquet`` are of the same packets;
each file appears whole or not at all; the same cell gives the same bytes.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from model import plain_files, run_folder
from model.cell import Cell
from model.errors import ParseError
from model.run_files.traffic_tables import PacketRow
from model.units import NS_PER_S
from reports.measures.cell_names import file_stem, point_text
from reports.store.columns import read_columns
from reports.wireshark import capture_files
from reports.wireshark.captured import CapturedPackets, Ints, Octets
from reports.wireshark.congestion_windows import read_windows
from reports.wireshark.episodes import read_episodes
from reports.wireshark.points import CapturePoints, Interface, interfaces
from reports.wireshark.story import SENDERS, USED, comments

APPLICATION = "Groundtruth"
LINUX_SLL2 = 276
#: Times of the table are floats: good to this, a thousand times finer than packets are apart.
SAME_TIME_NS = 1000
#: What each file holds, said in it.
VIEW = (
    "The senders' view: each packet once, data as they are sent, acknowledgements as they arrive.",
    "The interface says whose they are, a comment what happened to a packet, or will on its way.",
)
FILLED = (
    "Payload that the captures cut off was zeros wherever the packet's checksum proves it, and is "
    "filled in."
)
POINTS = (
    "Every packet at every point where it was captured, as it was captured.",
    "The interface says where, a comment what happened to it.",
)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A cell's captures as they were read: all packets in order of time, link type LINUX_SLL2.

    ``points`` is ``raw/pcap/points.json``, ``epoch_ns`` time zero since 1970; ``files`` are indexes
    into ``names``; ``ifindexes`` the capturing kernel's. ``zero_bytes`` returns how many zeros were
    cut off of packets, where that is known: an SCTP packet's checksum tells.
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
    zero_bytes: Callable[[Ints], Ints]


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What was written for one cell: files, the one for Wireshark first, and what is in that."""

    files: tuple[Path, ...]
    packets: int
    comments: int


def export_cell(
    run: Path, cell_id: str, cell: Cell, recorded: Recorded, *, all_points: bool = False
) -> Exported:
    """Write the files of a cell below the run's ``pcap`` folder.

    Args:
        run: the run folder.
        cell_id: the cell's id in the run, a folder of that name.
        cell: its settings.
        recorded: its captures.
        all_points: write also the file with every packet at every capture point.

    Raises:
        ParseError: captures and tables do not belong together, or a table cannot be read.
        OSError: a file cannot be written.
    """
    folder = run_folder.cell_folder(run, cell_id)
    table = read_columns(folder / run_folder.PACKETS_TABLE, PacketRow, USED)
    _check_same(table, recorded, str(folder))
    places = interfaces(recorded.points)
    captured = _captured(recorded, places)
    on = np.array([place.path for place in places])
    table = table.with_columns(path=pl.Series(on[captured.interfaces]))
    listed = {flow.id: flow.drop_data_pkts for flow in cell.flows}
    known = (
        read_episodes(folder / run_folder.EPISODES_TABLE),
        listed,
        read_windows(folder / run_folder.CONGESTION_TABLE),
    )
    stem = run / run_folder.PCAP / file_stem(cell.study, cell.point, cell.seed, cell_id)
    comment = section_comment(cell, cell_id, recorded)
    rows = _senders_rows(table)
    view = replace(captured.only(rows), zero_bytes=recorded.zero_bytes(rows))
    told = comments(table, *known, senders=True)
    place = {row: number for number, row in enumerate(rows.tolist())}
    said = {place[row]: text for row, text in told.items()}
    traced, classic = stem.with_name(f"{stem.name}.pcapng"), _named(stem, "senders.pcap")
    ways = [*VIEW, *([FILLED] if view.zero_bytes.any() else [])]
    _write(traced, [*comment, *ways], places, recorded.points.snap_bytes, view, said)
    pieces = chain([capture_files.classic_header()], capture_files.classic_packets(view))
    plain_files.write_pieces(classic, pieces, unlocked=True)
    files = [traced, classic]
    if all_points:
        files.append(_named(stem, "all-points.pcapng"))
        told = comments(table, *known)
        _write(files[-1], [*comment, *POINTS], places, recorded.points.snap_bytes, captured, told)
    return Exported(files=tuple(files), packets=len(view), comments=len(said))


def _named(stem: Path, ending: str) -> Path:
    return stem.with_name(f"{stem.name}-{ending}")


def _write(
    path: Path,
    comment: Sequence[str],
    places: Sequence[Interface],
    snap_bytes: int,
    packets: CapturedPackets,
    said: Mapping[int, str],
) -> None:
    """Write a pcapng; of the places those where a packet is."""
    used, interfaces = np.unique(packets.interfaces, return_inverse=True)
    described = [
        capture_files.interface(
            name=place.name, description=place.description, linktype=LINUX_SLL2,
            snap_bytes=0 if packets.zero_bytes.any() else snap_bytes,
        )
        for place in (places[number] for number in used.tolist())
    ]  # fmt: skip
    head = [
        capture_files.section(comment="\n".join(comment), application=APPLICATION), *described
    ]  # fmt: skip
    packets = replace(packets, interfaces=interfaces.astype(np.int64))
    pieces = chain(head, capture_files.pcapng_packets(packets, said))
    plain_files.write_pieces(path, pieces, unlocked=True)


def section_comment(cell: Cell, cell_id: str, recorded: Recorded) -> list[str]:
    """Return what both files say of themselves, in lines."""
    since_1970 = f"{recorded.epoch_ns // NS_PER_S}.{recorded.epoch_ns % NS_PER_S:09d}"
    zero = datetime.datetime.fromtimestamp(recorded.epoch_ns // NS_PER_S, tz=datetime.UTC)
    flows = [
        f"  {flow.id}: {flow.protocol.upper()}, src{flow.source + 1} to dst{flow.destination + 1}, "
        f"port {flow.port}"
        for flow in cell.flows
    ]
    return [
        f"{cell.study}: {point_text(cell.point)}; seed {cell.seed}; cell {cell_id}",
        f"kernel {recorded.kernel}, lab {cell.lab.get('name', 'unknown')}",
        f"Time zero of the experiment: {since_1970} s since 1970 ({zero:%Y-%m-%d %H:%M:%S} UTC).",
        f"At most {recorded.points.snap_bytes} bytes of each packet were kept.",
        "Flows:",
        *flows,
    ]


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
        zero_bytes=np.zeros(len(interface), np.int64),
    )


def _senders_rows(table: pl.DataFrame) -> Ints:
    """Return the rows senders see: data as sent, acknowledgements as delivered."""
    rows: Ints = table.select(pl.arg_where(SENDERS)).to_series().to_numpy().astype(np.int64)
    return rows
