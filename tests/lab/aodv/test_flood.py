"""Requests that were heard before wake no daemon, and are counted as if they had."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mininet_topos.aodv.driver import parse_totals

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

NODES = [f"n{number}" for number in range(1, 6)]


def test_a_flood_is_the_same_with_and_without_the_filter(program: Callable[..., Path]) -> None:
    filtered, plain = program("flood"), program("flood", "unfiltered", label="plain")
    for name in NODES:
        with_it, without = (
            dict(parse_totals((folder / f"aodvd-{name}.jsonl").read_text(), name).counts)
            for folder in (filtered, plain)
        )
        kept, none = (counts.pop("requests_filtered") for counts in (with_it, without))
        fewer = without.pop("wakeups") - with_it.pop("wakeups")
        assert with_it == without
        # The first of each neighbour is handed up: it makes the route there.
        heard_again = with_it["dropped_control_duplicate"] + with_it["dropped_control_own"]
        assert heard_again / 2 < kept <= heard_again
        assert none == 0
        assert kept / 2 < fewer <= kept
