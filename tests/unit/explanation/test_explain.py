"""What mechanisms explain, from runs whose effects are known: levels, shares, verdicts, words."""

from __future__ import annotations

import dataclasses
import io
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from model.errors import StudyError
from model.run_files.comparing.explanation import EXPLANATION, Effect, Explanation, MechanismRun
from model.run_files.json_file import parse, text_of
from reports.explanation import tables
from reports.explanation.explain import MechanismResult, explain
from reports.explanation.judged import in_several
from reports.explanation.page import page
from reports.inference.decision import by_t
from reports.page.review_tables import TABLE_FILES
from reports.store.run import read_run
from reports.terminal.screen import print_grids
from reports.verdict.summary import summarise
from reports.verdict.verdicts import Verdict
from tests.support.runs.report_run import build_run
from tests.unit.explanation.claims import CLAIMS

LOSSES = (0.008, 0.01)
LUCK = np.random.default_rng(5).normal(0, 0.01, (2, 20))
NAMES = ("fourth", "quiet")
#: What each set of mechanisms makes of SCTP's 12 % more at 1 % loss.
MORE = {(): 0.12, ("fourth",): 0.16, ("quiet",): 0.20, NAMES: 0.27}
HYPOTHESES = [
    {"id": name, "text": f"It is {name}.", "restores": "TCP", "how": f"the kernel's patch {name}"}
    for name in NAMES
]


def explanation(measure: str, by: Sequence[str], metric: str, **bound: float) -> dict[str, Any]:
    """Return an explanation of a claim as ``resolved.json`` has it."""
    return {
        "claim": "because", "by": list(by), "metric": metric, "measure": measure,
        "points": [{"loss_frac": 0.01}], "low": None, "high": None, "strict": False, **bound,
    }  # fmt: skip


def result(
    folder: Path, those: Sequence[str], *, seeds: int = 8, explanations: Sequence[Any] = (),
    hypotheses: Sequence[Any] = HYPOTHESES, **changes: Any,
) -> MechanismResult:  # fmt: skip
    """Return the run with these mechanisms: luck is of the seed, and the same in all runs."""

    def goodputs(index: int, seed: int) -> dict[str, float]:
        luck = LUCK[index][seed % 20]
        more = MORE.get(tuple(those), 0.12) if index else 0.12
        return {"T": 100_000 * (1 + luck), "S": 100_000 * (1 + luck) * (1 + more + luck)}

    told = {
        "hypotheses": list(hypotheses), "mechanisms": list(those), "claims": CLAIMS,
        "explanations": list(explanations), **changes,
    }  # fmt: skip
    run = read_run(build_run(folder, losses=LOSSES, seeds=seeds, goodputs=goodputs, changes=told))
    record = MechanismRun(
        run=folder.name, mechanisms=tuple(those), manifest_sha256="0" * 64, kernels=("6.12",),
        seeds=seeds, excluded=0,
    )  # fmt: skip
    return MechanismResult(record=record, study=run.study, summary=summarise(run))


def every(folder: Path, **options: Any) -> list[MechanismResult]:
    """Return the runs with every subset of the mechanisms."""
    sets = [those for n in range(3) for those in itertools.combinations(NAMES, n)]
    return [result(folder / ("+".join(one) or "unchanged"), one, **options) for one in sets]


def effect(found: Explanation, kind: str, *names: str, metric: str = "pct_increase") -> Effect:
    (one,) = (
        one for one in found.effects
        if (one.kind, one.metric) == (kind, metric) and one.point.as_dict() == {"loss_frac": 0.01}
        and one.sets == (names,)
    )  # fmt: skip
    return one


def test_effects_and_shares_are_those_put_in(tmp_path: Path) -> None:
    found = explain(every(tmp_path), {})
    luck = 100 * LUCK[1][1:9].mean()
    unchanged = next(
        one for one in found.levels
        if one.metric == "pct_increase" and one.point.as_dict() == {"loss_frac": 0.01}
    )  # fmt: skip
    assert unchanged.mean == pytest.approx(12 + luck, abs=1e-3)
    assert unchanged.published == 27.6
    assert effect(found, "alone", "fourth").change == pytest.approx(4, abs=1e-3)
    assert effect(found, "alone", "quiet").change == pytest.approx(8, abs=1e-3)
    assert effect(found, "all", *NAMES).change == pytest.approx(15, abs=1e-3)
    # (4 + 7) / 2, (8 + 11) / 2; together they do 3 more than one by one: half of it for each.
    assert effect(found, "average", "fourth").change == pytest.approx(5.5, abs=1e-3)
    assert effect(found, "average", "quiet").change == pytest.approx(9.5, abs=1e-3)
    assert effect(found, "pair", *NAMES).change == pytest.approx(1.5, abs=1e-3)
    assert effect(found, "beyond pairs", *NAMES).change == pytest.approx(0, abs=1e-3)
    share = effect(found, "average", "quiet")
    assert share.share is not None
    assert share.share == pytest.approx(9.5 / (27.6 - 12 - luck), rel=1e-3)
    assert share.share_ci95 is not None
    assert share.share_ci95[0] < share.share < share.share_ci95[1]
    whole = effect(found, "all", *NAMES).share
    parts = [effect(found, "average", name).share for name in NAMES]
    assert whole == pytest.approx(sum(one for one in parts if one is not None), rel=1e-6)
    assert found.metric == "pct_increase"


