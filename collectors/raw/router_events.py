"""What a routing daemon wrote down as it happened: its routes, and how often what befell it. Pure.

Each file is read once: a flow's routes and a radio's counts are of the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from collectors.raw.files import json_value, whole, word
from collectors.raw.routes import RouteChange
from model.errors import ParseError

#: Events that say which next hop a node has from then on, and those after which it has none.
SET = ("route_added", "route_changed")
GONE = ("route_broken", "route_expired", "route_deleted")
#: Events that AODV's daemon also counts, by the column of ``radios.parquet``.
COUNTED = {
    "link_broken": "link_breaks", "route_broken": "routes_broken",
    "discovery_started": "discoveries", "discovery_failed": "discoveries_failed",
}  # fmt: skip
#: How lines of any of these are told from others without reading them as JSON.
_MARK = re.compile(f'"event":"(?:route_|{"|".join(COUNTED)})')


@dataclass(frozen=True)
class RouterEvents:
    """Changes of a node's next hops, in its order, and by column what happened within the run."""

    changes: tuple[RouteChange, ...]
    counts: Mapping[str, int]


def router_events(text: str, where: str, node: str, end_ns: int) -> RouterEvents:
    """Return what a node's daemon wrote down.

    After the run nodes fall silent one by one, and others take that for links that break: counts
    end with it. A search that repairs a route is none of its own.

    Args:
        text: a line per event.
        where: the file, for messages.
        node: whose daemon.
        end_ns: the clock at the end of the run.

    Raises:
        ParseError: a line that is not what daemons write, or times of routes that descend.
    """
    changes: list[RouteChange] = []
    counts = dict.fromkeys(COUNTED.values(), 0)
    for number, line in enumerate(text.split("\n"), start=1):
        if _MARK.search(line) is None:
            continue
        try:
            event = json_value(line)
            name, t_ns = word(event["event"]), whole(event["t_ns"])
            if name not in COUNTED or name in GONE:
                changes.append(_change(event, name, t_ns, node))
            if name in COUNTED and t_ns < end_ns and not event.get("repair", False):
                counts[COUNTED[name]] += 1
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ParseError(
                "not an event of a router", where=f"{where}:{number}", got=line[:80],
                hint=f"{error!r:.200}",
            ) from error  # fmt: skip
        if len(changes) > 1 and changes[-1].t_ns < changes[-2].t_ns:
            raise ParseError(
                "times of events descend", where=f"{where}:{number}",
                wanted=f"at least {changes[-2].t_ns} ns", got=f"{changes[-1].t_ns} ns",
            )  # fmt: skip
    return RouterEvents(tuple(changes), counts)


def _change(event: Mapping[str, Any], name: str, t_ns: int, node: str) -> RouteChange:
    if name not in (*SET, *GONE):
        raise ValueError(f"wanted one of {', '.join((*SET, *GONE))}")
    next_hop = word(event["next_hop"]) if name in SET else None
    return RouteChange(t_ns, node, word(event["destination"]), next_hop)
