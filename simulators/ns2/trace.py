"""Read ns-2's trace as it comes: packets as arrays, windows as they change.

Invariants: of the text never more than a block is in memory, and a trace longer than it may be
ends with an error; whatever is not a line that ``dumbbell.tcl`` writes is a :class:`ParseError`
with file, line and reason. Lines are in order of time.

    + 1.544938 0 1 tcp 1488 ------- 1 2.0 4.0 8 17           a packet: see packet_lines.py
    1.54493  2  0  4  0  cwnd_ 8.000                         TCP's window, in packets
    F 1 2 0 4 0                                              a flow: its number, its ends
    E                                                        the end: nothing is missing

and in the file of SCTP's windows, up to ``time: end``:

    time: 22.02485  saddr: 3  sport: 0 ... cwnd: 5844 pba: 0 out: 4392 ssthresh: 65536 ...
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from model.errors import ParseError
from simulators.ns2.packet_lines import EVENTS, Packets, Within, columns, why_not

BLOCK_BYTES = 2 << 20
LINE_BYTES = 1024
END = (b"E", b"time: end")
_LINE = re.compile(rb"\n[^\n]*")
#: One that begins with no event.
_OTHER = re.compile(rb"\n[^-+rde\n][^\n]*")
_CWND = re.compile(
    rb"(\d{1,9}\.\d+) +(\d+) +(\d+) +\d+ +\d+ +(cwnd_|ssthresh_) (\d{1,9}(?:\.\d+)?) *", re.ASCII
)
_SCTP_CWND = re.compile(
    rb"time: (\d{1,9}\.\d+) +saddr: (\d+) +sport: (\d+) +daddr: \d+ +dport: \d+ +"
    rb"cwnd: (\d{1,12}) pba: \d+ out: (\d{1,12}) ssthresh: (\d{1,12}) peerRwnd: \d+ *",
    re.ASCII,
)
_FLOW = re.compile(rb"F (\d{1,6}) (\d{1,6}) (\d{1,6}) (\d{1,6}) (\d{1,6})", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A congestion window, or TCP's threshold, as it changed.

    ``after`` packets' lines had come, where windows are told among them: TCP's, in packets. SCTP's
    are bytes, both told together, at times rounded to 10 microseconds.
    """

    after: int
    t_s: float
    flow: int
    cwnd: float | None
    ssthresh: float | None


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A whole trace."""

    packets: Packets
    changes: tuple[Change, ...]
    ends: Mapping[tuple[int, int], int]


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a trace may hold: flows by their number, nodes, lines, time."""

    flows: int
    nodes: int
    most_lines: int
    until_s: float


@dataclass(kw_only=True)
class _Read:
    """What has been read so far; ``ends`` is a flow by its sender's node and port."""

    where: str
    bounds: Bounds
    lines: int = 0
    rows: int = 0
    last_s: float = 0.0
    ended: bool = False
    ends: dict[tuple[int, int], int] = field(default_factory=dict)
    packets: bool = True
    changes: list[Change] = field(default_factory=list)
    parts: list[dict[str, npt.NDArray[np.generic]]] = field(default_factory=list)

    def error(self, line: int, why: str, text: bytes = b"") -> ParseError:
        """Return the error of a line, which counts from 1."""
        got = ascii(text[:80].decode("ascii", "replace")) if text else ""
        return ParseError(f"not a trace of ns-2: {why}", where=f"{self.where}:{line}", got=got)


def read(stream: BinaryIO, where: str, bounds: Bounds) -> Trace:
    """Read a trace to its end; raise :class:`ParseError` with the line that is none."""
    found = _Read(where=where, bounds=bounds)
    _read(stream, found)
    names = [name for name in Packets.__dataclass_fields__ if name != "what"]
    joined = {
        name: np.concatenate([part[name] for part in found.parts])
        if found.parts
        else np.zeros(0, np.float64 if name == "t_s" else np.int64)
        for name in ("what", *names)
    }
    return Trace(
        packets=Packets(**joined),  # type: ignore[arg-type]
        changes=tuple(found.changes),
        ends=found.ends,
    )


def read_windows(
    stream: BinaryIO, where: str, bounds: Bounds, ends: Mapping[tuple[int, int], int]
) -> tuple[Change, ...]:
    """Read SCTP's windows to their end; ``ends`` is what the trace says of flows' senders."""
    found = _Read(where=where, bounds=bounds, ends=dict(ends), packets=False)
    _read(stream, found)
    return tuple(found.changes)


def _read(stream: BinaryIO, found: _Read) -> None:
    for text in _blocks(stream, found):
        _block(found, text)
    if not found.ended:
        raise found.error(found.lines + 1, "it is cut short: its last line is missing")


