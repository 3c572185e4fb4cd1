"""What the guide to failover quotes is what was measured, with the study file as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from docs.generate import failover, kept_run
from model.sctp_paths import PF_OFF


@pytest.fixture
def quoted() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(failover.KEPT.read_text())
    return found


def test_the_page_says_what_was_measured(quoted: dict[str, Any]) -> None:
    text = failover.FILE.read_text()
    assert failover.written(text, quoted) == text, "python -m docs.generate.failover"


def test_what_was_measured_is_of_this_study(quoted: dict[str, Any]) -> None:
    assert quoted["study"] == kept_run.inputs(failover.STUDY), (
        "make experiment STUDY=failover, then quote it"
    )


def test_a_number_that_was_not_measured_is_written_over(quoted: dict[str, Any]) -> None:
    text = failover.FILE.read_text()
    assert failover.written(text.replace(" 63 |", " 64 |"), quoted) == text
    with pytest.raises(ValueError, match="no <!-- quoted: claims"):
        failover.written(text.replace("<!-- end: claims -->", ""), quoted)


def test_a_row_is_what_was_asked_what_is_due_and_what_came() -> None:
    known = {"mean": 63.84, "ci95": [63.8, 63.9], "n": 10}
    metrics = dict.fromkeys(failover.METRICS, known)
    metrics["switchover_both_s"] = {"mean": None, "ci95": None, "n": 0}
    metrics["path_timeouts_both"] = {"mean": 6.0, "ci95": [6.0, 6.0], "n": 10}
    point = {
        "path_max_retransmissions": 5, "pf_max_retransmissions": PF_OFF,
        "ps_max_retransmissions": "kernel", "rto_min_ms": 1000,
    }  # fmt: skip
    table = failover.points_table({"points": [{"point": point, "due_s": 63.0, "metrics": metrics}]})
    mean = "63.84 (63.80 to 63.90)"
    assert table.splitlines()[2] == (
        f"| 5 | off | kernel | 1000 ms | 63 | {mean} | 6.0 | {mean} | {mean} | - | {mean} |"
    )
