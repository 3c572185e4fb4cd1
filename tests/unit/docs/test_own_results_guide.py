"""The guide to one's own results: its mappings are read, its numbers are those of the recording."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from model import run_folder
from model.run_files.point import Point
from model.run_files.study import Study
from reports.beside import replicates
from simulators.results.gather import gather
from testbed.planning.findings import find
from testbed.planning.plan import Plan, make_plan
from testbed.planning.resolved import resolved
from testbed.points.load_study import STUDIES_FOLDER, load_study
from testbed.study.results_mapping import form_keys, mapping_of
from testbed.study.yaml_document import parse_document
from tests.support.simulators.own_results import NS3, POINTS

pytestmark = pytest.mark.unit

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "own-results.md").read_text("utf-8")
MAPPINGS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
GROUPS = {"bbr": "bbr", "cubic": "cubic"}


@pytest.fixture(scope="module")
def planned() -> Plan:
    """Return the plan of the study that the guide runs."""
    read = load_study(STUDIES_FOLDER / "templates" / "congestion-control.yaml")
    return make_plan(read, seeds=(1,), lab={"name": "virtual"})


@pytest.fixture(scope="module")
def study(planned: Plan) -> Study:
    """Return it as a run folder has it."""
    return resolved(planned, find(planned.study, seeds=planned.seeds))


@pytest.mark.parametrize("text", MAPPINGS)
def test_each_mapping_of_the_guide_is_one(text: str, study: Study) -> None:
    made = mapping_of(parse_document(text, "m.yaml"), study, GROUPS)
    assert made.settings[0].name == "queue_pkts"


def test_the_guide_explains_every_key() -> None:
    table = PAGE[PAGE.index("## Every key of a mapping") :]
    for key in form_keys():
        assert f"`{key}`" in table


def test_the_guide_s_numbers_are_of_the_recorded_files(planned: Plan, study: Study) -> None:
    text = MAPPINGS[0].replace(".xml'", ".xml.gz'")
    mapping = mapping_of(parse_document(text, "m.yaml"), study, GROUPS)
    files = sorted(NS3.glob("*/queue-*.xml.gz"))
    assert len(files) == 24
    brought = gather(mapping, files, POINTS, lambda *_: None)
    assert {one.format for one in brought.files} == {"flowmonitor"}
    cells = {Point.of(one.cell.point): one.cell for one in planned.first if one.cell.flows}
    there = replicates.by_point(brought.readings, brought.summaries, study, cells)
    means = {
        (dict(point.settings)["queue_pkts"], name): sum(found[name] for _, found in rows) / 8
        for point, rows in there.items()
        for name in ("goodput_bbr_bps", "goodput_cubic_bps", "share_bbr_pct", "pct_increase",
                     "jain_flows")
    }  # fmt: skip
    shown = re.findall(r"^     (\w+) +(\d+) packets +\S+ +(\S+)", PAGE, re.MULTILINE)
    assert len(shown) == 6
    scale = {"bps": 1e-3}
    for name, queue, text in shown:
        if (int(queue), name) in means:
            got = means[int(queue), name] * scale.get(name.rpartition("_")[2], 1)
            assert f"{got:.{len(text.partition('.')[2])}f}" == text, name


def test_the_guide_names_where_results_lie() -> None:
    assert run_folder.COMPARED in PAGE
    for name in (
        run_folder.COMPARISON_HTML, run_folder.COMPARISON_JSON, run_folder.COMPARISON_MD
    ):  # fmt: skip
        assert name in PAGE
