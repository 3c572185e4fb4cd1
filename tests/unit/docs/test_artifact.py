"""The page for artifact reviewers is made of plans and of kept runs, with every claim on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docs.generate import artifact, kept_run
from testbed.command.runs.plan_costs import cost_lines
from testbed.planning import resources
from testbed.points.load_study import STUDIES_FOLDER

PAGE = artifact.FILE.read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]


def test_it_is_what_plans_and_kept_runs_give() -> None:
    assert artifact.written() == PAGE, "run: .venv/bin/python -m docs.generate.artifact"


def test_every_claim_is_there_with_the_command_of_its_study() -> None:
    for file in sorted(STUDIES_FOLDER.glob("*.yaml")):
        study = artifact.plan_of(file.stem).study.settings
        how = f"`make experiment STUDY={study.study} SENSITIVITY=no`"
        assert len([row for row in ROWS if row[1] == how]) == len(study.claims), study.study


def test_verdicts_are_of_the_studies_claims_as_they_are() -> None:
    for name, verdicts in artifact.expected_verdicts().items():
        claims = artifact.plan_of(name).study.settings.claims
        assert verdicts.keys() == {claim.id for claim in claims}, name
    for file in artifact.KEPT.glob("*.json"):
        if (kept := kept_run.kept(file)).keys() == artifact.ALONE:
            assert kept["study"] == kept_run.inputs(STUDIES_FOLDER / f"{file.stem}.yaml"), (
                f"run {file.stem}, then python -m docs.generate.artifact results/latest"
            )


def test_a_claim_of_no_kept_run_has_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = artifact.plan_of("anatomy")
    monkeypatch.setattr(artifact, "expected_verdicts", dict)
    assert set(artifact.verdicts_of(plan).values()) <= {"not kept", "cannot be tested"}


def test_minutes_are_what_the_plan_says_rounded_up() -> None:
    plan = artifact.plan_of("anatomy")
    (line,) = cost_lines([plan], artifact.CORES)
    seconds = int(line.rpartition("about ")[2].removesuffix(" s on 2 cores"))
    assert artifact.minutes([plan], sensitivity=False) == artifact.rounded(seconds) == "1"
    told = {60: "1", 61: "2", 600: "10", 601: "15", 3600: "60", 3601: "90"}
    assert {wall_s: artifact.rounded(wall_s) for wall_s in told} == told


def test_the_disk_of_a_tier_is_what_the_plan_says_rounded_up() -> None:
    (smoke, *_), (first, *_) = artifact.tiers(), (row for row in ROWS if row[0] == "1: smoke")
    takes = resources.needed(
        [one.cell for plan in smoke.plans for one in plan.cells[: plan.base_cells]], artifact.CORES
    )
    gigabytes = (takes.disk_bytes + takes.scratch_bytes) / 1e9
    assert float(first[3].removesuffix(" GB")) == pytest.approx(gigabytes + 0.05, abs=0.05)


def summary(folder: Path, study: str, cells: int) -> Path:
    """Return the folder of a run that has a summary and nothing else."""
    claims: list[dict[str, Any]] = [{"id": "x", "verdict": "holds", "evidence": "…"}]
    made = {"study": study, "claims": claims, "points": [{"cells_counted": cells}]}
    (folder / "summary.json").write_text(json.dumps(made))
    return folder


def test_verdicts_of_a_run_with_the_studys_seeds_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifact, "KEPT", tmp_path)
    artifact.keep(summary(tmp_path, "anatomy", 1))
    kept = kept_run.kept(tmp_path / "anatomy.json")
    assert kept["claims"] == [{"id": "x", "verdict": "holds"}]
    with pytest.raises(SystemExit, match="not 1 seed at each point"):
        artifact.keep(summary(tmp_path, "anatomy", 2))


def test_what_other_pages_keep_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifact, "KEPT", tmp_path)
    kept = tmp_path / "rfc9438.json"
    kept.write_text(before := json.dumps({"study": "", "claims": [], "points": []}))
    for study, cells in (("rfc9438", 1), ("wired", 5)):
        with pytest.raises(SystemExit, match="has its verdicts"):
            artifact.keep(summary(tmp_path, study, cells))
    assert kept.read_text() == before
    assert not (tmp_path / "wired.json").exists()
