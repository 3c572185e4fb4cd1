"""The ns2 lab as known before and after it is made: identity, command line, plans, refusals."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from model import run_folder
from model.errors import RunError, StudyError, UnsupportedError
from model.links import Loss
from testbed.command.runs import plans, simulators
from testbed.labs import registry
from testbed.labs.booted import unpacked
from testbed.labs.contract import accept
from testbed.labs.ns2 import ns2_lab, tree
from testbed.labs.ns2.kind import NS2
from tests.support.recorded import with_bottleneck
from tests.support.simulators.ns2 import leave, ns2_cell

LOG = """I: extracting archives...
gcc-14-base_14.2.0-19_amd64.deb
libaudit1_1%3a4.0.2-2+deb13u1_amd64.deb
ns2_2.35+dfsg-9_amd64.deb
tzdata_2026f-0+deb13u1_all.deb
partial
I: creating tarball...
"""


def choices(**changes: object) -> plans.Choices:
    made = plans.Choices(
        reps=2, lab="ns2", kernel=NS2.kernel_instead(""), jobs=None, hosts="", pcap=False,
        telemetry=True,
    )  # fmt: skip
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def test_versions_are_those_of_the_packages_files() -> None:
    assert unpacked.fetched(LOG) == {
        "gcc-14-base": "14.2.0-19", "libaudit1": "1:4.0.2-2+deb13u1", "ns2": "2.35+dfsg-9",
        "tzdata": "2026f-0+deb13u1",
    }  # fmt: skip


def test_it_is_a_lab_whose_kernels_are_profiles() -> None:
    assert registry.named("ns2") is NS2
    assert NS2.kernel_instead("") == "2.35-era2001"
    assert NS2.kernel_instead("ns235") == "2.35-ns235"
    with pytest.raises(StudyError, match="era2001 or ns235"):
        NS2.check_offered(["6.12"])


def test_a_plan_has_no_calibrations_and_says_what_is_not_tried() -> None:
    made, findings = plans.make_plan("wireless", choices())
    assert {planned.cell.purpose for planned in made.cells} == {"measure"}
    assert len(made.cells) == 14
    assert {planned.cell.lab["kernel"] for planned in made.cells} == {"2.35-era2001"}
    # Another kernel is none of ns-2's, and it does not lose equally many.
    assert len(made.study.alternatives.ruled_out) == 2
    assert any("equal_drops" in words for words in made.study.alternatives.ruled_out)
    assert "another-kernel" not in {finding.rule for finding in findings.warnings}


def test_alternatives_it_can_run_are_tried() -> None:
    made, _ = plans.make_plan("wired", choices())
    tried = {point.settings.network.links()[1].queue_pkts for point in made.study.all_points}
    assert len(made.study.variations) == 2
    assert len(tried) == 3


def test_a_point_of_the_study_itself_is_refused_by_name() -> None:
    cell = with_bottleneck(ns2_cell(), loss=Loss(model="paired", loss_frac=0.01))
    with pytest.raises(UnsupportedError, match="bottleneck forward loss paired"):
        NS2.limits(cell)


def test_a_cell_is_confined_to_its_folder(tmp_path: Path) -> None:
    lab = ns2_lab.Ns2Lab(root=tmp_path / "root", code=tmp_path / "code")
    line = lab.command(tmp_path / "cell")
    text = " ".join(line)
    assert f"--bind {tmp_path / 'cell'} /cell" in text
    assert f"--ro-bind {tmp_path / 'root'} /" in text
    assert text.count("--bind") == 1
    assert "--share-net" not in line
    assert f"--as={ns2_lab.MEMORY_BYTES}" in line
    assert line[-4:] == [
        "/cell/raw/ns2/settings.txt", "/cell/raw/ns2/trace.gz", "/cell/raw/ns2/windows.gz",
        "/cell/raw/ns2/read_back.txt",
    ]  # fmt: skip


def test_its_root_is_decided_by_the_packages() -> None:
    assert "ns2" in tree.PACKAGES
    assert len(tree.key()) == 16


def test_only_what_ns2_leaves_is_taken_over(tmp_path: Path) -> None:
    cell, guest = ns2_cell(), tmp_path / ".guest"
    leave(guest)
    accept.take(guest, tmp_path, cell)
    assert (tmp_path / run_folder.NS2_TRACE).is_file()
    (tmp_path / "other" / "raw").mkdir(parents=True)
    (tmp_path / "other" / "raw" / "epoch.json").write_text("{}")
    with pytest.raises(RunError, match="no such name"):
        accept.take(tmp_path / "other", tmp_path, cell)


@pytest.mark.parametrize(
    ("asked", "lab", "why"),
    [("ns3", "virtual", "no such simulator"), ("virtual", "virtual", "no such simulator"),
     ("ns2", "ns2", "beside itself"), ("ns2:6.12", "virtual", "no such profile")],
)  # fmt: skip
def test_a_simulator_that_is_none_is_refused(asked: str, lab: str, why: str) -> None:
    with pytest.raises(StudyError, match=why):
        simulators.chosen(choices(simulator=asked, lab=lab))


def test_a_simulators_run_is_of_the_studys_own_points() -> None:
    its = simulators.chosen(choices(simulator="ns2:ns235", lab="virtual", kernel="7.3", jobs=7))
    assert (its.lab, its.kernel, its.sensitivity) == ("ns2", "2.35-ns235", False)
    assert (its.reps, its.simulator) == (2, "")
