"""What hosts ask of routes, held against what a routing daemon can set. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mininet_topos.aodv.driver import ROUTE_OPTIONS
from model.ad_hoc import AD_HOC
from testbed.points.sweep import Point
from testbed.study.find_host_profiles import LoadedProfile
from testbed.study.problems import Problem, one_of


def daemon_cannot_set(
    points: Sequence[Point], profiles: Mapping[str, LoadedProfile]
) -> Iterator[Problem]:
    """Yield a problem for each option of the hosts' routes that no route of a daemon can have.

    ``floor`` of ``rto_min`` needs a path's round trip, which routes that come and go have not.
    """
    told = set()
    for point in points:
        hosts = point.settings.hosts
        if point.settings.network.topology != AD_HOC:
            continue
        for entry in profiles[hosts].profile.entries:
            for _, knob in entry.knobs():
                if knob.kind != "route" or (hosts, knob) in told:
                    continue
                told.add((hosts, knob))
                word = knob.value.split(" ")[0]
                if knob.name in ROUTE_OPTIONS and word not in ("lock", "floor"):
                    continue
                wanted = "a value of its own" if knob.name in ROUTE_OPTIONS else ""
                yield point.document.problem(
                    ("hosts",), "an option of routes that a routing daemon cannot set",
                    wanted=wanted or one_of(ROUTE_OPTIONS),
                    got=f"route {knob.name} {knob.value} in profile '{hosts}'",
                    hint="see docs/guides/manet.md",
                )  # fmt: skip
