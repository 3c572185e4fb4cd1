"""One cell: one point of a sweep, one seed, resolved to everything the agent inside a lab needs.

Standard library only, because the lab image reads it too. Invariants: every value is in base
units (bit/s, seconds, bytes, fractions, packets); nothing means "default"; two cells that differ
in anything that matters differ in :func:`cell_id`.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import types
import typing
from dataclasses import dataclass
from typing import Any, Literal

SCHEMA = 1

Protocol = Literal["tcp", "sctp", "udp"]
Generator = Literal["probe", "iperf3"]
Fidelity = Literal["exact", "approximated", "cannot_be_set"]
KnobKind = Literal["sysctl", "route", "tcp_socket", "sctp_socket"]
Side = Literal["both", "sender", "receiver"]


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Loss model of one direction: ``none``, or ``random`` (independent per packet)."""

    model: Literal["none", "random"]
    loss_frac: float


@dataclass(frozen=True, kw_only=True)
class Direction:
    """One direction of a link: a shaper (rate, drop-tail buffer), then a channel (delay, loss).

    ``rate_bps`` counts IP packet bytes. ``queue_pkts`` is everything the shaper holds, the packet
    being sent included. ``channel_limit_pkts`` bounds the packets in flight in the delay stage.
    """

    rate_bps: int
    queue_pkts: int
    owd_s: float
    channel_limit_pkts: int
    loss: Loss


@dataclass(frozen=True, kw_only=True)
class Link:
    """Both directions of a link; ``forward`` carries data, ``reverse`` acknowledgements."""

    forward: Direction
    reverse: Direction


@dataclass(frozen=True, kw_only=True)
class Network:
    """A topology's name and its links.

    For the dumbbell: ``sources`` hosts, each on its own ``source_access`` link to the first
    router, one bottleneck, ``destinations`` hosts behind the second router.
    """

    topology: str
    sources: int
    destinations: int
    source_access: Link
    bottleneck: Link
    destination_access: Link

    def loses_at_random(self) -> bool:
        """Return whether any direction of any link loses packets by chance."""
        links = (self.source_access, self.bottleneck, self.destination_access)
        ways = (way for link in links for way in (link.forward, link.reverse))
        return any(way.loss.model == "random" for way in ways)

    def base_rtt_s(self) -> float:
        """Return the round trip of an empty packet, to the nanosecond: all one-way delays."""
        links = (self.source_access, self.bottleneck, self.destination_access)
        delays_s = (link.forward.owd_s + link.reverse.owd_s for link in links)
        return round(math.fsum(delays_s), 9)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One unidirectional flow or association from ``source`` to ``destination`` (indexes from 0).

    ``group`` is what metrics compare (``T``, ``S``, ...). ``rate_bps`` is the rate of IP packets
    of a constant-bit-rate flow; it is 0 for bulk transfer, which sends all the stack lets it.
    ``drop_data_pkts`` are numbers of data packets that are dropped before the bottleneck's loss
    model: in order, from 1, as they leave its buffer, retransmissions counted too.
    """

    id: str
    group: str
    protocol: Protocol
    generator: Generator
    source: int
    destination: int
    port: int
    start_s: float
    stop_s: float
    message_bytes: int
    streams: int
    ordered: bool
    rate_bps: int
    drop_data_pkts: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Knob:
    """One kernel setting: a sysctl, a route option or an option of the probes' sockets.

    ``name`` is the kernel's or iproute2's own name (``net.ipv4.tcp_sack``, ``quickack``) or the
    probes' long option without dashes and with underscores (``rcvbuf_bytes``).
    """

    kind: KnobKind
    name: str
    value: str
    side: Side


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One published host parameter and the settings that stand for it on this kernel."""

    parameter: str
    published: str
    fidelity: Fidelity
    note: str
    knobs: tuple[Knob, ...]


@dataclass(frozen=True, kw_only=True)
class HostProfile:
    """How the end hosts are set up, as a ledger of published parameters."""

    id: str
    title: str
    entries: tuple[LedgerEntry, ...]


