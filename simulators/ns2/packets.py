"""From a trace to ``packets.parquet``: every packet where captures would have seen it. Pure.

Invariants: rows are in order of time, and of the trace where times are equal; what ns-2 does not
have (IP's identification, checksums, options) is null. Numbers are those of captures: TCP's first
byte is 1, SCTP's first TSN 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from collectors.packets.columns import Columns
from collectors.packets.packets import DIRECTIONS, POINTS, UDP_HEADER_BYTES
from model.cell import Cell
from simulators.ns2 import packet_lines as ns2
from simulators.ns2 import passages as where
from simulators.ns2.packet_lines import Floats, Ints, Packets
from simulators.ns2.passages import Bools, Passages
from simulators.ns2.receivers import Arrivals, arrivals
from simulators.ns2.settings import window

SYN, ACK = 2, 16
BEGINS_AND_ENDS = 3
IP_HEADER_BYTES = 20
WORDS = ("tcp", "sctp", "udp")
#: What each kind of packet is called: a protocol, and of SCTP its chunk.
_PROTOCOLS = np.array([0, 0, 2, *[1] * (len(ns2.KINDS) - 3)])
_CHUNKS = ("DATA", "SACK", "INIT", "HEARTBEAT", "HEARTBEAT-ACK")


@dataclass(frozen=True, kw_only=True)
class Told:
    """A trace, where its lines were, and what each flow's receiver got, by the flow's number."""

    packets: Packets
    places: Passages
    t_s: Floats
    got: Mapping[int, Arrivals]
    repeats: frozenset[int]

    def of(self, flow: int, way: int, point: int) -> Ints:
        """Return the lines of a flow at a point."""
        lines = self.places.at(way, point)
        found: Ints = lines[self.packets.flow[lines] == flow]
        return found

    def data(self, lines: Ints) -> Ints:
        """Return those of the lines that are of packets with user data."""
        found: Ints = lines[_carries(self.packets)[lines]]
        return found


def _carries(packets: Packets) -> Bools:
    """Return which lines are of packets with user data: all of TCP but the SYN."""
    kind = packets.kind
    found: Bools = (kind == ns2.DATA) | (kind == ns2.CBR)
    found |= (kind == ns2.TCP) & (packets.number > 0)
    return found


def tell(packets: Packets, cell: Cell) -> Told:
    """Return a trace taken apart."""
    places = where.passages(packets, cell)
    t_s = where.times_s(packets, places, cell)
    carries = _carries(packets)
    got, repeats = {}, set()
    for number, flow in enumerate(cell.flows, 1):
        mine = carries & (packets.flow == number) & (places.way == where.DATA)
        lines = np.flatnonzero(mine & (places.point == where.DELIVERED))
        # UDP's generator counts from 0.
        offset = 1 if flow.protocol == "udp" else 0
        got[number] = arrivals(lines, t_s[lines], packets.number[lines] + offset)
        sent = np.flatnonzero(mine & (places.point == where.SENT))
        again = np.ones(len(sent), np.bool_)
        again[np.unique(packets.number[sent], return_index=True)[1]] = False
        if flow.protocol != "udp":
            repeats.update(packets.packet[sent[again]].tolist())
    return Told(packets=packets, places=places, t_s=t_s, got=got, repeats=frozenset(repeats))


def packets_frame(told: Told, cell: Cell) -> pl.DataFrame:
    """Return the packets table; of a cell without captures what its loss episodes need of it."""
    lines, points = _rows(told)
    if not cell.collect.pcap:
        needed = _needed(told, lines, points)
        lines, points = lines[needed], points[needed]
    rows = _Rows(told=told, cell=cell, lines=lines)
    columns = Columns(len(lines))
    every = np.ones(len(lines), np.bool_)
    seen = told.packets
    columns.put_text("point", POINTS, points)
    columns.put_text("direction", DIRECTIONS, told.places.way[lines].astype(np.int64))
    columns.put("path", np.ones(len(lines), np.int64), every)
    columns.put_text("flow", [flow.id for flow in cell.flows], seen.flow[lines] - 1)
    columns.put("connection", seen.flow[lines] - 1, every)
    columns.put("packet", seen.packet[lines], every)
    columns.put("t_s", told.t_s[lines], every)
    columns.put_text("protocol", WORDS, _PROTOCOLS[seen.kind[lines]])
    columns.put("ip_bytes", seen.size_bytes[lines], every)
    rows.put_data(columns)
    rows.put_tcp(columns)
    rows.put_sctp(columns)
    if cell.collect.pcap:
        rows.put_chunks(columns)
    return columns.frame()


def _rows(told: Told) -> tuple[Ints, Ints]:
    """Return the lines that are rows, in order, and their points: what is not lost has passed."""
    places, packet = told.places, told.packets.packet
    seen = np.flatnonzero(places.point >= 0)
    offered = seen[(places.way[seen] == where.DATA) & (places.point[seen] == where.LOSS_OFFERED)]
    lost = packet[places.lost(where.DATA, where.BOTTLENECK)]
    passed = offered[~np.isin(packet[offered], lost)]
    lines = np.concatenate([seen, passed])
    points = np.concatenate([places.point[seen], np.full(len(passed), where.LOSS_PASSED)])
    order = np.lexsort((points, lines, told.t_s[lines]))
    return lines[order], points[order]


def _needed(told: Told, lines: Ints, points: Ints) -> Bools:
    """Return the rows of packets at their ends, of lost ones between, and the last of all."""
    to, packet = told.places.way[lines] == where.DATA, told.packets.packet[lines]
    there = points == where.DELIVERED
    arrived = np.isin(packet, packet[to & there])
    needed: Bools = there | (to & ((points == where.SENT) | ~arrived))
    needed[-1:] = True  # it tells when the run ended
    return needed


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """The rows of the table, by the lines they are of."""

    told: Told
    cell: Cell
    lines: Ints

    def _kind(self) -> Ints:
        return self.told.packets.kind[self.lines]

    def _number(self) -> Ints:
        return self.told.packets.number[self.lines]

    def _message_bytes(self) -> Ints:
        sizes = np.array([flow.message_bytes for flow in self.cell.flows])
        found: Ints = sizes[self.told.packets.flow[self.lines] - 1]
        return found

    def put_data(self, columns: Columns) -> None:
        """Set what is said of user data."""
        carries = _carries(self.told.packets)[self.lines]
        udp = self._kind() == ns2.CBR
        headers_bytes = IP_HEADER_BYTES + UDP_HEADER_BYTES
        udp_bytes = self.told.packets.size_bytes[self.lines] - headers_bytes
        payload = np.where(udp, udp_bytes, np.where(carries, self._message_bytes(), 0))
        columns.put("payload_bytes", payload, np.ones(len(payload), np.bool_))
        packet = self.told.packets.packet[self.lines]
        again = np.isin(packet, np.fromiter(self.told.repeats, np.int64))
        columns.put("retransmission", again, carries & ~udp)

    def put_tcp(self, columns: Columns) -> None:
        """Set TCP's columns; a SYN's answer comes before any data has arrived."""
        kind, number = self._kind(), self._number()
        sent, answers = kind == ns2.TCP, kind == ns2.ACK
        states = self._states(answers)
        opens = (sent & (number == 0)) | (answers & (states.index < 0))
        flags = np.where(answers, ACK, np.where(number == 0, 0, ACK)) + np.where(opens, SYN, 0)
        columns.put("tcp_flags", flags, sent | answers)
        start = np.where(number > 0, (number - 1) * self._message_bytes() + 1, 0)
        columns.put("seq", np.where(answers, 1 - opens, start), sent | answers)
        columns.put("ack", number * self._message_bytes() + 1, answers)
        columns.put("dupack_count", self._duplicates(answers & ~opens), answers)
        size = self._message_bytes()[states.rows]
        starts, ends = (states.start - 1) * size + 1, (states.end - 1) * size + 1
        columns.put_lists("sack_blocks", states.rows, {"start": starts, "end": ends}, answers)

    def _duplicates(self, answers: Bools) -> Ints:
        """Return which duplicate in a row each acknowledgement is where it was seen."""
        found = np.zeros(len(self.lines), np.int64)
        rows = np.flatnonzero(answers)
        seen, point = self.told.packets, self.told.places.point[self.lines]
        lane = seen.flow[self.lines] * 8 + point
        for one in np.unique(lane[rows]):
            mine = rows[lane[rows] == one]
            number = self._number()[mine]
            first = np.flatnonzero(np.diff(number, prepend=number[0] - 1) != 0)
            run = np.searchsorted(first, np.arange(len(number)), side="right") - 1
            found[mine] = np.arange(len(number)) - first[run]
        return found

    def put_sctp(self, columns: Columns) -> None:
        """Set SCTP's columns."""
        kind, number = self._kind(), self._number()
        data, sacks = kind == ns2.DATA, kind == ns2.SACK
        chunk = np.where(kind >= ns2.DATA, kind - ns2.DATA, -1)
        columns.put_text("chunk_types", _CHUNKS, np.where(chunk < len(_CHUNKS), chunk, -1))
        columns.put("data_chunk_count", data.astype(np.int64), kind >= ns2.DATA)
        columns.put("tsn", number - 1, data)
        columns.put("cum_tsn_ack", number - 1, sacks)
        states = self._states(sacks)
        blocks = {"start": states.start - 1, "end": states.end - 2}
        columns.put_lists("gap_blocks", states.rows, blocks, sacks)
        held = np.bincount(states.rows, states.end - states.start, len(self.lines))
        windows = [window(self.cell, f) if f.protocol == "sctp" else 0 for f in self.cell.flows]
        room = np.array(windows)[self.told.packets.flow[self.lines] - 1]
        columns.put("a_rwnd_bytes", (room - held * self._message_bytes()).astype(np.int64), sacks)

    def put_chunks(self, columns: Columns) -> None:
        """Set the list of each packet's chunks: one."""
        data, number = self._kind() == ns2.DATA, self._number()
        rows = np.flatnonzero(data)
        none = np.zeros(len(rows), np.int64)
        fields = {
            "tsn": number[rows] - 1, "stream": none, "ssn": number[rows] - 1,
            "flags": none + BEGINS_AND_ENDS, "payload_bytes": self._message_bytes()[rows],
        }  # fmt: skip
        columns.put_lists("data_chunks", rows, fields, data)

    def _states(self, answers: Bools) -> _States:
        """Return what each of these acknowledgements reports beyond the first hole."""
        index = np.full(len(self.lines), -1)
        rows, starts, ends = [], [], []
        line_of = _sent_lines(self.told)
        for number in range(1, len(self.cell.flows) + 1):
            got = self.told.got[number]
            mine = np.flatnonzero(answers & (self.told.packets.flow[self.lines] == number))
            left = line_of[self.told.packets.packet[self.lines[mine]]]
            at = np.searchsorted(got.line, left) - 1
            index[mine] = at
            for row, state in zip(mine.tolist(), at.tolist(), strict=True):
                for start, end in got.held[state] if state >= 0 else ():
                    rows.append(row)
                    starts.append(start)
                    ends.append(end)
        as_ints = [np.array(values, np.int64) for values in (rows, starts, ends)]
        order = np.argsort(as_ints[0], kind="stable")
        return _States(
            index=index, rows=as_ints[0][order], start=as_ints[1][order], end=as_ints[2][order]
        )


@dataclass(frozen=True, kw_only=True)
class _States:
    """For each row the arrival it answers, or -1; and the spans reported, one item each."""

    index: Ints
    rows: Ints
    start: Ints
    end: Ints


def _sent_lines(told: Told) -> Ints:
    """Return in which line each acknowledgement, by the packet's number, left its receiver."""
    lines = told.places.at(where.ACKS, where.SENT)
    packet = told.packets.packet
    found = np.full(int(packet.max(initial=0)) + 1, -1)
    found[packet[lines]] = lines
    return found
