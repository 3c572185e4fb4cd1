"""The page that sets two kernels side by side, from what their runs' summaries say."""

from __future__ import annotations

from typing import Any

import pytest

from docs.generate import kernel_matrix, kernels
from docs.generate.marks import between
from model.run_files.comparing.kernels import KERNELS
from model.run_files.json_file import read
from testbed.points.load_study import find_study, load_study


def summary(verdict: str, increase_pct: float, by_time: int, timeouts: int) -> dict[str, Any]:
    """Return what a run's summary has of one claim that is judged, one that is not, one point."""
    stories = [
        {"group": "T", "episodes": {
            "episodes": 8, "timeouts": timeouts,
            "detected_by": {"dupacks": 8 - by_time, **({"rack": by_time} if by_time else {})},
        }},
        {"group": "S", "episodes": {"episodes": 9, "timeouts": 4, "detected_by": {"dupacks": 9}}},
    ]  # fmt: skip
    metric = {"mean": increase_pct, "ci95": [1.0, 20.25], "published": None}
    return {
        "claims": [
            {"text": "On the 3rd.", "verdict": verdict},
            {"text": "For a reason.", "verdict": "untested"},
        ],
        "points": [{
            "point": {"loss_frac": 0.01}, "metrics": {"pct_increase": metric}, "happened": stories,
        }],
    }  # fmt: skip


def test_verdicts_and_points_side_by_side() -> None:
    studies = {"one": [summary("holds", 13.14, 0, 26), summary("refuted", 12.0, 2, 0)]}
    lines = kernels.tables(("6.12", "7.3"), studies).splitlines()
    assert lines[0] == "| study | claim | 6.12 | 7.3 | |"
    assert lines[2:6] == ["| one | On the 3rd. | holds | refuted | differs |", "", "One:", ""]
    assert lines[-1] == (
        "| loss_frac 0.01 | - | 13.1 (1.0 to 20.2) | 12.0 (1.0 to 20.2) | 0.0 | 25.0 "
        "| 26 | 0 | 4 | 4 |"
    )
    assert len({line.count("|") for line in lines[6:]}) == 1


def test_what_is_written_by_hand_stays() -> None:
    page = "a\nBEGIN\nold\nEND\nb\n"
    once = between(page, "BEGIN\n", "| new |\n", "END\n", "page")
    assert once == "a\nBEGIN\n| new |\nEND\nb\n"
    assert between(once, "BEGIN\n", "| new |\n", "END\n", "page") == once
    with pytest.raises(ValueError, match=r"page: no BEGIN \.\.\. STOP"):
        between(page, "BEGIN\n", "", "STOP\n", "page")
    text = kernels.FILE.read_text(encoding="utf-8")
    assert between(text, kernels.BEGIN, "", kernels.END, "kernels.md") != text


def test_the_matrix_on_the_page_is_what_is_kept() -> None:
    text = kernel_matrix.FILE.read_text(encoding="utf-8")
    assert kernel_matrix.written(text) == text, "write it: python -m docs.generate.kernel_matrix"
    found = read(KERNELS, kernel_matrix.KEPT)
    study = load_study(find_study(found.study))
    assert {one.metric for one in found.levels} >= set(study.settings.metrics)
    assert [one.claim for one in found.claims] == [one.id for one in study.settings.claims]
    assert all(run.seeds >= 4 and not run.excluded for run in found.runs)
    assert len({run.facts["kernel"] for run in found.runs}) == len(found.runs)
    for run in found.runs:
        patched = "+" in run.kernel
        assert ("-patched-" in run.facts["kernel"]) == patched
        assert (" +" in run.facts["kernel's package"]) == patched
