"""What the page of the ad-hoc study quotes is what was measured, of its points and claims."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from docs.generate import kept_run, manet


@pytest.fixture
def quoted() -> dict[str, Any]:
    return kept_run.kept(manet.KEPT)


def test_the_page_says_what_was_measured(quoted: dict[str, Any]) -> None:
    text = manet.FILE.read_text()
    assert manet.written(text, quoted) == text, "python -m docs.generate.manet"


def test_what_was_measured_is_of_this_study(quoted: dict[str, Any]) -> None:
    assert quoted["study"] == kept_run.inputs(manet.STUDY), "run the study, then quote it"


def test_every_point_ran_with_twelve_seeds_and_every_claim_has_a_verdict(
    quoted: dict[str, Any],
) -> None:
    study = yaml.safe_load(manet.STUDY.read_text())
    assert len(quoted["points"]) == len(study["points"])
    assert {one["metrics"]["goodput_M_bps"]["n"] for one in quoted["points"]} == {12}
    assert [one["id"] for one in quoted["claims"]] == [one["id"] for one in study["claims"]]
    told = {one["id"] for one in quoted["claims"] if one["verdict"] == "untested"}
    assert told == {one["id"] for one in study["claims"] if "untested" in one}


def test_a_row_is_what_was_asked_and_what_came_in_its_units() -> None:
    known = {"mean": 312_345.0, "ci95": [300_000.0, 324_690.0], "n": 12}
    point = {
        "protocol": "sctp", "multihoming": "same-channel", "ends": "stay", "max_mps": 20.0,
        "rate_bps": 16000,
    }  # fmt: skip
    quoted = {"points": [{"point": point, "metrics": {"goodput_M_bps": known}}]}
    shown = {"goodput_M_bps": manet.TRANSPORT["goodput_M_bps"]}
    assert manet.points_table(quoted, shown).splitlines()[2] == (
        "| SCTP | two | stay | 20 | 16 | 312 (300 to 325) |"
    )


def test_assumptions_alone_leave_what_was_measured_valid(tmp_path: Any) -> None:
    study = yaml.safe_load(manet.STUDY.read_text())
    other = tmp_path / "manet.yaml"
    other.write_text(yaml.safe_dump({**study, "assumptions": []}, sort_keys=False))
    assert kept_run.inputs(other) == kept_run.inputs(manet.STUDY)
    other.write_text(yaml.safe_dump({**study, "duration": "900 s"}, sort_keys=False))
    assert kept_run.inputs(other) != kept_run.inputs(manet.STUDY)
