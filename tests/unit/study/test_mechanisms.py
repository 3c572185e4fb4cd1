"""Mechanisms of a study's hosts as published: what changes of it, and nothing else does."""

from __future__ import annotations

import json

import pytest

from model.errors import StudyError
from testbed.planning.findings import find
from testbed.planning.plan import make_plan
from testbed.planning.resolved import resolved_json
from testbed.points.load_study import Study, load_study
from testbed.points.mechanisms import chosen, idle, with_mechanisms
from testbed.points.resolve import resolve_cell
from testbed.points.some_points import only_at
from tests.support.study_file import STUDIES, study

HYPOTHESES = """\
hypotheses:
  - id: fourth
    text: On the 4th; the kernel on the 3rd.
    restores: SCTP fast retransmit
    patch: sctp-4th-duplicate
  - id: delayed
    text: Every second packet is acknowledged.
    restores: No delayed acknowledgements
    sctp_socket: {sack_freq_packets: 2}
  - id: same
    text: As it is.
    restores: No delayed acknowledgements
    sctp_socket: {sack_freq_packets: 1}
claims:
  - {id: why, text: It is why., where: Section 4, untested: It is judged by turning it.}
explanations:
  - claim: why
    by: [fourth]
    metric: pct_increase
    measure: share
    at: {network.bottleneck.loss.data: [1 %, 3 %]}
    is: {at_least: 50}
"""


@pytest.fixture
def given() -> Study:
    return study(("assumptions:", f"{HYPOTHESES}assumptions:"))


def restored(given: Study, *names: str) -> Study:
    return with_mechanisms(given, chosen(given, names))


def test_a_patch_is_in_the_name_of_every_kernel_and_in_the_ledger(given: Study) -> None:
    changed = restored(given, "fourth")
    for point in given.points:
        assert changed.kernel_at(point) == f"{given.kernel_at(point)}+sctp-4th-duplicate"
    (entry,) = (
        one for one in changed.profiles["paper"].profile.entries
        if one.parameter == "SCTP fast retransmit"
    )  # fmt: skip
    assert entry.fidelity == "approximated"
    assert entry.note == (
        "As published in this run, by the kernel's patch sctp-4th-duplicate: On the 4th; the "
        "kernel on the 3rd."
    )
    assert restored(restored(given, "fourth"), "fourth").patches == ("sctp-4th-duplicate",)


def test_a_setting_takes_the_place_of_the_profiles(given: Study) -> None:
    point = given.points[0]
    before, after = (
        resolve_cell(one, point, seed=1, replicate=1, lab={"kernel": "k"})
        for one in (given, restored(given, "delayed"))
    )

    def settings(cell_hosts: object) -> list[tuple[str, str, str]]:
        return [
            (knob.kind, knob.name, knob.value)
            for entry in cell_hosts.entries  # type: ignore[attr-defined]
            for knob in entry.knobs
        ]

    was, now = settings(before.hosts), settings(after.hosts)
    assert ("sctp_socket", "sack_freq_packets", "1") in was
    assert set(was) ^ set(now) == {
        ("sctp_socket", "sack_freq_packets", "1"), ("sctp_socket", "sack_freq_packets", "2"),
    }  # fmt: skip
    assert (before.seed, before.network, before.flows) == (after.seed, after.network, after.flows)
    assert restored(given, "delayed").kernel_at(point) == given.kernel_at(point)


def test_what_changes_nothing_is_known(given: Study) -> None:
    by = {one.id: idle(given, one) for one in chosen(given, ())}
    assert by == {"fourth": "", "delayed": "", "same": "the hosts are so already"}
    other = load_study(STUDIES / "wireless.yaml", hosts="stock")
    whys = {idle(other, one) for one in chosen(other, ())}
    assert all(why.startswith("the hosts have no parameter '") for why in whys)


def test_hypotheses_are_chosen_by_name(given: Study) -> None:
    assert [one.id for one in chosen(given, ["delayed", "fourth"])] == ["fourth", "delayed"]
    with pytest.raises(StudyError, match=r"no such hypothesis: .*got fifth"):
        chosen(given, ["fifth"])
    with pytest.raises(StudyError, match="nothing to explain by"):
        chosen(study(), ())


def test_the_run_folder_says_which_are_in_force(given: Study) -> None:
    changed = restored(only_at(given, ["loss=1%"]), "fourth", "delayed")
    plan = make_plan(changed, seeds=(1,), lab={"name": "virtual"})
    found = json.loads(resolved_json(plan, find(changed, seeds=(1,))))
    assert found["mechanisms"] == ["fourth", "delayed"]
    assert [one["how"] for one in found["hypotheses"]] == [
        "the kernel's patch sctp-4th-duplicate", "sack_freq_packets 2", "sack_freq_packets 1",
    ]  # fmt: skip
    (one,) = found["explanations"]
    assert [point["loss_frac"] for point in one["points"]] == [0.01]
    assert (one["low"], one["high"], one["strict"]) == (50.0, None, False)
    assert found["title"].endswith(
        "(1 of 7 points, kernel with sctp-4th-duplicate, hosts with delayed)"
    )


@pytest.mark.parametrize("name", ["wireless", "satellite"])
def test_the_projects_hypotheses_all_change_its_hosts(name: str) -> None:
    read = load_study(STUDIES / f"{name}.yaml")
    assert len(chosen(read, ())) == 7
    assert not any(idle(read, one) for one in chosen(read, ()))
    patches = {one.patch for one in chosen(read, ())}
    assert set(with_mechanisms(read, chosen(read, ())).patches) == patches
