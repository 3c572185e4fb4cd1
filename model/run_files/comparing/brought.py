"""What users bring from simulators of their own: how their files are to be read, and what was read.

A mapping says which file is which point and replicate, and what in it is which group or metric of
the study; readings are what files gave, in base units. Invariants: unknown is null, never 0; every
reading knows the file, and where it can the line, that it is from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from model.run_files.metrics.declared import Bounds
from model.run_files.point import Point

Format = Literal["flowmonitor", "pcap", "ns2", "omnetpp", "csv"]
#: How the values of several modules, or of a vector's samples, become one.
Take = Literal["sum", "mean", "min", "max", "last", "only"]
Ports = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Span:
    """Between which times of a simulation something is counted."""

    from_s: float
    to_s: float

    @property
    def length_s(self) -> float:
        """How long it is."""
        return self.to_s - self.from_s


@dataclass(frozen=True, kw_only=True)
class KnownPoint:
    """A point of the study, between which times its goodput is counted, and how long it runs."""

    point: Point
    span: Span
    duration_s: float


@dataclass(frozen=True, kw_only=True)
class Selector:
    """Which flows of a file are meant: each that has all that is given here; ports are ranges.

    ``flow`` is the study's flow it is, or empty: one of the group's.
    """

    group: str
    flow: str = ""
    protocol: str = ""
    source: str = ""
    source_ports: Ports | None = None
    destination: str = ""
    destination_ports: Ports | None = None
    number: int | None = None


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where a swept setting's value stands: it is ``text``, or named ``part``; ``unit`` follows it.

    A part is of the file's name, a column of CSV, or an iteration variable of OMNeT++.
    """

    name: str
    part: str = ""
    text: str = ""
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Sought:
    """A number of the file that is a metric of the study.

    ``column`` is CSV's; ``module`` and ``name`` are patterns of OMNeT++'s. ``factor`` makes it the
    metric's unit; ``per_second`` says that it is a total over the span that was counted. Where the
    file has summaries, ``column`` has means, ``sd`` and ``n`` are columns or, of n, a number.
    ``bounds`` are what the metric can be.
    """

    metric: str
    factor: float
    per_second: bool = False
    column: str = ""
    module: str = ""
    name: str = ""
    take: Take = "only"
    sd: str = ""
    n: str = ""
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def summary(self) -> bool:
        """Whether it is a mean of replicates, with their spread."""
        return bool(self.n)


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A file that is listed by name, with its parts given."""

    file: str
    parts: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ResultsMapping:
    """How users' files are to be read.

    ``pattern`` has ``{part}`` in it, or ``listed`` names each file. ``headers_bytes`` are what a
    packet's size has besides user data. ``counted`` is what a simulator's totals are of; None: the
    whole run. ``lost_in`` is where packets were lost of which a simulator gives no reason.
    ``first_packet`` is whether time 0 is that of the first packet.
    """

    where: str
    source: str
    format: Format | None
    settings: tuple[Setting, ...]
    replicate: str
    pattern: str = ""
    listed: tuple[Listed, ...] = ()
    selectors: tuple[Selector, ...] = ()
    sought: tuple[Sought, ...] = ()
    headers_bytes: int | None = None
    lost_in: Literal["", "buffer", "link"] = ""
    counted: Span | None = None
    first_packet: bool = False
    delimiter: str = ""


@dataclass(frozen=True, kw_only=True)
class FlowReading:
    """One flow as a file tells of it; what it does not tell is null.

    ``source`` and ``destination`` are addresses with ports, ``number`` is ns-2's flow id;
    ``connection`` tells connections of a capture between the same ends apart.
    """

    where: str
    protocol: str
    source: str = ""
    source_port: int = 0
    destination: str = ""
    destination_port: int = 0
    number: int | None = None
    connection: int = 1
    goodput_bytes: int | None = None
    goodput_bps: float | None = None
    owd_mean_s: float | None = None
    jitter_mean_s: float | None = None
    jitter_min_s: float | None = None
    jitter_max_s: float | None = None
    loss_offered_pkts: int | None = None
    loss_dropped_pkts: int | None = None
    queue_dropped_pkts: int | None = None

    @property
    def words(self) -> str:
        """What messages call it."""
        if self.number is not None:
            return f"flow {self.number}"
        ends = f"{self.source}:{self.source_port} -> {self.destination}:{self.destination_port}"
        again = f", connection {self.connection}" if self.connection > 1 else ""
        return f"{self.protocol} {ends}{again}"


@dataclass(frozen=True, kw_only=True)
class GroupFlow:
    """A flow of a file that is one of a group of the study; ``flow`` is the study's, if told."""

    group: str
    flow: str
    found: FlowReading


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One replicate at a point: its flows, and metrics that the file has as such."""

    where: str
    point: Point
    replicate: str
    flows: tuple[GroupFlow, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SummaryReading:
    """A metric at a point of which a file has only how many replicates, their mean and spread."""

    where: str
    point: Point
    metric: str
    n: int
    mean: float
    sd: float | None


@dataclass(frozen=True, kw_only=True)
class FileRead:
    """A file that was read whole: its name as given, bytes as stored, and digest."""

    file: str
    format: Format
    stored_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Brought:
    """All that files gave; ``notes`` are what a reader of the results must know."""

    source: str
    files: tuple[FileRead, ...]
    readings: tuple[Reading, ...]
    summaries: tuple[SummaryReading, ...]
    notes: tuple[str, ...]
