"""Fill each link's buffer, both ways, to see its rate and how much it holds. Runs inside a lab.

Every link is measured by itself, between the two nodes at its ends, so that no other link's rate
or buffer is in the way. The agent sends and receives by itself: it starts no process, and the
kernel says when each packet came. A burst fills the buffer; then more comes than leaves, for long
or, where the burst tells all there is to tell, for a moment. A buffer that manages its queue gets
the burst alone, and PIE's besides more than leaves for some seconds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mininet_topos.layout import Layout
from model import units
from model.links import Direction, Network
from model.units import NS_PER_S
from testbed.guest import topologies
from testbed.guest.team import Team

if TYPE_CHECKING:
    from model.node import Node

PORT = 4997
MESSAGE_BYTES, IP_BYTES = 1472, 1500
LOG_HEADER = "seq\tsend_ns\trecv_ns"
#: After the burst, so many times a little less than a packet's serialisation passes.
ROUNDS, ROUND_FRAC = 60, 0.9
#: So often where the burst is enough: a link that loses nothing and is asked to be as another that
#: was filled in full, whose buffer holds so many packets that the burst alone tells its rate.
ROUNDS_BRIEF, BRIEF_LEAST_PKTS = 2, 50
#: Only among more links than that: where sending takes time, as in real time, a burst alone seldom
#: fills a buffer, and no lab in real time has been shown with so many.
BRIEF_FROM_LINKS = 100
#: Packets of a burst that find a managed queue full; where its own way to make room drops others,
#: as FQ-CoDel's does, none is sent that would.
BEYOND_PKTS = 8
#: How long more comes than leaves where a queue is managed by a controller, for how many packets at
#: most, and the part of a packet's serialisation that passes between two.
OVERLOAD_S, OVERLOAD_PKTS, OVERLOAD_FRAC = 10.0, 100_000, 0.8
#: How much longer the burst may be than the buffer, for what leaves while it is sent.
BURST_FACTOR = 4
#: Room for what arrives while nobody reads, at most so many packets.
BUFFER_BYTES, READ_PACKETS = 32 << 20, 4000
#: SO_TIMESTAMPNS, which Python has no name for: when the kernel got a packet, since 1970.
TIMESTAMPS = 35
HEAD, STAMP = struct.Struct("!QQ"), struct.Struct("@qq")


@dataclass(frozen=True, kw_only=True)
class Fill:
    """One direction of one link: from which node to which of the other's addresses."""

    name: str
    source: str
    target: str
    address: str
    direction: Direction
    what: str
    overload: bool = False
    brief: bool = False

    @property
    def manages(self) -> bool:
        """Whether the buffer does more than hold packets."""
        return self.direction.discipline.is_active

    def rounds(self) -> int:
        """Return how often is sent: the burst, then more than has left meanwhile."""
        if self.overload:
            return min(OVERLOAD_PKTS, round(OVERLOAD_S / self.round_s()))
        if self.manages:
            return 1
        return ROUNDS_BRIEF if self.brief else ROUNDS

    def round_s(self) -> float:
        """Return how long a round takes."""
        return (OVERLOAD_FRAC if self.overload else ROUND_FRAC) * self.send_s()

    def burst_packets(self) -> int:
        """Return how many packets fill the buffer where none leaves meanwhile."""
        if self.overload:
            return 0
        kind = self.direction.discipline.kind
        beyond = {"fifo": 1, "fq_codel": 0}.get(kind, BEYOND_PKTS)
        return self.direction.queue_pkts + beyond

    def send_s(self) -> float:
        """Return how long the link takes to send one packet."""
        return units.bits(IP_BYTES) / self.direction.rate_bps

    def round_packets(self) -> int:
        """Return how many packets make up for the one that left and for those lost by chance."""
        return 1 if self.overload else math.ceil(2 / max(1 - self.direction.loss.loss_frac, 0.05))

    def most_packets(self) -> int:
        """Return more packets than are sent."""
        return BURST_FACTOR * self.burst_packets() + self.rounds() * self.round_packets()

    def lasts_s(self) -> float:
        """Return the virtual time it takes."""
        packets = self.rounds() + self.direction.queue_pkts + 2
        return packets * self.send_s() + self.direction.owd_s


def fills(network: Network) -> tuple[Fill, ...]:
    """Return every direction of every link, the bottleneck's first."""
    return fills_of(topologies.lay_out(network, 0))


def fills_of(laid_out: Layout) -> tuple[Fill, ...]:
    """Return every direction of every link of a layout, those between routers first."""
    made = []
    full: list[tuple[str, bool, Direction]] = []
    many = len(laid_out.wires) > BRIEF_FROM_LINKS
    for wire in laid_out.wires:
        near, far = wire.ends
        of_host = not {near.node, far.node} <= set(laid_out.routers)
        for one, other, direction in ((near, far, wire.out), (far, near, wire.back)):
            kind = (wire.name.rstrip("0123456789"), one is near, direction)
            made.append(
                Fill(
                    name=f"fill_{one.node}_{other.node}", source=one.node, target=other.node,
                    address=other.address, direction=direction, what=wire.name,
                    brief=many and of_host and kind in full and _burst_tells(direction),
                )
            )  # fmt: skip
            if kind not in full:
                full.append(kind)
            if direction.discipline.kind == "pie":
                name = f"overload_{one.node}_{other.node}"
                made.append(dataclasses.replace(made[-1], name=name, overload=True))
    return tuple(made)


