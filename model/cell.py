"""One cell: one point of a sweep, one seed, resolved to everything the agent inside a lab needs.

Standard library only, because the lab image reads it too. Invariants: every value is in base
units (bit/s, seconds, bytes, fractions, packets); nothing means "default"; two cells that differ
in anything that matters differ in :func:`cell_id`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Literal

from model.ad_hoc import AdHoc
from model.event import Event
from model.fields import LATER, build, to_dict
from model.links import Network
from model.sctp_paths import OF_KERNEL, Addresses, SctpPaths

__all__ = ["to_dict"]

SCHEMA = 1
#: Linux's SCTP: the time between two heartbeats, and from which part of it on one may be sent.
HEARTBEAT_INTERVAL_S, EARLIEST_HEARTBEAT_FRAC = 30.0, 0.5

#: Disciplines that draw: PIE whether it drops a packet, FQ-CoDel the key it hashes flows with.
DRAWING = frozenset({"fq_codel", "pie"})
#: A flow's congestion control that is its host's own.
OF_HOSTS = "hosts"

Protocol = Literal["tcp", "sctp", "udp"]
Generator = Literal["probe", "iperf3"]
Fidelity = Literal["exact", "approximated", "cannot_be_set"]
KnobKind = Literal["sysctl", "route", "tcp_socket", "sctp_socket"]
Side = Literal["both", "sender", "receiver"]


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One unidirectional flow or association from ``source`` to ``destination`` (indexes from 0).

    ``group`` is what metrics compare (``T``, ``S``, ...). ``rate_bps`` is, of UDP, the rate of IP
    packets; of TCP and SCTP the rate of application data, which is handed over message by message;
    it is 0 for bulk transfer, which sends all the stack lets it.
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
    start_spread_s: float
    stop_s: float
    congestion_control: str
    message_bytes: int
    streams: int
    ordered: bool
    rate_bps: int
    drop_data_pkts: tuple[int, ...]
    addresses: Addresses = field(default="first", metadata=LATER)
    paths: SctpPaths = field(default=OF_KERNEL, metadata=LATER)

    def is_multihomed(self) -> bool:
        """Return whether it has more than one path to go by."""
        return self.addresses == "both"


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

    def setting(self, kind: KnobKind, name: str, side: Side) -> str:
        """Return the value of a setting on one side, or nothing."""
        for entry in self.entries:
            for knob in entry.knobs:
                if (knob.kind, knob.name) == (kind, name) and knob.side in ("both", side):
                    return knob.value
        return ""


@dataclass(frozen=True, kw_only=True)
class Collect:
    """What evidence to record, and how finely.

    ``queue_s`` is the time between two samples of every queue, ``sockets_s`` of every socket,
    ``counters_s`` of every host's protocol counters; 0 takes none, and the last two are both 0 or
    neither. ``telemetry`` is the kernel's own account of congestion state and drops. ``messages``
    is when each message of the probes' TCP and SCTP flows was handed over and delivered,
    ``acknowledgements`` what acknowledging takes of each of these flows, counted at its receiver.
    """

    interval_s: float
    queue_s: float
    sockets_s: float
    counters_s: float
    telemetry: bool
    pcap: bool
    messages: bool = field(default=False, metadata=LATER)
    acknowledgements: bool = field(default=False, metadata=LATER)


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
    network: Network | AdHoc
    flows: tuple[Flow, ...]
    hosts: HostProfile
    collect: Collect
    limits: Limits
    lab: dict[str, str]
    events: tuple[Event, ...] = field(default=(), metadata=LATER)

    @property
    def wired(self) -> Network:
        """The network of links; :class:`TypeError` where there are radios instead."""
        if isinstance(self.network, AdHoc):
            raise TypeError(f"no links in a network of topology {self.network.topology}")
        return self.network

    @property
    def ad_hoc(self) -> AdHoc | None:
        """The network of radios, if it is one."""
        return self.network if isinstance(self.network, AdHoc) else None

    def carried_bps(self) -> int:
        """Return what its network carries at most: the bottlenecks of all paths, or channels."""
        if self.ad_hoc:
            return self.ad_hoc.radio.rate_bps * self.ad_hoc.channels
        return sum(path.bottleneck.forward.rate_bps for path in self.wired.paths())

    def on_machines_kernel(self) -> bool:
        """Return whether the kernel is a machine's, which has more to do, and not the cell's own.

        Its lab says which machine.
        """
        return "machine" in self.lab

    def simulated(self) -> bool:
        """Return whether no kernel ran it but a simulator, which its lab names."""
        return "simulator" in self.lab

    def measured_s(self) -> float:
        """Return the length of the measuring window, to the nanosecond."""
        return round(self.measure_to_s - self.measure_from_s, 9)

    def records_messages_of(self, flow: Flow) -> bool:
        """Return whether the times of a flow's messages are recorded: UDP's packets are none."""
        return self.collect.messages and flow.generator == "probe" and flow.protocol != "udp"

    def counts_acknowledgements_of(self, flow: Flow) -> bool:
        """Return whether a flow's acknowledgements are counted: iperf3 has a connection besides."""
        return (
            self.collect.acknowledgements and flow.generator == "probe" and flow.protocol != "udp"
        )

    def left_to_chance(self) -> tuple[str, ...]:
        """Return what the seed decides, such as movements or losses; nothing if all is fixed.

        Of radios it decides backoffs, too, which are named where movements are not the seed's.
        """
        found = {
            "movements": self.ad_hoc is not None and self.ad_hoc.mobility.model != "trace",
            "backoffs": self.ad_hoc is not None and self.ad_hoc.mobility.model == "trace",
            "losses": self.ad_hoc is None and self.wired.loses_at_random(),
            "queues": self.ad_hoc is None and bool(self.wired.disciplines() & DRAWING),
            "starts": any(flow.start_spread_s for flow in self.flows),
            "heartbeats": any(self._beats(flow) for flow in self.flows),
        }
        return tuple(what for what, is_left in found.items() if is_left)

    def _beats(self, flow: Flow) -> bool:
        """Return whether a flow lasts until a heartbeat of SCTP, whose times are random."""
        if flow.protocol != "sctp" or self._sctp_setting("hb_disable") == "1":
            return False
        if flow.is_multihomed():  # those of a path without data go on, whatever the interval
            return True
        interval_ms = self._sctp_setting("hb_interval_ms")
        interval_s = int(interval_ms) / 1000 if interval_ms else HEARTBEAT_INTERVAL_S
        return flow.stop_s - flow.start_s > EARLIEST_HEARTBEAT_FRAC * interval_s

    def _sctp_setting(self, name: str) -> str:
        return self.hosts.setting("sctp_socket", name, "sender")


def from_dict(data: Any) -> Cell:
    """Build a cell from :func:`to_dict`'s output; raise ``ValueError`` naming the bad key."""
    if not isinstance(data, dict):
        raise ValueError(f"cell: wanted a table, got {type(data).__name__}")
    if data.get("schema") != SCHEMA:
        raise ValueError(f"cell.schema: wanted {SCHEMA}, got {data.get('schema')!r}")
    cell: Cell = build(Cell, data, "cell")
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
