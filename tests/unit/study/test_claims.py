"""Claims in a study file: what is refused and where, and what each form comes to."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.run_files.metrics.every import metric_names
from testbed.planning.findings import find
from testbed.planning.plan import make_plan
from testbed.planning.resolved import resolved_json
from testbed.points.load_study import Study
from tests.support.study_file import SWEEP, UNPUBLISHED, edited, study
from tests.unit.study.test_fuzz import use

HEAD = "claims:\n  - id: one\n    text: It is so.\n    where: Section 4\n"
LOSSES = [0.008, 0.009, 0.01, 0.015, 0.02, 0.025, 0.03]


def claimed(*lines: str, head: str = HEAD) -> tuple[str, str]:
    """Return the edit that adds a claim with these lines."""
    text = head + "".join(f"    {line}\n" for line in lines)
    return ("assumptions:", f"{text}assumptions:")


def records(loaded: Study) -> list[dict[str, Any]]:
    plan = make_plan(loaded, seeds=(1,), lab={"name": "virtual"})
    found = json.loads(resolved_json(plan, find(loaded, seeds=(1,))))["claims"]
    assert isinstance(found, list)
    return found


def comparisons(*lines: str) -> list[dict[str, Any]]:
    (claim,) = records(study(claimed(*lines)))
    found: list[dict[str, Any]] = claim["comparisons"]
    return found


def one(loss: float, **kwargs: Any) -> dict[str, Any]:
    metric = kwargs.pop("metric", "pct_increase")
    versus = kwargs.pop("versus", None)
    if versus is not None:
        versus = {"metric": versus[0], "point": {"loss_frac": versus[1]}}
    quotient = (
        ["goodput_S_bps", "goodput_T_bps"] if metric == "pct_increase" and not versus else None
    )
    wanted = {"relative": False, "per": None, "low": None, "high": None, "strict": False, **kwargs}
    wanted["quotient"] = quotient
    return {"metric": metric, "point": {"loss_frac": loss}, "versus": versus, **wanted}


def test_a_bound_holds_at_every_point_or_at_some() -> None:
    found = comparisons("metric: pct_increase", "is: {above: 0}")
    assert found == [one(loss, low=0, strict=True) for loss in LOSSES]
    found = comparisons(
        "metric: pct_increase", "at: {network.bottleneck.loss.data: 1 %}", "is: {at_most: 27.6}"
    )
    assert found == [one(0.01, high=27.6)]
    found = comparisons(
        "metrics: [utilisation_pct, share_S_pct]",
        "at: {network.bottleneck.loss.data: [2 %, 1 %]}",
        "is: {between: [14.9, 30.6]}",
    )
    assert found == [
        one(loss, metric=metric, low=14.9, high=30.6)
        for metric in ("utilisation_pct", "share_S_pct")
        for loss in (0.01, 0.02)
    ]


def test_versus_another_metric_and_another_point() -> None:
    at = "at: {network.bottleneck.loss.data: 1 %}"
    found = comparisons(
        "metric: cwnd_mean_S_segments", at, "versus: {metric: cwnd_mean_T_segments}",
        "relative: true", "is: {equal_within: 5}",
    )  # fmt: skip
    s, t = "cwnd_mean_S_segments", "cwnd_mean_T_segments"
    assert found == [one(0.01, metric=s, versus=(t, 0.01), relative=True, low=-5, high=5)]
    found = comparisons(
        "metric: utilisation_pct", at, "versus: {at: {network.bottleneck.loss.data: 2 %}}",
        "is: {at_least: 1}",
    )  # fmt: skip
    wanted = one(0.01, metric="utilisation_pct", versus=("utilisation_pct", 0.02), low=1)
    assert found == [wanted]
    found = comparisons(
        "metrics: [goodput_S_bps, share_S_pct]", at,
        "versus: {metrics: [goodput_T_bps, share_T_pct]}", "is: {below: 0}",
    )  # fmt: skip
    assert found == [
        one(0.01, metric=f"{name}_S_{unit}", versus=(f"{name}_T_{unit}", 0.01), high=0, strict=True)
        for name, unit in (("goodput", "bps"), ("share", "pct"))
    ]


def test_a_difference_per_that_of_another_metric() -> None:
    s, other = "goodput_S_bps", "goodput_T_bps"
    found = comparisons(
        f"metric: {s}", "at: {network.bottleneck.loss.data: 2 %}",
        "versus: {at: {network.bottleneck.loss.data: 1 %}}", f"per: {other}",
        "is: {between: [-2, -0.5]}",
    )  # fmt: skip
    assert found == [one(0.02, metric=s, versus=(s, 0.01), per=other, low=-2, high=-0.5)]


def test_each_other_point_against_one() -> None:
    found = comparisons(
        "metric: pct_increase", "each: [points]",
        "versus: {at: {network.bottleneck.loss.data: 1 %}}", "is: {below: 0}",
    )  # fmt: skip
    assert found == [
        one(loss, versus=("pct_increase", 0.01), high=0, strict=True)
        for loss in LOSSES
        if loss != 0.01
    ]


def test_a_trend_is_each_step_and_a_peak_is_above_the_others() -> None:
    found = comparisons(
        "metric: utilisation_pct", "along: network.bottleneck.loss.data", "is: falling"
    )
    assert found == [
        one(
            after, metric="utilisation_pct", versus=("utilisation_pct", before), high=0, strict=True
        )
        for before, after in itertools.pairwise(LOSSES)
    ]
    found = comparisons(
        "metric: pct_increase", "along: network.bottleneck.loss.data", "is: {peak: 1 %}",
    )  # fmt: skip
    assert found == [
        one(0.01, versus=("pct_increase", loss), low=0, strict=True)
        for loss in LOSSES
        if loss != 0.01
    ]


def test_a_trend_goes_by_number_within_the_other_settings() -> None:
    two = "  network.bottleneck.loss.data: [2 %, 0.8 %]\n  duration: [10 s, 20 s]\n"
    (claim,) = records(
        study(
            UNPUBLISHED,
            (SWEEP, two),
            claimed("metric: utilisation_pct", "along: network.bottleneck.loss.data", "is: rising"),
        )
    )
    steps = [(step["point"], step["versus"]["point"], step["low"]) for step in claim["comparisons"]]
    assert steps == [
        ({"loss_frac": 0.02, "duration_s": s}, {"loss_frac": 0.008, "duration_s": s}, 0)
        for s in (10, 20)
    ]


def test_an_untested_claim_says_why() -> None:
    (claim,) = records(study(claimed("untested: It is a cause.")))
    assert claim == {
        "id": "one", "text": "It is so.", "where": "Section 4", "untested": "It is a cause.",
        "left_out": None, "suspects": [], "comparisons": [],
    }  # fmt: skip


EVERY = HEAD.replace("It is so.", "It is so at every loss rate.")
AT_ONE = "at: {network.bottleneck.loss.data: 1 %}"


@pytest.mark.parametrize(
    "lines",
    [
        ("each: [points]", "metric: pct_increase", "is: {above: 0}"),
        ("each: [metrics, losses]", AT_ONE, "is: {at_least: 0.9}",
         "metrics: [sends_on_dupack_1_S_frac, sends_on_dupack_2_S_frac]"),
    ],
)  # fmt: skip
def test_what_is_said_of_each_and_judged_of_each(lines: tuple[str, ...]) -> None:
    assert study(claimed(*lines, head=EVERY)).settings.claims[0].each


def test_at_all_is_not_all() -> None:
    assert comparisons("metric: pct_increase", "is: {above: 0}") == records(
        study(claimed("metric: pct_increase", "is: {above: 0}",
                      head=HEAD.replace("It is so.", "It is so at all.")))
    )[0]["comparisons"]  # fmt: skip


BODY = ("metric: pct_increase", "is: {above: 0}")


def test_suspects_are_what_the_hosts_do_not_set_exactly() -> None:
    (claim,) = study(claimed(*BODY, "suspects: [SCTP fast retransmit]")).settings.claims
    assert claim.suspects == ("SCTP fast retransmit",)


METRICS = st.sampled_from([*metric_names(["T", "S"]), "speed"])
NUMBERS = st.one_of(st.integers(), st.floats(), st.text(max_size=3))
PATHS = st.sampled_from(["network.bottleneck.loss.data", "duration", "x"])
VALUES = st.one_of(st.sampled_from(["1 %", "2 %", "9 %"]), st.integers(), st.none())
ATS = st.dictionaries(PATHS, VALUES | st.lists(VALUES, max_size=2), max_size=2)
CLAIMS = st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b", "C"]), "text": st.just("x"), "where": st.just("y")},
    optional={
        "metric": METRICS,
        "metrics": st.lists(METRICS, max_size=2),
        "at": ATS,
        "versus": st.fixed_dictionaries(
            {}, optional={"metric": METRICS, "metrics": st.lists(METRICS, max_size=2), "at": ATS}
        ),
        "relative": st.booleans(),
        "along": PATHS,
        "untested": st.just("so"),
        "is": st.sampled_from(["falling", "rising", "flat"])
        | st.dictionaries(
            st.sampled_from(["above", "below", "at_least", "between", "equal_within", "peak"]),
            NUMBERS | st.lists(NUMBERS, max_size=3) | VALUES,
            max_size=2,
        ),
    },
)


@given(st.lists(CLAIMS, max_size=2))
def test_any_claims_are_read_or_refused(claims: list[dict[str, Any]]) -> None:
    use(edited(("assumptions:", f"claims: {json.dumps(claims)}\nassumptions:")))
