"""Routes of flows over time, from what each node's routing daemon says of its next hops. Pure.

Invariants: a route is whole from end to end or not there; one that comes back to a node of its own
is not there; what several daemons do in the same nanosecond is seen at once; a row is a change,
and none is at the end of the run or later, when daemons still drop routes that nobody uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from model.run_files.path_tables import RouteRow
from model.units import ns_to_seconds


@dataclass(frozen=True)
class RouteChange:
    """The next hop of a node to a destination, both addresses; None: it has none any more."""

    t_ns: int
    node: str
    destination: str
    next_hop: str | None


@dataclass(frozen=True)
class Way:
    """A flow's ``data`` or ``ack`` way, from a node to another."""

    flow: str
    way: str
    first: str
    last: str


def followed(
    changes: Iterable[RouteChange],
    ways: Sequence[Way],
    names: Mapping[str, str],
    epoch_ns: int,
    end_ns: int,
) -> list[RouteRow]:
    """Return each way's route whenever it becomes another, by time, then in the ways' order.

    Args:
        changes: of all nodes; those of one node in their order.
        ways: whose routes are followed.
        names: nodes by their address; a next hop that is none of them leads nowhere.
        epoch_ns: the clock at the start of the run.
        end_ns: the clock at its end.
    """
    hops: dict[tuple[str, str], str] = {}
    last: dict[Way, tuple[str, ...]] = {}
    rows: list[RouteRow] = []
    in_run = [change for change in changes if change.t_ns < end_ns]
    in_time = sorted(in_run, key=lambda change: change.t_ns)
    for t_ns, together in groupby(in_time, key=lambda change: change.t_ns):
        touched = set()
        for change in together:
            destination = names.get(change.destination, "")
            touched.add(destination)
            hops[change.node, destination] = names.get(change.next_hop or "", "")
        for way in ways:
            if way.last not in touched:
                continue
            nodes = route(hops, way.first, way.last)
            if nodes != last.get(way, ()):
                last[way] = nodes
                rows.append(
                    RouteRow(
                        flow=way.flow, way=way.way, t_s=ns_to_seconds(t_ns - epoch_ns),
                        nodes=" ".join(nodes) or None,
                    )
                )  # fmt: skip
    return rows


def route(hops: Mapping[tuple[str, str], str], first: str, last: str) -> tuple[str, ...]:
    """Return the nodes from one to another; none if a next hop is missing or one comes again."""
    nodes = [first]
    while nodes[-1] != last:
        following = hops.get((nodes[-1], last), "")
        if not following or following in nodes:
            return ()
        nodes.append(following)
    return tuple(nodes)
