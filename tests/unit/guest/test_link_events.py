"""What a link is like after events, which of its stages they change, and cells without any."""

from __future__ import annotations

import dataclasses
import json

import pytest

from model.after_events import ALL_LOST, direction_after
from model.cell import Cell, cell_id, cell_json, from_dict
from model.event import Event
from model.links import Direction, Loss
from model.network_path import derived_channel_limit_pkts
from testbed.guest import link_events, topologies
from testbed.guest.network_state import without_qdiscs
from tests.support.recorded import wireless_cell

CELL = wireless_cell()
WAY = CELL.wired.bottleneck.forward


def event(name: str = "e", t_s: float = 1.0, **given: object) -> Event:
    asked = {"link": "bottleneck", "way": "both", "state": "", "rate_bps": None, "owd_s": None,
             "loss_frac": None, **given}  # fmt: skip
    return Event(id=name, t_s=t_s, **asked)  # type: ignore[arg-type]


def after(*events: Event, way: str = "forward") -> Direction:
    return direction_after(WAY, "bottleneck", way, events)  # type: ignore[arg-type]


def test_without_events_and_after_another_links_all_is_as_it_was() -> None:
    assert after() == WAY
    assert after(event(link="bottleneck2", state="down")) == WAY


def test_a_link_that_is_down_loses_all_and_is_then_as_it_was_before() -> None:
    assert after(event(state="down")) == dataclasses.replace(WAY, loss=ALL_LOST)
    assert after(event(state="down"), event("f", 2.0, state="up")) == WAY


def test_a_step_while_a_link_is_down_shows_once_it_is_up() -> None:
    down, step = event(state="down"), event("f", 2.0, loss_frac=0.25)
    assert after(down, step).loss == ALL_LOST
    up = after(down, step, event("g", 3.0, state="up"))
    assert up.loss == Loss(model="random", loss_frac=0.25)
    assert after(event(loss_frac=0.0)).loss == Loss(model="none", loss_frac=0.0)


def test_another_delay_or_rate_leaves_room_for_what_is_under_way() -> None:
    slow = after(event(owd_s=5.0))
    assert slow.owd_s == 5.0
    assert slow.channel_limit_pkts == derived_channel_limit_pkts(WAY.rate_bps, 5.0)
    less = after(event(rate_bps=8))
    assert (less.rate_bps, less.channel_limit_pkts) == (8, WAY.channel_limit_pkts)


def test_an_event_of_one_way_leaves_the_other_alone() -> None:
    step = event(owd_s=5.0, way="reverse")
    assert after(step) == WAY
    assert after(step, way="reverse").owd_s == 5.0


def with_events(*events: Event) -> Cell:
    return dataclasses.replace(CELL, events=events)


def test_both_ways_of_the_link_and_nothing_else_is_changed() -> None:
    built = topologies.lay_out(CELL.wired, CELL.seed)
    down = event(state="down")
    cell = with_events(down)
    then = link_events.after(built, cell, cell.events)
    changed = [(a, b) for a, b in zip(built.stages, then.stages, strict=True) if a != b]
    assert {(a.node, a.device, a.role) for a, _ in changed} == {
        ("r1", "ifb-bottleneck", "channel"), ("r2", "ifb-bottleneck", "channel"),
        ("r1", "r1-bottleneck", "shaper"), ("r2", "r2-bottleneck", "shaper"),
    }  # fmt: skip
    assert {a for a, _ in changed} == set(link_events.changed(built, down))
    lines = {b.device + b.node: b.change() for _, b in changed}
    line = lines["ifb-bottleneckr2"]
    assert line.startswith("qdisc change dev ifb-bottleneck root handle 1: netem limit ")
    assert " loss random 100% seed " in line
    # Another seed than when it was built: netem begins its draws anew.
    before = next(a for a, _ in changed if (a.node, a.role) == ("r2", "channel"))
    assert f"seed {before.seed}" not in line


@pytest.mark.parametrize(("way", "near"), [("forward", "r1"), ("reverse", "r2")])
def test_the_buffer_of_a_way_is_at_its_near_end(way: str, near: str) -> None:
    built = topologies.lay_out(CELL.wired, 1)
    found = link_events.changed(built, event(rate_bps=8000, way=way))
    assert {(stage.role, stage.node == near) for stage in found} == {
        ("shaper", True), ("channel", False),
    }  # fmt: skip


def test_qdiscs_of_some_interfaces_are_left_out_of_a_snapshot() -> None:
    found = {("r1", "qdiscs"): frozenset({"4 1 0 0 netem", "14 1 0 0 netem"}),
             ("r2", "qdiscs"): frozenset({"4 1 0 0 netem"})}  # fmt: skip
    assert without_qdiscs(found, "r1", {4}) == {
        ("r1", "qdiscs"): frozenset({"14 1 0 0 netem"}), ("r2", "qdiscs"): found["r2", "qdiscs"],
    }  # fmt: skip


def test_a_cell_says_nothing_of_what_it_does_not_have_and_comes_back_whole() -> None:
    for key in ("events", "further_paths", "addresses", '"paths"'):
        assert key not in cell_json(CELL)
    cell = with_events(event(state="down"), event("f", 2.0, rate_bps=8000, way="forward"))
    assert from_dict(json.loads(cell_json(cell))) == cell
    assert cell_id(cell) != cell_id(CELL)
