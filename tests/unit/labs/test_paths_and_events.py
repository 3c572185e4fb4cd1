"""Labs that cannot have several paths, fast links or events of links say so by name."""

from __future__ import annotations

import dataclasses

import pytest

from model.cell import Cell
from model.errors import UnsupportedError
from model.event import Event
from model.links import FIFO, FurtherPath
from model.sctp_paths import SctpPaths
from simulators.ns2 import settings
from testbed.labs import registry
from testbed.labs.contract import paths_and_events
from tests.support.recorded import wireless_cell, with_bottleneck

CUT = Event(id="cut", t_s=1.0, link="bottleneck", way="both", state="down", rate_bps=None,
            owd_s=None, loss_frac=None)  # fmt: skip


def two_paths(*, pcap: bool = False) -> Cell:
    cell = wireless_cell()
    one = cell.wired
    second = FurtherPath(
        source_access=one.source_access, bottleneck=one.bottleneck,
        destination_access=one.destination_access,
    )  # fmt: skip
    network = dataclasses.replace(one, topology="two-paths", further_paths=(second,))
    collect = dataclasses.replace(cell.collect, pcap=pcap)
    lab = {**cell.lab, "kernel": "7.3"}
    return dataclasses.replace(cell, network=network, collect=collect, lab=lab)


@pytest.mark.parametrize("name", ["virtual", "stock"])
def test_two_paths_run_where_a_kernel_is_booted_and_are_captured(name: str) -> None:
    kind = registry.named(name)
    both = two_paths(pcap=True)
    alone = dataclasses.replace(both, network=both.wired.paths()[0])
    of_one, of_both = (kind.limits(cell) for cell in (alone, both))
    # Twice as many packets can come by as on one path.
    assert of_both.wall_s > of_one.wall_s


def test_nothing_happens_to_links_in_real_time() -> None:
    cell = dataclasses.replace(wireless_cell(), events=(CUT,))
    with pytest.raises(UnsupportedError, match=r"host lab.*event cut.*LAB=virtual"):
        registry.named("host").limits(cell)
    assert registry.named("virtual").limits(cell).virtual_s > 0


def test_the_remote_lab_has_one_path() -> None:
    with pytest.raises(UnsupportedError, match=r"remote lab has one path.*two-paths"):
        registry.named("remote").limits(two_paths())


def test_a_cell_with_neither_is_refused_by_nobody() -> None:
    cell = dataclasses.replace(wireless_cell(), collect=two_paths(pcap=True).collect)
    paths_and_events.check_events(cell, "host")
    paths_and_events.check_paths(cell, "remote")


def test_ns2_names_what_it_cannot_have() -> None:
    cell = dataclasses.replace(two_paths(), events=(CUT,))
    flow = dataclasses.replace(cell.flows[1], paths=SctpPaths(path_max_retrans=3))
    cell = dataclasses.replace(cell, flows=(cell.flows[0], flow))
    found = [what for what, _ in settings.problems(cell)]
    assert {"topology two-paths", "event cut"} <= set(found)
    assert f"flow {flow.id}: settings of SCTP's paths" in found


@pytest.mark.parametrize("name", ["host", "remote", "stock"])
def test_queues_are_managed_in_the_virtual_lab_alone(name: str) -> None:
    codel = dataclasses.replace(FIFO, kind="codel", target_s=0.005, interval_s=0.1)
    cell = with_bottleneck(wireless_cell(), "reverse", discipline=codel)
    with pytest.raises(UnsupportedError, match=rf"{name} lab do not manage.*codel.*LAB=virtual"):
        registry.named(name).limits(cell)
    with pytest.raises(UnsupportedError, match=r"queue_discipline codel"):
        settings.check(cell)
    assert registry.named("virtual").limits(cell).virtual_s > 0


@pytest.mark.parametrize("name", ["host", "stock"])
def test_links_beyond_a_gigabit_are_of_the_virtual_lab_alone(name: str) -> None:
    cell = with_bottleneck(wireless_cell(), "reverse", rate_bps=2_500_000_000)
    with pytest.raises(UnsupportedError, match=rf"{name} lab carry at most 1 Gbit/s.*2.5 Gbit/s"):
        registry.named(name).limits(cell)
    assert registry.named("virtual").limits(cell).virtual_s > 0
    paths_and_events.check_rates(wireless_cell(), name)
    faster = dataclasses.replace(CUT, state="", rate_bps=2_000_000_000)
    later = dataclasses.replace(wireless_cell(), events=(CUT, faster))
    with pytest.raises(UnsupportedError, match=rf"{name} lab carry at most 1 Gbit/s.*2 Gbit/s"):
        paths_and_events.check_rates(later, name)
