"""Verdicts of known runs: what decides, what is corrected, what is missing and says so."""

from __future__ import annotations

import dataclasses

import pytest

from model.run_files.json_file import MisfitError
from model.run_files.publication import Comparison
from reports.verdict.verdicts import Verdict
from tests.support.claims_study import at_loss, claim, comparison, judged

#: 20 runs around 10 % with s = 1: mean 10.
AROUND_10 = [9.0, 11.0] * 10
S = {0.01: [112e3, 108e3, 111e3, 109e3], 0.02: [90e3, 91e3, 92e3, 89e3]}
T = {0.01: [100e3, 101e3, 99e3, 100e3], 0.02: [100e3, 101e3, 99e3, 100e3]}
RUNS = {"goodput_S_bps": S, "goodput_T_bps": T}


def verdict_of(*comparisons: Comparison, **kwargs: object) -> Verdict:
    runs = kwargs.pop("runs", {"utilisation_pct": {0.01: AROUND_10}})
    (found,) = judged([claim(*comparisons)], runs, **kwargs)  # type: ignore[arg-type]
    return found


def test_holds_refuted_and_undecided() -> None:
    assert verdict_of(comparison(low=9)).verdict == "holds"
    assert verdict_of(comparison(low=11)).verdict == "refuted"
    found = verdict_of(comparison(low=9.9))
    assert found.verdict == "undecided"
    # s = sqrt(20 / 19) = 1.02598, s / sqrt 20 = 0.22942: t = 0.1 / 0.22942 = 0.43588, 19 degrees
    assert found.p_holds == pytest.approx(0.3339, abs=1e-4)
    assert found.p_refuted == pytest.approx(1 - 0.3339, abs=1e-4)
    assert found.evidence == (
        "Link utilisation: 10.0 % (95 % CI 9.5 to 10.5); claimed: above 9.9 %."
    )


def test_a_refuted_claim_names_its_suspects_and_no_other_does() -> None:
    runs = {"utilisation_pct": {0.01: AROUND_10}}
    for low, said in ((9.0, ""), (11.0, "Suspects in the hosts' ledger: A; B."), (9.9, "")):
        suspected = dataclasses.replace(claim(comparison(low=low)), suspects=("A", "B"))
        (found,) = judged([suspected], runs)
        assert found.suspected == said
        assert found.suspects == ("A", "B")


def test_the_more_claims_the_surer_each_must_be() -> None:
    # 4 runs 1, 2, 3, 4 above 0: p = 0.01523; of three claims 0.0457, of four 0.0609
    runs = {"utilisation_pct": {0.01: [1.0, 2.0, 3.0, 4.0]}}
    for number, verdict in ((3, "holds"), (4, "undecided")):
        claims = [claim(comparison(low=0), name=str(i)) for i in range(number)]
        found = judged([*claims, claim(name="no", untested="It is a cause.")], runs)
        assert [one.verdict for one in found] == [verdict] * number + ["untested"]
        assert found[0].p_holds == pytest.approx(number * 0.01523, abs=5e-5)


def test_all_comparisons_must_hold_and_one_refutes() -> None:
    both = [comparison("pct_increase", loss, low=0) for loss in (0.01, 0.02)]
    found = verdict_of(*both, runs=RUNS)
    assert [one.verdict for one in found.comparisons] == ["holds", "refuted"]
    assert found.verdict == "refuted"
    assert found.decisive is found.comparisons[1]
    # the refuting one's p, times two comparisons, times one claim
    assert found.p_refuted == pytest.approx(2 * (found.comparisons[1].found.p_outside or 0))
    assert found.evidence.startswith(
        "Increase in goodput of SCTP over TCP SACK at bottleneck loss, data 2 %: -9.5 % (95 % CI "
    )
    assert found.evidence.endswith(
        "); claimed: above 0 % (1 of 2 comparisons is refuted, this the most clearly, 1 holds)."
    )


def test_the_weakest_comparison_is_the_evidence_for_a_claim() -> None:
    values = {"utilisation_pct": {0.01: AROUND_10, 0.02: [x + 5 for x in AROUND_10]}}
    found = verdict_of(comparison(low=9), comparison(loss=0.02, low=9), runs=values)
    assert found.verdict == "holds"
    assert found.evidence == (
        "Link utilisation at bottleneck loss, data 1 %: 10.0 % (95 % CI 9.5 to 10.5); claimed: "
        "above 9 % (all 2 comparisons hold, this the least clearly)."
    )


