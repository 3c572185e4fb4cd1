"""What routers of each protocol counted: numbers by hand, and what is not what they write."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from collectors.raw.routers import READERS, RouterCounts, router_counts
from collectors.tables import radio_files
from model.ad_hoc import RoutingProtocol
from model.errors import ParseError
from testbed.guest.routing.registry import ADAPTERS
from testbed.study.ad_hoc_form import ROUTING_KEYS

MESH = {"event": "totals", "from_ns": 20, "to_ns": 40, "mgmt_tx": 40, "mgmt_tx_bytes": 2680}


def test_every_protocol_has_all_that_belongs_to_one() -> None:
    names = set(get_args(RoutingProtocol))
    assert set(READERS) == set(ADAPTERS) == set(ROUTING_KEYS) == names


def test_originator_messages_without_the_headers_of_ethernet() -> None:
    found = router_counts("batman-adv", MESH)
    assert found == RouterCounts(control_pkts=40, control_bytes=2680 - 40 * 14)
    assert (found.discoveries, found.link_breaks, found.routes_broken) == (None, None, None)


@pytest.mark.parametrize(
    "damage",
    [{"mgmt_tx": -1}, {"mgmt_tx": "40"}, {"mgmt_tx_bytes": 1}, {"mgmt_tx_bytes": None}],
)
def test_damaged_counters_of_a_mesh(damage: dict[str, Any]) -> None:
    text = json.dumps(MESH | damage) + "\n"
    with pytest.raises(ParseError, match="not what batman-adv counts"):
        radio_files.counts(text, "n1.jsonl", "batman-adv")


BABEL = {"event": "totals", "from_ns": 20, "to_ns": 40, "sent_pkts": 9, "sent_ip_bytes": 980}


def test_messages_of_babel_with_their_headers() -> None:
    found = router_counts("babel", BABEL)
    assert found == RouterCounts(control_pkts=9, control_bytes=980)
    assert (found.discoveries, found.link_breaks, found.router_dropped_pkts) == (None, None, None)


@pytest.mark.parametrize(
    "damage",
    [{"sent_pkts": -1}, {"sent_pkts": None}, {"sent_ip_bytes": 9 * 48 - 1}, {"sent_ip_bytes": 1.5}],
)
def test_damaged_counts_of_babel(damage: dict[str, Any]) -> None:
    text = json.dumps(BABEL | damage) + "\n"
    with pytest.raises(ParseError, match="not what babel counts"):
        radio_files.counts(text, "n1.jsonl", "babel")


def test_a_mesh_that_was_not_marked_is_told() -> None:
    with pytest.raises(ParseError, match="not what batman-adv counts"):
        radio_files.counts('{"event":"totals"}\n', "n1.jsonl", "batman-adv")
