"""A network of links: rates, buffers, delays and losses of each, and how they make up paths.

Standard library only, because the lab image reads it too. Base units throughout (bit/s, seconds,
bytes, fractions, packets).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Literal

from model.fields import LATER

#: Loss models of the bottleneck that number each flow's data packets.
NUMBERED_LOSSES = ("paired", "equal_drops", "periodic")


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
QueueKind = Literal["fifo", "codel", "fq_codel", "pie"]
#: Those that manage their queue.
ACTIVE = ("codel", "fq_codel", "pie")


@dataclass(frozen=True, kw_only=True)
class Discipline:
    """What a buffer does besides holding packets: nothing (``fifo``), or active management.

    ``target_s`` is the stay it aims at. ``interval_s`` is CoDel's interval, or the time between two
    updates of PIE's probability. With ``ecn`` packets that can be are marked instead of dropped.
    FQ-CoDel hashes flows to ``queues``, of which each sends ``quantum_bytes`` in its turn. What a
    kind has not is 0.
    """

    kind: QueueKind
    target_s: float
    interval_s: float
    ecn: bool
    queues: int
    quantum_bytes: int

    @property
    def is_active(self) -> bool:
        """Whether it manages its queue, rather than drop what finds it full."""
        return self.kind in ACTIVE


#: A drop-tail buffer.
FIFO = Discipline(
    kind="fifo", target_s=0.0, interval_s=0.0, ecn=False, queues=0, quantum_bytes=0
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Direction:
    """One direction of a link: a shaper (rate, drop-tail buffer), then a channel (delay, loss).

    ``rate_bps`` counts IP packet bytes. ``queue_pkts`` is everything the shaper holds, the packet
    being sent included. ``channel_limit_pkts`` bounds the packets in flight in the delay stage.
    ``discipline`` is what the buffer does besides.
    """

    rate_bps: int
    queue_pkts: int
    owd_s: float
    channel_limit_pkts: int
    loss: AnyLoss
    discipline: Discipline = field(default=FIFO, metadata=LATER)


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
    router, one bottleneck, ``destinations`` hosts behind the second router; the last sources are on
    ``far_accesses`` instead, one each, whose delays are no shorter. Two paths are two
    dumbbells between the same hosts: the second's links are the only one of ``further_paths``.
    """

    topology: str
    sources: int
    destinations: int
    source_access: Link
    bottleneck: Link
    destination_access: Link
    further_paths: tuple[FurtherPath, ...] = field(default=(), metadata=LATER)
    far_accesses: tuple[Link, ...] = field(default=(), metadata=LATER)

    def accesses(self) -> tuple[Link, ...]:
        """Return the first path's access link of each source, in their order."""
        near = self.sources - len(self.far_accesses)
        return (*[self.source_access] * near, *self.far_accesses)

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
        ]  # far sources' links lose as the first one's do
        ways = (way for link in links for way in (link.forward, link.reverse))
        return any(way.loss.model not in ("none", "periodic") for way in ways)

    def disciplines(self) -> frozenset[QueueKind]:
        """Return what the bottlenecks' buffers do, of all paths and both ways."""
        links = (path.bottleneck for path in self.paths())
        return frozenset(
            way.discipline.kind for link in links for way in (link.forward, link.reverse)
        )

    def longest_rtt_s(self) -> float:
        """Return the round trip of an empty packet where it takes longest, of any source."""
        far = range(self.sources - len(self.far_accesses), self.sources)
        ways = (path.base_rtt_s() for path in self.paths())
        return max(*ways, *(self.base_rtt_s(source) for source in far), 0.0)

    def base_rtt_s(self, source: int = 0) -> float:
        """Return the round trip of an empty packet from a source, 0 the first and -1 the last.

        To the nanosecond: the first path's delays.
        """
        links = (self.accesses()[source], self.bottleneck, self.destination_access)
        delays_s = (link.forward.owd_s + link.reverse.owd_s for link in links)
        return round(math.fsum(delays_s), 9)
