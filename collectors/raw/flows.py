"""Parse what the traffic programs and the per-flow counters wrote: raw text -> typed rows. Pure.

Unknown is ``None``, never 0; anything a program should have written and did not is a
:class:`ParseError` naming file and line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.raw.files import WHOLE_MAX, json_value, whole
from model.cell import Cell, Flow
from model.errors import ParseError
from model.run_files.traffic_tables import FlowRow, IntervalRow
from model.units import NS_PER_S

UNKNOWN = type(None)
UNCONNECTED = "never-connected"
#: Before this no SYN is sent again (TCP_TIMEOUT_INIT).
SYN_TIMEOUT_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Received:
    """A receiver's side of a flow."""

    window_bytes: int
    total_bytes: int
    first_byte_s: float | None
    last_byte_s: float | None
    intervals: tuple[IntervalRow, ...]


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A sender's side of a flow."""

    connect_s: float | None
    retransmitted_pkts: int | None


def json_lines(text: str, where: str) -> list[dict[str, Any]]:
    """Return the objects of a JSON-lines text; raise naming the line that is not one."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            value = json_value(line)
        except ValueError as error:
            raise ParseError(
                "not JSON", where=f"{where}:{number}", got=line[:80], hint=str(error)
            ) from error
        if not isinstance(value, dict):
            raise ParseError("not a JSON object", where=f"{where}:{number}", got=line[:80])
        found.append(value)
    return found


def _field(record: Mapping[str, Any], name: str, where: str, *kinds: type) -> Any:
    event = record.get("event", "unnamed")
    if name not in record:
        raise ParseError(
            f"no {name!r} in the {event!r} record", where=where, got=", ".join(sorted(record))
        )
    value = record[name]
    if type(value) not in kinds:
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise ParseError(
            f"{name!r} in the {event!r} record", where=where, wanted=wanted, got=repr(value)
        )
    if value is not None and not abs(value) <= WHOLE_MAX:  # nor is NaN
        raise ParseError(
            f"{name!r} in the {event!r} record", where=where, got=f"{value!r:.40}",
            wanted=f"at most {WHOLE_MAX}",
        )  # fmt: skip
    return value


def _last(records: Sequence[dict[str, Any]], event: str, where: str) -> dict[str, Any]:
    matching = [record for record in records if record.get("event") == event]
    if not matching:
        raise ParseError(f"no {event!r} record", where=where, hint="the program was cut short")
    return matching[-1]


def _since(t_ns: int | None, epoch_ns: int) -> float | None:
    return None if t_ns is None else (t_ns - epoch_ns) / NS_PER_S


def probe_received(text: str, flow: Flow, epoch_ns: int, where: str) -> Received:
    """Parse the output of one of the project's receivers."""
    records = json_lines(text, where)
    totals = _last(records, "totals", where)
    intervals = tuple(
        IntervalRow(
            flow=flow.id,
            start_s=_field(record, "start_s", where, int, float),
            end_s=_field(record, "end_s", where, int, float),
            goodput_bytes=_field(record, "goodput_bytes", where, int),
        )
        for record in records
        if record.get("event") == "interval"
    )
    return Received(
        window_bytes=_field(totals, "window_goodput_bytes", where, int),
        total_bytes=_field(totals, "goodput_bytes", where, int),
        first_byte_s=_since(_field(totals, "first_byte_t_ns", where, int, UNKNOWN), epoch_ns),
        last_byte_s=_since(_field(totals, "last_byte_t_ns", where, int, UNKNOWN), epoch_ns),
        intervals=intervals,
    )


def probe_sent(text: str, flow: Flow, where: str) -> Sent:
    """Parse the output of one of the project's senders."""
    records = json_lines(text, where)
    totals = _last(records, "totals", where)
    if flow.protocol == "udp":
        return Sent(connect_s=None, retransmitted_pkts=None)
    name = {"tcp": "retransmitted_segments", "sctp": "retransmitted_chunks"}[flow.protocol]
    connect_s = _field(totals, "connect_s", where, int, float, UNKNOWN)
    pkts = _field({name: None, **totals}, name, where, int, UNKNOWN)
    # SCTP's counter is of DATA chunks, TCP's of all segments.
    syns = 0 if flow.protocol == "sctp" else _repeated_syns(records, connect_s, where)
    return Sent(
        connect_s=connect_s,
        retransmitted_pkts=None if pkts is None or syns is None else pkts - syns,
    )


def _repeated_syns(
    records: Sequence[Mapping[str, Any]], connect_s: float | None, where: str
) -> int | None:
    """Return how often a TCP sender's SYN was sent again; None if it does not tell."""
    name = "handshake_retransmitted_segments"
    effective = [record for record in records if record.get("event") == "effective"]
    if effective and name in effective[-1]:
        count: int = _field(effective[-1], name, where, int)
        return count
    # Older probes did not say so, but none is sent again so early.
    return 0 if connect_s is not None and connect_s < SYN_TIMEOUT_S else None


