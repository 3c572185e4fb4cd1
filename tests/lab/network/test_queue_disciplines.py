"""Managed queues on the real kernel: as asked, calibrated, accounted for; wrong ones are caught."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

from collectors.tables.write import write_tables
from model import run_folder
from model.cell import Cell
from model.links import ACTIVE, Discipline, Link
from testbed.campaign import calibration_checks
from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.virtual_lab import PROPERTIES, VirtualLab
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell
from tests.support.runs import lab_part

STUDY = load_study(find_study("bufferbloat"))
DURATION_S = 15.0


@pytest.fixture(scope="module")
def managing() -> VirtualLab:
    """The lab of the study's kernel, which has all disciplines."""
    return virtual_lab.ensure(STUDY.kernel_at(STUDY.points[0]), lambda _what, _done: None)


def cell(
    lab: VirtualLab, kind: str, ecn: str, purpose: Literal["measure", "calibrate"] = "measure"
) -> Cell:
    """Return a shorter cell of the study: four transfers and a call share 10 Mbit/s."""
    values = {"queue_discipline": kind, "ecn": ecn}
    (point,) = (point for point in STUDY.points if point.values == values)
    made = resolve_cell(
        STUDY, point, seed=1, replicate=1, lab=dict(lab.describe()), purpose=purpose
    )
    flows = tuple(dataclasses.replace(flow, stop_s=DURATION_S) for flow in made.flows)
    return dataclasses.replace(
        made, duration_s=DURATION_S, measure_from_s=5.0, measure_to_s=DURATION_S, flows=flows
    )


@pytest.fixture(scope="module", params=ACTIVE)
def calibrated(
    request: pytest.FixtureRequest, managing: VirtualLab, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Cell, dict[str, Any], dict[str, list[calibration_checks.Packet]]]:
    """Calibrate a path with each discipline once: its cell, the raw numbers, the packet logs."""
    one = cell(managing, request.param, "false", purpose="calibrate")
    folder = lab_part.run(managing, one, tmp_path_factory.mktemp("calibrated") / "cell")
    found, logs = lab_part.measured(folder)
    return one, found, logs


def judged(measured: Any, check: str, **changes: Any) -> list[bool | None]:
    """Judge a measurement as that of a bottleneck with other properties: one check, each way."""
    one, found, logs = measured
    way = dataclasses.replace(one.wired.bottleneck.forward, **changes)
    wanted = dataclasses.replace(one.wired, bottleneck=Link(forward=way, reverse=way))
    made = calibration_checks.checks(wanted, one.seed, found, logs, PROPERTIES.tolerances)
    return [
        made_one.agrees
        for made_one in made
        if made_one.check == check and "bottleneck" in made_one.where
    ]


def test_the_path_is_as_asked(calibrated: Any) -> None:
    one, found, logs = calibrated
    made = calibration_checks.checks(one.wired, one.seed, found, logs, PROPERTIES.tolerances)
    assert [check for check in made if not check.agrees] == []
    assert len([check for check in made if check.check == "queue discipline"]) == 2  # both ways


def test_another_target_or_interval_is_caught(calibrated: Any) -> None:
    own: Discipline = calibrated[0].wired.bottleneck.forward.discipline
    longer: dict[str, Any] = {"interval_s": 0.09}
    changes = {"target_s": 3 * own.target_s} if own.kind == "pie" else longer
    other = dataclasses.replace(own, **changes)
    assert judged(calibrated, "queue discipline", discipline=other) == [False, False]


@pytest.mark.parametrize("queue_pkts", [999, 1002])
def test_another_room_is_caught_where_it_was_overfilled(calibrated: Any, queue_pkts: int) -> None:
    filled = calibrated[0].wired.bottleneck.forward.discipline.kind == "fq_codel"
    found = judged(calibrated, "buffer", queue_pkts=queue_pkts)
    assert found == [filled, filled]  # FQ-CoDel's is read back


def test_another_rate_is_caught(calibrated: Any) -> None:
    assert False in judged(calibrated, "rate", rate_bps=10_020_000)


@pytest.mark.parametrize("ecn", ["false", "true"])
@pytest.mark.parametrize("kind", ACTIVE)
def test_all_packets_are_accounted_for_and_marks_come_with_ecn_alone(
    managing: VirtualLab, tmp_path: Path, kind: str, ecn: str
) -> None:
    one = cell(managing, kind, ecn)
    folder = lab_part.run(managing, one, tmp_path / "cell")
    write_tables(folder, one)
    audit = json.loads((folder / run_folder.AUDIT).read_text())
    assert [check for check in audit["checks"] if check["agrees"] is False] == []
    agreeing = [check["check"] for check in audit["checks"] if check["agrees"]]
    assert agreeing.count("marked packets received") == 2
    qdiscs = pl.read_parquet(folder / run_folder.QDISCS_TABLE)
    (own,) = qdiscs.filter(kind=kind, node="r1").iter_rows(named=True)
    assert (own["marked_pkts"] > 0) is (ecn == "true")
    assert own["dropped_pkts"] + own["marked_pkts"] > 0
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    assert flows["marked_pkts"].sum() == own["marked_pkts"]
    # The full buffer takes 1.2 s.
    path = pl.read_parquet(folder / run_folder.PATH_TABLE)
    assert (path["queue_mean_s"] < 0.1).all()
