"""From files and a mapping to readings: which file is which point and replicate, and what it gives.

Invariants: nothing is returned unless every file was read whole; a point, a replicate's number or
flow that comes twice is refused, and so is what belongs to no point of the study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from model.errors import ParseError
from model.run_files.comparing.brought import (
    Brought,
    FileRead,
    FlowReading,
    Format,
    GroupFlow,
    KnownPoint,
    Reading,
    ResultsMapping,
    Selector,
    Span,
    SummaryReading,
)
from model.run_files.point import Point
from simulators.results import captures, flow_monitor, names, ns2_traces
from simulators.results.formats import CALLED, format_of
from simulators.results.omnet_values import omnet_readings
from simulators.results.places import Lookup, Places
from simulators.results.replicates import Key, Replicate, merge, words
from simulators.results.streams import Stream, head_of, opened, resolved_file
from simulators.results.table_values import table_readings

FLOW_FORMATS: frozenset[Format] = frozenset({"flowmonitor", "pcap", "ns2"})
#: How many flows of a file a message names.
MOST_NAMED = 6
#: Told of each file that has been read, of how many.
Told = Callable[[int, int], None]


def gather(
    mapping: ResultsMapping, files: Sequence[Path], points: Sequence[KnownPoint], told: Told
) -> Brought:
    """Return what files give.

    Raises:
        ParseError: a file cannot be read, or what it gives belongs nowhere; file, line, reason.
    """
    gathered = _Gathered(mapping, Places(mapping, points))
    for done, path in enumerate(files):
        told(done, len(files))
        gathered.take(path)
    told(len(files), len(files))
    return gathered.brought()


class _Gathered:
    """What has been read so far."""

    def __init__(self, mapping: ResultsMapping, places: Places) -> None:
        self._mapping, self._places = mapping, places
        self._listed = {one.file: one.parts for one in mapping.listed}
        self._replicates: dict[Key, Replicate] = {}
        self._summaries: dict[tuple[Point, str], SummaryReading] = {}
        self._files: dict[Path, FileRead] = {}
        self._notes: dict[str, None] = {}
        self._others: dict[Key, list[str]] = {}

    def take(self, path: Path) -> None:
        """Read a file whole."""
        resolved = resolved_file(path)
        if resolved in self._files:
            raise ParseError("a file for the second time", where=str(path))
        parts = self._parts(path)
        kind = self._mapping.format or format_of(head_of(path), str(path))
        _check_asked(self._mapping, kind, path)
        with opened(path) as stream:
            if kind in FLOW_FORMATS:
                self._take_flows(stream, kind, path, parts)
            else:
                self._take_values(stream, kind, path, parts)
        self._files[resolved] = FileRead(
            file=str(path), format=kind, stored_bytes=stream.stored_bytes,
            sha256=stream.digest.hexdigest(),
        )  # fmt: skip

    def _parts(self, path: Path) -> Mapping[str, str]:
        """Return the parts of a file's name, as the mapping tells."""
        mapping = self._mapping
        if self._listed:
            for name in (path.name, str(path)):
                if name in self._listed:
                    return self._listed[name]
            raise ParseError("a file that the mapping does not list", where=str(path),
                             hint=f"files: in {mapping.where}")  # fmt: skip
        if not mapping.pattern:
            return {}
        found = names.fitted(mapping.pattern, path.name)
        if found is None:
            raise ParseError(
                "a name that does not fit the mapping", where=str(path),
                wanted=f"as {mapping.pattern}", hint=f"files: in {mapping.where}",
            )  # fmt: skip
        return found

    def _take_flows(self, stream: Stream, kind: Format, path: Path, parts: Mapping[str, str]) -> None:
        place = self._places.find(parts.get, stream.where)
        replicate = self._places.replicate(parts.get, stream.where) or path.name
        found, notes = _flows(stream, kind, self._mapping, place, self._places.totals_of(place))
        self._notes.update(dict.fromkeys(notes))
        flows, others = _chosen(found, self._mapping.selectors)
        self._others.setdefault((place.point, replicate), []).extend(others)
        one = Reading(where=stream.where, point=place.point, replicate=replicate, flows=flows)
        merge(self._replicates, one)

    def _take_values(self, stream: Stream, kind: Format, path: Path, parts: Mapping[str, str]) -> None:
        lookup: Lookup = parts.get
        values = omnet_readings if kind == "omnetpp" else table_readings
        for one in values(stream, self._mapping, self._places, lookup, path.name):
            if isinstance(one, Reading):
                merge(self._replicates, one)
            else:
                self._summary(one)
            if any(sought.per_second for sought in self._mapping.sought):
                place = self._places.at(one.point)
                hint = "; vectors' samples are of that, too" if kind == "omnetpp" else ""
                note = _about_time(self._places.totals_of(place), place, hint)
                self._notes.update(dict.fromkeys(note))

    def _summary(self, one: SummaryReading) -> None:
        key = one.point, one.metric
        if key in self._summaries:
            raise ParseError(
                f"{one.metric} for the second time", where=one.where, got=words(one.point),
                hint=f"it is in {self._summaries[key].where}, too",
            )  # fmt: skip
        self._summaries[key] = one

    def brought(self) -> Brought:
        """Return it all; raise :class:`ParseError` for a replicate that lacks a group's flows."""
        readings = tuple(one.reading() for one in self._replicates.values())
        for one in readings:
            self._check_groups(one, self._others.get((one.point, one.replicate), []))
        if not readings and not self._summaries:
            raise ParseError("nothing in the files", where=", ".join(
                one.file for one in list(self._files.values())[:MOST_NAMED]
            ))  # fmt: skip
        told = {(one.point, name): one.where for one in readings for name in one.metrics}
        for key, summary in self._summaries.items():
            if key in told:
                raise ParseError(
                    f"{summary.metric} as replicates and as a summary", where=summary.where,
                    hint=f"it is in {told[key]}, too",
                )  # fmt: skip
        return Brought(
            source=self._mapping.source, files=tuple(self._files.values()),
            readings=readings, summaries=tuple(self._summaries.values()),
            notes=tuple(self._notes),
        )  # fmt: skip

    def _check_groups(self, one: Reading, others: Sequence[str]) -> None:
        wanted = dict.fromkeys((chosen.group, chosen.flow) for chosen in self._mapping.selectors)
        there = {(flow.group, flow.flow) for flow in one.flows}
        for group, flow in wanted:
            if (group, flow) not in there and (one.flows or others):
                more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
                raise ParseError(
                    f"no flow of {'flow ' + flow if flow else 'group ' + group}", where=one.where,
                    wanted="one that the mapping's words for it fit",
                    got=f"{'; '.join(others[:MOST_NAMED])}{more}" if others else "none at all",
                )  # fmt: skip


