"""Every study of the project, as the planner writes its run folder, can be read and reported."""

from pathlib import Path

import pytest

from model import run_folder
from reports.measures.quantities import point_words
from reports.store.run import read_run
from reports.verdict.summary import summarise
from testbed.planning.findings import find
from testbed.planning.plan import make_plan
from testbed.planning.resolved import plan_json, resolved_json
from testbed.points.load_study import load_study

ROOT = Path(__file__).parents[3]
STUDIES = sorted((ROOT / "studies").glob("*.yaml"))


def planned_run(run: Path, study_file: Path) -> Path:
    study = load_study(study_file)
    seeds = study.settings.seeds
    plan = make_plan(study, seeds=seeds, lab={"name": "virtual"})
    (run / run_folder.RESOLVED).write_text(resolved_json(plan, find(study, seeds=seeds)))
    (run / run_folder.PLAN).write_text(plan_json(plan.cells))
    return run


@pytest.mark.parametrize("study_file", STUDIES, ids=lambda path: path.stem)
def test_a_planned_run_reads_and_summarises(study_file: Path, tmp_path: Path) -> None:
    run = read_run(planned_run(tmp_path, study_file))
    summary = summarise(run)
    assert [point.cells_planned for point in summary.points] == [len(run.study.seeds)] * len(
        run.study.points
    )
    assert summary.headline == run.study.metrics
    assert all(point_words(point.point, summary.parameters) for point in summary.points)


def test_the_wireless_study_shows_all_its_contradictions(tmp_path: Path) -> None:
    summary = summarise(read_run(planned_run(tmp_path, ROOT / "studies/wireless.yaml")))
    found = [contradiction for point in summary.points for contradiction in point.contradictions]
    assert len(found) == len(summary.points) == 7
    assert [float(contradiction.printed) for contradiction in found] == [
        6.1,
        13.3,
        27.6,
        25.6,
        17.0,
        13.3,
        12.7,
    ]
