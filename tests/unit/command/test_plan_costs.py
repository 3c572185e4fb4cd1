"""What a plan says it costs: the study, its variations, and bounds where seeds are added."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from model.cell import HostProfile, Knob, KnobKind, LedgerEntry
from model.run_files.study import Precision
from testbed.command.runs.plan_costs import cost_lines, seeds_words
from testbed.labs.confinement.expected_traffic import expected_packets, window_pkts
from testbed.labs.virtual.costs import cell_wall_s
from testbed.planning.plan import Plan, make_plan
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell
from tests.support.recorded import wireless_cell
from tests.support.study_file import study
from tests.unit.planning.test_plan import VARIED


def plan(*, sensitivity: bool = True, precision: Precision | None = None) -> Plan:
    seeds = range(1, 5)
    loaded = study(VARIED)
    return make_plan(
        loaded, seeds=tuple(seeds), lab={}, sensitivity=sensitivity, precision=precision
    )


def test_variations_have_a_line_of_their_own() -> None:
    own, varied = cost_lines([plan()], jobs=1)
    # The plan's own arithmetic is tested with it; what a cell costs, below.
    assert own.startswith(
        "28 measuring cells and 7 calibrations, 8 h 10 min of virtual time, about "
    )
    assert own.endswith(" on 1 cores")
    assert varied.startswith("and 6 measuring cells and 1 calibration, 1 h 43 min of virtual time")
    assert varied.endswith(": sensitivity to assumptions")
    assert cost_lines([plan(sensitivity=False)], jobs=1) == [
        own,
        "left out: sensitivity to assumptions (3)",
    ]
    assert seeds_words(plan()) == ("1 to 4", "4")


def test_seeds_as_needed_have_bounds() -> None:
    auto = Precision(metric=None, half_width=None, relative_half_width=0.05, at_least=2, at_most=4)
    own, varied = cost_lines([plan(precision=auto)], jobs=2)
    assert own.startswith(
        "14 to 28 measuring cells and 7 calibrations, 4 h 16 min to 8 h 10 min of virtual time,"
    )
    assert varied == cost_lines([plan()], jobs=2)[1]
    assert seeds_words(plan(precision=auto)) == ("1, 2; at most 4", "2 to 4")


RECORDED = [  # study, point, data packets counted in a run, median seconds of ten cells, tables too
    ("wireless", {"loss_frac": 0.01}, 50_440, 2.36),
    ("wireless", {"loss_frac": 0.03}, 30_357, 1.85),
    ("satellite", {"pairs": 2, "rate_bps": 200_000}, 9_053, 1.23),
    ("satellite", {"pairs": 8, "rate_bps": 11_000_000}, 85_338, 4.45),
    ("wired", {"protocol": "tcp"}, 51_424, 6.11),
]


@pytest.mark.parametrize(("name", "at", "pkts", "cell_s"), RECORDED)
def test_packets_and_time_of_a_cell_are_about_as_measured(
    name: str, at: dict[str, object], pkts: int, cell_s: float
) -> None:
    loaded = load_study(find_study(name))
    point = next(p for p in loaded.points if at.items() <= p.values.items())
    cell = resolve_cell(loaded, point, seed=1, replicate=1, lab={})
    collect = dataclasses.replace(cell.collect, pcap=loaded.settings.collect.captures)
    cell = dataclasses.replace(cell, collect=collect)  # as it was measured
    assert expected_packets(cell) == pytest.approx(pkts, rel=0.3)
    assert cell_wall_s(cell) == pytest.approx(cell_s, rel=0.3)


@pytest.mark.parametrize(
    ("settings", "protocol", "pkts"),
    [
        ({}, "tcp", (3 << 20) / 1448),
        ({}, "sctp", 106_496 / 1448),
        ({"window_clamp_bytes": 65_160, "rcvbuf_bytes": 1 << 20}, "tcp", 45.0),
        ({"rcvbuf_bytes": 8 << 20, "sndbuf_bytes": 4 << 20}, "sctp", (4 << 20) / 1448),
        ({"rcvbuf_bytes": 8 << 20}, "udp", math.inf),
    ],
)
def test_a_window_is_what_the_hosts_settings_leave(
    settings: dict[str, int], protocol: str, pkts: float
) -> None:
    kind: KnobKind = "tcp_socket" if protocol == "tcp" else "sctp_socket"
    knobs = tuple(
        Knob(kind=kind, name=name, value=str(value), side="both")
        for name, value in settings.items()
    )
    entry = LedgerEntry(parameter="p", published="", fidelity="exact", note="", knobs=knobs)
    hosts = HostProfile(id="h", title="", entries=(entry,))
    cell = dataclasses.replace(wireless_cell(seed=1), hosts=hosts)
    assert window_pkts(cell, protocol) == pytest.approx(pkts)


def test_captures_and_calibrations_cost_what_they_cost() -> None:
    loaded = load_study(find_study("wireless"))

    def cost(**how: Any) -> float:
        cell = resolve_cell(loaded, loaded.points[0], seed=1, replicate=1, lab={}, **how)
        return cell_wall_s(cell)

    assert cost(pcap=True) > 1.5 * cost()
    assert cost(purpose="calibrate") == pytest.approx(0.57 + 200 * 0.0032)
