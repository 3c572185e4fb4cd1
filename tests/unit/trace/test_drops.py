"""Drops have a place where the kernel tells it, and never a guessed one."""

from __future__ import annotations

import polars as pl
import pytest

from collectors.trace.drops import COLUMNS, drops, handle_text
from tests.support.recorded import value
from tests.support.recorded_trace import trace

PLACES = value("trace-7.3/places.json")
EPOCH_NS = 4_000_000_000


def test_queue_and_loss_are_told_apart() -> None:
    found = drops(trace("7.3"), PLACES, EPOCH_NS)
    assert found.schema == COLUMNS
    counted = found.group_by("node", "device", "handle", "role", "event", "reason").len()
    # The counters of the qdiscs after that run: 14 at the shaper, 29 at the channel.
    assert sorted(counted.rows()) == [
        ("r1", "r1-bottleneck", "10:", "shaper", "qdisc_drop", "GENERIC", 14),
        ("r2", "ifb-bottleneck", "1:", "channel", "qdisc_drop", "GENERIC", 29),
    ]
    assert found["t_s"].to_list()[:2] == pytest.approx([0.002168, 2.088423], abs=1e-6)
    assert found["t_s"].is_sorted()


def test_an_older_kernel_tells_no_place() -> None:
    found = drops(trace("6.12"), PLACES, EPOCH_NS)
    assert found.schema == COLUMNS
    assert found.group_by("node", "role", "event", "reason").len().rows() == [
        (None, None, "kfree_skb", "QDISC_DROP", 43)
    ]


def test_a_number_two_namespaces_share_tells_no_place() -> None:
    twin = {**PLACES[0], "node": "r2", "device": "r2-bottleneck"}
    found = drops(trace("7.3"), [*PLACES, twin], EPOCH_NS)
    assert found["node"].value_counts(sort=True).rows() == [("r2", 29), (None, 14)]
    assert found.filter(pl.col("node").is_null())["device"].null_count() == 14


def test_unwatched_qdiscs_have_no_place() -> None:
    assert drops(trace("7.3"), [], EPOCH_NS)["node"].null_count() == 43


def test_what_a_filter_dropped_has_the_place_of_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = trace("6.12")
    symbols = recorded.formats.events["skb/kfree_skb"].symbols
    (number,) = [number for number, name in symbols.items() if name == "QDISC_DROP"]
    # No filter dropped anything in the recording: give its drops the reason of one.
    monkeypatch.setitem(symbols, number, "TC_EGRESS")
    columns = ["node", "device", "role", "reason"]
    found = drops(recorded, PLACES, EPOCH_NS, {("r2", "ifb-bottleneck")})
    assert found.select(columns).unique().rows() == [
        ("r2", "ifb-bottleneck", "numbered", "TC_EGRESS")
    ]
    found = drops(recorded, PLACES, EPOCH_NS)
    assert found.select(columns).unique().rows() == [(None, None, None, "TC_EGRESS")]


@pytest.mark.parametrize(("number", "text"), [(0x100000, "10:"), (0x10000, "1:"), (0x10001, "1:1")])
def test_handles_are_written_as_tc_writes_them(number: int, text: str) -> None:
    assert handle_text(number) == text
