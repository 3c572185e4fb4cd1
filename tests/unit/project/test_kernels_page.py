"""The page that sets two kernels side by side, from what their runs' summaries say."""

from __future__ import annotations

from typing import Any

import pytest

from docs.generate import kernels

pytestmark = pytest.mark.unit


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
    page = f"a\n{kernels.BEGIN}old\n{kernels.END}b\n"
    once = kernels.written(page, "| new |\n")
    assert once == f"a\n{kernels.BEGIN}\n| new |\n\n{kernels.END}b\n"
    assert kernels.written(once, "| new |\n") == once
    assert kernels.BEGIN in kernels.FILE.read_text(encoding="utf-8")
