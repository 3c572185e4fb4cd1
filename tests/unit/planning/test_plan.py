"""The plan of a run: which cells, in which order, for how long, and the files that say so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from model.errors import StudyError
from model.run_files import json_file
from model.run_files.cells import PLANNED
from model.run_files.study import parse_study
from testbed.planning.findings import find
from testbed.planning.plan import (
    CALIBRATION_VIRTUAL_S,
    calibrated_points,
    expected,
    make_plan,
    replicate_seeds,
)
from testbed.planning.resolved import plan_json, resolved_json
from testbed.planning.resolved import resolved as written
from testbed.planning.stopping_rule import wanted_precision
from testbed.points.load_study import load_study
from testbed.study.setting_types import MAX_SEED
from tests.support.study_file import HOSTS, STUDIES, UNPUBLISHED, WIRELESS, study

LOSSES = (0.008, 0.009, 0.01, 0.015, 0.02, 0.025, 0.03)


def test_the_wireless_plan() -> None:
    loaded = study()
    plan = make_plan(loaded, seeds=loaded.settings.seeds, lab={"image_digest": "i"})
    calibrations, measures = plan.cells[:7], plan.cells[7:]
    assert len(measures) == 35
    assert [c.cell.purpose for c in calibrations] == ["calibrate"] * 7
    assert {c.cell.purpose for c in measures} == {"measure"}
    assert {c.cell.seed for c in calibrations} == {1}
    assert [c.cell.point for c in calibrations] == [point.values for point in loaded.points]
    # Replicate by replicate, so that a run that is cut short has every point.
    by_replicate = [measures[i : i + 7] for i in range(0, 35, 7)]
    for cells in by_replicate:
        assert len({(c.cell.replicate, c.cell.seed) for c in cells}) == 1
        assert sorted(c.cell.point["loss_frac"] for c in cells) == list(LOSSES)
    assert sorted(cells[0].cell.seed for cells in by_replicate) == [1, 2, 3, 4, 5]
    assert len({c.id for c in plan.cells}) == 42
    again = make_plan(study(), seeds=loaded.settings.seeds, lab={"image_digest": "i"})
    assert [c.id for c in again.cells] == [c.id for c in plan.cells]


def test_what_a_cell_runs_on_is_in_its_id() -> None:
    loaded = study()
    ids = [
        make_plan(loaded, seeds=[1], lab=lab, pcap=pcap).cells[-1].id
        for lab, pcap in (
            ({"code_digest": "a"}, False),
            ({"code_digest": "b"}, False),
            ({"code_digest": "a"}, True),
        )
    ]
    assert len(set(ids)) == 3


def test_equal_seeds_are_different_replicates() -> None:
    plan = make_plan(study(), seeds=[3, 3], lab={})
    assert len({c.id for c in plan.cells}) == 21


@pytest.mark.parametrize(
    ("seeds", "replicates", "wanted"),
    [
        ((1, 2, 3), 2, (1, 2)),
        ((1, 2, 3), 3, (1, 2, 3)),
        ((1, 2, 3), 5, (1, 2, 3, 4, 5)),
        ((7, 100, 8), 5, (7, 100, 8, 101, 102)),
        ((MAX_SEED,), 1, (MAX_SEED,)),
    ],
)
def test_replicates_go_on_after_the_largest_seed(
    seeds: tuple[int, ...], replicates: int, wanted: tuple[int, ...]
) -> None:
    assert replicate_seeds(seeds, replicates) == wanted


def test_replicates_that_cannot_be() -> None:
    with pytest.raises(StudyError, match="replicates: wanted at least 1, got 0"):
        replicate_seeds((1,), 0)
    with pytest.raises(StudyError, match="seeds run out of range"):
        replicate_seeds((MAX_SEED,), 2)
    with pytest.raises(StudyError, match="seeds run out of range"):
        replicate_seeds((1,), 10**30)


def test_expected_time() -> None:
    cells = make_plan(study(), seeds=[1, 2], lab={}).cells
    measure = cells[7:]
    one = expected(measure, jobs=1, wall_s=lambda cell: 3.0)
    assert (one.virtual_s, one.wall_s) == (14_000, 14 * 3)
    # Fourteen cells of three seconds on four workers: four rounds.
    assert expected(measure, jobs=4, wall_s=lambda cell: 3.0).wall_s == 12
    assert expected(measure, jobs=99, wall_s=lambda cell: 3.0).wall_s == 3
    calibration = expected(cells[:1], jobs=1, wall_s=lambda cell: 1.0)
    assert calibration.virtual_s == CALIBRATION_VIRTUAL_S
    assert expected([], jobs=2, wall_s=lambda cell: 1.0).wall_s == 0


def test_plan_json() -> None:
    plan = make_plan(study(), seeds=[4], lab={})
    record = json.loads(plan_json(plan.cells))
    assert record["schema"] == 1
    assert len(record["cells"]) == 14
    assert record["cells"][7] == {
        "id": plan.cells[7].id,
        "purpose": "measure",
        "point": plan.cells[7].cell.point,
        "replicate": 1,
        "seed": 4,
    }


VARIED = (
    "    why: The published parameter table prints 25, the text says GEO satellite and 250 ms.\n",
    """\
    why: It prints 25.
    alternatives:
      - {network.bottleneck.delay: 25 ms}
      - {flows.T.message: 1000 bytes}
      - {network.bottleneck.loss.data: 3 %}
    at: {network.bottleneck.loss.data: 1 %}
