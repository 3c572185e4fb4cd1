"""What hosts ask of routes, held against what a routing daemon can set. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from mininet_topos.aodv.driver import ROUTE_OPTIONS
from model.ad_hoc import RoutingProtocol
from testbed.points.sweep import Point
from testbed.study.find_host_profiles import LoadedProfile
from testbed.study.problems import Problem, one_of

#: What routes can have, by who sets them: babeld knows of no options.
CAN_SET: Mapping[RoutingProtocol, Collection[str]] = {
    "aodv": ROUTE_OPTIONS, "batman-adv": ROUTE_OPTIONS, "babel": (),
}  # fmt: skip


def daemon_cannot_set(
    points: Sequence[Point], profiles: Mapping[str, LoadedProfile]
) -> Iterator[Problem]:
    """Yield a problem for each option of the hosts' routes that no route of a daemon can have.

    ``floor`` of ``rto_min`` needs a path's round trip, which routes that come and go have not.
    """
    told = set()
    for point in points:
        hosts, routing = point.settings.hosts, point.settings.network.routing
        if routing is None:  # a network of links
            continue
        can_set = CAN_SET[routing.protocol]
        for entry in profiles[hosts].profile.entries:
            for _, knob in entry.knobs():
                if knob.kind != "route":
                    continue
                if knob.name not in can_set:
                    wanted = one_of(can_set) if can_set else f"none (routing by {routing.protocol})"
                elif knob.value.split(" ")[0] in ("lock", "floor"):
                    wanted = "a value of its own"
                else:
                    continue
                if (hosts, knob, wanted) in told:
                    continue
                told.add((hosts, knob, wanted))
                yield point.document.problem(
                    ("hosts",), "an option of routes that a routing daemon cannot set",
                    wanted=wanted, got=f"route {knob.name} {knob.value} in profile '{hosts}'",
                    hint="see docs/guides/manet.md",
                )  # fmt: skip
