"""batman-adv over a row of four radios: ways over each neighbour, and packets that arrive."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mininet_topos.baselines.batman import Originator, next_hops
from mininet_topos.radio.audit import mistakes

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

MACS = [f"02:00:00:00:00:{index:02x}" for index in range(4)]


@pytest.fixture(scope="module")
def ran(program: Callable[..., Path]) -> Path:
    return program("batman")


def test_every_way_leads_over_the_neighbour_on_its_side(ran: Path) -> None:
    said: dict[str, list[dict[str, Any]]] = json.loads((ran / "ways.json").read_text())
    for here, name in enumerate(said):
        ways = [Originator(**way) for way in said[name]]
        assert next_hops(ways) == {
            mac: MACS[here + (1 if there > here else -1)]
            for there, mac in enumerate(MACS)
            if there != here
        }
        assert {way.interface for way in ways} == {"wlan0"}
        assert all(0 < way.quality <= 255 for way in ways)


def test_packets_arrive_over_three_hops(ran: Path) -> None:
    for stem in ("far", "back"):
        assert "10 packets transmitted, 10 received" in (ran / f"{stem}.jsonl").read_text()


def test_all_that_was_on_the_air_adds_up(ran: Path) -> None:
    assert mistakes(json.loads((ran / "totals.json").read_text())) == []


def test_same_run_is_the_same_to_the_byte(ran: Path, program: Callable[..., Path]) -> None:
    again = program("batman", label="again")
    for name in ("pcap", "ways.json", "far.jsonl"):
        assert (again / name).read_bytes() == (ran / name).read_bytes()
