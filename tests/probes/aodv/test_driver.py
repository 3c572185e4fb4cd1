"""The driver's profiles: options that the daemon takes, and what they make of a search."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from mininet_topos.aodv.driver import NS235, Daemon
from tests.support.aodv.node import FAR, MS, AodvNode

TIMEOUT_S = 20


@pytest.mark.parametrize("options", [{}, NS235], ids=["rfc", "ns235"])
def test_daemon_takes_every_option(built_aodv: Any, options: dict[str, str]) -> None:
    """It goes on to its interface, which has no address of its own alone here."""
    argv = Daemon(interfaces=("lo",), options=options).argv()
    done = subprocess.run(
        [*built_aodv.argv("aodvd"), *argv[1:]],
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, "an address with /32" in done.stderr) == (3, True)


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
