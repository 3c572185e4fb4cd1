"""ns-2's wired traces of any script, line by line: what arrived of each flow, when, what was lost.

    + 1.544938 0 1 tcp 1488 ------- 1 2.0 4.0 8 17        event, time, from, to, kind, bytes,
    + 22.3 0 1 sctp 1496 -------D 2 3.0 4.1 1 9 238 0 8   flags, flow, ends, number, packet

``d`` is a packet that a buffer dropped, ``e`` one that an error model with a trace of its own lost;
lines of variables, and of nam, are passed over. Where packets are gone and no line says so, losses
are not known. Invariants: time goes forward; of a packet under
way only its number and when it was sent are in memory, of so many at most; anything else is a
:class:`ParseError` with file, line and reason.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from model.errors import ParseError
from model.run_files.comparing.brought import FlowReading, Span
from model.units import average_rate_bps
from simulators.results.in_order import MOST_HELD_IN_ALL, InOrder, TooManyHolesError
from simulators.results.numbers import number, whole
from simulators.results.places import ended_early
from simulators.results.streams import Stream

MOST_FLOWS, MOST_UNDER_WAY, MOST_HELD = 100_000, 2_000_000, MOST_HELD_IN_ALL
#: What carries users' data: UDP's sources are named by what paces them.
DATA_KINDS = frozenset({"tcp", "sctp", "cbr", "exp", "pareto", "udp"})
PACKET = re.compile(r"[+rde-] [0-9][0-9.e+-]* ")
#: A line of a variable that is traced: time, both ends, its name, its value.
VARIABLE = re.compile(r"[0-9][0-9.]* +-?[0-9]+ +-?[0-9]+ +-?[0-9]+ +-?[0-9]+ +[A-Za-z_]+ ")
_OTHER = re.compile(r"[0-9][0-9.]* |[vnlaEFh] |E$|[A-Z] -t ")
_END = re.compile(r"(-?\d{1,9})\.(-?\d{1,9})", re.ASCII)
_SCTP_DATA = "D"


@dataclass(kw_only=True)
class _Flow:
    """What is known of a flow: of its data from ``source`` to ``destination``."""

    line: int
    kind: str
    source: tuple[str, str]
    destination: tuple[str, str]
    order: InOrder
    sizes: dict[int, int] = field(default_factory=dict)
    new_bytes: int = 0
    delays: int = 0
    delay_sum_s: float = 0.0
    last_delay_s: float | None = None
    jitters: int = 0
    jitter_sum_s: float = 0.0
    jitter_min_s: float = math.inf
    jitter_max_s: float = 0.0
    sent: int = 0
    queue_dropped: int = 0
    lost: int = 0
    arrived_sent_s: float = -math.inf
    under_way: dict[int, float] = field(default_factory=dict)

    @property
    def gone(self) -> int:
        """How many packets neither arrived nor were dropped, and one sent later arrived."""
        return sum(sent_s < self.arrived_sent_s for sent_s in self.under_way.values())


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A packet's line."""

    event: str
    t_s: float
    at: str
    to: str
    kind: str
    size_bytes: int
    flow: int
    source: tuple[str, str]
    destination: tuple[str, str]
    number: int
    packet: int


def read(
    stream: Stream, *, span: Span, headers_bytes: int | None
) -> tuple[list[FlowReading], tuple[str, ...]]:
    """Return the flows with data, in order of their ids.

    Args:
        stream: the trace.
        span: between which times arrivals are counted, and delays of what was sent then.
        headers_bytes: what a packet's size has besides user data; None: goodput is not known.

    Raises:
        ParseError: it is no such trace; file, line and reason.
    """
    flows: dict[int, _Flow] = {}
    last_s, under_way, held, packets = 0.0, 0, 0, 0
    for at, text in stream.lines():
        if not PACKET.match(text):
            _check_other(stream, at, text)
            continue
        line = _line(stream, at, text)
        packets += 1
        if line.t_s < last_s:
            raise stream.error(at, "earlier than the line before", wanted=f"{last_s:g} s or later",
                               got=f"{line.t_s:g} s")  # fmt: skip
        last_s = line.t_s
        if line.kind not in DATA_KINDS:
            continue
        flow = _flow(stream, at, line, flows)
        before, held_before = len(flow.under_way), len(flow.sizes)
        try:
            _take(flow, line, span, headers_bytes)
            held += len(flow.sizes) - held_before
            if held > MOST_HELD:
                raise TooManyHolesError
        except TooManyHolesError:
            raise stream.error(at, "a flow with too many holes to follow") from None
        except ValueError as error:
            raise stream.error(at, str(error), got=str(line.size_bytes)) from None
        under_way += len(flow.under_way) - before
        if under_way > MOST_UNDER_WAY:
            raise stream.error(at, "too many packets under way", wanted=f"at most {MOST_UNDER_WAY}")
    if not packets:
        raise ParseError("no packet in the trace", where=stream.where)
    made = [
        _made(stream.where, flow_id, flow, span, known=headers_bytes is not None)
        for flow_id, flow in sorted(flows.items())
    ]
    return made, (*ended_early(stream.where, last_s, span), *_about_gone(stream.where, flows))


def _about_gone(where: str, flows: dict[int, _Flow]) -> tuple[str, ...]:
    return tuple(
        f"{where}: {flow.gone} packets of flow {flow_id} neither arrived nor were dropped: its "
        "losses are not known (an error model without a trace?)"
        for flow_id, flow in sorted(flows.items())
        if flow.gone
    )


def _check_other(stream: Stream, at: int, text: str) -> None:
    if text and not text.startswith("#") and not _OTHER.match(text):
        raise stream.error(
            at, "no line of a wired trace of ns-2", got=ascii(text[:60]),
            wanted="such as '+ 1.5 0 1 tcp 1040 ------- 1 0.0 4.0 8 17'",
        )  # fmt: skip


