"""Study files that cannot be used: one line each, naming file, line, key, wanted, got, hint."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from model.errors import StudyError
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
    Edit,
    edited,
    line_of,
    problems,
    study,
)

CASES = (ROOT / "tests" / "data" / "bad-studies.txt").read_text(encoding="utf-8")


def cases() -> list[dict[str, str]]:
    """Return the cases of tests/data/bad-studies.txt by their marks."""
    blocks = CASES.split("\n\n")[1:]
    return [
        {line[0]: line[2:].replace("\\n", "\n") for line in block.strip("\n").split("\n")}
        for block in blocks
    ]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case[">"].split(": wanted")[0])
def test_one_mistake_is_one_line(case: dict[str, str]) -> None:
    text = edited((case["-"], case["+"]))
    assert problems(text) == [f"w.yaml:{line_of(text, case['@'])}: {case['>']}"]


def test_two_flows_of_one_name() -> None:
    text = edited(("  - id: S", "  - id: T"))
    lines = [i for i, line in enumerate(text.splitlines(), 1) if "- id: T" in line]
    assert problems(text) == [
        f"w.yaml:{lines[1]}: flows.T.id: duplicate flow: already on line {lines[0]}: got 'T'"
    ]


def test_a_flow_in_no_group_and_a_group_without_flow() -> None:
    text = edited(("    group: S", "    group: Z"))
    assert problems(text) == [
        (
            f"w.yaml:{line_of(text, 'group: Z')}: flows.S.group: unknown group:"
            " wanted one of T, S, got 'Z'"
        ),
        f"w.yaml:{line_of(text, 'S: SCTP')}: groups.S: no flow is in this group",
    ]


def test_two_assumptions_of_one_name() -> None:
    found = problems(edited(("- id: payload", "- id: bottleneck-delay")))
    assert len(found) == 1
    assert "assumptions.bottleneck-delay.id: duplicate assumption: already on line" in found[0]


def test_all_mistakes_are_told_in_file_order() -> None:
    text = edited(
        ("duration: 1000 s", "duration: 1000"),
        ("rate: 3 Mbit/s", "rat: 3 Mbit/s"),
        ("pair: 2", "pair: 9"),
        ("  of: S", "  of: X"),
        ("0.8 %, 0.9 %", "0.8, 0.9 %"),
        ("at: {network.bottleneck.loss.data: 3 %}", "at: {network.bottleneck.loss.dta: 3 %}"),
    )
    found = problems(text)
    keys = [line.split(": ")[1] for line in found]
    assert keys == [
        "duration",
        "network.bottleneck.rate",
        "network.bottleneck.rat",
        "flows.S.pair",
        "compare.of",
        "network.bottleneck.loss.data",
    ]
    numbers = [int(line.split(":")[1]) for line in found]
    assert numbers == sorted(numbers)


def test_what_follows_from_an_alias_is_not_told_twice() -> None:
    text = edited(("duration: 1000 s", "duration: &d 1000 s"), ("delay: 250 ms", "delay: *d"))
    assert problems(text) == [
        f"w.yaml:{line_of(text, '&d')}: duration: an anchor: wanted plain values, got &d",
        (
            f"w.yaml:{line_of(text, '*d')}: network.bottleneck.delay: an alias: wanted the value"
            " itself, got *d"
        ),
    ]


def test_sweeps_that_cannot_be() -> None:
    swept = "w.yaml:59: "
    path = "network.bottleneck.loss.data"
    cases = {
        f"{path}: [0.8 %, 120 %]": f"{path}: out of range: wanted at most 100 %, got '120 %'",
        f"{path}: [0.8 %, 0.80 %]": f"sweep.{path}[1]: the same point as on line 59:"
        " got loss_frac=0.008",
        f"{path}: []": f"sweep.{path}: empty: wanted at least one entry, got an empty list",
        f"{path}: 1 %": f"sweep.{path}: wrong kind: wanted a list, got '1 %'",
        f"{path}: [[1 %]]": f"sweep.{path}: not one value: wanted one value each, got a list",
        "network.botleneck.rate: [1 Mbit/s]": "sweep.network.botleneck.rate: no such setting:"
        " network.botleneck (did you mean bottleneck?)",
        "network.bottleneck.rat: [1 Mbit/s]": "network.bottleneck.rat: unknown key: wanted one of"
        " rate, delay, queue, channel_limit, reverse, loss (did you mean rate?)",
        "network.source_access.loss.data: [1 %]": "sweep.network.source_access.loss.data: no such"
        " setting: network.source_access.loss",
        "flows.X.message: [1 kB]": "sweep.flows.X.message: no such setting: flows.X",
        "seeds: [1]": "sweep.seeds: cannot be swept: wanted a setting in one of network, duration,"
        " measure, hosts, kernel, generator, flows, drops",
        "hosts: [paper, other]": "hosts: unknown host profile: wanted paper, got 'other'",
        "generator: [probe, netperf]": "generator: unknown generator: wanted one of probe, iperf3,"
        " got 'netperf'",
    }
    for sweep, message in cases.items():
        assert problems(edited(UNPUBLISHED, (SWEEP, f"  {sweep}\n"))) == [swept + message]


def test_a_setting_wrong_only_at_a_point_names_the_point() -> None:
    text = edited(UNPUBLISHED, (SWEEP, "  network.pairs: [1, 2]\n  duration: [10 s, 20 s]\n"))
    assert problems(text) == [
        (
            f"w.yaml:{line_of(text, 'pair: 2')}: flows.S.pair: no such pair: wanted at most 1"
            " (network.pairs), got 2 (at pairs=1, duration_s=10.0)"
        )
    ]


def test_points_that_cannot_be() -> None:
    cases = {
        "sweep: {}\n": "sweep: empty: wanted at least one setting, or no such key",
        "points: []\n": "points: empty: wanted at least one setting, or no such key",
        "points:\n  - {}\n": "points[0]: empty: wanted at least one setting",
        "points:\n  - {duration: 1 s}\n  - {hosts: paper}\n": "points[1]: not the settings of the"
        " first point: wanted duration, got hosts",
        "points:\n  - {duration: 100 s}\n  - {duration: 100000 ms}\n": "points[1].duration: the"
        " same point as on line 59: got duration_s=100.0",
        "points:\n  - {duration: 9 s, hosts: paper}\n  - {hosts: paper, duration: 9 s}\n": (
            "points[1].duration: the same point as on line 59: got hosts=paper, duration_s=9.0"
        ),
        "sweep: {duration: [9 s]}\npoints:\n  - {duration: 1 s}\n": "points: both sweep and points:"
        " wanted one of them",
        f"sweep:\n  duration: [{', '.join(f'{i} s' for i in range(1, 1002))}]\n": "sweep: too many"
        " points: wanted at most 1000, got 1001",
    }
    for section, message in cases.items():
        found = problems(edited(UNPUBLISHED, (f"sweep:\n{SWEEP}", section)))
        assert [line.split(": ", 1)[1] for line in found] == [message]


def test_published_rows_lie_at_points() -> None:
    row = "at: {network.bottleneck.loss.data: 0.8 %}"
    two = f"{SWEEP}  duration: [10 s, 20 s]\n"
    cases: list[tuple[list[Edit], str]] = [
        (
            [(row, "at: {network.bottleneck.loss.data: 0.85 %}")],
            "published.rows[0].at: not a point of the study: got loss_frac=0.0085",
        ),
        (
            [(row, "at: {network.bottleneck.loss.data: 0.9 %}")],
            (
                "published.rows[1].at: a second value for the same point: got pct_increase,"
                " share_S_pct, share_T_pct, utilisation_pct"
            ),
        ),
        (
            [(row, "at: {network.bottleneck.rate: 1 Mbit/s}")],
            (
                "published.rows[0].at.network.bottleneck.rate: not swept: wanted"
                " network.bottleneck.loss.data"
            ),
        ),
        (
            [(row, "at: {network.bottleneck.loss.data: 800}")],
            (
                "network.bottleneck.loss.data: no unit: wanted a percentage such as '0.8 %', got"
                " 800 (a fraction is written in percent)"
            ),
        ),
        (
            [(SWEEP, two)],
            (
                "published.rows[0].at: 2 points of the study are at this: wanted also duration, or"
                " points: all"
            ),
        ),
    ]
    for edits, message in cases:
        assert message in [line.split(": ", 1)[1] for line in problems(edited(*edits))]


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
    with pytest.raises(StudyError, match="hosts: unknown host profile: wanted one of mine, "):
        load_study(path, hosts="theirs")
    path.write_text(edited(UNPUBLISHED, (SWEEP, "  hosts: [mine, paper]\n")), encoding="utf-8")
    assert set(load_study(path).profiles) == {"mine", "paper"}
    with pytest.raises(StudyError, match="hosts given on the command line, yet the study sweeps"):
        load_study(path, hosts="mine")


def test_a_misspelt_key_is_unknown_and_missing() -> None:
    text = edited(("title: SCTP", "tytle: SCTP"))
    assert problems(text) == [
        "w.yaml:2: title: missing key: wanted one line",
        f"w.yaml:{line_of(text, 'tytle')}: tytle: unknown key (did you mean title?)",
    ]


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


def test_published_episodes_are_of_flows_and_columns() -> None:
    cases = {
        ("flow: T", "flow: X"): "published.episodes[0].flow: unknown flow",
        ("dupacks: 3", "dupack: 3"): "published.episodes[0].values.dupack: unknown column",
        ("dupacks: 3", "dupacks: three"): "published.episodes[0].values.dupacks: wrong kind",
        ("      where: Figure 5\n", ""): "published.episodes[0]",
        ("      where", "      which"): "published.episodes[0].which",
        (EPISODES.split("  where: Section 4\n")[1], ""): "published: nothing is published here",
    }
    for (old, new), message in cases.items():
        found = problems(edited((UNPUBLISHED[0], EPISODES.replace(old, new))))
        assert any(message in line for line in found), (message, found)
