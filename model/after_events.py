"""What a link is like after what has happened to it. Pure; standard library only.

Invariant: events are in order of time; what no event changed is as the cell has it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Literal

from model.event import Event
from model.links import Direction, Loss
from model.network_path import derived_channel_limit_pkts

#: A link that is down loses all: netem's loss is a 32-bit fraction, which all of one exceeds.
ALL_LOST = Loss(model="random", loss_frac=1.0)


def direction_after(
    direction: Direction, link: str, way: Literal["forward", "reverse"], events: Iterable[Event]
) -> Direction:
    """Return one way of a link after these events, some of which may be other links'.

    Packets that its channel holds must still find room there, so its limit only grows.
    """
    is_down, wanted = False, direction
    for event in events:
        if event.link != link or way not in event.ways():
            continue
        if event.state:
            is_down = event.state == "down"
        if event.rate_bps is not None:
            direction = dataclasses.replace(direction, rate_bps=event.rate_bps)
        if event.owd_s is not None:
            direction = dataclasses.replace(direction, owd_s=event.owd_s)
        if event.loss_frac is not None:
            model: Literal["random", "none"] = "random" if event.loss_frac else "none"
            loss = Loss(model=model, loss_frac=event.loss_frac)
            direction = dataclasses.replace(direction, loss=loss)
    limit_pkts = wanted.channel_limit_pkts
    if (direction.rate_bps, direction.owd_s) != (wanted.rate_bps, wanted.owd_s):
        held_pkts = derived_channel_limit_pkts(direction.rate_bps, direction.owd_s)
        limit_pkts = max(limit_pkts, held_pkts)
    return dataclasses.replace(
        direction, channel_limit_pkts=limit_pkts, loss=ALL_LOST if is_down else direction.loss
    )


def directions_over_time(
    direction: Direction, link: str, way: Literal["forward", "reverse"], events: Sequence[Event]
) -> tuple[Direction, ...]:
    """Return what one way of a link is like from the start on, and after each event."""
    return (
        direction,
        *(
            direction_after(direction, link, way, events[: number + 1])
            for number in range(len(events))
        ),
    )
