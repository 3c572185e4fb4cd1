"""A network of radios inside a lab: what is asked of kernel, medium and daemons. Pure parts."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from model import ad_hoc
from model.movement.paths import Movement
from testbed.guest import network_state
from testbed.guest.radio import layout, read_back, wireless
from testbed.guest.radio import places as radio_places
from tests.support.ad_hoc_study import network
from tests.support.recorded import value

NETWORK = network()


def test_names_and_addresses() -> None:
    found = layout.lay_out(NETWORK)
    assert (found.sources, found.destinations) == (("n1", "n3"), ("n2", "n4"))
    assert (found.routers, found.wires, found.routes) == ((), (), {})
    (one,) = found.interfaces("n1")
    assert (one.device, one.address, one.mac) == ("wlan0", "10.0.0.1", "02:00:00:00:00:00")
    assert found.interface("n6").address == "10.0.5.1"
    assert found.devices("n2") == ("wlan0",)
    with pytest.raises(KeyError):
        found.interfaces("n7")


def test_every_node_has_an_address_of_its_own() -> None:
    found = {ad_hoc.address(number) for number in range(1000)}
    assert len(found) == 1000
    assert ad_hoc.address(99) == "10.0.99.1"
    assert ad_hoc.address(250) == "10.1.0.1"
    assert all(0 <= int(part) <= 255 for one in found for part in one.split("."))


def test_wanted_radios() -> None:
    first, *_, last = found = layout.wanted_radios(NETWORK)
    assert len(found) == 6
    assert (first.index, first.node, first.interface, first.address) == (
        0, "n1", "wlan0", "10.0.0.1/32",
    )  # fmt: skip
    assert (last.index, last.node) == (5, "n6")
    assert len({radio.mac for radio in found}) == 6
    assert {radio.cell for radio in found} == {first.cell}
    assert first.cell.rate_bps == 2_000_000
    assert first.cell.broadcast_rate_bps == 1_000_000
    assert first.cell.basic_rates_bps == (1_000_000,)
    assert first.cell.beacon_interval_tu == 1000


def test_the_basic_rate_is_that_of_frames_to_all() -> None:
    (first, *_) = layout.wanted_radios(network(("rate: 2", "basic_rate: 2 Mbit/s, rate: 2")))
    assert first.cell.broadcast_rate_bps == 2_000_000
    assert first.cell.basic_rates_bps == (1_000_000, 2_000_000)


def test_the_mediums_options() -> None:
    assert layout.medium_options(NETWORK, 7, 25_000_000_000) == {
        "origin-ns": 25_000_000_000, "seed": 7, "range-m": 250, "carrier-sense-m": 550,
        "queue-frames": 50, "retry-limit": 7, "ack-rate-bps": 1_000_000,
    }  # fmt: skip
    strong = dataclasses.replace(
        NETWORK, radio=dataclasses.replace(NETWORK.radio, capture_db=10)
    )  # fmt: skip
    found = layout.medium_options(strong, 7, 0)
    assert found["capture-db"] == 10


@pytest.mark.parametrize(("threshold", "said_bytes"), [("0 bytes", 0), ("1 KiB", 1024)])
def test_the_mediums_options_with_rts(threshold: str, said_bytes: int) -> None:
    keys = f"rate: 2 Mbit/s, rts_threshold: {threshold}, long_attempts: 3"
    found = layout.medium_options(network(("rate: 2 Mbit/s", keys)), 7, 0)
    assert found == layout.medium_options(NETWORK, 7, 0) | {
        "rts-threshold-bytes": said_bytes, "long-retry-limit": 3,
    }  # fmt: skip


def test_without_rts_its_limit_is_no_option() -> None:
    keys = "rate: 2 Mbit/s, rts_threshold: none, long_attempts: 3"
    found = layout.medium_options(network(("rate: 2 Mbit/s", keys)), 7, 0)
    assert found == layout.medium_options(NETWORK, 7, 0)


def distance_m(places: Movement, one: int, other: int) -> float:
    a, b = places.paths[one].rows[0], places.paths[other].rows[0]
    return math.hypot(a.x_mm - b.x_mm, a.y_mm - b.y_mm) / 1000


@pytest.mark.parametrize(("range_m", "carrier_sense_m"), [(250, 550), (250, 250), (1, 1), (7, 99)])
def test_places_of_a_calibrating_cell(range_m: int, carrier_sense_m: int) -> None:
    asked = network(
        ("range: 250 m, carrier_sense: 550 m",
         f"range: {range_m} m, carrier_sense: {carrier_sense_m} m")
    )  # fmt: skip
    places = radio_places.places(asked)
    assert len(places.paths) == radio_places.network(asked).nodes == 6
    alone = (radio_places.ALONE, radio_places.ALONE_TO)
    shared = (radio_places.SHARING_TO, *radio_places.SHARING)
    assert distance_m(places, *alone) == pytest.approx(0.4 * range_m, abs=0.002)
    for one in shared:
        for other in shared:
            assert distance_m(places, one, other) <= 0.5 * range_m  # sqrt(3) * 0.2, at most 0.4
        assert all(distance_m(places, one, other) > carrier_sense_m for other in alone)


def test_the_network_of_a_calibrating_cell() -> None:
    few = network(("pairs: 2", "pairs: 1"), ("nodes: 6", "nodes: 2"), ("pair: 2", "pair: 1"))
    hello = network(("protocol: aodv", "protocol: aodv, link_breaks: hello"))
    for asked in (NETWORK, few, network(("nodes: 6", "nodes: 100")), hello):
        found = radio_places.network(asked)
        assert (found.nodes, found.pairs, found.radio) == (6, 1, asked.radio)
        assert found.routing.link_breaks == "link-layer", "HELLOs get lost where radios are full"


class FakeNode:
    """A node whose ``ip`` shows these default routes."""

    def __init__(self, *shown: dict[str, Any]) -> None:
        self.shown = list(shown)

    def json(self, words: list[str]) -> list[dict[str, Any]]:
        assert words == ["ip", "-4", "-j", "-d", "route", "show", "default", "table", "all"]
        return self.shown


def default(**metrics: int) -> dict[str, Any]:
    return {"dst": "default", "dev": "aodv0", "metrics": [metrics] if metrics else []}


def test_options_of_routes_are_read_back_of_each_default() -> None:
    wanted: dict[str, dict[str, str]] = {
        "n1": {"initcwnd": "3"}, "n2": {}, "n3": {"initcwnd": "3"}, "n4": {"quickack": "1"},
    }  # fmt: skip
    nodes: Any = {
        "n1": FakeNode(default(initcwnd=3), default(initcwnd=2)), "n2": "is not asked",
        "n3": FakeNode(default()), "n4": FakeNode(),
    }  # fmt: skip
    checks, shown = read_back.read_back_routes(wanted, nodes, ("default", "table", "all"))
    assert [(c.where, c.wanted, c.got, c.agrees) for c in checks] == [
        ("n1", "3", "3", True), ("n1", "3", "2", False), ("n3", "3", "not set", False),
        ("n4", "1", "not set", False),
    ]  # fmt: skip
    assert shown["n1"] == nodes["n1"].shown
    assert list(shown) == ["n1", "n3", "n4"]


MEDIUM = "radios-6.12/raw/radio/medium.json"


def test_sums_of_the_medium_that_close() -> None:
    (found,) = wireless.checks(value(MEDIUM))
    assert found.agrees
    assert found.where == "all radios"
    assert found.wanted == found.got
    count = int(found.wanted.split(" ")[0])
    assert count > 6 * 10, "each radio has a dozen"


@pytest.mark.parametrize(
    ("counter", "where"),
    [("handed_in", "radio 2: fates of frames"),
     ("unicast_collided", "radio 2: outcomes of unicast transmissions"),
     ("acks_due", "radio 2: ACKs owed")],
)  # fmt: skip
def test_one_that_does_not_is_named(counter: str, where: str) -> None:
    totals: dict[str, Any] = value(MEDIUM)
    totals[counter][2] += 1
    found = wireless.checks(totals)
    assert not any(check.agrees for check in found)
    assert where in [check.where for check in found]
    (one,) = [check for check in found if check.where == where]
    assert abs(int(one.wanted) - int(one.got)) == 1


def route(protocol: int) -> bytes:
    """Return the head of a route's message: family, lengths, service, table, protocol, ..."""
    return bytes([2, 32, 0, 0, 254, protocol, 0, 1, 0, 0, 0, 0])


def test_routes_of_a_daemon_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    (routes,) = [kind for kind in network_state.KINDS if kind.name == "routes"]
    kernels, standing, daemons = route(2), route(4), route(191)

    @dataclasses.dataclass
    class Message:
        body: bytes

    def dump(*_: object) -> list[Message]:
        return [Message(head) for head in (kernels, daemons, standing)]

    monkeypatch.setattr(network_state, "_dump", dump)
    found = list(network_state._entries(None, routes, "n1"))  # type: ignore[arg-type]
    assert [text.strip() for text in found] == [kernels.hex(), standing.hex()]
