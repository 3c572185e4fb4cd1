"""Some points of a study alone: the same cells as in the whole, and no verdict by the rest."""

from __future__ import annotations

from typing import Any

import pytest

from model.cell import Cell
from model.errors import StudyError
from model.run_files.study import parse_study as read_resolved
from testbed.planning.findings import find
from testbed.planning.plan import Plan, PlannedCell, calibrated_points, make_plan
from testbed.planning.resolved import resolved, resolved_json
from testbed.points.load_study import STUDIES_FOLDER, Study, load_study
from testbed.points.some_points import only_at, only_of_claim
from tests.support.study_file import SWEEP, UNPUBLISHED, study

WIRELESS = load_study(STUDIES_FOLDER / "wireless.yaml")
SATELLITE = load_study(STUDIES_FOLDER / "satellite.yaml")


def plan(loaded: Study, **options: Any) -> Plan:
    return make_plan(loaded, seeds=(1, 2, 3), lab={"name": "virtual"}, **options)


def cells(loaded: Study, **options: Any) -> dict[str, Cell]:
    return {one.id: one.cell for one in plan(loaded, **options).cells}


def losses(loaded: Study) -> list[object]:
    return [point.values["loss_frac"] for point in loaded.points]


@pytest.mark.parametrize(
    ("whole", "at"),
    [
        (WIRELESS, "loss=1%"),
        (WIRELESS, "loss=2%,3%"),
        (SATELLITE, "rate=0.2Mbit/s"),
        (load_study(STUDIES_FOLDER / "wired.yaml"), "protocol=tcp"),
        (load_study(STUDIES_FOLDER / "anatomy.yaml"), "data_packets=7"),
    ],
)
def test_the_cells_are_those_of_the_whole_study(whole: Study, at: str) -> None:
    some = only_at(whole, [at])
    every = cells(whole)
    kept = {frozenset(point.values.items()) for point in some.points}
    of_base = {id_ for id_, one in every.items() if frozenset(one.point.items()) in kept}
    made = cells(some, sensitivity=False)
    assert made == {id_: every[id_] for id_ in of_base}
    assert 0 < len(made) < len(every)
    # Alternatives of these points too: what they measure is measured in the whole study.
    measured = {id_: one for id_, one in cells(some).items() if one.purpose == "measure"}
    assert measured.items() <= every.items()


def test_settings_and_values_are_called_as_people_do() -> None:
    for at in ("loss=1%", "data=1 %", "network.bottleneck.loss.data=1%", "loss_frac=1.0%"):
        assert losses(only_at(WIRELESS, [at])) == [0.01]
    assert losses(only_at(WIRELESS, ["loss=3%, 1%"])) == [0.01, 0.03]
    assert losses(only_at(WIRELESS, ["loss=3%", "loss=1%"])) == [0.01, 0.03]
    assert only_at(WIRELESS, []) is WIRELESS
    two = only_at(SATELLITE, ["rate=200 kbit/s", "pairs=2,4"])
    assert [(p.values["rate_bps"], p.values["pairs"]) for p in two.points] == [
        (200_000, 2), (200_000, 4),
    ]  # fmt: skip
    assert two.at == ("network.bottleneck.rate=200kbit/s", "network.pairs=2,4")
    swept = study(UNPUBLISHED, (SWEEP, '  kernel: ["6.12", "7.3"]\n'))
    assert [p.values for p in only_at(swept, ["kernel=6.12"]).points] == [{"kernel": "6.12"}]


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("loss", "--at: not a setting and its value: wanted such as loss=1%, got loss"),
        ("loss=", "--at: not a setting and its value"),
        ("los=1%", r"wireless: --at: not swept: wanted network\.bottleneck\.loss\.data, got 'los'"),
        ("loss=5%", "not a value of the sweep: wanted one of 0.8 %, 0.9 %, 1 %.*, got 5%"),
        ("loss=x: [", r"not a value of the sweep: .*, got x: \["),
        ("loss=1", "not a value of the sweep: .*, got 1"),
    ],
)
def test_what_is_no_point_is_refused_with_what_there_is(at: str, told: str) -> None:
    with pytest.raises(StudyError, match=told) as caught:
        only_at(WIRELESS, [at])
    assert caught.value.exit_status == 2


def test_a_name_of_several_settings_and_points_that_are_none() -> None:
    with pytest.raises(StudyError, match=r"several .* wanted one of flows\.T\.copies, flows\.S"):
        only_at(SATELLITE, ["copies=1"])
    with pytest.raises(StudyError, match="satellite: --at: no point of the study: got pairs=2 q"):
        only_at(SATELLITE, ["pairs=2", "queue=160packets"])
    with pytest.raises(StudyError, match="wanted no such option: the study has one point"):
        only_at(study(UNPUBLISHED, (f"sweep:\n{SWEEP}", "")), ["loss=1%"])