def _burst_tells(direction: Direction) -> bool:
    """Return whether a burst shows a link's rate and buffer, with nothing lost by chance."""
    return direction.loss.model == "none" and direction.queue_pkts >= BRIEF_LEAST_PKTS


def measure(
    fill: Fill, hosts: Mapping[str, Node], folder: Path, team: Team
) -> dict[str, dict[str, Any]]:
    """Fill one link's buffer; return by its name what was sent, and leave when each packet came.

    That is the part of the agent that has the receiving end; others return nothing.
    """
    with contextlib.ExitStack() as opened:
        receiver = opened.enter_context(_receiver(fill, hosts)) if fill.target in hosts else None
        team.meet(f"{fill.name}: listening")
        lines: list[str] = []
        sent = None
        if fill.source in hosts:
            sender = opened.enter_context(_sender(fill, hosts))
            sent = _send(fill, sender, receiver, lines)
        elif receiver:
            for _ in range(fill.rounds()):
                time.sleep(fill.round_s())
                lines += _arrived(receiver)
        told = team.meet(f"{fill.name}: sent", sent)
        if not receiver:
            return {}
        _receive_rest(fill, receiver, lines)
    (folder / f"{fill.name}.tsv").write_text("".join([LOG_HEADER, "\n", *lines]))
    packets = next(packets for packets in told if packets is not None)
    return {fill.name: {"packets": packets, "ip_bytes": IP_BYTES, "log": f"{fill.name}.tsv"}}


def _receiver(fill: Fill, hosts: Mapping[str, Node]) -> socket.socket:
    with hosts[fill.target].entered():
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    receiver.setsockopt(socket.SOL_SOCKET, TIMESTAMPS, 1)
    receiver.bind((fill.address, PORT))
    receiver.setblocking(False)
    return receiver


def _sender(fill: Fill, hosts: Mapping[str, Node]) -> socket.socket:
    with hosts[fill.source].entered():
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
    sender.connect((fill.address, PORT))
    return sender


def _send(
    fill: Fill, sender: socket.socket, receiver: socket.socket | None, lines: list[str]
) -> int:
    """Send a burst and then at more than the link's rate; return how many packets that were.

    What comes to a receiver beside is read meanwhile. A round that came late, as all do where a
    packet takes less than waking up, makes up for what left until it came.
    """
    sent = 0
    began_ns = time.time_ns()
    burst_pkts = fills_pkts = fill.burst_packets()
    spare_pkts = (BURST_FACTOR - 1) * burst_pkts
    for number in range(fill.rounds()):
        while sent < fills_pkts:
            now_ns = time.time_ns()
            sender.send(HEAD.pack(sent, now_ns).ljust(MESSAGE_BYTES, b"\0"))
            sent += 1
            if sent == fills_pkts and number == 0 and fill.direction.discipline.kind != "fq_codel":
                # On the fastest links sending takes as long as leaving.
                gone_pkts = math.ceil((now_ns - began_ns) / NS_PER_S / fill.send_s())
                more_pkts = min(spare_pkts, burst_pkts + gone_pkts - sent)
                fills_pkts, spare_pkts = fills_pkts + more_pkts, spare_pkts - more_pkts
        ended_ns = time.time_ns()
        time.sleep(fill.round_s())
        if receiver:
            lines += _arrived(receiver)
        gone_pkts = int((time.time_ns() - ended_ns) / NS_PER_S / fill.send_s())
        late_pkts = min(spare_pkts, max(0, gone_pkts - 1))
        spare_pkts -= late_pkts
        fills_pkts = sent + fill.round_packets() + late_pkts
    return sent


def _receive_rest(fill: Fill, receiver: socket.socket, lines: list[str]) -> None:
    """Read what is in the buffer and under way when all was sent."""
    left = fill.direction.queue_pkts + 2
    time.sleep(fill.direction.owd_s)
    while left > 0:
        time.sleep(min(left, READ_PACKETS) * fill.send_s())
        lines += _arrived(receiver)
        left -= READ_PACKETS


def _arrived(receiver: socket.socket) -> list[str]:
    """Return a line of the log for each packet that waits to be read."""
    lines: list[str] = []
    while True:
        try:
            payload, controls, _, _ = receiver.recvmsg(HEAD.size, socket.CMSG_SPACE(STAMP.size))
        except BlockingIOError:
            return lines
        lines.append(stamped(payload, controls))


def stamped(payload: bytes, controls: Sequence[tuple[int, int, bytes]]) -> str:
    """Return the line of the log for a packet: its number, when it was sent, when it came."""
    number, send_ns = HEAD.unpack(payload)
    seconds, rest_ns = STAMP.unpack(controls[0][2])
    return f"{number}\t{send_ns}\t{seconds * NS_PER_S + rest_ns}\n"
