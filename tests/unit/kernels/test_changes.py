"""What changed between kernels, from runs whose numbers are known: by hand, and in words."""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from model.errors import StudyError
from model.run_files.comparing.kernels import KERNELS, Change, Kernels
from model.run_files.json_file import parse, text_of
from reports.agreement.comparable import Measured
from reports.kernels import tables
from reports.kernels.changes import KernelResult, kernels
from reports.kernels.page import page
from reports.page.grid import plain
from reports.page.review_tables import TABLE_FILES
from reports.store.run import read_run
from reports.terminal.screen import print_grids
from reports.verdict.summary import summarise
from tests.support.runs.report_run import build_run
from tests.unit.explanation.claims import CLAIMS

LOSSES = (0.008, 0.01)
#: By how many bit/s more TCP gets than on the first kernel with the seeds 1 to 5.
SPREAD = (1000, 2000, 3000, 4000, 5000)
EQUAL = (3000,) * 5


def result(
    folder: Path, kernel: str, *, more: Sequence[float] = (0,) * 5, increase_pct: float = 12.0,
    seeds: int = 5, **changes: Any,
) -> KernelResult:  # fmt: skip
    """Return a run on a kernel, on which TCP gets more and SCTP so many % more than TCP."""

    def goodputs(index: int, seed: int) -> Mapping[str, float]:
        tcp = 100_000 + 1000 * seed + more[seed - 1]
        # The increase varies by 0.1 points from seed to seed, and alike on all kernels.
        return {"T": tcp, "S": tcp * (1 + (increase_pct + 0.1 * seed) / 100)}

    told = {"claims": CLAIMS, **changes}
    run = read_run(build_run(folder, losses=LOSSES, seeds=seeds, goodputs=goodputs, changes=told))
    summary = summarise(run)
    measured = Measured(
        label=kernel, name=folder.name, manifest_sha256="0" * 64, run=run, cells=summary.cells,
        facts={"kernel": f"{kernel}-groundtruth", "kernel's package": f"{kernel}.1-1"},
    )  # fmt: skip
    return KernelResult(measured=measured, summary=summary)


def two(folder: Path, **changes: Any) -> Kernels:
    """Return what changed from 6.12 to 7.3."""
    return kernels(
        [result(folder / "6.12", "6.12"), result(folder / "7.3", "7.3", **changes)]
    )  # fmt: skip


def change(found: Kernels, metric: str, loss: float = 0.01) -> Change:
    (one,) = (
        one for one in found.changes
        if one.metric == metric and one.point.as_dict() == {"loss_frac": loss}
    )  # fmt: skip
    return one


def test_a_difference_is_paired_by_seed_and_tested(tmp_path: Path) -> None:
    one = change(two(tmp_path, more=SPREAD), "goodput_T_bps")
    assert (one.before, one.after, one.n) == ("6.12", "7.3", 5)
    # 3000 in the mean, standard deviation sqrt(2.5) * 1000, t of 4 degrees of freedom.
    error = 1000 * math.sqrt(2.5) / math.sqrt(5)
    assert one.difference == pytest.approx(3000)
    assert one.ci95 == pytest.approx((3000 - 2.776445 * error, 3000 + 2.776445 * error))
    # t = 4.2426: twice the upper tail is 0.01324.
    assert one.p == pytest.approx(0.013236, rel=1e-3)


def test_p_values_are_corrected_for_all_that_is_looked_at(tmp_path: Path) -> None:
    found = two(tmp_path, more=SPREAD)
    tested = [one for one in found.changes if one.p is not None]
    assert len(tested) == len(found.metrics) * len(LOSSES)
    # Holm: the smallest times their number, the next times one less, and never less than before.
    ranked = sorted(tested, key=lambda one: one.p or 0.0)
    largest = 0.0
    for rank, one in enumerate(ranked):
        largest = max(largest, min(1.0, (len(ranked) - rank) * (one.p or 0.0)))
        assert one.p_corrected == pytest.approx(largest)
        assert one.told_apart == (largest <= 0.05)
    # What is clear by itself, at p = 0.013, is not among a dozen that were looked at.
    assert not change(found, "goodput_T_bps").told_apart
    assert f"{len(tested)} differences between neighbouring kernels looked at" in (
        tables.compared_words(found)
    )


