"""What a lab may leave of a cell, and taking that over once the lab has ended.

Invariants: nothing a guest wrote is opened to be read before all of it was looked at; what is
taken over is plain files of one name each and real folders, of the names and sizes expected here,
and belongs to the host afterwards; whatever else there is refuses all of it.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from collectors.recording.tcpdump import snap_bytes
from model import path_names, plain_files, run_folder
from model.ad_hoc import AdHoc
from model.cell import Cell, Flow
from model.errors import RunError
from model.movement import kept
from testbed.guest import calibration, link_fill
from testbed.guest.radio import places as radio_places
from testbed.guest.routing.registry import adapter_of
from testbed.machine import trees

KIB, MIB = 1 << 10, 1 << 20
#: A document: what there is at most of it without hosts and flows, and for each of these.
DOCUMENT_BYTES, DOCUMENT_PER_HOST_BYTES = 4 * MIB, 64 * KIB
#: What a program says of itself; a line of a packet log; a line of an interval.
WORDS_BYTES, LOG_LINE_BYTES, INTERVAL_BYTES = 4 * MIB, 64, 4 * KIB
#: A sample of a qdisc, of a host's counters, of a socket.
QDISC_SAMPLE_BYTES, COUNTERS_BYTES, SOCKET_SAMPLE_BYTES = 2 * KIB, 64 * KIB, 4 * KIB
#: What the kernel tells of one packet, compressed.
TRACE_PER_PACKET_BYTES = 256
#: A message's record, and what an application can hand over beyond what its network carries.
MESSAGE_RECORD_BYTES, BUFFERED_BYTES = 32, 64 * MIB
#: Heads of a capture's record and of its link layer, and how often a router sees a packet.
CAPTURE_HEAD_BYTES, TAPS_IN_A_ROUTER = 64, 4
#: Of radios: where a node goes; frames of a channel, each with its heads.
MOVEMENT_PER_NODE_BYTES, FRAMES_PER_S, MOST_FRAME_BYTES = MIB, 2000, 1700
FRAME_LINE_BYTES = 128
#: Packets over those that fill the bottleneck: acknowledgements, and what its buffer drops.
PACKETS_FACTOR, LEAST_PACKET_BYTES, MOST_PACKET_BYTES = 4, 60, 1500
#: Of a message about a failure.
MOST_ERROR_BYTES = 64 * KIB
FOLDER_MODE = 0o755


def most_packets(cell: Cell) -> float:
    """Return more packets than a cell's network can carry in its time."""
    size_bytes = min((flow.message_bytes for flow in cell.flows), default=MOST_PACKET_BYTES)
    size_bytes = min(max(size_bytes, LEAST_PACKET_BYTES), MOST_PACKET_BYTES)
    rate_bps = cell.carried_bps()
    rate_bps += sum(e.rate_bps or 0 for e in cell.events) + sum(f.rate_bps for f in cell.flows)
    return PACKETS_FACTOR * rate_bps * cell.limits.virtual_s / 8 / size_bytes


def _most_messages(cell: Cell, flow: Flow) -> float:
    """Return more messages than a flow can hand over."""
    carried_bytes = cell.carried_bps() * cell.limits.virtual_s / 8
    return (carried_bytes + BUFFERED_BYTES) / flow.message_bytes


def _samples(cell: Cell, every_s: float) -> float:
    return cell.limits.virtual_s / every_s + 1 if every_s else 0.0