""",
)


def test_cells_of_variations_follow_with_the_first_seeds() -> None:
    loaded = study(VARIED)
    plan = make_plan(loaded, seeds=[4, 5, 6, 7, 8], lab={})
    assert plan.base_cells == 42
    assert plan.cells[:42] == make_plan(study(), seeds=[4, 5, 6, 7, 8], lab={}).cells
    # The path differs from the study's in the first only; the third is a point of the study.
    calibration, *measures = (planned.cell for planned in plan.of_variations)
    assert (calibration.purpose, calibration.replicate, calibration.seed) == ("calibrate", 1, 4)
    assert calibration.point == {"loss_frac": 0.01, "owd_s": 0.025}
    by_replicate = [measures[i : i + 2] for i in range(0, 6, 2)]
    assert sorted((a.replicate, a.seed, b.replicate, b.seed) for a, b in by_replicate) == [
        (1, 4, 1, 4),
        (2, 5, 2, 5),
        (3, 6, 3, 6),
    ]
    for pair in by_replicate:
        assert [one.purpose for one in pair] == ["measure", "measure"]
        points = [one.point for one in pair]
        assert {"loss_frac": 0.01, "owd_s": 0.025} in points
        assert {"loss_frac": 0.01, "message_bytes": 1000} in points
    assert calibrated_points(loaded) == (0, 1, 2, 3, 4, 5, 6, 7, 2)
    assert plan.first == plan.cells
    assert len(make_plan(loaded, seeds=[4], lab={}).of_variations) == 3
    assert make_plan(loaded, seeds=[4], lab={}, sensitivity=False).of_variations == ()


def test_resolved_json_tells_of_variations() -> None:
    record = json.loads(resolved(VARIED))
    assert record["base_points"] == 7
    assert record["points"][7:] == [
        {"loss_frac": 0.01, "owd_s": 0.025},
        {"loss_frac": 0.01, "message_bytes": 1000},
    ]
    assert [v["words"] for v in record["variations"]] == [
        "bottleneck delay 25 ms", "T message 1000 bytes", "bottleneck loss data 3 %"
    ]  # fmt: skip
    assert [(v["of"], v["points"], v["calibrated"]) for v in record["variations"]] == [
        ([2], [7], [7]),
        ([2], [8], [2]),
        ([2], [6], [6]),
    ]
    assert [p["name"] for p in record["variation_parameters"]] == ["owd_s", "message_bytes"]
    assert set(record["assumptions"][0]) == {"id", "text", "why"}
    read = parse_study(resolved(VARIED), "r")
    assert len(read.points) == 7
    assert read.variation_points == read.all_points[7:]
    loaded = study(VARIED)
    left = make_plan(loaded, seeds=[1], lab={}, sensitivity=False)
    record = json.loads(resolved_json(left, find(loaded, seeds=[1])))
    assert (len(record["points"]), record["variations"], len(record["left_out"])) == (7, [], 3)


def test_seeds_as_needed_begin_with_the_least() -> None:
    loaded = study(("metrics:", ("replication: {metric: pct_increase, half_width: 3, at_least: 2,"
                    " at_most: 9}\nmetrics:")))  # fmt: skip
    precision = wanted_precision(loaded)
    seeds = replicate_seeds(loaded.settings.seeds, precision.at_most)
    plan = make_plan(loaded, seeds=seeds, lab={}, precision=precision)
    assert len(plan.cells) == 7 * (1 + 9)
    # In the order of the plan, whichever replicates are drawn first of all there may be.
    assert plan.first == tuple(c for c in plan.cells if c.cell.replicate <= 2)
    assert len(plan.first) == 7 * (1 + 2)
    record = json.loads(resolved_json(plan, find(loaded, seeds=seeds)))
    assert record["replication"] == {
        "metric": "pct_increase", "half_width": 3.0, "relative_half_width": None,
        "at_least": 2, "at_most": 9,
    }  # fmt: skip
    unsaid = wanted_precision(study())
    assert (unsaid.metric, unsaid.relative_half_width) == (None, 0.05)
    assert (unsaid.at_least, unsaid.at_most) == (5, 40)


def resolved(*edits: tuple[str, str]) -> str:
    loaded = study(*edits)
    plan = make_plan(loaded, seeds=[1, 2], lab={})
    return resolved_json(plan, find(loaded, seeds=[1, 2]))


def test_resolved_json() -> None:
    record = json.loads(resolved())
    assert record["seeds"] == [1, 2]
    assert record["duration_s"] == 1000.0
    assert record["groups"] == [{"id": "T", "label": "TCP SACK"}, {"id": "S", "label": "SCTP"}]
    assert record["compare"] == {"of": "S", "over": "T"}
    assert record["parameters"] == [
        {"name": "loss_frac", "path": "network.bottleneck.loss.data", "label": None}
    ]
    assert record["points"][0] == {"loss_frac": 0.008}
    assert record["published"]["rows"][0] == {
        "point": {"loss_frac": 0.008},
        "where": "Table 2",
        "values": {
            "share_T_pct": 49.8, "share_S_pct": 50.2, "pct_increase": 6.1, "utilisation_pct": 20.9
        },
    }  # fmt: skip
    assert record["acknowledged"][0]["rule"] == "window-below-path"
    assert set(record["acknowledged"][0]) == {"rule", "where", "text", "why"}


def test_every_point_says_what_its_path_is() -> None:
    paths = json.loads(resolved())["paths"]
    assert [path["point"] for path in paths] == json.loads(resolved())["points"]
    assert {key: paths[0][key] for key in paths[0] if key not in ("point", "flows")} == {
        "bottleneck_rate_bps": 3_000_000,
        "forward_rates_bps": [10_000_000, 3_000_000, 10_000_000],
        "base_owd_s": 0.254,
        "base_rtt_s": 0.508,
        "loss_frac": 0.008,
    }
    assert paths[0]["flows"] == [
        {"flow": "T", "group": "T", "protocol": "tcp", "rate_bps": 0, "payload_bytes": 1448,
         "packet_bytes": 1488},
        {"flow": "S", "group": "S", "protocol": "sctp", "rate_bps": 0, "payload_bytes": 1448,
         "packet_bytes": 1496},
    ]  # fmt: skip
    larger = json.loads(resolved(("message: 1448 bytes", "message: 8192 bytes")))["paths"][0]
    assert larger["flows"][0]["payload_bytes"] == 1460
    assert larger["flows"][0]["packet_bytes"] == 1500


def test_published_numbers_keep_their_digits() -> None:
    text = resolved(
        ("share_T_pct: 49.8,", "share_T_pct: 49.800,"), ("pct_increase: 6.1", "pct_increase: 6")
    )
    assert '"share_T_pct": 49.800,' in text
    assert '"pct_increase": 6,' in text
    assert json.loads(text)["published"]["rows"][0]["values"]["share_T_pct"] == 49.8


def test_a_study_without_published_table() -> None:
    whole = resolved(
        ("compare:\n  of: S\n  over: T\n", ""),
        ("pct_increase, utilisation_pct]", "utilisation_pct]"),
        UNPUBLISHED,
    )
    record = json.loads(whole)
    assert record["published"] is None
    assert record["compare"] is None


def test_reports_read_what_is_written() -> None:
    loaded = study()
    plan = make_plan(loaded, seeds=[1, 2], lab={})
    text = resolved_json(plan, find(loaded, seeds=[1, 2]))
    read = parse_study(text, "resolved.json")
    assert read == written(plan, find(loaded, seeds=[1, 2]))
    assert read.published is not None
    assert str(read.published.rows[0].values["pct_increase"]) == "6.1"
    assert tuple(path.point for path in read.paths) == read.points
    assert read.paths[0].serialisation_s(1500) == pytest.approx(0.0064)
    cells = json_file.parse(PLANNED, plan_json(plan.cells), "plan.json").cells
    assert {cell.id for cell in cells} == {cell.id for cell in plan.cells}


def test_published_episodes_keep_their_digits() -> None:
    episodes = """\