def test_a_claim_that_needs_other_points_is_not_judged_and_says_which() -> None:
    some = only_at(WIRELESS, ["loss=1%"])
    findings = find(some, seeds=(1, 2))
    run = read_resolved(resolved_json(plan(some), findings), "resolved.json")
    claims = {claim.id: claim for claim in run.claims}
    ahead = claims["sctp-ahead"]
    assert ahead.comparisons == ()
    assert ahead.left_out == (
        "it needs points that this run leaves out: loss_frac=0.008; loss_frac=0.009; "
        "loss_frac=0.015 and 3 more"
    )
    whole = {claim.id: claim for claim in resolved(plan(WIRELESS), findings).claims}
    judged = [claim for claim in run.claims if claim.comparisons]
    assert judged
    for claim in judged:  # all it needs is here, and nothing of it is missing
        assert claim.comparisons == whole[claim.id].comparisons
        assert {dict(point.settings)["loss_frac"] for point in claim.points} == {0.01}
    assert (run.at, run.points_left_out) == (("network.bottleneck.loss.data=1%",), 6)
    assert run.title.endswith(" (1 of 7 points)")
    assert {row.point for row in run.published.rows} == set(run.points) if run.published else False


def test_what_lies_at_points_stays_with_them() -> None:
    some = only_at(WIRELESS, ["loss=3%"])
    findings = find(some, seeds=(1, 2))
    run = resolved(plan(some), findings)
    (point,) = run.points
    assert [figure.points for figure in run.figures if figure.points] == [(point,)]
    # Captured as in the whole study, and nothing acknowledged is called needless.
    assert {one.cell.collect.pcap for one in plan(some, sensitivity=False).cells} == {True}
    calm = only_at(WIRELESS, ["loss=2%"])
    assert {one.cell.collect.pcap for one in plan(calm, sensitivity=False).cells} == {False}
    for at in ("pairs=2", "pairs=8", "rate=11Mbit/s"):
        found = find(only_at(SATELLITE, [at]), seeds=(1, 2))
        assert [one for one in found.warnings if one.rule == "needless-acknowledgement"] == []


def test_an_alternative_that_is_a_point_left_out_is_run_for_itself() -> None:
    text = "    alternatives: [{network.bottleneck.loss.data: 2 %}]\n"
    at = "    at: {network.bottleneck.loss.data: 1 %}\n"
    assumed = "assumptions:\n  - id: loss\n    text: A loss.\n    why: None is published.\n"
    whole = study(UNPUBLISHED, ("assumptions:\n", f"{assumed}{text}{at}"))
    whole_cells = cells(whole)
    some = only_at(whole, ["loss=1%"])
    (variation,) = (one for one in some.variations if one.assumption == "loss")
    assert (variation.of, len(variation.points)) == ((0,), 1)
    moved = some.all_points[variation.points[0]]
    assert moved.values["loss_frac"] == 0.02
    measured: list[PlannedCell] = [
        one for one in plan(some).of_variations
        if one.cell.purpose == "measure" and one.cell.point == moved.values
    ]  # fmt: skip
    assert len(measured) == 3
    assert {one.id for one in measured} <= whole_cells.keys()
    assert calibrated_points(some)[variation.points[0]] == variation.points[0]
    gone = only_at(whole, ["loss=3%"])
    assert [one for one in gone.variations if one.assumption == "loss"] == []


def claim_alone(whole: Study, id_: str) -> Plan:
    return plan(only_of_claim(whole, id_), sensitivity=False, rounds=(1, 2, 3))


def test_the_points_a_claim_needs_alone() -> None:
    made = claim_alone(WIRELESS, "lost-again-times-out")
    assert losses(made.study) == [0.03]
    every = cells(WIRELESS)
    assert all(every[planned.id] == planned.cell for planned in made.cells)
    # It begins with the first round, and knows the cells of all.
    assert [planned.cell.seed for planned in made.first] == [1, 1]
    assert sorted(planned.cell.seed for planned in made.cells) == [1, 1, 2, 3]
    read = read_resolved(resolved_json(made, find(made.study, seeds=made.seeds)), "resolved.json")
    assert (read.of_claim, read.rounds, read.points_left_out) == (
        "lost-again-times-out", (1, 2, 3), 6
    )  # fmt: skip
    judged = [claim.id for claim in read.claims if claim.comparisons]
    assert "lost-again-times-out" in judged
    assert "peak" not in judged


def test_a_claim_across_points_keeps_all_of_them() -> None:
    peak = only_of_claim(WIRELESS, "peak")
    assert losses(peak) == losses(WIRELESS)
    falls = only_of_claim(only_at(SATELLITE, ["rate=0.2Mbit/s"]), "utilisation-high")
    assert {point.values["rate_bps"] for point in falls.points} == {200_000}


@pytest.mark.parametrize(
    ("whole", "id_", "message"),
    [
        (WIRELESS, "peek", r"no such claim: .*got 'peek' \(did you mean peak\?\)"),
        (only_at(WIRELESS, ["loss=1%"]), "peak", r"cannot be judged: .*loss.data=1%.*leave --at"),
        (study(UNPUBLISHED), "peak", "no such claim: wanted a study with claims"),
    ],
)
def test_claims_that_no_run_can_judge(whole: Study, id_: str, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        only_of_claim(whole, id_)