def test_equal_differences_are_judged_by_the_sign_test_on_both_sides(tmp_path: Path) -> None:
    one = change(two(tmp_path, more=EQUAL), "goodput_T_bps")
    assert one.difference == pytest.approx(3000)
    assert one.ci95 is None
    assert one.p == pytest.approx(2 / 2**5)
    assert one.reason == "all differences equal: by the sign test, which is about the median"


def test_the_same_on_both_is_no_change(tmp_path: Path) -> None:
    found = two(tmp_path)
    assert {one.difference for one in found.changes} == {0.0}
    assert not any(one.told_apart for one in found.changes)
    assert {one.p for one in found.changes} == {1.0}


def test_a_clear_change_is_told_with_its_sign(tmp_path: Path) -> None:
    found = two(tmp_path, more=(30_000, 30_010, 29_990, 30_005, 29_995), increase_pct=20.0)
    one = change(found, "goodput_T_bps")
    assert one.told_apart
    grid = tables.metrics_grid(found, ["goodput_T_bps"])
    assert grid.caption.startswith("Goodput, TCP SACK at each point")
    assert [plain(head) for head in grid.heads] == ["at", "6.12", "7.3", "7.3 less 6.12"]
    # 30 000 bit/s and 30 of the kernel's kbit/s: with its interval, which is narrow.
    assert plain(grid.rows[1][3]).startswith("+30.0 (")
    assert plain(grid.rows[1][1]).startswith("103.0 kbit/s (")


def test_levels_are_those_of_each_kernels_own_report(tmp_path: Path) -> None:
    results = [result(tmp_path / name, name, more=more) for name, more in
               (("6.12", EQUAL), ("7.3", SPREAD))]  # fmt: skip
    for level in kernels(results).levels:
        (its,) = (one for one in results if one.measured.label == level.kernel)
        estimate = its.at(level.point).metrics[level.metric].estimate
        assert (level.n, level.mean, level.ci95) == (estimate.n, estimate.mean, estimate.ci95)


def test_each_kernel_is_compared_with_the_one_before(tmp_path: Path) -> None:
    order = ["7.3", "6.1+netem-seed", "6.12"]
    found = kernels([result(tmp_path / name, name) for name in order])
    pairs = dict.fromkeys((one.before, one.after) for one in found.changes)
    assert list(pairs) == [("7.3", "6.1+netem-seed"), ("6.1+netem-seed", "6.12")]
    heads = [plain(head) for head in tables.metrics_grid(found, found.metrics).heads]
    assert heads[2:7] == [*order, "6.1+netem-seed less 7.3", "6.12 less 6.1+netem-seed"]
    assert tables.title(found).endswith(": on 7.3, 6.1+netem-seed and 6.12")


def test_claims_whose_verdict_differs_come_first(tmp_path: Path) -> None:
    found = two(tmp_path, increase_pct=24.0)
    (one,) = (claim for claim in found.claims if claim.claim == "above-18")
    assert [on.verdict for on in one.on] == ["refuted", "holds"]
    assert one.turns
    grid = tables.claims_grid(found)
    assert [[plain(field) for field in row] for row in grid.rows] == [
        ["The increase is above 18 %.", "refuted, 12.3 % (12.1 to 12.5)",
         "holds, 24.3 % (24.1 to 24.5)"]
    ]  # fmt: skip
    assert grid.notes == ["1 of 1 claim; each kernel is judged by itself."]
    assert tables.screen_grids(found)[0] == grid