def test_runs_are_paired_by_seed(tmp_path: Path) -> None:
    """Luck that runs of a seed share leaves their difference as sure as it is."""
    one = effect(explain(every(tmp_path), {}), "alone", "quiet")
    assert one.ci95 is not None
    # The increase itself varies by a point from seed to seed; what the mechanism adds, by nothing.
    assert one.ci95[1] - one.ci95[0] < 0.01


def test_no_share_where_the_kernel_does_as_published(tmp_path: Path) -> None:
    point = {"loss_frac": 0.01}
    rows = [{"point": point, "values": {"pct_increase": 12.0}}]
    published = {"where": "Table 2", "rows": rows}
    found = effect(explain(every(tmp_path, published=published), {}), "all", *NAMES)
    assert (found.share, found.share_ci95) == (None, None)
    assert found.share_reason == (
        "the unchanged kernel is not shown to differ from the published value"
    )


@pytest.mark.parametrize(
    ("given", "verdict", "estimate"),
    [
        # Averaged over the other, quiet adds 9.5 points to 12 and fourth 5.5: 15 of 27 with all.
        (explanation("change", ["quiet"], "pct_increase", low=9.0), "holds", 9.5),
        (explanation("change", ["quiet"], "pct_increase", low=10.0), "refuted", 9.5),
        (explanation("share", NAMES, "pct_increase", low=50.0), "holds", 100 * 15 / 27),
        (explanation("share", ["fourth"], "pct_increase", low=50.0), "refuted", 100 * 5.5 / 27),
        # TCP's goodput is the same in all runs, to the byte.
        (explanation("percent", ["quiet"], "goodput_T_bps", high=-5.0), "refuted", 0.0),
    ],
)
def test_claims_that_mechanisms_explain_something_are_judged(
    tmp_path: Path, given: dict[str, Any], verdict: str, estimate: float
) -> None:
    (one,) = explain(every(tmp_path, explanations=[given]), {}).explained
    assert one.verdict == verdict
    assert one.at[0].estimate == pytest.approx(estimate, rel=0.03, abs=1e-6)
    assert one.text == "It is because of it."


def test_a_verdict_takes_account_of_how_many_there_are(tmp_path: Path) -> None:
    given = explanation("share", NAMES, "pct_increase", low=53.0)
    (alone,) = explain(every(tmp_path / "a", explanations=[given]), {}).explained
    both = explain(every(tmp_path / "b", explanations=[given, given]), {}).explained
    assert alone.p_holds is not None
    assert both[0].p_holds == pytest.approx(2 * alone.p_holds)


def test_claims_that_turn_are_named(tmp_path: Path) -> None:
    found = explain(every(tmp_path), {})
    above = next(one for one in found.claims if one.claim == "above-18")
    assert above.verdicts == ("refuted", "refuted", "holds", "holds")
    assert above.corrected == above.verdicts
    grid = tables.claims_grid(found)
    assert [row[0] for row in grid.rows] == ["The increase is above 18 %."]
    assert grid.rows[0][3] == "holds with quiet"
    (note,) = grid.notes
    assert note == (
        "1 of 1 claim judged. A verdict here takes account of all 4 runs looked at (none, each "
        "alone, all): the chance that any of them is wrong is at most 5 %."
    )


def with_p(run: MechanismResult, verdict: str, p: float | None) -> MechanismResult:
    """Return a run whose first claim has this verdict, which its own report is so sure of."""
    first, *rest = run.summary.verdicts
    p_holds, p_refuted = (p, 1.0) if verdict == "holds" else (1.0, p)
    changed = dataclasses.replace(first, verdict=verdict, p_holds=p_holds, p_refuted=p_refuted)
    return dataclasses.replace(
        run, summary=dataclasses.replace(run.summary, verdicts=(changed, *rest))
    )


