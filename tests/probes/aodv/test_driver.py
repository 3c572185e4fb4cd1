"""The driver's profiles: options that the daemon takes, and what they make of a search."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from mininet_topos.aodv.driver import NS235, ROUTE_OPTIONS, Daemon, route_metrics
from model.errors import RunError
from tests.support.aodv.node import FAR, MS, AodvNode

TIMEOUT_S = 20


ROUTES = {"advmss": "1400", "initcwnd": "3", "initrwnd": "4", "mtu": "1500", "quickack": "0",
          "rto_min": "492ms", "window": "4294967295"}  # fmt: skip


@pytest.mark.parametrize(
    "options", [{}, NS235, route_metrics(ROUTES)], ids=["rfc", "ns235", "routes"]
)
def test_daemon_takes_every_option(built_aodv: Any, options: dict[str, str]) -> None:
    """It goes on to its interface, which has no address of its own alone here."""
    argv = Daemon(interfaces=("lo",), options=options).argv()
    done = subprocess.run(
        [*built_aodv.argv("aodvd"), *argv[1:]],
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, "an address with /32" in done.stderr) == (3, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"initcwnd_segments": "0"}, "--initcwnd-segments"), ({"quickack": "2"}, "--quickack"),
     ({"mtu_bytes": "551"}, "--mtu-bytes"), ({"rto_min_ms": "120001"}, "--rto-min-ms"),
     ({"advmss_bytes": "65496"}, "--advmss-bytes"), ({"window_bytes": "lock 1"}, "--window-bytes")],
)  # fmt: skip
def test_daemon_refuses_what_the_kernel_would_cut(
    built_aodv: Any, options: dict[str, str], said: str
) -> None:
    argv = Daemon(interfaces=("lo",), options=options).argv()
    done = subprocess.run(
        [*built_aodv.argv("aodvd"), *argv[1:]],
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_options_of_routes_by_iproute2s_names() -> None:
    assert set(ROUTES) == set(ROUTE_OPTIONS)
    assert route_metrics(ROUTES) == {
        "advmss_bytes": "1400", "initcwnd_segments": "3", "initrwnd_segments": "4",
        "mtu_bytes": "1500", "quickack": "0", "rto_min_ms": "492", "window_bytes": "4294967295",
    }  # fmt: skip
    assert route_metrics({"rto_min": "1.5 s"}) == {"rto_min_ms": "1500"}
    assert route_metrics({}) == {}


@pytest.mark.parametrize("name", ["ssthresh", "cwnd", "reordering", "features", "congctl"])
def test_options_of_routes_that_no_daemon_sets(name: str) -> None:
    with pytest.raises(
        RunError, match=f"route {name}: .*cannot set: wanted advmss, .*got {name} 7"
    ):
        route_metrics({"initcwnd": "3", name: "7"})


def test_search_of_ns_2(node: Callable[..., AodvNode]) -> None:
    """aodv.cc: rings of 5 and 7, four times 30; waits of 2 * TTL * 30 ms before it doubles."""
    taken = ("ttl_start_hops", "ttl_increment_hops", "ttl_threshold_hops", "net_diameter_hops",
             "rreq_retries", "timeout_buffer_hops")  # fmt: skip
    me = node(
        **{name: int(NS235[name]) for name in taken},
        node_traversal_ns=30 * MS, net_traversal_ns=2 * 30 * 30 * MS,
    )  # fmt: skip
    rings, begun_ns, done = [], [0], me.want(0, FAR)
    while done.all("send"):
        rings.append(done.one_sent()[0]["ttl"])
        begun_ns.append(done.next_ns)
        done = me.advance(done.next_ns)
    waited_ms = [(b - a) // MS for a, b in itertools.pairwise(begun_ns)]
    assert rings == [5, 7, 30, 30, 30, 30]
    assert waited_ms[:4] == [300, 420, 1800, 3600]
    assert "discovery_failed" in done.events()
