"""One cell: one point of a sweep, one seed, resolved to everything the agent inside a lab needs.

Standard library only, because the lab image reads it too. Invariants: every value is in base
units (bit/s, seconds, bytes, fractions, packets); nothing means "default"; two cells that differ
in anything that matters differ in :func:`cell_id`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal

from model.ad_hoc import AdHoc
from model.event import Event
from model.fields import LATER, build, to_dict
from model.sctp_paths import OF_KERNEL, Addresses, SctpPaths

__all__ = ["to_dict"]

SCHEMA = 1
#: Linux's SCTP: the time between two heartbeats, and from which part of it on one may be sent.
HEARTBEAT_INTERVAL_S, EARLIEST_HEARTBEAT_FRAC = 30.0, 0.5

#: A flow's congestion control that is its host's own.
OF_HOSTS = "hosts"

Protocol = Literal["tcp", "sctp", "udp"]
Generator = Literal["probe", "iperf3"]
#: Loss models of the bottleneck that number each flow's data packets.
NUMBERED_LOSSES = ("paired", "equal_drops", "periodic")
Fidelity = Literal["exact", "approximated", "cannot_be_set"]
KnobKind = Literal["sysctl", "route", "tcp_socket", "sctp_socket"]
Side = Literal["both", "sender", "receiver"]


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Loss model of one direction, the same for every packet; ``none`` loses nothing.

    ``random`` draws for each packet from one sequence of all flows. The others are of the
    bottleneck's data alone. ``paired``: packet k with data of each flow has one and the same draw.
    ``equal_drops``: each flow loses as many packets as any other, however many it sends.
    """

    model: Literal["none", "random", "paired", "equal_drops"]
    loss_frac: float


@dataclass(frozen=True, kw_only=True)
class BurstLoss:
    """Loss in bursts (Gilbert and Elliott): two states, each with a loss of its own.

    A packet is lost by the state it meets and may then change it for the next one, from good to
    bad with ``to_bad_frac`` and back with ``to_good_frac``; the first packet meets the good state.
    """

    model: Literal["gilbert_elliott"]
    to_bad_frac: float
    to_good_frac: float
    loss_bad_frac: float
    loss_good_frac: float

    @property
    def bad_frac(self) -> float:
        """The part of all packets that meet the bad state in the long run."""
        return self.to_bad_frac / (self.to_bad_frac + self.to_good_frac)

    @property
    def loss_frac(self) -> float:
        """The part of all packets that are lost in the long run."""
        bad = self.bad_frac
        return bad * self.loss_bad_frac + (1 - bad) * self.loss_good_frac

    @property
    def burst_pkts(self) -> float:
        """Mean number of packets lost in a row: losses per loss that is followed by none."""
        good, bad = 1 - self.loss_good_frac, 1 - self.loss_bad_frac  # what each state lets through
        after_good = (1 - self.to_bad_frac) * good + self.to_bad_frac * bad
        after_bad = self.to_good_frac * good + (1 - self.to_good_frac) * bad
        ends_frac = (1 - self.bad_frac) * self.loss_good_frac * after_good
        ends_frac += self.bad_frac * self.loss_bad_frac * after_bad
        return self.loss_frac / ends_frac if ends_frac else math.inf


@dataclass(frozen=True, kw_only=True)
class PeriodicLoss:
    """Loss that nothing is left to chance of: each flow loses every so many-th of its data packets.

    Of packets with data of a flow, numbered from 1 as they leave the bottleneck's buffer, number
    ``first_pkt`` is lost and from there on each ``every_pkts``-th.
    """

    model: Literal["periodic"]
    every_pkts: int
    first_pkt: int

    @property
    def loss_frac(self) -> float:
        """The part of a flow's data packets that are lost in the long run."""
        return 1 / self.every_pkts

    def loses(self, number: int) -> bool:
        """Return whether a flow's data packet of this number is lost."""
        return number >= self.first_pkt and (number - self.first_pkt) % self.every_pkts == 0


AnyLoss = Loss | BurstLoss | PeriodicLoss


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
    loss: AnyLoss


@dataclass(frozen=True, kw_only=True)
class Link:
    """Both directions of a link; ``forward`` carries data, ``reverse`` acknowledgements."""

    forward: Direction
    reverse: Direction


@dataclass(frozen=True, kw_only=True)
class FurtherPath:
    """Another path between the same hosts: links and routers of its own."""

    source_access: Link
    bottleneck: Link
    destination_access: Link


@dataclass(frozen=True, kw_only=True)
class Network:
    """A topology's name and its links.

    For the dumbbell: ``sources`` hosts, each on its own ``source_access`` link to the first
    router, one bottleneck, ``destinations`` hosts behind the second router. Two paths are two
    dumbbells between the same hosts: the second's links are the only one of ``further_paths``.
    """

    topology: str
    sources: int
    destinations: int
    source_access: Link
    bottleneck: Link
    destination_access: Link
    further_paths: tuple[FurtherPath, ...] = field(default=(), metadata=LATER)

    def paths(self) -> tuple[Network, ...]:
        """Return each path as the dumbbell it is by itself, the first one first."""
        first = dataclasses.replace(self, topology="dumbbell", further_paths=())
        return (
            first,
            *(
                dataclasses.replace(
                    first,
                    source_access=path.source_access,
                    bottleneck=path.bottleneck,
                    destination_access=path.destination_access,
                )
                for path in self.further_paths
            ),
        )

    def loses_at_random(self) -> bool:
        """Return whether any direction of any link loses packets by chance."""
        links = [
            link
            for path in self.paths()
            for link in (path.source_access, path.bottleneck, path.destination_access)
        ]
        ways = (way for link in links for way in (link.forward, link.reverse))
        return any(way.loss.model not in ("none", "periodic") for way in ways)

    def longest_rtt_s(self) -> float:
        """Return the round trip of an empty packet on the path where it takes longest."""
        return max(path.base_rtt_s() for path in self.paths())

    def base_rtt_s(self) -> float:
        """Return the round trip of an empty packet, to the nanosecond: the first path's delays."""
        links = (self.source_access, self.bottleneck, self.destination_access)
        delays_s = (link.forward.owd_s + link.reverse.owd_s for link in links)
        return round(math.fsum(delays_s), 9)


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