@pytest.mark.parametrize(
    ("p_unchanged", "p_quiet", "corrected", "turns"),
    [
        # Four runs are looked at: 4 x 0.0125 = 0.05.
        (0.0125, 0.0125, ("refuted", "undecided", "holds", "undecided"), True),
        (0.0125, 0.0126, ("refuted", "undecided", "undecided", "undecided"), False),
        (0.0126, 0.0125, ("undecided", "undecided", "holds", "undecided"), False),
    ],
)
def test_verdicts_that_turn_take_account_of_the_runs_looked_at(
    tmp_path: Path, p_unchanged: float, p_quiet: float, corrected: tuple[str, ...], turns: bool
) -> None:
    unchanged, fourth, quiet, both = every(tmp_path)
    runs = [
        with_p(unchanged, "refuted", p_unchanged), with_p(fourth, "undecided", 0.5),
        with_p(quiet, "holds", p_quiet), with_p(both, "undecided", None),
    ]  # fmt: skip
    found = explain(runs, {})
    (above,) = found.claims
    assert above.verdicts == ("refuted", "undecided", "holds", "undecided")
    assert above.corrected == corrected
    grid = tables.claims_grid(found)
    assert bool(grid.rows) == turns
    if not turns:
        assert grid.notes[1] == (
            "By the runs' own reports, each of which takes account of its own claims only, 1 more "
            "would turn."
        )


def test_runs_that_are_not_looked_at_cost_nothing(tmp_path: Path) -> None:
    """Of three mechanisms, eight runs, five are: none, each alone, all."""
    three = (*NAMES, "third")
    told = [*HYPOTHESES, {**HYPOTHESES[0], "id": "third"}]
    sets = [those for n in range(4) for those in itertools.combinations(three, n)]
    runs = [
        with_p(result(tmp_path / ("+".join(one) or "unchanged"), one, hypotheses=told, seeds=2),
               "refuted", 0.01)
        for one in sets
    ]  # fmt: skip
    (above,) = explain(runs, {}).claims
    assert above.corrected == (
        "refuted", "refuted", "refuted", "refuted", None, None, None, "refuted",
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_a_claim_false_by_a_hair_in_every_run_rarely_turns(seed: int) -> None:
    """Any wrong verdict among nine runs: at most 5 % of 2000 studies, with 99 % confidence."""
    draws, runs, studies = np.random.default_rng(seed), 9, 2000
    p = np.array([by_t(draws.normal(0, 1, (runs, 10)))[0] for _ in range(studies)])
    wrong = sum(any(in_several(verdict(value), runs) == "holds" for value in row) for row in p)
    assert wrong <= stats.binom.ppf(0.99, studies, 0.05)
    assert sum(any(value <= 0.05 for value in row) for row in p) > 0.25 * studies


def verdict(p: float) -> Verdict:
    return Verdict(
        id="x", text="", where="", verdict="holds" if p <= 0.05 else "undecided", evidence="",
        p_holds=float(p), p_refuted=None, comparisons=(),
    )  # fmt: skip


def test_runs_that_do_not_tell_mechanisms_apart_are_refused(tmp_path: Path) -> None:
    runs = every(tmp_path)
    for missing in range(4):
        left = [one for index, one in enumerate(runs) if index != missing]
        with pytest.raises(StudyError, match="these runs do not tell mechanisms apart"):
            explain(left, {})


def test_too_few_seeds_and_unknown_metrics_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="at least 2 seeds that count in every run, got 1"):
        explain(every(tmp_path / "one", seeds=1), {})
    with pytest.raises(StudyError, match=r"^--metric: no such metric: wanted .*pct_increase"):
        explain(every(tmp_path / "two"), {}, "speed")


def test_what_is_written_can_be_read_and_is_told_whole(tmp_path: Path) -> None:
    given = explanation("share", NAMES, "pct_increase", low=50.0)
    found = explain(every(tmp_path, explanations=[given]), {"other": "the hosts are so already"})
    text = text_of(EXPLANATION, found)
    read = parse(EXPLANATION, text, "explanation.json")
    assert (read.runs, read.claims, read.idle) == (found.runs, found.claims, found.idle)
    assert text_of(EXPLANATION, read) == text
    console = Console(file=io.StringIO(), width=120)
    metric = found.metric
    grids = [tables.explained_grid(found), tables.claims_grid(found),
             tables.levels_grid(found, metric), tables.effects_grid(found, metric)]  # fmt: skip
    print_grids("Why", [one for one in grids if one], tables.notes(found), console)
    assert isinstance(console.file, io.StringIO)
    told = console.file.getvalue()
    for words in ("the kernel as it is", "all of them", "published", "27.6 %", "+9.5"):
        assert words in told
    (markdown,) = (one for one in TABLE_FILES if one.name.endswith("tables.md"))
    whole = markdown.text(tables.attachment(found))
    assert all(name in whole for name in NAMES)
    html = page(found)
    assert "<h1>" in html
    assert "with all mechanisms as published" in html
    hostile = dataclasses.replace(found, title="<script>alert(1)</script>")
    assert "<script>alert" not in page(hostile)