def _check_asked(mapping: ResultsMapping, kind: Format, path: Path) -> None:
    """Refuse a file of which the mapping asks nothing."""
    if kind in FLOW_FORMATS and not mapping.selectors:
        raise ParseError(f"{CALLED[kind]}, and nothing says whose its flows are", where=str(path),
                         wanted=f"groups: or flows: in {mapping.where}")  # fmt: skip
    if kind not in FLOW_FORMATS and not mapping.sought:
        raise ParseError(f"{CALLED[kind]}, and nothing says what its numbers are", where=str(path),
                         wanted=f"values: in {mapping.where}")  # fmt: skip


def _flows(
    stream: Stream, kind: Format, mapping: ResultsMapping, place: KnownPoint, counted: Span
) -> tuple[list[FlowReading], tuple[str, ...]]:
    if kind == "pcap":
        return captures.read(stream, span=place.span, first_packet=mapping.first_packet)
    if kind == "ns2":
        return ns2_traces.read(stream, span=place.span, headers_bytes=mapping.headers_bytes)
    found, _ = flow_monitor.read(
        stream, headers_bytes=mapping.headers_bytes, counted=counted, lost_in=mapping.lost_in
    )
    return found, _about_totals(counted, place)


def _about_totals(counted: Span, place: KnownPoint) -> tuple[str, ...]:
    return (
        "FlowMonitor counts what arrived, repeated data too: goodput from it is the higher by that",
        *_about_time(counted, place, ": FlowMonitor's StartTime makes them the same"),
    )


def _about_time(counted: Span, place: KnownPoint, hint: str = "") -> tuple[str, ...]:
    if counted == place.span:
        return ()
    told = (
        f"its totals are of {counted.from_s:g} s to {counted.to_s:g} s, the study's goodput of "
        f"{place.span.from_s:g} s to {place.span.to_s:g} s{hint}"
    )
    return (told,)


def _chosen(
    found: Sequence[FlowReading], selectors: Sequence[Selector]
) -> tuple[tuple[GroupFlow, ...], list[str]]:
    """Return the flows that are a group's, and the others' names."""
    chosen, others = [], []
    for flow in found:
        fits = [one for one in selectors if _fits(one, flow)]
        groups = {(one.group, one.flow) for one in fits}
        if len(groups) > 1:
            raise ParseError(
                f"{flow.words} is of more than one group", where=flow.where,
                wanted="words in the mapping that tell groups apart",
                got=", ".join(sorted(name or group for group, name in groups)),
            )  # fmt: skip
        if fits:
            chosen.append(GroupFlow(group=fits[0].group, flow=fits[0].flow, found=flow))
        else:
            others.append(flow.words)
    return tuple(chosen), others


def _fits(one: Selector, flow: FlowReading) -> bool:
    return (
        one.protocol in ("", flow.protocol)
        and one.source in ("", flow.source)
        and one.destination in ("", flow.destination)
        and (one.number is None or one.number == flow.number)
        and _inside(one.source_ports, flow.source_port)
        and _inside(one.destination_ports, flow.destination_port)
    )


def _inside(ports: tuple[int, int] | None, port: int) -> bool:
    return ports is None or ports[0] <= port <= ports[1]
