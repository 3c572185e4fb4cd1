"""Networks of radios: who runs them and on which kernel, what they may take, what they leave."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

import pytest

from model import run_folder
from model.cell import Cell, Limits
from model.errors import StudyError, UnsupportedError
from simulators.ns2 import settings
from testbed.guest.radio import places as radio_places
from testbed.labs import registry
from testbed.labs.booted import time_limits
from testbed.labs.booted.booting import Boot
from testbed.labs.confinement import allowance
from testbed.labs.contract import accept, paths_and_events
from testbed.labs.virtual import costs, kernel, patched_kernel
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.planning.plan import make_plan, virtual_s
from testbed.study import kernel_names
from tests.support.ad_hoc_study import cell, cells, study
from tests.support.recorded import wireless_cell

PATCH, LATER_PATCH, OWN = "sctp-4th-duplicate", "tcp-no-limited-transmit", "my-fix-1a2b3c4d"
TWO_NODES = (("pairs: 2", "pairs: 1"), ("nodes: 6", "nodes: 2"), ("pair: 2", "pair: 1"))


@pytest.mark.parametrize("name", ["host", "stock", "remote"])
def test_labs_without_radios_say_so(name: str) -> None:
    with pytest.raises(
        UnsupportedError,
        match=rf"^radios at .*: the {name} lab has no radios: got topology ad-hoc \(LAB=virtual",
    ):
        registry.named(name).limits(cell())


def test_ns2_says_so() -> None:
    found = dict(settings.problems(cell()))
    assert found["topology ad-hoc"] == "a dumbbell"
    profile = registry.named("ns2").kernel_instead("")
    (planned, *_) = make_plan(
        study(), seeds=(1,), lab={"name": "ns2"}, of_kernel=lambda _: {"kernel": f"{profile}+radio"}
    ).cells
    with pytest.raises(UnsupportedError, match=r"the ns2 lab has no radios: got topology ad-hoc"):
        registry.named("ns2").limits(planned.cell)


def test_the_virtual_lab_runs_it() -> None:
    assert registry.named("virtual").limits(cell()).virtual_s > 0
    paths_and_events.check_links(wireless_cell(), "host")
    with pytest.raises(UnsupportedError, match="the host lab has no radios"):
        paths_and_events.check_paths(cell(), "host")


def test_a_study_of_radios_is_run_on_a_kernel_that_has_them() -> None:
    made = study()
    assert made.kernel_at(made.points[0]) == "6.12+radio"


def test_a_study_that_babel_routes_is_run_on_a_kernel_that_has_ipv6_besides() -> None:
    swept = ("flows.main.protocol: [tcp]", "network.routing.protocol: [aodv, batman-adv, babel]")
    made = study(swept)
    kernels = [made.kernel_at(point) for point in made.points]
    assert kernels == ["6.12+radio", "6.12+radio", "6.12+ipv6+radio"]
    patched = study(swept, ('kernel: "6.12"', f'kernel: "6.12+{PATCH}"'))
    assert patched.kernel_at(patched.points[2]) == f"6.12+ipv6+radio+{PATCH}"


def test_radios_in_a_kernels_name() -> None:
    assert kernel_names.has_radios("6.12+radio")
    assert kernel_names.has_radios(f"6.12+radio+{PATCH}")
    for name in ("6.12", f"6.12+{PATCH}", "radio", "6.12-radio", "6.12+radios"):
        assert not kernel_names.has_radios(name), name
    assert kernel_names.options("6.12+radio+ipv6") == ("ipv6", "radio")
    assert kernel_names.options(f"6.12+{PATCH}") == ()
    assert not kernel_names.is_own("radio")
    assert not kernel_names.of_own_source("6.12+radio")
    found = kernel_names.read("6.12+radio")
    assert found is not None
    assert (found.version, found.text) == ("6.12", "6.12+radio")


@pytest.mark.parametrize(
    ("name", "patches", "wanted"),
    [
        ("6.12", ["radio"], "6.12+radio"),
        ("6.12+radio", ["radio"], "6.12+radio"),
        ("6.12+radio", [PATCH], f"6.12+radio+{PATCH}"),
        (f"6.12+{LATER_PATCH}", ["radio"], f"6.12+radio+{LATER_PATCH}"),
        ("6.12+radio", [OWN], f"6.12+{OWN}+radio"),
        ("6.12+radio", ["ipv6"], "6.12+ipv6+radio"),
    ],
)
def test_radios_and_patches_in_one_order(name: str, patches: list[str], wanted: str) -> None:
    assert kernel_names.patched(name, patches) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("6.12+radio", "6.12+radio"),
        (f"6.12+{PATCH}+radio", f"6.12+radio+{PATCH}"),
        ("6.1+radio", "6.1+netem-seed+radio"),
        ("6.1+radio+ipv6", "6.1+ipv6+netem-seed+radio"),
        (f"6.1+{LATER_PATCH}+radio+radio", f"6.1+netem-seed+radio+{LATER_PATCH}"),
    ],
)
def test_a_kernel_with_radios_and_what_it_needs(name: str, wanted: str) -> None:
    assert patched_kernel.checked(name) == wanted
    assert patched_kernel.checked(wanted) == wanted
    patched_kernel.check_complete(wanted)
    assert not {"radio", "ipv6"} & set(patched_kernel.parts(wanted)[1])


def test_radios_bring_no_patch_along() -> None:
    with pytest.raises(StudyError, match=r"no kernel 6\.1 as it is"):
        patched_kernel.check_complete("6.1+radio")
    with pytest.raises(StudyError, match=r"no such patch.*got radios"):
        patched_kernel.checked("6.12+radios")
    assert patched_kernel.parts("6.12+radio") == ("6.12", ())


def test_a_kernel_with_radios_is_another() -> None:
    plain, radio = (patched_kernel.key(name, "digest") for name in ("6.12", "6.12+radio"))
    assert radio == patched_kernel.key("6.12", "digest", kernel.RADIOS)
    assert len({plain, radio, patched_kernel.key(f"6.12+radio+{PATCH}", "digest"),
                patched_kernel.key(f"6.12+{PATCH}", "digest"),
                patched_kernel.key("6.12+ipv6+radio", "digest")}) == 5  # fmt: skip


@pytest.mark.parametrize("name", ["6.12+ipv6+radio", "6.12+radio", "6.12"])
def test_no_interface_has_ipv6_until_it_is_asked_for(name: str, tmp_path: Path) -> None:
    made = VirtualLab(image=tmp_path, kernel=tmp_path, code=tmp_path, kernel_version=name)
    boot = Boot(seed=1, limits=Limits(wall_s=1.0, virtual_s=1.0))
    assert ("ipv6.disable_ipv6=1" in made.command(tmp_path, boot)) == ("ipv6" in name)


def test_what_a_cell_may_leave() -> None:
    found = accept.expected(cell())
    for name in ("radios.csv", "movement.csv", "medium.json", "medium.jsonl"):
        assert f"raw/radio/{name}" in found
    assert run_folder.MEDIUM_CAPTURE not in found, "only with --pcap"
    assert run_folder.FRAMES not in found, "only of a calibrating cell"
    for number in range(1, 7):
        for end in ("jsonl", "err", "events.gz"):
            assert f"raw/routing/n{number}.{end}" in found
    assert "raw/routing/n7.err" not in found
    assert {"raw/flows/main.sender.jsonl", "raw/flows/cbr.receiver.err"} <= set(found)
    assert not any(name.startswith("raw/pcap/r") for name in found), "there are no routers"


def test_what_a_cell_may_leave_that_babel_routes() -> None:
    found = accept.expected(cell(("protocol: aodv", "protocol: babel")))
    assert {"raw/routing/n6.jsonl", "raw/routing/n6.err"} <= set(found)
    assert "raw/routing/n6.events.gz" not in found
    measures = cell(("protocol: aodv", "protocol: babel"), purpose="calibrate")
    assert "raw/routing/n6.events.gz" in accept.expected(measures), "AODV routes there"


def test_a_capture_is_the_mediums() -> None:
    (captured,) = cells(pcap=True)
    found = accept.expected(captured)
    # 2000 frames a second at 1700 bytes, as long as the cell may last, and a document.
    assert found[run_folder.MEDIUM_CAPTURE] > 2000 * 1700 * captured.limits.virtual_s
    assert not any(name.startswith("raw/pcap/r") for name in found)


@pytest.mark.parametrize("edits", [(), TWO_NODES])
def test_what_a_calibrating_cell_may_leave_is_of_the_nodes_that_measure(
    edits: tuple[tuple[str, str], ...],
) -> None:
    calibrating = cell(*edits, purpose="calibrate")
    assert calibrating.ad_hoc is not None
    found = accept.expected(calibrating)
    names = radio_places.network(calibrating.ad_hoc).node_names()
    assert len(names) == 6
    for name in names:
        assert f"raw/calibration/{name}.sender.jsonl" in found
        assert f"raw/routing/{name}.events.gz" in found
    assert "raw/calibration.json" in found
    # One sender and a cell of 11 Mbit/s each list 1300 transmissions a second for 24 s, and as
    # many ACKs, in lines of 60 bytes.
    assert found[run_folder.FRAMES] > 10 * 2 * 1300 * 2 * 24 * 60
    assert not any(name.startswith("raw/flows/") for name in found)


def test_what_was_recorded_is_expected(tmp_path: Path) -> None:
    left = {"raw/radio/medium.json", *(f"raw/routing/n{n}.jsonl" for n in range(1, 7))}
    (tmp_path / "raw").mkdir()
    assert left <= set(accept.expected(cell()))


def cell_of(nodes: int, **changes: object) -> Cell:
    return cell(("nodes: 6", f"nodes: {nodes}"), **changes)


def test_time_limits_by_hand() -> None:
    made = cell_of(6)
    found = time_limits.limits(made)
    assert found.virtual_s == made.limits.virtual_s + 10.0  # the warm-up
    # 2 s for each node, 10 ms for each of 1000 frames a second
    assert found.wall_s == pytest.approx(made.limits.wall_s + 2.0 * 6 + 10.0 * 20.0)
    more = time_limits.limits(cell_of(46))
    assert more.wall_s - found.wall_s == pytest.approx(80.0)


@pytest.mark.parametrize("purpose", ["measure", "calibrate"])
def test_a_plan_counts_the_warm_up(purpose: Literal["measure", "calibrate"]) -> None:
    """It is there before every run, and nodes send beacons all along."""
    usual, long = (
        dataclasses.replace(cell(("  routing:", f"  warm_up: {s} s\n  routing:")), purpose=purpose)
        for s in (10, 1000)
    )
    assert virtual_s(long) - virtual_s(usual) == 990.0
    assert costs.cell_wall_s(long) - costs.cell_wall_s(usual) == pytest.approx(990 * 0.047)


def test_a_short_study_has_time_to_calibrate() -> None:
    short = cell(("duration: 20 s", "duration: 1 s"), purpose="calibrate")
    measured = dataclasses.replace(short, purpose="measure")
    # The stations of a calibrating cell send for 24 s, however long the study's flows do.
    assert time_limits.limits(short).wall_s >= time_limits.limits(measured).wall_s + 10.0 * 23


@pytest.mark.parametrize(("nodes", "memory_mib"), [(6, 256), (30, 256), (46, 384), (100, 768)])
def test_memory_for_radios_that_have_ipv6(nodes: int, memory_mib: int) -> None:
    asked = cell(("protocol: aodv", "protocol: babel"), ("nodes: 6", f"nodes: {nodes}"))
    assert allowance.of_cell(asked).memory_bytes == memory_mib << 20


def test_an_allowance_for_every_node() -> None:
    few, many = (allowance.of_cell(cell_of(nodes)) for nodes in (6, 100))
    # 94 nodes more: 16 files, 8 processes and 8 open files of each.
    assert many.files - few.files == 94 * 16
    assert many.processes - few.processes == 94 * 8
    assert many.open_files - few.open_files == 94 * 8
    assert many.disk_bytes == few.disk_bytes, "the channel carries as much"
