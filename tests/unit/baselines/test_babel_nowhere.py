"""Which routes and rules lead a node's own packets nowhere, and what is read back of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mininet_topos.baselines import babel_nowhere
from mininet_topos.baselines.babel import Daemon, nowhere_sources
from mininet_topos.netns import Journal, Namespace

DAEMON = Daemon(
    addresses={"wlan0": "10.0.1.7"}, router_id="x", place=Path("/run/x"), others=("10.0.1.8",)
)  # fmt: skip
#: Of a node that tells its two radios apart.
TWO = Daemon(
    addresses={"wlan0": "10.0.1.7", "wlan1": "10.128.1.7"}, router_id="x", place=Path("/run/x"),
    networks={"wlan0": "10.0.0.0/9", "wlan1": "10.128.0.0/9"}, others=("10.128.1.8", "10.0.1.8"),
)  # fmt: skip
#: The metric of a way that babeld has withdrawn: -1 in 32 bits.
UNREACHABLE = 4_294_967_295
RULES = """\
0:\tfrom all lookup local
30000:\tnot from all iif lo lookup main suppress_ifgroup 42 
30001:\tnot from all iif lo unreachable
32766:\tfrom all lookup main
32767:\tfrom all lookup default
"""  # noqa: W291 - as iproute2 shows them
ROUTES = [
    {"dst": "default", "prefsrc": "10.0.1.7", "metric": 4294967294, "flags": []},
    {"dst": "10.0.1.8", "prefsrc": "10.0.1.7", "metric": 4294967294, "flags": []},
]


def test_a_way_that_was_withdrawn_is_worse_and_all_others_are_better() -> None:
    assert babel_nowhere.METRIC == UNREACHABLE - 1
    _, _, default, other, *_ = babel_nowhere.lines(nowhere_sources(DAEMON)).splitlines()
    assert default == "route add default dev nowhere src 10.0.1.7 metric 4294967294"
    assert other == "route add 10.0.1.8 dev nowhere src 10.0.1.7 metric 4294967294"


def test_what_is_passed_on_is_never_led_there() -> None:
    assert babel_nowhere.lines(nowhere_sources(DAEMON)).splitlines()[-2:] == [
        "rule add priority 30000 not iif lo table main suppress_ifgroup 42",
        "rule add priority 30001 not iif lo unreachable",
    ]
    assert "link set nowhere up group 42\n" in babel_nowhere.lines({})


def test_packets_without_a_way_have_the_address_of_their_radio() -> None:
    assert nowhere_sources(TWO) == {
        "default": "10.0.1.7", "10.0.0.0/9": "10.0.1.7", "10.128.0.0/9": "10.128.1.7",
        "10.128.1.8": "10.128.1.7", "10.0.1.8": "10.0.1.7",
    }  # fmt: skip


def shown(
    monkeypatch: pytest.MonkeyPatch, *, rules: str = RULES, group: str = "42",
    routes: Sequence[dict[str, Any]] = ROUTES,
) -> tuple[str, ...]:  # fmt: skip
    """Return what is read back of a node of which iproute2 shows that."""
    says = {"rule": rules, "link": json.dumps([{"group": group}]), "route": json.dumps(routes)}

    def run(_node: Namespace, words: Sequence[str], *_: object, **__: object) -> str:
        return says[next(word for word in words if word in says)]

    monkeypatch.setattr(Namespace, "run", run)
    return babel_nowhere.found(Namespace(name="n1", handle=-1, home=-1, journal=Journal()))


def test_what_was_set_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = babel_nowhere.wanted(nowhere_sources(DAEMON))
    assert shown(monkeypatch) == wanted
    assert shown(monkeypatch, routes=ROUTES[::-1]) == wanted
    assert shown(monkeypatch, routes=ROUTES[:1]) != wanted
    assert shown(monkeypatch, group="default") != wanted
    assert shown(monkeypatch, rules=RULES.replace("suppress_ifgroup 42", "")) != wanted
    assert shown(monkeypatch, rules=RULES + "40000:\tfrom all lookup 7\n") != wanted
    assert shown(monkeypatch, routes=[dict(one, metric=0) for one in ROUTES]) != wanted
