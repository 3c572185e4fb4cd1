"""Where the packets of a dumbbell, or of two, are captured, and what they pass in between. Pure.

Every shaper and channel lies on exactly one stretch, and a stretch begins where the one before it
ends; so what one lets through is what the next is offered, whoever counts. A path has two routers;
a packet passes the points of one path only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mininet_topos.layout import Layout
from model import path_names

#: ``data``: from the sources to the destinations; ``ack``: back.
Direction = Literal["data", "ack"]


@dataclass(frozen=True, kw_only=True)
class Tap:
    """One place where packets are captured: a device, the way they pass it, and what that means.

    A packet passes each ``point`` of its direction once: ``sent`` by the host, ``queue_offered`` to
    the bottleneck's buffer, ``loss_offered`` to its loss model as it leaves the buffer,
    ``loss_passed`` after loss and delay, ``delivered`` to the host. ``path`` is which one that is
    on, from 1.
    """

    node: str
    device: str
    way: Literal["in", "out"]
    point: str
    direction: Direction
    path: int = 1

    def record(self) -> dict[str, Any]:
        """Return it as raw/pcap/points.json has it: a path is said where it is not the first."""
        return _record(self)


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """One qdisc on the way, or one of each host: where packets may wait or be dropped.

    ``offered_at`` and ``passed_at`` are the capture points before and after it; empty: none.
    ``path`` is which one it is on, from 1.
    """

    name: str
    direction: Direction
    node: str
    devices: tuple[str, ...]  # one, or one for each host in order
    offered_at: str
    passed_at: str
    path: int = 1

    def record(self) -> dict[str, Any]:
        """Return it as raw/path.json has it: a path is said where it is not the first."""
        return _record(self)


def _record(one: Tap | Stretch) -> dict[str, Any]:
    said = dataclasses.asdict(one)
    return said if one.path > 1 else {k: v for k, v in said.items() if k != "path"}


def _paths(laid_out: Layout) -> list[tuple[str, str, str]]:
    """Return each path's routers and what its bottleneck is called."""
    pairs = zip(laid_out.routers[::2], laid_out.routers[1::2], strict=True)
    return [
        (near, far, path_names.bottleneck(number)) for number, (near, far) in enumerate(pairs, 1)
    ]


def taps(laid_out: Layout) -> tuple[Tap, ...]:
    """Return the places on the data's way, both sides of buffer and loss, and both ends of acks.

    A tap sees a packet as it leaves a device's qdisc, or as it comes in, before any redirect.
    """
    return tuple(
        Tap(node=node, device=device, way=way, point=point, direction=direction, path=path)
        for path, routers in enumerate(_paths(laid_out), 1)
        for node, device, way, point, direction in _places(
            *routers, laid_out.sources, laid_out.destinations
        )
    )


def _places(
    near: str, far: str, link: str, sources: Sequence[str], destinations: Sequence[str]
) -> list[tuple[str, str, Literal["in", "out"], str, Direction]]:
    found: list[tuple[str, str, Literal["in", "out"], str, Direction]] = []
    for source in sources:
        found += [
            (near, f"{near}-{source}", "in", "sent", "data"),
            (near, f"ifb-{source}", "out", "queue_offered", "data"),
            (near, f"{near}-{source}", "out", "delivered", "ack"),
        ]
    found += [
        (near, f"{near}-{link}", "out", "loss_offered", "data"),
        (far, f"ifb-{link}", "out", "loss_passed", "data"),
    ]
    for destination in destinations:
        found += [
            (far, f"{far}-{destination}", "out", "delivered", "data"),
            (far, f"{far}-{destination}", "in", "sent", "ack"),
        ]
    return found


def stretches(laid_out: Layout) -> tuple[Stretch, ...]:
    """Return what packets pass between the hosts, in order, data first, then acknowledgements.

    One path after the other.
    """
    return tuple(
        Stretch(
            name=name, direction=direction, node=node, devices=tuple(devices),
            offered_at=offered_at, passed_at=passed_at, path=path,
        )
        for path, routers in enumerate(_paths(laid_out), 1)
        for name, direction, node, devices, offered_at, passed_at in _ways(
            *routers, laid_out.sources, laid_out.destinations
        )
    )  # fmt: skip


def _ways(
    near: str, far: str, link: str, sources: Sequence[str], destinations: Sequence[str]
) -> list[tuple[str, Direction, str, list[str], str, str]]:
    buffer, channel = "bottleneck buffer", "bottleneck channel"
    return [
        ("source access", "data", near, [f"ifb-{s}" for s in sources], "sent", "queue_offered"),
        (buffer, "data", near, [f"{near}-{link}"], "queue_offered", "loss_offered"),
        (channel, "data", far, [f"ifb-{link}"], "loss_offered", "loss_passed"),
        ("destination access", "data", far, [f"{far}-{d}" for d in destinations], "loss_passed",
         "delivered"),
        ("destination access", "ack", far, [f"ifb-{d}" for d in destinations], "sent", ""),
        (buffer, "ack", far, [f"{far}-{link}"], "", ""),
        (channel, "ack", near, [f"ifb-{link}"], "", ""),
        ("source access", "ack", near, [f"{near}-{s}" for s in sources], "", "delivered"),
    ]  # fmt: skip
