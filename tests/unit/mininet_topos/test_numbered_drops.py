"""Filters for listed packets: the line that hangs one, and that what hangs is what was loaded."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mininet_topos.filters.bpf import Program
from mininet_topos.filters.drop_program import Pairing, Period, Sharing
from mininet_topos.filters.hanging import filter_line
from mininet_topos.filters.numbered_drops import (
    Installed,
    Target,
    compare,
    drawing,
    install,
    read_back,
    targets,
)
from model import draws
from model.links import Loss, PeriodicLoss
from tests.support.recorded import value, wireless_cell
from tests.unit.model.test_draws import losing, paired

SHOWN = value("iproute2-6.15/filter-show-bpf.json")
FLOWS = tuple(
    Target(id=flow.id, protocol=flow.protocol, port=flow.port, drop_data_pkts=(8, 20))
    for flow in wireless_cell().flows
)
INSTALLED = tuple(
    Installed(
        target=flow, pref=pref, map_fd=0, together_fd=None, program=Program(fd=0, id=pref, tag=tag)
    )
    for pref, (flow, tag) in enumerate(
        zip(FLOWS, ("7a09f83c6026bc31", "dabd5c9f0ac15025"), strict=True), 1
    )
)


def test_the_line_that_hangs_a_program() -> None:
    assert filter_line("ifb-bottleneck", 1, Path("/sys/fs/bpf/drop-1")) == (
        "filter add dev ifb-bottleneck egress pref 1 protocol ip"
        " bpf direct-action object-pinned /sys/fs/bpf/drop-1\n"
    )


def test_flows_without_a_list_need_no_filter() -> None:
    assert targets(wireless_cell(), 4999) == ()
    assert drawing(wireless_cell()) is None
    assert install({}, (), None) == ()
    assert read_back({}, ()) == ([], [])


def test_paired_loss_needs_one_for_every_flow_and_for_what_measures_the_path() -> None:
    cell = paired(0.25)
    assert [target.id for target in targets(cell, 4999)] == ["T", "S"]
    (probe,) = targets(dataclasses.replace(cell, purpose="calibrate"), 4999)
    assert (probe.protocol, probe.port, probe.drop_data_pkts) == ("udp", 4999, ())
    found = drawing(cell)
    assert isinstance(found, Pairing)
    assert (found.seed, found.threshold) == (draws.seed_for(1, "bottleneck paired"), 1 << 61)


def test_equal_drops_divide_the_loss_among_the_flows_and_what_measures_is_one() -> None:
    cell = losing(Loss(model="equal_drops", loss_frac=0.25))
    assert [target.id for target in targets(cell, 4999)] == ["T", "S"]
    seed, pay_seed = draws.equal_drops_seeds(1)
    assert drawing(cell) == Sharing(seed=seed, pay_seed=pay_seed, threshold=1 << 60)
    alone = drawing(dataclasses.replace(cell, purpose="calibrate"))
    assert alone == Sharing(seed=seed, pay_seed=pay_seed, threshold=1 << 61)


def test_periodic_loss_is_the_same_for_every_flow_and_for_what_measures_the_path() -> None:
    cell = losing(PeriodicLoss(model="periodic", every_pkts=100, first_pkt=7))
    assert [target.id for target in targets(cell, 4999)] == ["T", "S"]
    calibrating = dataclasses.replace(cell, purpose="calibrate")
    assert [target.protocol for target in targets(calibrating, 4999)] == ["udp"]
    wanted = Period(first_pkt=7, every_pkts=100)
    assert drawing(cell) == drawing(calibrating) == wanted


def test_the_recorded_filters_agree() -> None:
    found = compare(INSTALLED, SHOWN)
    assert [(check.check, check.where, check.got, check.agrees) for check in found] == [
        ("numbered drops", "r2:ifb-bottleneck egress, flow T", "program 1, tag 7a09f83c6026bc31",
         True),
        ("numbered drops", "r2:ifb-bottleneck egress, flow S", "program 2, tag dabd5c9f0ac15025",
         True),
    ]  # fmt: skip


def altered(change: Callable[[list[dict[str, Any]]], Any]) -> list[tuple[str, str, str]]:
    """Return check, wanted and got of what disagrees once the recording is changed."""
    shown = copy.deepcopy(SHOWN)
    change(shown)
    found = compare(INSTALLED, shown)
    return [(check.check, check.wanted, check.got) for check in found if not check.agrees]


def test_what_is_not_as_loaded_is_told() -> None:
    assert altered(lambda shown: shown.pop(3)) == [
        ("numbered drops", "program 2, tag dabd5c9f0ac15025", "no program")
    ]
    assert altered(lambda shown: shown[1]["options"]["prog"].update(tag="0")) == [
        ("numbered drops", "program 1, tag 7a09f83c6026bc31", "program 1, tag 0")
    ]
    another = {**SHOWN[3], "pref": 3}
    assert altered(lambda shown: shown.append(another)) == [
        ("unasked filter", "none", "program 2, tag dabd5c9f0ac15025")
    ]
