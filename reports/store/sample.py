"""What metrics of one cell are computed from, and how they say that there is nothing. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.run_files.network_path import PointPath
from model.run_files.path_tables import AirtimeRow, RadioRow
from model.run_files.study import Compare, Group
from model.run_files.traffic_tables import AcknowledgementRow, AuditRow, FlowRow, PathRow

#: How the metrics begin that need all intervals of a cell: they are read only where asked for.
VARIATION = "goodput_over_time"
NO_MESSAGES = "the times of messages were not recorded (collect: messages)"
NO_BOTTLENECK = "the network has no bottleneck link"
NO_RADIOS = "the network has no radios"
NO_PATH = "the run is of an older version, which wrote no sizes of packets down"


class UnavailableError(Exception):
    """Why a metric has no value; never leaves :func:`reports.measures.metrics.evaluate`."""


@dataclass(frozen=True)
class Quotient:
    """What a metric divides by what, so that runs can be averaged before dividing, too.

    ``scale`` is 100 for a percentage.
    """

    numerator: float
    denominator: float
    scale: float = 1.0

    @property
    def value(self) -> float:
        """The metric's value in this run."""
        return self.scale * (self.numerator / self.denominator)


@dataclass(frozen=True)
class Share:
    """Of how many something was true, of how many: so a metric tells how much it rests on."""

    true: int
    of: int

    @property
    def value(self) -> float:
        """The share, 0 to 1."""
        return self.true / self.of


@dataclass(frozen=True, kw_only=True)
class Spans:
    """What is counted between two times; empty unless the study asks.

    ``sent_segments`` by flow, ``cwnd_segments`` the smallest and largest by flow; of the bins the
    shares ``silent_frac`` and ``low_frac``; ``out_of_buffer_pkts`` left the bottleneck's buffer,
    and ``new_pkts`` with new data left the senders, until the run was to end: flows send what they
    had taken on for longer; ``out_of_buffer_pps`` a second in the measuring window. A reason in
    place of what is not known.
    """

    sent_segments: Mapping[str, float] | str = field(default_factory=dict)
    cwnd_segments: Mapping[str, tuple[float, float]] | str = field(default_factory=dict)
    bins: tuple[float, float] | str = "the study has no times for it (bins)"
    out_of_buffer_pkts: int | str = "the study does not ask for it"
    out_of_buffer_pps: float | str = "the study does not ask for it"
    new_pkts: Mapping[str, float] | str = "the study does not ask for it"


NO_SPANS = Spans()


@dataclass(frozen=True, kw_only=True)
class MessageSpread:
    """How long messages of one flow took: of how many, how many it is not known of, and seconds.

    ``statistics`` are of those it is known of, by name; empty if there are none.
    """

    messages: int
    unknown: int
    statistics: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Failover:
    """What became of one flow when a link went down first: seconds and counts, or why not known.

    ``gap_s`` is the longest without a delivery, ``outstanding_s`` until all handed over before was
    delivered, ``other_path_s`` until data came over another path, ``failover_s`` until the path
    was given up, ``timeouts`` how often its timeout had grown by then, ``switchover_s`` until
    another path was the primary, ``return_s`` from the link's being up until data came over its
    path, ``returned_frac`` 1 if they did and 0 if not.
    """

    gap_s: float | str
    outstanding_s: float | str
    other_path_s: float | str
    failover_s: float | str
    timeouts: float | str
    switchover_s: float | str
    return_s: float | str
    returned_frac: float | str


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The flows of one cell, its forward bottleneck rate, and what else is known of the flows.

    A network of radios has no bottleneck; ``radios`` and ``airtime`` are what these did.
    ``paths`` is empty if the cell was not captured, ``audit`` if it was made before there was
    one, ``acknowledgements`` if they were not counted. ``delivered_segments`` holds, by flow,
    what arrived between the times the study asks for, ``episodes`` the rows of the loss
    episodes, None if nothing recorded them, ``variation_pct`` by group how its goodput varies
    over time, empty unless the study asks. ``messages`` is by flow and column of
    ``messages.parquet``, or why there are none, ``failovers`` by flow, or why there are none.
    ``path`` tells the sizes of packets, None if the run is of a version that did not write it
    down.
    """

    flows: tuple[FlowRow, ...]
    groups: tuple[Group, ...]
    compare: Compare | None
    bottleneck_rate_bps: int | None
    radios: tuple[RadioRow, ...] = ()
    airtime: tuple[AirtimeRow, ...] = ()
    paths: tuple[PathRow, ...] = ()
    audit: tuple[AuditRow, ...] = ()
    acknowledgements: tuple[AcknowledgementRow, ...] = ()
    delivered_segments: Mapping[str, float] = field(default_factory=dict)
    episodes: Sequence[Mapping[str, Any]] | None = None
    variation_pct: Mapping[str, float] = field(default_factory=dict)
    spans: Spans = NO_SPANS
    messages: Mapping[tuple[str, str], MessageSpread] | str = NO_MESSAGES
    failovers: Mapping[str, Failover] | str = "no link went down"
    path: PointPath | None = None
    duration_s: float = 0.0


def total(values: Iterable[float | int | None], what: str, *, none: float | None = None) -> float:
    """Return the sum; raise :class:`UnavailableError` if there is nothing or a value is unknown.

    ``none``, if given, is the sum of nothing.
    """
    found = list(values)
    if not found and none is not None:
        return none
    if not found:
        raise UnavailableError(f"there is no {what}")
    known = [value for value in found if value is not None]
    if len(known) < len(found):
        raise UnavailableError(f"{what} is not known for every flow")
    return math.fsum(known)


def quotient(numerator: float, denominator: float, what: str, scale: float = 1.0) -> Quotient:
    """Return the quotient; raise :class:`UnavailableError` unless the denominator is positive."""
    if not denominator > 0:
        raise UnavailableError(f"{what} is {denominator:g}")
    return Quotient(numerator, denominator, scale)


def ratio(numerator: float, denominator: float, what: str) -> float:
    """Return the value of the quotient; raises as :func:`quotient`."""
    return quotient(numerator, denominator, what).value
