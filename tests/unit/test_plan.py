"""The plan of a run: which cells, in which order, for how long, and the files that say so."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from reports.jsondoc import Doc
from reports.parsing import parse_plan, parse_study
from testbed import validate
from testbed.errors import StudyError
from testbed.plan import (
    CALIBRATION_VIRTUAL_S,
    expected,
    make_plan,
    plan_record,
    replicate_seeds,
    resolved_json,
)
from testbed.spec import load_study
from testbed.spec.settings import MAX_SEED
from tests.study_file import STUDIES, UNPUBLISHED, study

pytestmark = pytest.mark.unit

LOSSES = (0.008, 0.009, 0.01, 0.015, 0.02, 0.025, 0.03)


def test_the_wireless_plan() -> None:
    loaded = study()
    plan = make_plan(loaded, seeds=loaded.settings.seeds, lab={"kernel": "6.12"})
    calibrations, measures = plan.cells[:7], plan.cells[7:]
    assert len(measures) == 35
    assert [c.cell.purpose for c in calibrations] == ["calibrate"] * 7
    assert {c.cell.purpose for c in measures} == {"measure"}
    assert {c.cell.seed for c in calibrations} == {1}
    # Replicate by replicate, so that a run that is cut short has every point.
    assert [(c.cell.replicate, c.cell.seed) for c in measures[::7]] == [(i, i) for i in range(1, 6)]
    assert [c.cell.point for c in measures[:7]] == [point.values for point in loaded.points]
    assert len({c.id for c in plan.cells}) == 42
    again = make_plan(study(), seeds=loaded.settings.seeds, lab={"kernel": "6.12"})
    assert [c.id for c in again.cells] == [c.id for c in plan.cells]


def test_what_a_cell_runs_on_is_in_its_id() -> None:
    loaded = study()
    ids = [
        make_plan(loaded, seeds=[1], lab=lab, pcap=pcap).cells[-1].id
        for lab, pcap in (
            ({"kernel": "a"}, False),
            ({"kernel": "b"}, False),
            ({"kernel": "a"}, True),
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
    one = expected(measure, jobs=1, virtual_s_per_wall_s=500, setup_wall_s=1)
    assert (one.virtual_s, one.wall_s) == (14_000, 14 * (2 + 1))
    # Fourteen cells of three seconds on four workers: four rounds.
    assert expected(measure, jobs=4, virtual_s_per_wall_s=500, setup_wall_s=1).wall_s == 12
    assert expected(measure, jobs=99, virtual_s_per_wall_s=500).wall_s == 2
    assert expected(cells[:1], jobs=1, virtual_s_per_wall_s=1).virtual_s == CALIBRATION_VIRTUAL_S
    assert expected([], jobs=2, virtual_s_per_wall_s=1).wall_s == 0


def test_plan_json() -> None:
    plan = make_plan(study(), seeds=[4], lab={})
    record = plan_record(plan)
    assert record["schema"] == 1
    assert len(record["cells"]) == 14
    assert record["cells"][7] == {
        "id": plan.cells[7].id,
        "purpose": "measure",
        "point": {"loss_frac": 0.008},
        "replicate": 1,
        "seed": 4,
    }


def resolved(*edits: tuple[str, str]) -> str:
    loaded = study(*edits)
    plan = make_plan(loaded, seeds=[1, 2], lab={})
    return resolved_json(plan, validate.find(loaded, seeds=[1, 2]))


def test_resolved_json() -> None:
    record = json.loads(resolved())
    assert record["seeds"] == [1, 2]
    assert record["duration_s"] == 1000.0
    assert record["groups"] == [{"id": "T", "label": "TCP SACK"}, {"id": "S", "label": "SCTP"}]
    assert record["compare"] == {"of": "S", "over": "T"}
    assert record["parameters"] == [{"name": "loss_frac", "path": "network.bottleneck.loss.data"}]
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
    text = resolved_json(plan, validate.find(loaded, seeds=[1, 2]))
    digits = json.loads(text, parse_float=Decimal)
    read = parse_study(Doc(json.loads(text), "resolved.json"), Doc(digits, "resolved.json"))
    assert read.published is not None
    assert str(read.published.rows[0].values["pct_increase"]) == "6.1"
    assert list(read.paths) == list(read.points)
    assert read.paths[read.points[0]].serialisation_s(1500) == pytest.approx(0.0064)
    cells = parse_plan(Doc(plan_record(plan), "plan.json"), read)
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
    assert [c.cell.purpose for c in plan.cells].count("measure") == 35
    assert [c.cell.purpose for c in plan.cells].count("calibrate") == 7
    bottleneck = plan.cells[0].cell.network.bottleneck.forward
    assert (bottleneck.rate_bps, bottleneck.owd_s, bottleneck.queue_pkts) == (3_000_000, 0.25, 10)


@pytest.mark.parametrize(
    "path",
    sorted([*STUDIES.glob("*.yaml"), *STUDIES.glob("examples/*.yaml")]),
    ids=lambda path: path.stem,
)
def test_every_study_loads_and_plans(path: Path) -> None:
    loaded = load_study(path)
    assert loaded.settings.study == path.stem
    plan = make_plan(loaded, seeds=loaded.settings.seeds, lab={})
    assert len(plan.cells) == len(loaded.points) * (1 + len(loaded.settings.seeds))
    validate.find(loaded, seeds=loaded.settings.seeds)
