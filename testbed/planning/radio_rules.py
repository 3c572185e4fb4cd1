"""Rules about networks of radios, see :mod:`testbed.planning.rules`: what is legal and misleads."""

from __future__ import annotations

from collections.abc import Iterator

from mininet_topos.baselines import babel
from model import units
from model.cell import Cell
from testbed.planning.rule_hits import Hit


def trace_ends_early(cell: Cell) -> Iterator[Hit]:
    """Where the file of movements is at its end, nodes of a longer run stand."""
    mobility = cell.ad_hoc.mobility if cell.ad_hoc else None
    if mobility is None or not mobility.trace_sha256 or mobility.trace_ends_s >= cell.duration_s:
        return
    rest_s = cell.duration_s - mobility.trace_ends_s
    yield Hit(
        subject="",
        loc=("network", "mobility", "file"),
        text=f"no node moves after {units.format_time(mobility.trace_ends_s)}, where the file ends,"
        f" and a run lasts {units.format_time(cell.duration_s)}: for {units.format_time(rest_s)}"
        " all nodes stand where it leaves them",
        severity=rest_s,
    )


def short_warm_up(cell: Cell) -> Iterator[Hit]:
    """What was lost of babeld's first updates is told again with the next ones, not before."""
    network = cell.ad_hoc
    if network is None or network.routing.protocol != "babel":
        return
    updates_s = babel.Daemon.update_interval_ms / babel.MS_PER_S
    if network.warm_up_s >= updates_s:
        return
    hellos_s = babel.Daemon.hello_interval_ms / babel.MS_PER_S
    yield Hit(
        subject="",
        loc=("network", "warm_up"),
        text=f"nodes warm up for {units.format_time(network.warm_up_s)}, but babeld says hello"
        f" every {units.format_time(hellos_s)} and tells of all its ways every"
        f" {units.format_time(updates_s)}: at time zero ways may be missing, and what is sent"
        " before there is one is lost",
        severity=updates_s - network.warm_up_s,
    )
