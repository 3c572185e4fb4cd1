"""An association over two networks that share no channel: one breaks, and data takes the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mininet_topos.radio.audit import mistakes

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

FIRST, SECOND = ("10.0.0.1", "10.0.2.1"), ("10.128.0.1", "10.128.2.1")
#: When n2 is gone, as the program has it.
AWAY_S = 12
BETWEEN = {"wlan0": "10.0.1.1", "wlan1": "10.128.3.1"}
S = 1_000_000_000


@pytest.fixture(scope="module")
def left(program: Callable[..., Path]) -> Path:
    """Return what the program left."""
    return program("two_networks")


def lines(left: Path, stem: str, event: str) -> list[dict[str, Any]]:
    found = map(json.loads, (left / f"{stem}.jsonl").read_text().splitlines())
    return [line for line in found if line["event"] == event]


def t_s(left: Path, line: dict[str, Any]) -> float:
    """Return when something was said, in seconds of the movement."""
    began_ns: int = json.loads((left / "totals.json").read_text())["began_ns"]
    return float((line["t_ns"] - began_ns) / S)


def test_all_that_was_on_the_air_adds_up(left: Path) -> None:
    totals = json.loads((left / "totals.json").read_text())
    assert totals["radios"] == 6
    assert mistakes(totals) == []


def test_each_table_leads_by_its_own_network(left: Path) -> None:
    for table, (device, via) in enumerate(BETWEEN.items(), 1):
        shown = (left / f"before-{table}.routes").read_text().splitlines()
        own, other = (FIRST, SECOND)[table - 1]
        ways = {line.split()[0]: line for line in shown}
        assert f"via {via} dev {device}" in ways[other]
        assert f"src {own}" in ways[other]
        assert f"dev aodv{table - 1}" in ways["default"]
        assert all(f"dev {device}" in line for name, line in ways.items() if name != "default")


def test_data_goes_on_by_the_other_network(left: Path) -> None:
    """n2 leaves, so the first network is cut; the first timeout sends data by the second."""
    sent, got = (lines(left, stem, "totals")[-1] for stem in ("sent", "received"))
    assert sent["end"] == "drained"
    assert got["goodput_bytes"] == sent["sent_bytes"] > 400_000
    came = lines(left, "received", "data_from")
    assert (came[0]["address"], came[-1]["address"]) == (FIRST[0], SECOND[0])
    first_other = next(line for line in came if line["address"] == SECOND[0])
    assert AWAY_S < t_s(left, first_other) < AWAY_S + 3


def test_the_kernel_gives_the_first_path_up_and_keeps_the_second(left: Path) -> None:
    changes = [
        (line["address"], line["change"])
        for line in lines(left, "sent", "path_change")
        if t_s(left, line) > AWAY_S
    ]
    assert changes[:2] == [(FIRST[1], "potentially_failed"), (FIRST[1], "unreachable")]
    assert {address for address, _ in changes} == {FIRST[1]}
    looks = [line for line in lines(left, "sent", "path") if t_s(left, line) > AWAY_S + 20]
    assert {(line["address"], line["state"]) for line in looks} == {
        (FIRST[1], "inactive"), (SECOND[1], "active"),
    }  # fmt: skip


def test_the_second_networks_router_saw_no_break(left: Path) -> None:
    events = [json.loads(line) for line in (left / "n1.wlan0.events").read_text().splitlines()]
    assert BETWEEN["wlan0"] in {
        event["destination"] for event in events if event["event"] == "link_broken"
    }
    assert '"link_broken"' not in (left / "n1.wlan1.events").read_text()