def test_an_increase_is_judged_as_a_ratio_of_means() -> None:
    found = verdict_of(comparison("pct_increase", 0.01, low=0), runs=RUNS).comparisons[0].found
    assert found.estimate == pytest.approx(10)  # 440 / 400


def test_two_metrics_are_compared_run_by_run() -> None:
    found = verdict_of(
        comparison("goodput_S_bps", 0.01, low=0, versus=("goodput_T_bps", 0.01)), runs=RUNS
    )
    assert found.comparisons[0].found.estimate == 10e3
    assert found.evidence.startswith(
        "Goodput, SCTP minus TCP SACK at bottleneck loss, data 1 %: 10.0 kbit/s (95 % CI "
    )
    found = verdict_of(
        comparison("goodput_S_bps", 0.01, low=-20, high=20, relative=True, strict=False,
                   versus=("goodput_T_bps", 0.01)), runs=RUNS,
    )  # fmt: skip
    assert found.comparisons[0].found.estimate == pytest.approx(10)
    assert "claimed: within 20 % of 0" in found.evidence


def test_two_points_are_compared_by_seed() -> None:
    used = {"utilisation_pct": {0.01: [1.0, 2.0, 3.0, 4.0], 0.02: [3.0, 4.1, 5.0, 6.1]}}
    one = comparison(loss=0.02, low=0, versus=("utilisation_pct", 0.01))
    found = verdict_of(one, runs=used)
    assert found.comparisons[0].found.estimate == pytest.approx(2.05)
    assert found.evidence.startswith(
        "Link utilisation, bottleneck loss, data 2 % minus 1 %: "
        "2.0 percentage points (95 % CI 2.0 to 2.1); claimed: above 0 percentage points"
    )
    # seed 4 does not count at one of the two: three pairs are left
    found = verdict_of(one, runs=used, excluded={(0.01, 4): "a check failed"})
    assert found.comparisons[0].found.n == 3
    gone = {(0.01, seed): "a check failed" for seed in (1, 2)} | {
        (0.02, seed): "a check failed" for seed in (3, 4)
    }
    found = verdict_of(one, runs=used, excluded=gone)
    assert (found.verdict, found.p_holds) == ("undecided", None)
    assert "no two runs have the same seed" in found.evidence


def test_one_difference_per_another_is_taken_by_seed() -> None:
    used = {
        "goodput_S_bps": {0.01: [100e3, 90e3, 95e3, 85e3], 0.02: [80e3, 69e3, 76e3, 65e3]},
        "sack_bandwidth_S_bps": {0.01: [10e3, 9e3, 12e3, 8e3], 0.02: [20e3, 20e3, 21e3, 19e3]},
    }
    one = comparison(
        "goodput_S_bps", 0.01, low=-2.5, high=-1.5, strict=False, versus=("goodput_S_bps", 0.02),
        per="sack_bandwidth_S_bps",
    )  # fmt: skip
    found = verdict_of(one, runs=used)
    # differences: 20, 21, 19, 20 kbit/s, mean 20; of the other: -10, -11, -9, -11, mean -10.25
    assert found.comparisons[0].found.estimate == pytest.approx(-20 / 10.25)
    assert found.verdict == "holds"
    assert found.evidence.startswith(
        "Goodput, SCTP, bottleneck loss, data 1 % minus 2 %: how many times that of "
    )
    assert "claimed: between -2.5 and -1.5" in found.evidence
    lacking = {"sack_bandwidth_S_bps": {0.01: [None] * 4, 0.02: [1.0] * 4}}
    gone = verdict_of(one, runs=used | lacking)
    assert (gone.verdict, gone.p_holds) == ("undecided", None)


def test_what_is_missing_in_one_run_is_not_averaged_over() -> None:
    runs = {"utilisation_pct": {0.01: [*AROUND_10, None]}}
    found = verdict_of(comparison(low=9), runs=runs)
    assert (found.verdict, found.p_holds, found.p_refuted) == ("undecided", None, None)
    assert found.evidence == (
        "Link utilisation: missing in 1 of 21 runs: not captured; claimed: above 9 %."
    )


def test_a_claim_missing_at_one_point_can_still_be_refuted_at_another() -> None:
    runs = {"utilisation_pct": {0.01: [None, None], 0.02: AROUND_10}}
    both = (comparison(low=11), comparison(loss=0.02, low=11))
    assert verdict_of(*both, runs=runs).verdict == "refuted"
    both = (comparison(low=9), comparison(loss=0.02, low=9))
    assert verdict_of(*both, runs=runs).verdict == "undecided"