def expected(cell: Cell) -> dict[str, int]:
    """Return every file a lab may leave of a cell, by name, and the bytes it may have at most."""
    hosts = cell.network.sources + cell.network.destinations + len(cell.flows)
    document = DOCUMENT_BYTES + DOCUMENT_PER_HOST_BYTES * hosts
    if cell.simulated():
        return _simulated(cell, document)
    documents = (run_folder.CELL, run_folder.ENV, run_folder.VERIFY, run_folder.COMMANDS)
    found: dict[str, float] = dict.fromkeys((*documents, *run_folder.RAW_DOCUMENTS), document)
    found[run_folder.ERROR] = MOST_ERROR_BYTES
    if cell.ad_hoc and cell.purpose == "calibrate":
        measuring = radio_places.network(cell.ad_hoc)
        found |= _of_radios(cell, measuring, document)
        for node in measuring.node_names():
            found |= _program(f"raw/calibration/{node}", WORDS_BYTES)
        found["raw/calibration.json"] = document
        frames = FRAMES_PER_S * cell.limits.virtual_s
        found[run_folder.FRAMES] = document + FRAME_LINE_BYTES * frames
    elif cell.ad_hoc:
        found |= _of_radios(cell, cell.ad_hoc, document) | _measured(cell, document, hosts)
    elif cell.purpose == "calibrate":
        for run in calibration.runs(cell.wired, cell.seed):
            found[f"raw/calibration/{run.name}.tsv"] = WORDS_BYTES + LOG_LINE_BYTES * run.packets
            if run.probed:
                found |= _program(f"raw/calibration/{run.name}", WORDS_BYTES)
        for fill in link_fill.fills(cell.wired):
            log_bytes = WORDS_BYTES + LOG_LINE_BYTES * fill.most_packets()
            found[f"raw/calibration/{fill.name}.tsv"] = log_bytes
        found["raw/calibration.json"] = document
    else:
        found |= _measured(cell, document, hosts)
    return {name: int(most_bytes) for name, most_bytes in found.items()}


def _simulated(cell: Cell, document: int) -> dict[str, int]:
    """Return what a simulator leaves; the host writes the rest."""
    most_bytes = int(document + TRACE_PER_PACKET_BYTES * most_packets(cell))
    names = (run_folder.CELL, run_folder.NS2_SETTINGS, run_folder.NS2_READ_BACK)
    traces = (run_folder.NS2_TRACE, run_folder.NS2_WINDOWS)
    return dict.fromkeys(names, document) | dict.fromkeys(traces, most_bytes)


def _of_radios(cell: Cell, network: AdHoc, document: float) -> dict[str, float]:
    """Return what the medium and what routes leave, whatever flows there are."""
    found = dict.fromkeys((run_folder.RADIOS, run_folder.MEDIUM, run_folder.MEDIUM_WORDS), document)
    found[run_folder.MOVEMENT] = document + MOVEMENT_PER_NODE_BYTES * network.nodes
    if network.mobility.model == "trace":
        found[run_folder.MOVEMENT] = found[run_folder.GIVEN_MOVEMENT] = kept.MOST_BYTES
    if cell.collect.pcap:
        frames = FRAMES_PER_S * cell.limits.virtual_s * network.channels
        found[run_folder.MEDIUM_CAPTURE] = document + frames * MOST_FRAME_BYTES
    for radio in network.radios():
        stem = run_folder.routing(radio.node, radio.device)
        for end, growth in adapter_of(network.routing).leaves.items():
            found[stem + end] = WORDS_BYTES + growth * cell.limits.virtual_s
    return found


def _program(stem: str, out_bytes: float) -> dict[str, float]:
    """Return what the two programs of a flow leave."""
    ends = [f"{stem}.{side}" for side in ("sender", "receiver")]
    return {f"{end}.jsonl": out_bytes for end in ends} | {f"{end}.err": WORDS_BYTES for end in ends}


def _measured(cell: Cell, document: float, hosts: int) -> dict[str, float]:
    collect, packets = cell.collect, most_packets(cell)
    intervals = INTERVAL_BYTES * _samples(cell, collect.interval_s)
    found: dict[str, float] = {}
    for flow in cell.flows:
        found |= _program(f"raw/flows/{flow.id}", WORDS_BYTES + intervals)
        if cell.records_messages_of(flow):
            most = document + MESSAGE_RECORD_BYTES * _most_messages(cell, flow)
            found |= {run_folder.messages(flow.id, side): most for side in ("sender", "receiver")}
    if cell.events:
        found[run_folder.EVENTS] = document
    if cell.collect.acknowledgements:
        found[run_folder.ACKNOWLEDGEMENTS] = document
    qdiscs = (hosts + 4) * (1 if cell.ad_hoc else len(cell.wired.paths()))
    found[run_folder.QUEUE_SAMPLES] = document + QDISC_SAMPLE_BYTES * qdiscs * _samples(
        cell, collect.queue_s
    )
    found[run_folder.SOCKET_SAMPLES] = (
        document
        + SOCKET_SAMPLE_BYTES * 2 * len(cell.flows) * _samples(cell, collect.sockets_s)
        + COUNTERS_BYTES * hosts * _samples(cell, collect.counters_s)
    )
    found[run_folder.TRACE_PAGES] = document + TRACE_PER_PACKET_BYTES * packets
    found |= dict.fromkeys((run_folder.TRACE_FORMATS, run_folder.TRACE_COUNTS), document)
    tapped_bytes = CAPTURE_HEAD_BYTES + min(snap_bytes(cell), 2 * MOST_PACKET_BYTES)
    for path in range(1, 1 + (0 if cell.ad_hoc else len(cell.wired.paths()))):
        for router in path_names.routers(path):
            most = document + TAPS_IN_A_ROUTER * tapped_bytes * packets
            found[f"raw/pcap/{router}.pcap.gz"] = most
    return found | dict.fromkeys(("raw/pcap/points.json", "raw/pcap/counts.json"), document)