def _blocks(stream: BinaryIO, found: _Read) -> Iterator[bytes]:
    """Yield whole lines, a block of them at a time, each with a line's end before it."""
    rest = b""
    while True:
        try:
            piece = stream.read(BLOCK_BYTES)
        except (OSError, EOFError, zlib.error) as error:  # of what unpacks it, too
            line = found.lines + 1
            raise found.error(line, f"it cannot be unpacked: {error}") from error
        if not piece:
            break
        whole, cut, rest = (rest + piece).rpartition(b"\n")
        if cut:
            yield b"\n" + whole
        if len(rest) > LINE_BYTES:
            raise found.error(found.lines + 1, f"a line of more than {LINE_BYTES} bytes", rest)
    if rest:
        raise found.error(found.lines + 1, "it is cut short within a line", rest)


def _block(found: _Read, text: bytes) -> None:
    line_starts = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    if found.lines + len(line_starts) > found.bounds.most_lines:
        raise found.error(
            found.bounds.most_lines + 1,
            f"more than the {found.bounds.most_lines} lines it may have",
        )
    packets: list[bytes] = []
    at = 0
    others = list((_OTHER if found.packets else _LINE).finditer(text))
    before = line_starts.searchsorted([match.start() for match in others]).tolist()
    for index, (match, lines) in enumerate(zip(others, before, strict=True)):
        _not_ended(found, text, at)
        packets.append(text[at : match.start()])
        _other(found, found.lines + lines + 1, match[0][1:], found.rows + lines - index)
        at = match.end()
    packets.append(text[at:])
    _not_ended(found, text, at)
    if rows := len(line_starts) - len(others):
        _packets(found, text, b"".join(packets)[1:], rows)
    found.lines += len(line_starts)


def _not_ended(found: _Read, text: bytes, at: int) -> None:
    """Raise if the trace has ended and a line of a block begins there."""
    if found.ended and at < len(text):
        line, number = text[at + 1 :].partition(b"\n")[0], found.lines + text.count(b"\n", 0, at)
        raise found.error(number + 1, "something follows its end", line)


def _other(found: _Read, number: int, line: bytes, after: int) -> None:
    """Take a line that is no packet's."""
    if len(line) > LINE_BYTES:
        raise found.error(number, f"a line of more than {LINE_BYTES} bytes", line)
    if (match := _CWND.fullmatch(line)) is not None:
        is_window = match[4] == b"cwnd_"
        value = float(match[5])
        cwnd, ssthresh = (value, None) if is_window else (None, value)
        _change(found, number, match, (cwnd, ssthresh), after)
    elif (match := _SCTP_CWND.fullmatch(line)) is not None:
        _change(found, number, match, (float(match[4]), float(match[6])), after)
    elif (match := _FLOW.fullmatch(line)) is not None:
        _flow(found, number, line, *(int(match[k]) for k in (1, 2, 3)))
    elif line in END:
        found.ended = True
    else:
        raise found.error(number, "no such line", line)


def _flow(found: _Read, number: int, line: bytes, flow: int, node: int, port: int) -> None:
    if not 1 <= flow <= found.bounds.flows:
        raise found.error(number, f"a flow that is none of {found.bounds.flows}", line)
    if (node, port) in found.ends or flow in found.ends.values():
        raise found.error(number, "a flow, or a sender, for the second time", line)
    found.ends[node, port] = flow


def _change(
    found: _Read,
    number: int,
    match: re.Match[bytes],
    values: tuple[float | None, float | None],
    after: int,
) -> None:
    """Keep a change of a window."""
    flow = found.ends.get((int(match[2]), int(match[3])))
    t_s = float(match[1])
    if flow is None:
        raise found.error(number, "the window of no flow", match[0])
    if t_s > found.bounds.until_s + 1e-5:
        raise found.error(number, f"later than the end at {found.bounds.until_s:g} s", match[0])
    cwnd, ssthresh = values
    found.changes.append(Change(after=after, t_s=t_s, flow=flow, cwnd=cwnd, ssthresh=ssthresh))


def _packets(found: _Read, text: bytes, packets: bytes, rows: int) -> None:
    """Take the packets' lines of a block; raise for the first that is not as it must be."""
    bounds = found.bounds
    within = Within(
        flows=frozenset(found.ends.values()), nodes=bounds.nodes, from_s=found.last_s,
        until_s=bounds.until_s, most_number=bounds.most_lines,
    )  # fmt: skip
    part = columns(packets, rows, within)
    if part is None:
        raise _wrong(found, text, within)
    found.last_s = float(part["t_s"][-1])
    found.rows += rows
    found.parts.append(part)


def _wrong(found: _Read, text: bytes, within: Within) -> ParseError:
    """Return the error of the first line of a block that is none, or not a packet's as it is."""
    last_s = found.last_s
    for number, line in enumerate(text[1:].split(b"\n"), found.lines + 1):
        if not line:
            return found.error(number, "no such line")
        if line[0] in EVENTS:
            why = why_not(line, last_s, within)
            if why:
                return found.error(number, why, line)
            last_s = float(line.split(b" ")[1])
    return found.error(found.lines + 1, "lines that cannot be read together")
