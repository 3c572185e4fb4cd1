"""Study files as a whole: where they are found, their schema, their words, their hosts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from model.errors import StudyError
from testbed.planning.findings import find
from testbed.planning.plan import make_plan
from testbed.planning.resolved import resolved_json
from testbed.points.load_study import find_study, load_study
from testbed.study.host_profile_form import ProfileEntry
from testbed.study.study_form import AccessLink, Flow, Network, StudyFile
from testbed.study.vocabulary import (
    KNOB_OPTIONS,
    RULES,
    TOPOLOGIES,
)
from testbed.study.yaml_document import parse_document
from tests.support.study_file import (
    PAPER,
    ROOT,
    STUDIES,
    SWEEP,
    UNPUBLISHED,
    WIRELESS,
    edited,
    problems,
    study,
)


def test_a_study_without_sweep_has_one_point() -> None:
    loaded = study(UNPUBLISHED, (f"sweep:\n{SWEEP}", ""))
    assert [point.values for point in loaded.points] == [{}]
    assert loaded.parameters == ()


def test_studies_are_found_by_name_and_by_path() -> None:
    assert find_study("wireless") == STUDIES / "wireless.yaml"
    assert find_study("some/where.yaml") == Path("some/where.yaml")
    with pytest.raises(
        StudyError, match=r"no such study: wanted .*got 'wirelss' \(did you mean wir"
    ):
        find_study("wirelss")


def test_hosts_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts" / "mine.yaml").write_text(PAPER, encoding="utf-8")
    path = tmp_path / "s.yaml"
    path.write_text(WIRELESS, encoding="utf-8")
    assert load_study(path, hosts="mine").settings.hosts == "mine"
    assert set(load_study(path).profiles) == {"paper"}
    with pytest.raises(StudyError, match="hosts: unknown host profile: wanted one of manet, mine"):
        load_study(path, hosts="theirs")
    path.write_text(edited(UNPUBLISHED, (SWEEP, "  hosts: [mine, paper]\n")), encoding="utf-8")
    assert set(load_study(path).profiles) == {"mine", "paper"}
    with pytest.raises(StudyError, match="hosts given on the command line, yet the study sweeps"):
        load_study(path, hosts="mine")


def test_editors_can_be_given_a_schema() -> None:
    schema = StudyFile.model_json_schema()
    assert set(schema["required"]) <= set(schema["properties"])
    rate = schema["$defs"]["Bottleneck"]["properties"]["rate"]
    assert re.fullmatch(rate["pattern"], "10 Mbit/s")
    assert not re.fullmatch(rate["pattern"], "10")
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(json.loads(json.dumps(parse_document(WIRELESS, "w.yaml").data)))


def test_the_reference_names_every_word() -> None:
    text = (ROOT / "docs" / "study-files.md").read_text(encoding="utf-8")
    models = (StudyFile, Network, AccessLink, Flow, ProfileEntry)
    keys = [field.alias or name for model in models for name, field in model.model_fields.items()]
    words = [*RULES, *TOPOLOGIES, *(name for names in KNOB_OPTIONS.values() for name in names)]
    sided = tuple(f"_{side}" for side in ("sender", "receiver"))
    assert [w for w in (*keys, *words) if w not in text and not w.endswith(sided)] == []


EPISODES = """\
published:
  where: Section 4
  episodes:
    - flow: T
      where: Figure 5
      values: {dupacks: 3, recover_s: 1.050}
"""


def test_published_episodes_need_no_table() -> None:
    published = study((UNPUBLISHED[0], EPISODES)).settings.published
    assert published is not None
    assert published.rows == ()
    (entry,) = published.episodes
    assert (entry.flow, entry.episode, entry.where) == ("T", 0, "Figure 5")
    assert entry.values == {"dupacks": 3.0, "recover_s": 1.05}


def test_a_sweep_has_a_thousand_points_at_most() -> None:
    durations = ", ".join(f"{i} s" for i in range(1, 1002))
    (found,) = problems(edited(UNPUBLISHED, (SWEEP, f"  duration: [{durations}]\n")))
    assert found.endswith(": sweep: too many points: wanted at most 1000, got 1001")


def test_rows_of_several_tables_and_of_all_points() -> None:
    row = "    - at: {network.bottleneck.loss.data: 0.8 %}\n"
    two = f"{SWEEP}  duration: [10 s, 20 s]\n"
    rows = (
        "published:\n  where: Table 2\n  rows:\n"
        f"{row}      points: all\n      values: {{pct_increase: 6.1}}\n"
        f"{row}      points: all\n      where: Table 3\n      values: {{utilisation_pct: 20.9}}\n"
    )
    loaded = study(UNPUBLISHED, (SWEEP, two), ("assumptions:", f"{rows}assumptions:"))
    assert loaded.published_points == ((0, 1), (0, 1))
    lab = {"name": "virtual"}
    plan = make_plan(loaded, seeds=(1,), lab=lab)
    record = json.loads(resolved_json(plan, find(loaded, seeds=(1,))))
    assert [(r["where"], r["point"]["duration_s"], r["values"]) for r in (
        record["published"]["rows"]
    )] == [
        ("Table 2", 10, {"pct_increase": 6.1}),
        ("Table 2", 20, {"pct_increase": 6.1}),
        ("Table 3", 10, {"utilisation_pct": 20.9}),
        ("Table 3", 20, {"utilisation_pct": 20.9}),
    ]  # fmt: skip
    assert (record["flows"], record["delivered"]) == (["T", "S"], None)
