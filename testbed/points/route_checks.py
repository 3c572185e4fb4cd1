"""What hosts ask of routes, held against what a routing daemon can set. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from mininet_topos.aodv.driver import ROUTE_OPTIONS
from model.ad_hoc import RoutingProtocol
from model.cell import Knob
from testbed.points.sweep import Point
from testbed.study.find_host_profiles import LoadedProfile
from testbed.study.problems import Problem, one_of

#: What routes can have, by who sets them: babeld knows of no options.
CAN_SET: Mapping[RoutingProtocol, Collection[str]] = {
    "aodv": ROUTE_OPTIONS, "batman-adv": ROUTE_OPTIONS, "babel": (),
}  # fmt: skip


CANNOT = "an option of routes that a routing daemon cannot set"
HINT = "see docs/guides/manet.md"


def daemon_cannot_set(
    points: Sequence[Point], profiles: Mapping[str, LoadedProfile]
) -> Iterator[Problem]:
    """Yield a problem for each option of the hosts' routes that no route of a daemon can have."""
    told = set()
    for point in points:
        hosts, routing = point.settings.hosts, point.settings.network.routing
        if routing is None:  # a network of links
            continue
        for entry in profiles[hosts].profile.entries:
            for _, knob in entry.knobs():
                wanted = _wanted_instead(knob, routing.protocol)
                if not wanted or (hosts, knob, wanted) in told:
                    continue
                told.add((hosts, knob, wanted))
                yield point.document.problem(
                    ("hosts",), CANNOT, wanted=wanted, hint=HINT,
                    got=f"route {knob.name} {knob.value} in profile '{hosts}'",
                )  # fmt: skip


def mechanisms_cannot_set(points: Sequence[Point]) -> Iterator[Problem]:
    """Yield the same of the hypotheses, each of which is tried at every point."""
    told = set()
    for point in points:
        routing = point.settings.network.routing
        if routing is None:
            continue
        for i, one in enumerate(point.settings.hypotheses):
            for group, knob in one.knobs():
                wanted = _wanted_instead(knob, routing.protocol)
                if not wanted or (i, group, knob, wanted) in told:
                    continue
                told.add((i, group, knob, wanted))
                yield point.document.problem(
                    ("hypotheses", i, group, knob.name), CANNOT, wanted=wanted, got=knob.value,
                    hint=HINT,
                )  # fmt: skip


def _wanted_instead(knob: Knob, protocol: RoutingProtocol) -> str:
    """Return what is wanted instead of a setting that what routes cannot make; empty if it can.

    ``floor`` of ``rto_min`` needs a path's round trip, which routes that come and go have not.
    """
    can_set = CAN_SET[protocol]
    if knob.kind != "route":
        return ""
    if knob.name not in can_set:
        return one_of(can_set) if can_set else f"none (routing by {protocol})"
    return "a value of its own" if knob.value.split(" ")[0] in ("lock", "floor") else ""
