"""Which kernel each cell runs on: its point's, or its hosts'; from the study file to the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.errors import StudyError
from testbed.command.runs import plan_costs
from testbed.labs.virtual import costs
from testbed.planning.findings import find
from testbed.planning.plan import Plan, calibrated_points, make_plan
from testbed.points import load_study as load
from testbed.points.load_study import Study, kernels_of_hosts, load_study
from testbed.study.vocabulary import DEFAULT_KERNEL
from testbed.study.yaml_document import parse_document
from tests.support.study_file import HOSTS, SWEEP, UNPUBLISHED, Edit, edited, study
from tests.unit.study.test_variations import with_alternatives

OLD: Edit = (
    "hosts: paper\n",
    """hosts: old
profiles:
  old:
    title: Of an older time
    kernel: "6.12"
    entries:
      - parameter: no memory
        fidelity: exact
        sysctl: {net.ipv4.tcp_no_metrics_save: 1}
""",
)
AT = "at: {network.bottleneck.loss.data: 1 %}"
NEWER = with_alternatives('alternatives: [{kernel: "7.3"}]', AT)


def given(text: str, kernel: str, hosts: str = "") -> Study:
    """Return a study for which the command line named a kernel, or hosts."""
    return load.study_from(parse_document(text, "w.yaml"), [HOSTS], kernel=kernel, hosts=hosts)


def plan(loaded: Study, **options: Any) -> Plan:
    return make_plan(loaded, seeds=(1, 2), lab={"name": "virtual"}, **options)


def kernels(planned: Plan) -> list[str]:
    """Return the kernels of the cells in order, repeats in a row once."""
    found = [entry.cell.lab["kernel"] for entry in planned.cells]
    return [one for i, one in enumerate(found) if i == 0 or found[i - 1] != one]


def test_hosts_that_name_none_get_the_default() -> None:
    loaded = study()
    assert {loaded.kernel_at(point) for point in loaded.points} == {DEFAULT_KERNEL}
    assert kernels(plan(loaded)) == [DEFAULT_KERNEL]


def test_hosts_name_the_kernel_that_imitates_them_and_each_cell_has_its_lab() -> None:
    labs = {"6.12": {"kernel": "6.12", "kernel_digest": "a"}}
    planned = plan(study(OLD), of_kernel=labs.__getitem__)
    assert {str(entry.cell.lab) for entry in planned.cells} == {
        "{'name': 'virtual', 'kernel': '6.12', 'kernel_digest': 'a'}"
    }
    assert planned.kernels == ("6.12",)
    assert {entry.id for entry in planned.cells}.isdisjoint(
        entry.id for entry in plan(given(edited(OLD), "7.3")).cells
    )


def test_a_study_may_name_its_kernel_itself_and_sweep_it() -> None:
    assert plan(study(OLD, ("hosts: old\n", 'hosts: old\nkernel: "7.3"\n'))).kernels == ("7.3",)
    swept = study(UNPUBLISHED, OLD, (SWEEP, '  kernel: ["6.12", "7.3"]\n'))
    assert [point.values for point in swept.points] == [{"kernel": "6.12"}, {"kernel": "7.3"}]
    found = [entry.cell.lab["kernel"] for entry in plan(swept).cells]
    assert found[:2] == ["6.12", "7.3"]  # calibrations; of each seed the points are drawn anew
    assert [sorted(found[i : i + 2]) for i in (2, 4)] == [["6.12", "7.3"]] * 2
    assert len(found) == 6
    assert calibrated_points(swept) == (0, 1)


def test_another_kernel_is_an_alternative_with_a_calibration_of_its_own() -> None:
    loaded = study(OLD, NEWER)
    (variation,) = loaded.variations
    assert (variation.words, variation.settings) == ("kernel 7.3", {"kernel": "7.3"})
    assert (variation.of, variation.points) == ((2,), (7,))
    planned = plan(loaded)
    assert kernels(planned) == ["6.12", "7.3"]
    assert [entry.cell.purpose for entry in planned.of_variations] == [
        "calibrate",
        "measure",
        "measure",
    ]
    assert calibrated_points(loaded)[7] == 7
    assert plan_costs.kernels_line(planned) == "kernel 6.12; sensitivity to it: 7.3"
    # The network is the same: on the same kernel it is not calibrated again.
    same = study(OLD, with_alternatives("alternatives: [{duration: 900 s}]", AT))
    assert calibrated_points(same)[7] == 2


def test_only_a_run_with_sensitivity_needs_the_other_kernel() -> None:
    assert plan(study(OLD, NEWER), sensitivity=False).kernels == ("6.12",)


def test_hosts_as_an_alternative_bring_their_kernel() -> None:
    loaded = study(OLD, with_alternatives("alternatives: [{hosts: paper}]", AT))
    assert plan(loaded).kernels == ("6.12", DEFAULT_KERNEL)


def test_the_command_line_has_the_last_word_and_names_the_only_kernel() -> None:
    text = edited(OLD, NEWER)
    for version in ("6.12", "7.3", "6.18"):
        loaded = given(text, version)
        assert plan(loaded).kernels == (version,)
        assert loaded.alternatives.ruled_out == ("kernel 7.3",)
        assert loaded.variations == ()
    # Of other hosts it is not the study's to say which kernel stands for them.
    loaded = given(text, "", hosts="paper")
    assert plan(loaded).kernels == (DEFAULT_KERNEL,)
    assert loaded.alternatives.ruled_out == ("kernel 7.3",)
    text = edited(UNPUBLISHED, (SWEEP, '  kernel: ["6.12", "7.3"]\n'))
    with pytest.raises(StudyError, match="kernel given on the command line, yet the study sweeps"):
        given(text, "7.3")


def test_a_run_on_another_kernel_than_the_hosts_best_says_so() -> None:
    def said(loaded: Study) -> list[str]:
        found = find(loaded, seeds=(1, 2)).warnings
        return [finding.text for finding in found if finding.rule == "another-kernel"]

    assert said(study(OLD)) == said(given(edited(OLD), "6.12")) == said(study()) == []
    (told,) = said(given(edited(OLD), "7.3"))
    assert told == (
        "host profile 'old' names kernel 6.12 as the one that stands for its hosts best; "
        "the study runs on 7.3"
    )
    swept = study(UNPUBLISHED, OLD, (SWEEP, '  kernel: ["6.12", "7.3"]\n'))
    assert said(swept) == [f"{told} (at 1 of 2 points; these numbers: kernel=7.3)"]


def test_what_the_projects_own_hosts_need(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "a.yaml").write_text('title: a\nkernel: "6.12"\n')
    (tmp_path / "b.yaml").write_text("title: b\n")
    monkeypatch.setattr(load, "HOSTS_FOLDER", tmp_path)
    assert kernels_of_hosts() == (DEFAULT_KERNEL, "6.12")


def test_the_published_hosts_run_on_a_kernel_that_counts_duplicates() -> None:
    path = load.STUDIES_FOLDER / "wireless.yaml"
    loaded = load_study(path)
    assert {loaded.kernel_at(point) for point in loaded.points} == {"6.12"}
    assert plan(loaded).kernels == ("6.12", "7.3")


def test_what_building_takes() -> None:
    assert costs.build_line(["6.12"], image=False) == "first built, once, about 4 min: kernel 6.12"
    assert costs.build_line(["6.12", "7.3"], image=True) == (
        "first built, once, about 10 min: lab image, kernel 6.12, kernel 7.3"
    )