def unconnected(rows: Sequence[FlowRow]) -> list[dict[str, str]]:
    """Return one warning for the flows whose connection was never set up.

    What they delivered is known, nothing; what they would have is not.
    """
    found = [
        row.flow
        for row in rows
        if row.protocol != "udp" and row.generator == "probe" and row.connect_s is None
    ]
    if not found:
        return []
    flows = f"flow {found[0]}" if len(found) == 1 else f"{len(found)} of {len(rows)} flows"
    return [
        {
            "rule": UNCONNECTED,
            "where": flows,
            "text": f"No handshake came through before the flow's end: {', '.join(found[:10])}"
            f"{', ...' if len(found) > 10 else ''}. Goodput 0 is what was delivered; times, windows"
            " and delays are unknown and left out of means.",
        }
    ]


def probe_mss_bytes(text: str, where: str) -> int | None:
    """Return the segment size a TCP sender read back once connected; None if it never was."""
    records = [r for r in json_lines(text, where) if r.get("event") == "effective"]
    return _field(records[-1], "snd_mss_bytes", where, int, UNKNOWN) if records else None


def _time_s(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= WHOLE_MAX:
        raise ValueError(f"{value!r:.40} is no time")
    return float(value)


def iperf3_received(text: str, flow: Flow, where: str) -> Received:
    """Parse an iperf3 server's JSON.

    Its intervals count from its own start; its retransmissions for SCTP are no SCTP figure, so
    none are taken from it.
    """
    try:
        value = json_value(text)
        if "error" in value:
            raise ParseError("iperf3 failed", where=where, got=str(value["error"]))
        intervals = tuple(
            IntervalRow(
                flow=flow.id,
                start_s=_time_s(entry["sum"]["start"]),
                end_s=_time_s(entry["sum"]["end"]),
                goodput_bytes=whole(entry["sum"]["bytes"]),
            )
            for entry in value["intervals"]
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ParseError(
            "not an iperf3 result", where=where, got=text[:80], hint=repr(error)
        ) from error
    duration_s = flow.stop_s - flow.start_s
    return Received(
        window_bytes=sum(i.goodput_bytes for i in intervals if i.end_s <= duration_s + 0.5),
        total_bytes=sum(i.goodput_bytes for i in intervals),
        first_byte_s=None,
        last_byte_s=None,
        intervals=intervals,
    )


def counters(rows: Sequence[Mapping[str, Any]], flow: str) -> dict[str, int]:
    """Return one flow's packet counters by name.

    That of a further path has the path's number behind the name of the first's.
    """
    return {str(row["counter"]): whole(row["packets"]) for row in rows if row["flow"] == flow}


def _on_all_paths(counted: Mapping[str, int], point: str) -> int | None:
    """Return the packets of a flow at a point, of whatever path."""
    found = [n for name, n in counted.items() if name == point or name.startswith(f"{point}_")]
    return sum(found) if found else None


def flow_row(
    flow: Flow,
    cell: Cell,
    received: Received,
    sent: Sent,
    counted: Mapping[str, int],
    cwnd_mean_segments: float | None = None,
    timeouts: int | None = None,
    marked_pkts: int | None = None,
) -> FlowRow:
    """Put one flow's sources together; drops are differences of adjacent counters.

    Goodput is over the whole measuring window for every flow, however long it sent in it, so that
    flows of one run can be added and compared. Counters are of the whole run.
    """
    before, offered, passed = (
        _on_all_paths(counted, name) for name in ("queue_offered", "loss_offered", "loss_passed")
    )
    lost = None if offered is None or passed is None else offered - passed
    return FlowRow(
        flow=flow.id,
        group=flow.group,
        protocol=flow.protocol,
        generator=flow.generator,
        goodput_bytes=received.window_bytes,
        goodput_bps=received.window_bytes * 8 / cell.measured_s(),
        total_bytes=received.total_bytes,
        connect_s=sent.connect_s,
        first_byte_s=received.first_byte_s,
        last_byte_s=received.last_byte_s,
        queue_offered_pkts=before,
        queue_dropped_pkts=None if before is None or offered is None else before - offered,
        loss_offered_pkts=offered,
        loss_dropped_pkts=lost,
        loss_frac=None if lost is None or not offered else lost / offered,
        retransmitted_pkts=sent.retransmitted_pkts,
        cwnd_mean_segments=cwnd_mean_segments,
        timeouts=timeouts,
        marked_pkts=marked_pkts,
    )
