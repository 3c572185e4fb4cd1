"""Where a dumbbell's packets are captured, and what they pass in between. Pure.

Every shaper and channel lies on exactly one stretch, and a stretch begins where the one before it
ends; so what one lets through is what the next is offered, whoever counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mininet_topos.layout import Layout

#: ``data``: from the sources to the destinations; ``ack``: back.
Direction = Literal["data", "ack"]


@dataclass(frozen=True, kw_only=True)
class Tap:
    """One place where packets are captured: a device, the way they pass it, and what that means.

    A packet passes each ``point`` of its direction once: ``sent`` by the host, ``queue_offered`` to
    the bottleneck's buffer, ``loss_offered`` to its loss model as it leaves the buffer,
    ``loss_passed`` after loss and delay, ``delivered`` to the host.
    """

    node: str
    device: str
    way: Literal["in", "out"]
    point: str
    direction: Direction


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """One qdisc on the way, or one of each host: where packets may wait or be dropped.

    ``offered_at`` and ``passed_at`` are the capture points before and after it; empty: none.
    """

    name: str
    direction: Direction
    node: str
    devices: tuple[str, ...]  # one, or one for each host in order
    offered_at: str
    passed_at: str


def taps(laid_out: Layout) -> tuple[Tap, ...]:
    """Return the places on the data's way, both sides of buffer and loss, and both ends of acks.

    A tap sees a packet as it leaves a device's qdisc, or as it comes in, before any redirect.
    """
    found = []
    for source in laid_out.sources:
        found += [
            Tap(node="r1", device=f"r1-{source}", way="in", point="sent", direction="data"),
            Tap(node="r1", device=f"ifb-{source}", way="out", point="queue_offered",
                direction="data"),
            Tap(node="r1", device=f"r1-{source}", way="out", point="delivered", direction="ack"),
        ]  # fmt: skip
    found += [
        Tap(node="r1", device="r1-bottleneck", way="out", point="loss_offered", direction="data"),
        Tap(node="r2", device="ifb-bottleneck", way="out", point="loss_passed", direction="data"),
    ]
    for destination in laid_out.destinations:
        device = f"r2-{destination}"
        found += [
            Tap(node="r2", device=device, way="out", point="delivered", direction="data"),
            Tap(node="r2", device=device, way="in", point="sent", direction="ack"),
        ]
    return tuple(found)


def stretches(laid_out: Layout) -> tuple[Stretch, ...]:
    """Return what packets pass between the hosts, in order, data first, then acknowledgements."""
    return tuple(
        Stretch(
            name=name, direction=direction, node=node, devices=tuple(devices),
            offered_at=offered_at, passed_at=passed_at,
        )
        for name, direction, node, devices, offered_at, passed_at in _ways(
            laid_out.sources, laid_out.destinations
        )
    )  # fmt: skip


def _ways(
    sources: Sequence[str], destinations: Sequence[str]
) -> list[tuple[str, Direction, str, list[str], str, str]]:
    return [
        ("source access", "data", "r1", [f"ifb-{s}" for s in sources], "sent", "queue_offered"),
        ("bottleneck buffer", "data", "r1", ["r1-bottleneck"], "queue_offered", "loss_offered"),
        ("bottleneck channel", "data", "r2", ["ifb-bottleneck"], "loss_offered", "loss_passed"),
        ("destination access", "data", "r2", [f"r2-{d}" for d in destinations], "loss_passed",
         "delivered"),
        ("destination access", "ack", "r2", [f"ifb-{d}" for d in destinations], "sent", ""),
        ("bottleneck buffer", "ack", "r2", ["r2-bottleneck"], "", ""),
        ("bottleneck channel", "ack", "r1", ["ifb-bottleneck"], "", ""),
        ("source access", "ack", "r1", [f"r1-{s}" for s in sources], "", "delivered"),
    ]  # fmt: skip
