"""Two snapshots of a network's settings are equal, or the difference is named."""

from __future__ import annotations

import socket

import pytest

from collectors.recording import netlink
from testbed.guest import network_state
from testbed.guest.network_state import Snapshot, compare

BEFORE: Snapshot = {("src1", "routes"): frozenset({"a", "b"}), ("r1", "qdiscs"): frozenset({"q"})}


def test_equal_snapshots_agree() -> None:
    checks = compare(BEFORE, dict(BEFORE))
    assert [(c.check, c.where, c.got, c.agrees) for c in checks] == [
        ("qdiscs after the flows", "r1", "the same", True),
        ("routes after the flows", "src1", "the same", True),
    ]


@pytest.mark.parametrize(
    ("routes", "got"),
    [
        ({"a"}, "no longer b"),
        ({"a", "b", "c"}, "now c"),
        ({"a", "c"}, "no longer b; now c"),
        ({"c", "d"}, "no longer a; no longer b, and 2 more"),
    ],
)
def test_what_differs_is_named(routes: set[str], got: str) -> None:
    after = {**BEFORE, ("src1", "routes"): frozenset(routes)}
    assert [(c.got, c.agrees) for c in compare(BEFORE, after)] == [("the same", True), (got, False)]


def test_a_node_that_is_gone_or_new_differs() -> None:
    assert [c.agrees for c in compare(BEFORE, {})] == [False, False]
    assert [c.agrees for c in compare({}, BEFORE)] == [False, False]


def test_this_machines_own_routes_are_read_twice_alike() -> None:
    def entries() -> list[str]:
        with netlink.connect(socket.NETLINK_ROUTE) as connection:
            return [
                text
                for kind in network_state.KINDS[:3]
                for text in network_state._entries(connection, kind, "here")
            ]

    assert entries() == entries() != []
