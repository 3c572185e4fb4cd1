"""What was built is read back: the recorded network agrees, and every altered property is named."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from mininet_topos import offloads
from mininet_topos.check_built import (
    compare_offloads,
    compare_qdiscs,
    compare_route,
    filter_counts,
    read_back,
    read_counters,
    route_options,
)
from mininet_topos.dumbbell import lay_out
from mininet_topos.layout import counters
from mininet_topos.netns import Journal, Namespace
from model.check import Check
from model.errors import VerifyError
from tests.support.recorded import text as recorded
from tests.support.recorded import value, wireless_cell

CELL = wireless_cell()
PLAN = lay_out(CELL.wired, seed=1)
SHOWN = value("iproute2-6.15/qdisc-show.json")
ROUTES = value("iproute2-6.15/route-show.json")
WANTED_OFFLOADS = {
    "src1": {"quickack": "1", "initcwnd": "2", "ssthresh": "lock 45", "rto_min": "492ms"},
    "dst1": {"quickack": "1", "initrwnd": "45"},
}


@pytest.mark.parametrize("router", ["r1", "r2"])
def test_the_recorded_network_agrees(router: str) -> None:
    checks = compare_qdiscs(PLAN, router, SHOWN[router])
    assert len(checks) == 10  # two directions of two access links, two stages each, and two more
    assert {check.got for check in checks} == {"the same"}
    assert all(check.agrees for check in checks)


def alter(shown: list[dict[str, Any]], device: str, handle: str, change: Any) -> None:
    """Change a qdisc and its options; None takes it away, a new one is added."""
    found = [qdisc for qdisc in shown if (qdisc["dev"], qdisc["handle"]) == (device, handle)]
    if change is None:
        shown.remove(*found)
    elif found:
        (qdisc,) = found
        qdisc |= {**change, "options": qdisc["options"] | change.get("options", {})}
    else:
        shown.append({"dev": device, "handle": handle, **change})


ALTERED = value("cases/altered-qdiscs.json")


@pytest.mark.parametrize(
    ("router", "device", "handle", "change", "wanted"),
    [case[1:] for case in ALTERED],
    ids=[case[0] for case in ALTERED],
)
def test_each_altered_property_is_caught_and_named(
    router: str, device: str, handle: str, change: Any, wanted: list[str]
) -> None:
    shown = copy.deepcopy(SHOWN[router])
    alter(shown, device, handle, change)
    wrong = [check for check in compare_qdiscs(PLAN, router, shown) if not check.agrees]
    assert [[c.check, c.where, c.wanted, c.got] for c in wrong] == [wanted]


def test_all_wrong_settings_of_one_stage_are_in_one_check() -> None:
    shown = copy.deepcopy(SHOWN["r1"])
    alter(shown, "ifb-bottleneck", "1:", {"options": {"limit": 1, "delay": {"delay": 0.1}}})
    (wrong,) = [c for c in compare_qdiscs(PLAN, "r1", shown) if not c.agrees]
    assert wrong.wanted == "limit_pkts 3458; delay_s 0.25"
    assert wrong.got == "limit_pkts 1; delay_s 0.1"


def test_nothing_built_agrees_with_nothing() -> None:
    checks = compare_qdiscs(PLAN, "r1", [])
    assert [check.got for check in checks] == ["no such qdisc"] * 10
    assert not any(check.agrees for check in checks)


def test_recorded_routes_agree() -> None:
    for host, wanted in WANTED_OFFLOADS.items():
        checks = compare_route(host, ROUTES[host], wanted)
        assert [check.check for check in checks] == [f"route option {name}" for name in wanted]
        assert all(check.agrees for check in checks)
    assert compare_route("src2", ROUTES["src2"], {}) == []


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ({"initcwnd": "3"}, "2"),
        ({"initcwnd": "22"}, "2"),
        ({"ssthresh": "lock 46"}, "45"),
        ({"rto_min": "49ms"}, "492"),
        ({"initrwnd": "45"}, "not set"),
    ],
)
def test_each_altered_route_option_is_named(wanted: dict[str, str], got: str) -> None:
    ((name, asked),) = wanted.items()
    assert compare_route("src1", ROUTES["src1"], wanted) == [
        Check(check=f"route option {name}", where="src1", wanted=asked, got=got, agrees=False)
    ]


@pytest.mark.parametrize("shown", [[], [{"dst": "default"}], [{"metrics": []}]])
def test_a_route_without_metrics_has_no_option(shown: list[dict[str, Any]]) -> None:
    assert route_options(shown) == {}
    assert [c.got for c in compare_route("h", shown, {"quickack": "1"})] == ["not set"]


def test_route_metrics_may_come_in_several_tables() -> None:
    shown: list[dict[str, Any]] = [
        {"metrics": [{"initcwnd": 2}, {"rto_min": "492ms"}]},
        {"metrics": [{"quickack": 1}]},
    ]
    assert route_options(shown) == {"initcwnd": "2", "rto_min": "492ms"}
    assert compare_route("h", shown, {"rto_min": "492ms"})[0].agrees


def test_offloads() -> None:
    off = dict.fromkeys((offload.name for offload in offloads.OFFLOADS), False)
    assert compare_offloads("r1:r1-src1", off) == Check(
        check="offloads", where="r1:r1-src1", wanted="all off", got="all off", agrees=True
    )
    on = off | {"scatter-gather": True, "generic-segmentation-offload": True}
    wrong = compare_offloads("r1:r1-src1", on)
    assert (wrong.got, wrong.agrees) == (
        "on: generic-segmentation-offload, scatter-gather",
        False,
    )


def test_recorded_filter_counts() -> None:
    assert filter_counts(value("iproute2-6.15/filter-show-egress.json")) == {
        (100, 1): 3,
        (101, 1): 0,
    }
    assert filter_counts(value("iproute2-6.15/filter-show-ingress.json")) == {
        (100, 1): 3,
        (101, 1): 0,
        (65000, 1): 2,
    }
    assert filter_counts([]) == {}


class Recorded(Namespace):
    """A namespace in which every command prints what was recorded."""

    def json(self, argv: Sequence[str]) -> Any:
        assert argv == ["tc", "-j", "qdisc", "show"]
        return SHOWN[self.name]

    def run(self, argv: Sequence[str], text: str = "") -> str:
        assert argv == ["tc", "-j", "-s", "-batch", "-"]
        return "".join(
            recorded(f"iproute2-6.15/filter-show-{line.split()[-1]}.json")
            for line in text.splitlines()
        )

    def read_sysctl(self, name: str) -> str:
        assert name == "net.ipv4.ip_forward"
        return "1" if self.name == "r1" else "0"


def spaces() -> dict[str, Namespace]:
    return {n: Recorded(name=n, handle=0, home=0, journal=Journal()) for n in PLAN.node_names()}


def test_everything_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offloads, "read", lambda space, device: {"x": device == "r1-src2"})
    checks, raw = read_back(PLAN, spaces(), WANTED_OFFLOADS, ROUTES)
    # 20 stages, two switches, six route options, two ends of five links.
    assert len(checks) == 20 + 2 + 6 + 10
    assert [(c.check, c.where, c.got) for c in checks if not c.agrees] == [
        ("net.ipv4.ip_forward", "r2", "0"),
        ("offloads", "r1:r1-src2", "on: x"),
    ]
    assert (raw["qdiscs"], raw["routes"]) == (SHOWN, ROUTES)
    assert len(raw["offloads"]) == 10


def test_counters_are_read_per_flow() -> None:
    wanted = counters(PLAN, CELL.flows)
    rows = read_counters(spaces(), wanted)
    assert rows[1] == {
        "flow": "T",
        "counter": "loss_offered",
        "node": "r2",
        "device": "r2-bottleneck",
        "packets": 3,
    }
    assert [(row["flow"], row["packets"]) for row in rows] == [("T", 3)] * 3 + [("S", 0)] * 3


def test_a_counter_that_is_not_there_is_not_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recorded, "json_batch", lambda self, argv, text: [[]] * text.count("\n"))
    with pytest.raises(
        VerifyError, match=r"r1:r1-bottleneck egress: no such counter: wanted .*100"
    ):
        read_counters(spaces(), counters(PLAN, CELL.flows))