def test_no_run_and_one_run() -> None:
    excluded = {(0.01, seed): "a check failed" for seed in range(1, 21)}
    found = verdict_of(comparison(low=9), excluded=excluded)
    assert found.verdict == "undecided"
    assert "no run counts" in found.evidence
    found = verdict_of(comparison(low=9), runs={"utilisation_pct": {0.01: [10.0]}})
    assert found.verdict == "undecided"
    assert "10.0 %, one run: no spread can be estimated" in found.evidence


def test_equal_runs() -> None:
    one, equal = comparison(low=9), {"utilisation_pct": {0.01: [10.0] * 8}}
    assert verdict_of(one, runs=equal).verdict == "undecided"  # nothing differs: seeds do nothing
    assert verdict_of(one, runs=equal, chance=False).verdict == "holds"
    differing = equal | {"jain_flows": {0.01: [0.1 * n for n in range(8)]}}
    # One run in ten at nothing would bring the mean down to 9, and stay unseen with 0.9^8 = 43 %.
    assert verdict_of(one, runs=differing).p_holds == pytest.approx(0.9**8)
    found = verdict_of(comparison(low=1), runs=differing)
    assert found.verdict == "holds"
    assert found.p_holds == pytest.approx(0.1**8)
    assert "all 8 runs equal: p = 0.1^8" in found.evidence
    # A packet count has no most, so what eight equal ones show too few is the median.
    found = verdict_of(comparison("dupacks_T_pkts", low=4), runs=differing | {
        "dupacks_T_pkts": {0.01: [3.0] * 8}})  # fmt: skip
    assert (found.verdict, found.p_refuted) == ("refuted", 1 / 256)
    assert "by the sign test, which is about the median" in found.evidence


def test_two_and_two_and_none_is_not_on_each_of_three() -> None:
    """A total of four is more than three; the kernel sends nothing on the third all the same."""
    names = [f"new_data_on_dupack_{k}_S_pkts" for k in (1, 2, 3)]
    runs = {name: {0.01: [count]} for name, count in zip(names, (2.0, 2.0, 0.0), strict=True)}
    each = [comparison(name, low=1, strict=False) for name in names]
    found = verdict_of(*each, runs=runs, chance=False)
    assert found.verdict == "refuted"
    assert "duplicate 3" in found.evidence
    total = {"new_data_on_dupacks_S_pkts": {0.01: [4.0]}}
    one = comparison("new_data_on_dupacks_S_pkts", low=3, strict=False)
    assert verdict_of(one, runs=total, chance=False).verdict == "holds"


def test_a_claim_that_needs_points_left_out_says_so_and_costs_the_others_nothing() -> None:
    runs = {"utilisation_pct": {0.01: AROUND_10}}
    wanted = claim(comparison(low=9))
    gone = dataclasses.replace(wanted, comparisons=(), left_out="it needs points: loss_frac=0.02")
    first, second = judged([claim(comparison(low=9.9)), gone], runs)
    assert (second.verdict, second.evidence) == ("not run", "it needs points: loss_frac=0.02")
    assert first.p_holds == verdict_of(comparison(low=9.9)).p_holds
    with pytest.raises(MisfitError, match="unexpected value"):
        dataclasses.replace(wanted, left_out="it needs points")


def test_sensitivity_judges_the_same_claims_elsewhere() -> None:
    used = {0.01: AROUND_10, 0.02: [x + 5 for x in AROUND_10], 0.03: [x - 5 for x in AROUND_10]}
    claims = (comparison(low=9), comparison(loss=0.02, low=9))
    runs = {"utilisation_pct": used}
    found = verdict_of(*claims, runs=runs, moved={at_loss(0.01): at_loss(0.03)})
    assert found.verdict == "refuted"
    assert found.evidence.endswith(" (only 1 of 2 comparisons was run).")
    assert verdict_of(*claims, runs=runs, moved={at_loss(0.02): at_loss(0.02)}).verdict == "holds"
    found = verdict_of(*claims, runs=runs, moved={})
    assert (found.verdict, found.comparisons) == ("not run", ())
    across = comparison(loss=0.02, low=0, versus=("utilisation_pct", 0.01))
    assert verdict_of(across, runs=runs, moved={at_loss(0.02): at_loss(0.03)}).verdict == "not run"
    moved = {at_loss(0.02): at_loss(0.03), at_loss(0.01): at_loss(0.01)}
    assert verdict_of(across, runs=runs, moved=moved).verdict == "refuted"
