"""ns-3's FlowMonitor: the XML that ``SerializeToXmlFile`` writes, read as it comes.

``Flow`` of ``FlowStats`` has a flow's totals, ``Flow`` of the classifier its ends; sizes are of IP
packets. Invariants: no document type and no entity is taken, so nothing is expanded; only flows and
nothing of their histograms is kept; what a flow says must fit together.

``lostPackets`` are those that something said it dropped (``packetsDropped``, by reason) and those
that did not arrive within the monitor's 10 s: where these were lost the file does not say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from model.errors import ParseError
from model.run_files.comparing.brought import FlowReading, Span
from model.units import average_rate_bps
from simulators.results.numbers import number, whole
from simulators.results.streams import Stream

#: What may be open at once, how many flows and names of elements and attributes a file may have,
#: and how long a tag may be.
MOST_DEPTH, MOST_FLOWS, MOST_NAMES, MOST_TAG_BYTES = 16, 100_000, 1000, 1 << 20
#: Why a packet was dropped, of ``packetsDropped``: by a device's queue, by a discipline.
QUEUE_REASONS = frozenset({3, 4})
_PROTOCOLS = {6: "tcp", 17: "udp", 132: "sctp"}
_CLASSIFIERS = frozenset({"Ipv4FlowClassifier", "Ipv6FlowClassifier"})
_TIMES = ("timeFirstTxPacket", "timeLastRxPacket", "delaySum", "jitterSum")
_COUNTS = ("rxBytes", "txPackets", "rxPackets", "lostPackets")


@dataclass(kw_only=True)
class _Flow:
    """What is known of a flow so far; ``dropped`` packets by whether a queue did it."""

    where: str
    times: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    queue_dropped: int = 0
    dropped: int = 0
    ends: FlowReading | None = None


def read(
    stream: Stream, *, headers_bytes: int | None, counted: Span, lost_in: str = ""
) -> tuple[list[FlowReading], tuple[str, ...]]:
    """Return the flows of a file, in the order of their numbers.

    Args:
        stream: the file.
        headers_bytes: what each packet has besides user data; None: goodput is not known.
        counted: what the simulation's totals are of.
        lost_in: where packets were lost for no reason told: "buffer", "link", or not known.

    Raises:
        ParseError: it is no such file; file, line and reason.
    """
    reader = _Reader(stream)
    reader.read()
    made = [
        _made(number_, flow, headers_bytes, counted, lost_in) for number_, flow in reader.sorted()
    ]
    return made, ()


class _Reader:
    """Takes the parser's events."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._open = stream, list[str]()
        self._flows: dict[int, _Flow] = {}
        self._current: _Flow | None = None
        self._names: set[str] = set()
        self._parser = parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end

    def read(self) -> None:
        """Read the file to its end."""
        fed = 0
        try:
            for piece in self._stream.pieces():
                self._parser.Parse(piece, False)
                fed += len(piece)
                if fed - max(self._parser.CurrentByteIndex, 0) > MOST_TAG_BYTES:
                    raise self._error("a tag without an end", f"at most {MOST_TAG_BYTES} bytes")
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            what = "the file is empty" if not fed else expat.ErrorString(error.code)
            raise self._stream.error(error.lineno, f"not XML: {what}") from error
        except (ValueError, LookupError) as error:  # an encoding that Python has and expat not
            raise self._error(f"not XML: {error}") from error

    def sorted(self) -> list[tuple[int, _Flow]]:
        """Return the flows by number."""
        return sorted(self._flows.items())

    def _error(self, what: str, wanted: str = "", got: str = "") -> ParseError:
        return self._stream.error(self._parser.CurrentLineNumber, what, wanted=wanted, got=got[:60])

    def _where(self) -> str:
        return f"{self._stream.where}:{self._parser.CurrentLineNumber}"

    def _doctype(self, *_: object) -> None:
        raise self._error("a document type", "FlowMonitor's XML, which has none")

    def _entity(self, *_: object) -> None:
        raise self._error("an entity", "FlowMonitor's XML, which has none")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._names.update((name, *attributes))
        if len(self._names) > MOST_NAMES:
            raise self._error("too many kinds of elements and attributes", f"at most {MOST_NAMES}")
        if not self._open and name != "FlowMonitor":
            raise self._error("not FlowMonitor's XML", "the element FlowMonitor", name)
        self._open.append(name)
        if len(self._open) > MOST_DEPTH:
            raise self._error("elements too deep in each other", f"at most {MOST_DEPTH}")
        place = tuple(self._open[1:])
        if place == ("FlowStats", "Flow"):
            self._totals(attributes)
        elif place == ("FlowStats", "Flow", "packetsDropped"):
            self._dropped(attributes)
        elif len(place) == 2 and place[0] in _CLASSIFIERS and name == "Flow":
            self._ends(attributes)

    def _end(self, _: str) -> None:
        self._open.pop()
        if len(self._open) == 2:
            self._current = None

    def _of(self, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise self._error("an attribute is missing", name)
        return attributes[name]

    def _flow(self, attributes: dict[str, str]) -> _Flow:
        number_ = whole(self._of(attributes, "flowId"), self._where(), "flowId", most=(1 << 32) - 1)
        if number_ not in self._flows:
            if len(self._flows) >= MOST_FLOWS:
                raise self._error("too many flows", f"at most {MOST_FLOWS}")
            self._flows[number_] = _Flow(where=self._where())
        return self._flows[number_]

    def _totals(self, attributes: dict[str, str]) -> None:
        flow = self._flow(attributes)
        if flow.counts:
            raise self._error("a flow for the second time", got=attributes["flowId"])
        flow.where = self._where()
        flow.times = {name: self._time_s(self._of(attributes, name), name) for name in _TIMES}
        flow.counts = {
            name: whole(self._of(attributes, name), self._where(), name) for name in _COUNTS
        }
        if flow.counts["rxPackets"] > flow.counts["txPackets"]:
            raise self._error("more packets received than sent", got=str(flow.counts))
        self._current = flow

    def _time_s(self, text: str, what: str) -> float:
        """Return ns-3's ``+1.5e+09ns`` in seconds."""
        if not text.endswith("ns"):
            raise self._error(f"{what} is no time of ns-3", "such as +1.5e+09ns", text)
        return number(text.removesuffix("ns"), self._where(), what, least=0) / 1e9

    def _dropped(self, attributes: dict[str, str]) -> None:
        if self._current is None:
            return
        count = whole(self._of(attributes, "number"), self._where(), "packetsDropped")
        reason = whole(self._of(attributes, "reasonCode"), self._where(), "reasonCode", most=255)
        self._current.dropped += count
        if reason in QUEUE_REASONS:
            self._current.queue_dropped += count

    def _ends(self, attributes: dict[str, str]) -> None:
        flow = self._flow(attributes)
        if flow.ends is not None:
            raise self._error("a flow classified twice", got=attributes["flowId"])
        ports = [
            whole(self._of(attributes, name), self._where(), name, most=65535)
            for name in ("sourcePort", "destinationPort")
        ]
        protocol = whole(self._of(attributes, "protocol"), self._where(), "protocol", most=255)
        flow.ends = FlowReading(
            where=flow.where,
            protocol=_PROTOCOLS.get(protocol, str(protocol)),
            source=self._of(attributes, "sourceAddress")[:60],
            source_port=ports[0],
            destination=self._of(attributes, "destinationAddress")[:60],
            destination_port=ports[1],
        )


def _made(
    number_: int, flow: _Flow, headers_bytes: int | None, counted: Span, lost_in: str
) -> FlowReading:
    """Return a flow as read; raise :class:`ParseError` if half of it is missing."""
    if flow.ends is None or not flow.counts:
        lacking = "its ends (the classifier)" if flow.counts else "its totals (FlowStats)"
        raise ParseError(
            f"flow {number_} lacks {lacking}", where=flow.where,
            hint="SerializeToXmlFile writes both, when the simulation has ended",
        )  # fmt: skip
    got, ends = flow.counts["rxPackets"], flow.ends
    goodput = None if headers_bytes is None else _goodput_bytes(flow, headers_bytes, counted)
    offered, lost, queue_dropped = _losses(flow, lost_in)
    return FlowReading(
        where=flow.where, protocol=ends.protocol, source=ends.source,
        source_port=ends.source_port, destination=ends.destination,
        destination_port=ends.destination_port, goodput_bytes=goodput,
        goodput_bps=None if goodput is None else average_rate_bps(goodput, counted.length_s),
        owd_mean_s=flow.times["delaySum"] / got if got else None,
        jitter_mean_s=flow.times["jitterSum"] / (got - 1) if got > 1 else None,
        loss_offered_pkts=offered, loss_dropped_pkts=lost, queue_dropped_pkts=queue_dropped,
    )  # fmt: skip


def _goodput_bytes(flow: _Flow, headers_bytes: int, counted: Span) -> int:
    """Return the user data in what was received, repeated data included: the file has no other."""
    got = flow.counts["rxPackets"]
    found = flow.counts["rxBytes"] - got * headers_bytes
    if found < 0:
        raise ParseError(
            "packets are smaller than their headers", where=flow.where,
            wanted=f"{got} packets of {headers_bytes} bytes or more",
            got=f"{flow.counts['rxBytes']} bytes", hint="headers: in the mapping",
        )  # fmt: skip
    first_s, last_s = flow.times["timeFirstTxPacket"], flow.times["timeLastRxPacket"]
    if got and not counted.from_s - 1e-6 <= first_s <= last_s <= counted.to_s + 1e-6:
        raise ParseError(
            "packets outside the time that is counted", where=flow.where,
            wanted=f"{counted.from_s:g} s to {counted.to_s:g} s",
            got=f"{first_s:g} s to {last_s:g} s", hint="counted: in the mapping",
        )  # fmt: skip
    return found


def _losses(flow: _Flow, lost_in: str) -> tuple[int | None, int | None, int | None]:
    """Return packets offered to the link, lost by it, and dropped by buffers, as far as known."""
    sent, unexplained = flow.counts["txPackets"], flow.counts["lostPackets"] - flow.dropped
    if unexplained < 0 or flow.counts["lostPackets"] > sent:
        raise ParseError(
            "losses that do not fit together", where=flow.where,
            wanted=f"dropped <= lost <= sent ({sent})",
            got=f"{flow.dropped} dropped, {flow.counts['lostPackets']} lost",
        )  # fmt: skip
    if unexplained and not lost_in:
        return None, None, None
    dropped = flow.queue_dropped + (unexplained if lost_in == "buffer" else 0)
    return sent - dropped, unexplained if lost_in == "link" else 0, dropped