def folders(names: Mapping[str, int]) -> frozenset[str]:
    """Return the folders that files of these names lie in."""
    return frozenset(
        str(above) for name in names for above in PurePosixPath(name).parents if above.name
    )


def take(guest: Path, into: Path, cell: Cell) -> None:
    """Look at all a lab left of a cell, and take it over; see :func:`take_files`."""
    given = (run_folder.CELL, run_folder.GIVEN_MOVEMENT)
    take_files(guest, into, expected(cell), given=given)


def take_files(
    guest: Path, into: Path, allowed: Mapping[str, int], *, given: tuple[str, ...]
) -> None:
    """Look at all a lab left in ``guest``, move it into ``into``, and remove ``guest``.

    ``allowed`` are the files there may be, and their most bytes. What the host gave, the files
    ``given``, stay as they were. The lab must have ended.

    Raises:
        RunError: there is anything else; nothing was moved.
    """
    try:
        handle = os.open(guest, plain_files.FOLDER_FLAGS)
        try:
            top = _take_over(handle, allowed, into)
            for name in sorted(top - {*given}):
                os.rename(name, into / name, src_dir_fd=handle)
        finally:
            os.close(handle)
        trees.remove(guest)
    except OSError as error:
        raise RunError(
            "cannot take over what the lab left", where=f"cell {into.name}", got=str(error)
        ) from error


def _take_over(handle: int, allowed: Mapping[str, int], into: Path) -> set[str]:
    """Look at everything, make it the host's own, and return the names at the top."""
    wanted_folders, left, top = folders(allowed), [""], set()
    while left:
        above = left.pop()
        place = os.open(f"./{above}", plain_files.FOLDER_FLAGS, dir_fd=handle)
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    name = above + entry.name
                    mode = entry.stat(follow_symlinks=False).st_mode
                    if stat.S_ISDIR(mode) and name in wanted_folders:
                        left.append(f"{name}/")
                    elif stat.S_ISREG(mode) and name in allowed:
                        _take_file(place, entry.name, allowed[name], f"cell {into.name}, {name}")
                    else:
                        wanted = "a file" if name in allowed else "a folder"
                        raise _refused(
                            f"cell {into.name}, {name!r:.200}",
                            wanted if name in {*allowed, *wanted_folders} else "no such name",
                            plain_files.kind(mode),
                        )
                    if not above:
                        top.add(entry.name)
            _own(place, FOLDER_MODE)
        finally:
            os.close(place)
    return top


def _take_file(folder: int, name: str, most_bytes: int, where: str) -> None:
    handle = os.open(name, plain_files.READ_FLAGS, dir_fd=folder)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise _refused(where, "a file", plain_files.kind(found.st_mode))
        if found.st_nlink != 1:
            raise _refused(where, "a file of one name", f"one of {found.st_nlink}")
        if found.st_size > most_bytes:
            raise _refused(where, f"at most {most_bytes} bytes", str(found.st_size))
        _own(handle, plain_files.MODE)
    finally:
        os.close(handle)


def _own(handle: int, mode: int) -> None:
    """Make what is open the host's own."""
    found = os.fstat(handle)
    if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        os.fchown(handle, os.geteuid(), os.getegid())
    if stat.S_IMODE(found.st_mode) != mode:
        os.fchmod(handle, mode)


def _refused(where: str, wanted: str, got: str) -> RunError:
    return RunError(
        "the lab left what no cell leaves", where=where, wanted=wanted, got=got,
        hint="nothing of it was opened",
    )  # fmt: skip


def error_message(guest: Path) -> str:
    """Return what an agent said of its failure; empty if it did not, or not as an agent does."""
    try:
        message = json.loads(plain_files.read_text(guest / run_folder.ERROR, MOST_ERROR_BYTES))[
            "message"
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    if not isinstance(message, str):
        return ""
    return "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in message
    )