def _line(stream: Stream, at: int, text: str) -> _Line:
    words, where = text.split(), f"{stream.where}:{at}"
    sctp = len(words) > 4 and words[4] == "sctp"
    wanted = 15 if sctp else 12
    if len(words) != wanted:
        raise stream.error(at, "not a packet's line", wanted=f"{wanted} words", got=str(len(words)))
    kind = words[4]
    if sctp and words[6][-1:] != _SCTP_DATA:
        kind = "sctp control"
    ends = [_END.fullmatch(word) for word in words[8:10]]
    if ends[0] is None or ends[1] is None:
        raise stream.error(at, "no end of a flow", wanted="NODE.PORT", got=" ".join(words[8:10]))
    return _Line(
        event=words[0], t_s=number(words[1], where, "the time", least=0), at=words[2], to=words[3],
        kind=kind, size_bytes=whole(words[5], where, "the size", most=1 << 20),
        flow=whole(words[7], where, "the flow", least=-1, most=1 << 31),
        source=(ends[0][1], ends[0][2]), destination=(ends[1][1], ends[1][2]),
        number=whole(words[11 if sctp else 10], where, "the number", least=-1, most=1 << 40),
        packet=whole(words[12 if sctp else 11], where, "the packet", most=1 << 40),
    )  # fmt: skip


def _flow(stream: Stream, at: int, line: _Line, flows: dict[int, _Flow]) -> _Flow:
    flow = flows.get(line.flow)
    if flow is None:
        if len(flows) >= MOST_FLOWS:
            raise stream.error(at, "too many flows", wanted=f"at most {MOST_FLOWS}")
        # TCP's numbers count from 0 (after a handshake from 1), SCTP's from 1.
        flow = flows[line.flow] = _Flow(
            line=at, kind=line.kind, source=line.source, destination=line.destination,
            order=InOrder(edge=max(line.number, 0)),
        )  # fmt: skip
    elif (flow.kind, flow.source, flow.destination) != (line.kind, line.source, line.destination):
        raise stream.error(
            at, f"flow {line.flow} has data of two kinds, or between other ends",
            wanted=f"{flow.kind} from {'.'.join(flow.source)} to {'.'.join(flow.destination)}",
            got=f"{line.kind} from {'.'.join(line.source)} to {'.'.join(line.destination)}",
            hint="set fid_ of each agent",
        )  # fmt: skip
    return flow


def _take(flow: _Flow, line: _Line, span: Span, headers_bytes: int | None) -> None:
    if line.event == "+" and line.at == flow.source[0] and line.packet not in flow.under_way:
        flow.under_way[line.packet] = line.t_s
        flow.sent += 1
    elif line.event == "d":
        flow.queue_dropped += flow.under_way.pop(line.packet, None) is not None
    elif line.event == "e":
        flow.lost += flow.under_way.pop(line.packet, None) is not None
    elif line.event == "r" and line.to == flow.destination[0]:
        _arrived(flow, line, span, headers_bytes)


def _arrived(flow: _Flow, line: _Line, span: Span, headers_bytes: int | None) -> None:
    sent_s = flow.under_way.pop(line.packet, None)
    if sent_s is not None:
        flow.arrived_sent_s = max(flow.arrived_sent_s, sent_s)
    if sent_s is not None and span.from_s <= sent_s < span.to_s:
        delay_s = line.t_s - sent_s
        if flow.last_delay_s is not None:
            jitter_s = abs(delay_s - flow.last_delay_s)
            flow.jitters += 1
            flow.jitter_sum_s += jitter_s
            flow.jitter_min_s = min(flow.jitter_min_s, jitter_s)
            flow.jitter_max_s = max(flow.jitter_max_s, jitter_s)
        flow.delays += 1
        flow.delay_sum_s += delay_s
        flow.last_delay_s = delay_s
    if headers_bytes is None:
        return
    payload = line.size_bytes - headers_bytes
    if payload < 0:
        raise ValueError(f"a packet smaller than its headers of {headers_bytes} bytes")
    if flow.kind in ("tcp", "sctp"):
        # ns-2 numbers packets, which need not all be as large.
        before = flow.order.edge
        if line.number >= before:
            flow.sizes[line.number] = payload
        moved = flow.order.arrived(line.number, line.number + 1)
        payload = sum(flow.sizes.pop(one) for one in range(before, before + moved))
    if span.from_s <= line.t_s < span.to_s:
        flow.new_bytes += payload


def _made(where: str, flow_id: int, flow: _Flow, span: Span, *, known: bool) -> FlowReading:
    known_losses = not flow.gone
    some = flow.jitters > 0
    return FlowReading(
        where=f"{where}:{flow.line}", protocol=flow.kind, source=flow.source[0],
        source_port=max(int(flow.source[1]), 0), destination=flow.destination[0],
        destination_port=max(int(flow.destination[1]), 0), number=flow_id,
        goodput_bytes=flow.new_bytes if known else None,
        goodput_bps=average_rate_bps(flow.new_bytes, span.length_s) if known else None,
        owd_mean_s=flow.delay_sum_s / flow.delays if flow.delays else None,
        jitter_mean_s=flow.jitter_sum_s / flow.jitters if some else None,
        jitter_min_s=flow.jitter_min_s if some else None,
        jitter_max_s=flow.jitter_max_s if some else None,
        loss_offered_pkts=flow.sent - flow.queue_dropped if known_losses else None,
        loss_dropped_pkts=flow.lost if known_losses else None,
        queue_dropped_pkts=flow.queue_dropped,
    )  # fmt: skip
