"""Paths from 1 kbit/s to 622 Mbit/s, from LEO to GEO, asymmetric: calibrated, run, audited."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from model import run_folder
from model.cell import Cell
from testbed.campaign import run_cell
from testbed.guest import calibration
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.planning import plan
from testbed.points.load_study import STUDIES_FOLDER, load_study

Execute = Callable[..., "Ran"]


@dataclasses.dataclass
class Ran:
    """What a finished cell left: its calibration's checks by name, its tables and its audit."""

    cell: Cell
    calibration: dict[str, dict[str, Any]]
    tables: dict[str, pl.DataFrame]
    wrong: list[dict[str, Any]]

    def goodput_bps(self) -> dict[str, float]:
        flows = self.tables["flows"]
        return dict(zip(flows["flow"], flows["goodput_bps"], strict=True))


@pytest.fixture
def ran(lab: VirtualLab, tmp_path: Path) -> Execute:
    """Calibrate and run one point of an example for a short time, as a campaign does."""

    def run(name: str, duration_s: float, change: Callable[[Cell], Cell] = lambda cell: cell,
            **point: float) -> Ran:  # fmt: skip
        study = load_study(STUDIES_FOLDER / "examples" / f"{name}.yaml")
        made = plan.make_plan(study, seeds=(1,), lab=lab.describe())
        ran_cells: dict[str, Cell] = {}
        for planned in made.cells:
            cell = planned.cell
            if not point.items() <= cell.point.items():
                continue
            flows = tuple(dataclasses.replace(flow, stop_s=duration_s) for flow in cell.flows)
            cell = change(
                dataclasses.replace(
                    cell, duration_s=duration_s, measure_from_s=0.0, measure_to_s=duration_s,
                    flows=flows,
                )
            )  # fmt: skip
            folder = tmp_path / cell.purpose
            run_cell.execute(cell, folder, lab, threading.Event())
            ran_cells[cell.purpose] = cell
        checks = json.loads((tmp_path / "calibrate" / run_folder.VERIFY).read_text())["checks"]
        measured = tmp_path / "measure"
        audit = json.loads((measured / run_folder.AUDIT).read_text())
        return Ran(
            cell=ran_cells["measure"],
            # Of links the bottleneck comes first.
            calibration={check["check"]: check for check in reversed(checks)},
            tables={p.stem: pl.read_parquet(p) for p in (measured / "tables").glob("*.parquet")},
            wrong=[check for check in audit["checks"] if check["agrees"] is False],
        )

    return run


@pytest.mark.parametrize(("orbit", "owd_s"), [("LEO", 0.01), ("MEO", 0.06), ("GEO", 0.25)])
def test_five_congestion_controls_and_sctp_in_every_orbit(
    ran: Execute, orbit: str, owd_s: float
) -> None:
    found = ran("orbits", 10.0, owd_s=owd_s)
    assert found.wrong == []
    assert f"{2 * (owd_s + 0.002) * 1000:.0f}." in found.calibration["rtt"]["wanted"], orbit
    goodput_bps = found.goodput_bps()
    assert set(goodput_bps) == {"reno", "cubic", "hybla", "illinois", "bbr", "sctp"}
    assert min(goodput_bps.values()) > 0
    # BBR paces by its own measurements: losses of 0.5 % do not slow it down as they do Reno.
    assert goodput_bps["bbr"] > goodput_bps["reno"]


def test_622_mbit_per_s_are_calibrated_and_filled(ran: Execute) -> None:
    found = ran("slow-and-fast", 3.0, rate_bps=622_000_000)
    assert found.wrong == []
    assert found.calibration["rate"]["wanted"] == "622000000 bit/s within 0.1 %"
    assert found.calibration["buffer"]["got"] == "4000 packets"
    # Headers take 3 %, the start of both flows some tenths of a second.
    assert sum(found.goodput_bps().values()) > 0.8 * 622e6


def test_a_modem_is_calibrated_and_filled_and_what_it_cannot_drain_is_given_up(
    ran: Execute,
) -> None:
    found = ran("slow-and-fast", 200.0, rate_bps=9_600)
    assert found.wrong == []
    assert found.calibration["rate"]["got"] == "9600 bit/s"
    assert 0.4 * 9_600 < sum(found.goodput_bps().values()) < 9_600
    assert found.tables["flows"]["queue_dropped_pkts"].sum() > 0


def with_bottleneck(cell: Cell, **changes: Any) -> Cell:
    """Return the cell with another bottleneck, the same in both directions."""
    link = cell.wired.bottleneck
    both = dataclasses.replace(link.forward, **changes)
    network = dataclasses.replace(
        cell.wired, bottleneck=dataclasses.replace(link, forward=both, reverse=both)
    )
    needed_s = 3 * calibration.virtual_s(network, cell.seed)
    limits = dataclasses.replace(cell.limits, virtual_s=cell.limits.virtual_s + needed_s)
    return dataclasses.replace(cell, network=network, limits=limits)


@pytest.mark.parametrize("changes", [{"rate_bps": 1_000}, {"queue_pkts": 1, "rate_bps": 3_000_000}])
def test_one_kbit_per_s_and_a_buffer_of_one_packet_run_with_published_hosts(
    ran: Execute, changes: dict[str, int]
) -> None:
    paper = load_study(STUDIES_FOLDER / "wireless.yaml")
    hosts = plan.make_plan(paper, seeds=(1,), lab={}).cells[0].cell.hosts
    found = ran(
        "slow-and-fast", 100.0,
        lambda cell: with_bottleneck(dataclasses.replace(cell, hosts=hosts), **changes),
        rate_bps=9_600,
    )  # fmt: skip
    assert found.wrong == []
    assert min(found.goodput_bps().values()) > 0


def test_acknowledgements_wait_on_a_slow_way_back_and_sctp_has_streams(ran: Execute) -> None:
    found = ran("asymmetric", 40.0, rate_bps=16_000)
    assert found.wrong == []
    assert found.calibration["loss forward"]["agrees"]
    assert found.cell.wired.bottleneck.reverse.rate_bps == 16_000
    goodput_bps = found.goodput_bps()
    assert set(goodput_bps) == {"T", "S", "M"}
    assert min(goodput_bps.values()) > 0
    queue = found.tables["queue"].filter(node="r2", device="r2-bottleneck")
    assert max(queue["backlog_pkts"].to_list()) >= 15
    (streams,) = {flow.streams for flow in found.cell.flows if flow.id == "M"}
    assert streams == 8