def test_undecided_beside_decided_is_said_to_be_weaker(tmp_path: Path) -> None:
    # SCTP's increase is 17.9 to 18.5 %: nobody can say whether it is above 18 %.
    found = two(tmp_path, increase_pct=17.8)
    (one,) = (claim for claim in found.claims if claim.differs)
    assert [on.verdict for on in one.on] == ["refuted", "undecided"]
    assert not one.turns
    assert "need not be a change" in tables.claims_grid(found).notes[1]


def test_the_same_verdicts_make_no_table(tmp_path: Path) -> None:
    grid = tables.claims_grid(two(tmp_path))
    assert grid.caption == "Claims whose verdict is not the same on all kernels: none"
    assert (grid.rows, grid.columns) == ([], ())


def test_nothing_left_to_chance_is_told_exactly(tmp_path: Path) -> None:
    results = [result(tmp_path / "6.12", "6.12"), result(tmp_path / "7.3", "7.3", more=EQUAL)]
    exact = [
        dataclasses.replace(
            one,
            summary=dataclasses.replace(
                one.summary,
                points=tuple(dataclasses.replace(p, chance=False) for p in one.summary.points),
            ),
        )
        for one in results
    ]
    one = change(kernels(exact), "goodput_T_bps")
    assert (one.p, one.p_corrected, one.told_apart) == (0.0, 0.0, True)
    assert one.reason == "nothing is left to chance"


def test_what_a_run_lacks_is_not_compared(tmp_path: Path) -> None:
    results = [result(tmp_path / name, name) for name in ("6.12", "7.3")]
    cells = results[1].measured.cells
    gone = dataclasses.replace(
        cells[0].values["pct_increase"], value=None, reason="no flow ended"
    )  # fmt: skip
    damaged = dataclasses.replace(cells[0], values={**cells[0].values, "pct_increase": gone})
    measured = dataclasses.replace(results[1].measured, cells=(damaged, *cells[1:]))
    found = kernels([results[0], dataclasses.replace(results[1], measured=measured)])
    one = change(found, "pct_increase", float(cells[0].point.as_dict()["loss_frac"]))
    assert (one.difference, one.p, one.told_apart) == (None, None, False)
    assert one.reason == "no flow ended"
    tested = [each for each in found.changes if each.p is not None]
    assert len(tested) == len(found.changes) - 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"duration_s": 500.0}, "7.3: not the same study as 6.12: duration_s differs"),
        ({"seeds": 1}, "too few runs to compare with 6.12"),
        ({"replication": {"metric": "pct_increase", "half_width": 1.0, "relative": False,
                          "at_least": 2, "at_most": 9}},
         "seeds were added until the results were precise enough"),
    ],
)  # fmt: skip
def test_runs_that_cannot_be_compared(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(StudyError) as caught:
        two(tmp_path, **changes)
    assert message in str(caught.value)


def test_it_is_told_from_its_file_alone(tmp_path: Path) -> None:
    found = two(tmp_path, more=SPREAD, increase_pct=24.0)
    again = parse(KERNELS, text_of(KERNELS, found), "kernels.json")
    assert tables.attachment(again) == tables.attachment(found)
    assert page(again) == page(found)
    (markdown,) = (one for one in TABLE_FILES if one.name.endswith(".md"))
    text = markdown.text(tables.attachment(found))
    assert "The increase is above 18 %." in text
    assert "6.12.1-1" in text
    html = page(found)
    assert "7.3 less 6.12" in html
    assert "http" not in html.split("</head>")[1].split("<footer")[0].replace("http://www.w3", "")


def test_the_screen_is_short(tmp_path: Path) -> None:
    found = two(tmp_path, increase_pct=24.0)
    console = Console(file=io.StringIO(), width=120)
    print_grids(tables.title(found), tables.screen_grids(found), tables.notes(found), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.index("Claims whose verdict") < text.index("Increase in goodput")
    assert text.count("\n") < 40
    assert "published" in text
