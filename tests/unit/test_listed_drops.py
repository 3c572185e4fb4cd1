"""Filters for listed packets: the line that hangs one, and that what hangs is what was loaded."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mininet_topos.bpf import Program
from mininet_topos.listed_drops import Installed, compare, filter_line, install, read_back
from tests.recorded import value, wireless_cell

pytestmark = pytest.mark.unit

SHOWN = value("iproute2-6.15/filter-show-bpf.json")
FLOWS = tuple(dataclasses.replace(flow, drop_data_pkts=(8, 20)) for flow in wireless_cell().flows)
INSTALLED = tuple(
    Installed(flow=flow, pref=pref, map_fd=0, program=Program(fd=0, id=pref, tag=tag))
    for pref, (flow, tag) in enumerate(
        zip(FLOWS, ("7a09f83c6026bc31", "dabd5c9f0ac15025"), strict=True), 1
    )
)


def test_the_line_that_hangs_a_program() -> None:
    assert filter_line(1, Path("/sys/fs/bpf/drop-1")) == (
        "filter add dev ifb-bottleneck egress pref 1 protocol ip"
        " bpf direct-action object-pinned /sys/fs/bpf/drop-1\n"
    )


def test_flows_without_a_list_need_no_filter() -> None:
    assert install({}, wireless_cell().flows) == ()
    assert read_back({}, ()) == ([], [])


def test_the_recorded_filters_agree() -> None:
    found = compare(INSTALLED, SHOWN)
    assert [(check.check, check.where, check.got, check.agrees) for check in found] == [
        ("listed drops", "r2:ifb-bottleneck egress, flow T", "program 1, tag 7a09f83c6026bc31",
         True),
        ("listed drops", "r2:ifb-bottleneck egress, flow S", "program 2, tag dabd5c9f0ac15025",
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
        ("listed drops", "program 2, tag dabd5c9f0ac15025", "no program")
    ]
    assert altered(lambda shown: shown[1]["options"]["prog"].update(tag="0")) == [
        ("listed drops", "program 1, tag 7a09f83c6026bc31", "program 1, tag 0")
    ]
    another = {**SHOWN[3], "pref": 3}
    assert altered(lambda shown: shown.append(another)) == [
        ("unasked filter", "none", "program 2, tag dabd5c9f0ac15025")
    ]