published:
  where: Section 4
  episodes:
    - {flow: T, episode: 2, where: Figure 5, values: {recover_s: 1.050, dupacks: 3}}
"""
    text = resolved((UNPUBLISHED[0], episodes))
    assert '"recover_s": 1.050' in text
    assert json.loads(text)["published"] == {
        "where": "Section 4",
        "rows": [],
        "episodes": [
            {
                "flow": "T",
                "episode": 2,
                "where": "Figure 5",
                "points": [{"loss_frac": value} for value in LOSSES],
                "grown_s": None,
                "values": {"recover_s": 1.05, "dupacks": 3},
            }
        ],
    }


def test_the_wireless_study_itself() -> None:
    loaded = load_study(STUDIES / "wireless.yaml")
    assert [point.values for point in loaded.points] == [{"loss_frac": value} for value in LOSSES]
    plan = make_plan(loaded, seeds=(1, 2, 3, 4, 5), lab={})
    own = plan.cells[: plan.base_cells]
    assert [c.cell.purpose for c in own].count("measure") == 35
    assert [c.cell.purpose for c in own].count("calibrate") == 7
    bottleneck = plan.cells[0].cell.wired.bottleneck.forward
    assert (bottleneck.rate_bps, bottleneck.owd_s, bottleneck.queue_pkts) == (3_000_000, 0.25, 10)


@pytest.mark.parametrize(
    "path",
    sorted([*STUDIES.glob("*.yaml"), *STUDIES.glob("[et]*/*.yaml")]),
    ids=lambda path: path.stem,
)
def test_every_study_loads_and_plans(path: Path) -> None:
    loaded = load_study(path)
    assert loaded.settings.study == path.stem
    plan = make_plan(loaded, seeds=loaded.settings.seeds, lab={})
    assert plan.base_cells == len(loaded.points) * (1 + len(loaded.settings.seeds))
    find(loaded, seeds=loaded.settings.seeds)


def test_what_a_run_records_is_the_same_wherever_the_study_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolved(path: Path) -> str:
        study = load_study(path)
        findings = find(study, seeds=(1,))
        assert findings.warnings
        assert findings.acknowledged
        return resolved_json(make_plan(study, seeds=(1,), lab={}), findings)

    for folder in ("here", "deep/er: 1"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "mine.yaml").write_text(WIRELESS)
        shutil.copytree(HOSTS, tmp_path / folder / "hosts")
    monkeypatch.chdir(tmp_path / "here")
    places = (Path("mine.yaml"), Path("../here/mine.yaml"), tmp_path / "deep/er: 1/mine.yaml")
    found = [resolved(place) for place in places]
    assert found[0] == found[1] == found[2]
    assert {entry["where"].partition(":")[0] for entry in json.loads(found[0])["acknowledged"]} == {
        "study.yaml"
    }