@dataclass(frozen=True, kw_only=True)
class Collect:
    """What evidence to record, and how finely.

    ``queue_s`` is the time between two samples of every queue, ``sockets_s`` of every socket,
    ``counters_s`` of every host's protocol counters; 0 takes none, and the last two are both 0 or
    neither. ``telemetry`` is the kernel's own account of congestion state and drops.
    """

    interval_s: float
    queue_s: float
    sockets_s: float
    counters_s: float
    telemetry: bool
    pcap: bool


@dataclass(frozen=True, kw_only=True)
class Limits:
    """After which a cell is stopped and reported as failed."""

    wall_s: float
    virtual_s: float


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Everything that fixes one run. ``purpose`` tells measuring cells from calibrating ones.

    Goodput is counted from ``measure_from_s`` until just before ``measure_to_s``, both since the
    start of the run.
    """

    schema: int
    study: str
    purpose: Literal["measure", "calibrate"]
    point: dict[str, float | int | str]
    replicate: int
    seed: int
    duration_s: float
    measure_from_s: float
    measure_to_s: float
    network: Network
    flows: tuple[Flow, ...]
    hosts: HostProfile
    collect: Collect
    limits: Limits
    lab: dict[str, str]

    def measured_s(self) -> float:
        """Return the length of the measuring window, to the nanosecond."""
        return round(self.measure_to_s - self.measure_from_s, 9)


def to_dict(value: Any) -> Any:
    """Return dataclasses, tuples and scalars as JSON-ready lists and dicts."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_dict(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [to_dict(item) for item in value]
    if isinstance(value, dict):
        return {key: to_dict(item) for key, item in value.items()}
    return value


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the fields of a dataclass with their types; resolving them is what reading costs."""
    resolved = typing.get_type_hints(kind)
    return {field.name: resolved[field.name] for field in dataclasses.fields(kind)}


def _build(kind: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        names = set(hints)
        if not isinstance(data, dict) or set(data) != names:
            got = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"{where}: wanted keys {sorted(names)}, got {got}")
        return kind(**{name: _build(hints[name], data[name], f"{where}.{name}") for name in names})
    if origin is tuple:
        (item_kind, _) = typing.get_args(kind)
        if not isinstance(data, list):
            raise ValueError(f"{where}: wanted a list, got {type(data).__name__}")
        return tuple(_build(item_kind, item, f"{where}[{i}]") for i, item in enumerate(data))
    if origin is dict:
        (_, item_kind) = typing.get_args(kind)
        if not isinstance(data, dict):
            raise ValueError(f"{where}: wanted a table, got {type(data).__name__}")
        return {key: _build(item_kind, item, f"{where}.{key}") for key, item in data.items()}
    return _scalar(kind, data, where)


def _scalar(kind: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if origin is Literal or origin is types.UnionType:
        choices = typing.get_args(kind)
        if (data if origin is Literal else type(data)) not in choices:
            names = [c if isinstance(c, str) else c.__name__ for c in choices]
            raise ValueError(f"{where}: wanted one of {', '.join(names)}, got {data!r}")
        return data
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise ValueError(f"{where}: wanted {kind.__name__}, got {data!r}")
    return data


def from_dict(data: Any) -> Cell:
    """Build a cell from :func:`to_dict`'s output; raise ``ValueError`` naming the bad key."""
    if not isinstance(data, dict):
        raise ValueError(f"cell: wanted a table, got {type(data).__name__}")
    if data.get("schema") != SCHEMA:
        raise ValueError(f"cell.schema: wanted {SCHEMA}, got {data.get('schema')!r}")
    cell: Cell = _build(Cell, data, "cell")
    return cell


def cell_json(cell: Cell) -> str:
    """Return the cell as canonical JSON (sorted keys, one trailing newline)."""
    return json.dumps(to_dict(cell), sort_keys=True, indent=1) + "\n"


def cell_id(cell: Cell) -> str:
    """Return 16 hex digits naming all that decides the cell's outcome.

    ``lab`` holds the digests of kernel, image and the code that runs inside; the wall-clock
    limit is left out because it decides whether a run ends, never what it measures.
    """
    content = to_dict(cell)
    del content["limits"]["wall_s"]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
