"""What the docs say of labs that agree is what was measured, on the study as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from docs.generate import agreement
from model import run_folder
from model.run_files.comparing.crosscheck import CROSSCHECK, Comparison, Crosscheck, LabRun, Side
from model.run_files.comparing.margins import MARGINS
from model.run_files.json_file import text_of
from model.run_files.point import Point
from model.run_files.study import Compare, Group
from testbed.planning.findings import find
from testbed.planning.plan import make_plan
from testbed.planning.resolved import resolved
from testbed.points.load_study import load_study

STUDY = agreement.ROOT / "studies" / "examples" / "agreement.yaml"


@pytest.mark.parametrize("page", [agreement.LABS, agreement.README], ids=lambda page: page.name)
def test_a_page_says_what_is_kept(page: Path) -> None:
    text = page.read_text()
    assert agreement.written(page, text) == text, "write it: python -m docs.generate.agreement"


def test_what_is_kept_is_of_the_study() -> None:
    study = load_study(STUDY)
    plan = make_plan(study, seeds=study.settings.seeds, lab={"name": "virtual"})
    wanted = resolved(plan, find(study, seeds=study.settings.seeds))
    for found in agreement.kept():
        assert found.study == wanted.id
        assert (
            0 < found.duration_s / wanted.duration_s <= 1
        )  # of the host lab, in real time, scaled
        assert (found.groups, found.compare) == (wanted.groups, wanted.compare)
        assert {one.point for one in found.comparisons} == set(wanted.points)
        assert set(wanted.metrics) <= {one.metric for one in found.comparisons}
        assert all(lab.seeds >= 10 for lab in found.labs)


def comparison(metric: str, difference: float, **more: Any) -> Comparison:
    """Return a comparison that shows equivalence; what is not said of it is made up."""
    side = Side(n=12, mean=1.0, sd=0.1)
    given: dict[str, Any] = {
        "metric": metric, "point": Point.of({"loss_frac": 0.01}), "lab": "stock", "first": side,
        "other": side, "relative": False, "margin": 3.0, "plain_difference": difference,
        "plain_ci95": None, "plain_p_equivalent": 0.2, "at_equal_loss": True,
        "difference": difference, "ci90": (2 * difference, 0.0),
        "ci95": (difference - 1, difference + 1), "p_equivalent": 0.01, "p_different": 1.0,
        "p_distributions": 0.5, "verdict": "equivalent", "seeds_wanted": None, "reason": None,
    }  # fmt: skip
    return Comparison(**{**given, **more})


def lab(label: str, kernel: str) -> LabRun:
    return LabRun(
        label=label,
        run=label,
        manifest_sha256="0" * 64,
        seeds=12,
        excluded=0,
        facts={"kernel": kernel},
    )


FOUND = Crosscheck(
    study="agreement", title="A title", duration_s=1000.0,
    groups=(Group(id="T", label="TCP SACK"), Group(id="S", label="SCTP")),
    compare=Compare(of="S", over="T"), flows=("T", "S"), parameters=(),
    labs=(lab("virtual", "6.12.117-groundtruth"), lab("stock", "6.12.117+deb13-amd64")),
    comparisons=(
        comparison("goodput_S_bps", -0.0123, relative=True, margin=0.03),
        comparison("goodput_T_bps", 0.004, relative=True, margin=0.03),
        comparison("pct_increase", 1.26),
        comparison("pct_increase", -1.74, verdict="not shown", p_equivalent=0.2, seeds_wanted=31),
        comparison("loss_T_frac", 0.001, verdict="not judged", margin=None, p_equivalent=None),
    ),
    pairings=(), missing={},
)  # fmt: skip


def test_a_comparison_is_kept_by_study_and_labs_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / run_folder.CROSSCHECK_JSON).write_text(text_of(CROSSCHECK, FOUND))
    monkeypatch.setattr(agreement, "KEPT", tmp_path / "kept")
    for _ in range(2):
        agreement.keep(tmp_path)
    assert [path.name for path in agreement.KEPT.iterdir()] == ["agreement-virtual-stock.json"]
    assert agreement.kept() == [FOUND]

    said = "stock against virtual, 12 seeds: 4 comparisons judged, 3 equivalent, 0 different, 1 not"
    readme = agreement.written(agreement.README, agreement.README.read_text())
    assert said in readme
    assert "goodput is the same to 2.5 %, the increase of SCTP over TCP SACK to 3.5 " in (readme)
    labs = agreement.written(agreement.LABS, agreement.LABS.read_text())
    assert f"**{said}" in labs
    assert "| kernel | 6.12.117-groundtruth | 6.12.117+deb13-amd64 |" in labs
    assert "| not shown (31) |" in labs
    assert "| 1.26 points (0.26 to 2.26) | 3 points |" in labs
    rows = [line for line in labs.splitlines() if line.startswith(("| Goodput", "| Increase"))]
    # What differs most, in units of its margin, stands first.
    assert [row.split(" | ")[5].split()[0] for row in rows] == ["-1.74", "1.26", "-1.23", "0.40"]


def test_the_margins_are_all_on_the_page() -> None:
    table = agreement.margins()
    assert "| 3 | `pct_increase` | " in table
    assert "3 % of the mean of both" in table
    assert table.count("\n") == 2 + len(MARGINS)
