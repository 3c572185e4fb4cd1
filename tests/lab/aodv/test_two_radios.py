"""Nodes with two radios and an address on each: both are reached, on one channel and on two."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mininet_topos.radio.audit import mistakes

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

CASES = ("same", "apart", "split")


@pytest.fixture(scope="module")
def ran(program: Callable[..., Path]) -> Callable[[str], Path]:
    """Return what a case left, run when it is first asked for."""
    folders: dict[str, Path] = {}

    def of(case: str) -> Path:
        if case not in folders:
            folders[case] = program("two_radios", case, label=case)
        return folders[case]

    return of


def received(folder: Path, stem: str) -> int:
    said = (folder / f"{stem}.jsonl").read_text()
    return int(said.split(" received")[0].split()[-1])


def routes(folder: Path, name: str) -> dict[str, tuple[str, str]]:
    """Return the next hop and the interface to each destination that has a way over another."""
    lines = [line.split() for line in (folder / f"{name}.routes").read_text().splitlines()]
    return {line[0]: (line[2], line[4]) for line in lines if line[1] == "via"}


@pytest.mark.parametrize("case", CASES)
def test_both_addresses_answer_over_two_hops(ran: Callable[[str], Path], case: str) -> None:
    for stem in ("ping-0", "ping-1"):
        assert received(ran(case), stem) == 10
        assert "ttl=63" in (ran(case) / f"{stem}.jsonl").read_text()


@pytest.mark.parametrize("case", CASES)
def test_udp_arrives_at_both_addresses(ran: Callable[[str], Path], case: str) -> None:
    for which in (0, 1):
        sent, got = (
            json.loads((ran(case) / f"{stem}-{which}.jsonl").read_text().splitlines()[-1])
            for stem in ("udp-sent", "udp")
        )
        assert (got["packets"], got["lost"], got["duplicates"]) == (sent["packets"], 0, 0)
        assert sent["packets"] == 95


@pytest.mark.parametrize("case", CASES)
def test_all_that_was_on_the_air_adds_up(ran: Callable[[str], Path], case: str) -> None:
    totals = json.loads((ran(case) / "totals.json").read_text())
    assert totals["radios"] == 6
    assert mistakes(totals) == []
    other_channel = sum(totals["group_other_channel"])
    assert (other_channel == 0) == (case == "same")


def test_channels_are_networks_apart(ran: Callable[[str], Path]) -> None:
    folder = ran("apart")
    found = routes(folder, "ping-1-n1")
    assert found["10.0.0.3"] in (("10.0.0.2", "wlan0"), ("10.0.1.2", "wlan1"))
    by_channel = {"10.0.0.2": "wlan0", "10.0.1.2": "wlan1"}
    assert all(by_channel[via] == interface for via, interface in found.values())


def test_an_address_is_reached_over_the_other_network_once_its_own_is_cut(
    ran: Callable[[str], Path],
) -> None:
    """n2 leaves: what went over its channel goes over n4's, on the other, to the same address."""
    folder = ran("split")
    assert routes(folder, "ping-1-n1")["10.0.0.3"] == ("10.0.0.2", "wlan0")
    assert routes(folder, "left-n1")["10.0.0.3"] == ("10.0.1.4", "wlan1")
    assert 27 <= received(folder, "leaving") < 30
    events = [json.loads(line) for line in (folder / "n1.events").read_text().splitlines()]
    (broken,) = [event for event in events if event["event"] == "link_broken"]
    assert (broken["destination"], broken["cause"]) == ("10.0.0.2", "feedback")
