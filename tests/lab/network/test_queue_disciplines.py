"""Managed queues on the real kernel: as asked, calibrated, accounted for; wrong ones are caught."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.tables.write import write_tables
from model import run_folder
from model.cell import Cell, Knob, LedgerEntry, cell_json
from model.links import FIFO, Discipline, Link, Loss, Network, QueueKind
from testbed.campaign import calibration_checks
from testbed.labs.virtual import kernel, virtual_lab
from testbed.labs.virtual.virtual_lab import PROPERTIES, VirtualLab

CODEL = dataclasses.replace(FIFO, kind="codel", target_s=0.005, interval_s=0.1)
FQ_CODEL = dataclasses.replace(CODEL, kind="fq_codel", queues=1024, quantum_bytes=1514)
PIE = dataclasses.replace(CODEL, kind="pie", target_s=0.015, interval_s=0.016)
DISCIPLINES: dict[QueueKind, Discipline] = {"codel": CODEL, "fq_codel": FQ_CODEL, "pie": PIE}
ECN = LedgerEntry(
    parameter="ECN", published="", fidelity="exact", note="",
    knobs=(Knob(kind="sysctl", name="net.ipv4.tcp_ecn", value="1", side="both"),),
)  # fmt: skip
QUEUE_PKTS, DURATION_S = 400, 20.0


@pytest.fixture(scope="module")
def managing() -> VirtualLab:
    """The lab whose kernel has all disciplines."""
    return virtual_lab.ensure(f"{kernel.DEFAULT}+aqm", lambda _what, _done: None)


def network(of: Network, managed: Discipline) -> Network:
    """Return a network with 10 Mbit/s and 18 ms between its routers, and nothing lost."""
    way = dataclasses.replace(
        of.bottleneck.forward, rate_bps=10_000_000, owd_s=0.018, queue_pkts=QUEUE_PKTS,
        channel_limit_pkts=1563, loss=Loss(model="none", loss_frac=0.0), discipline=managed,
    )  # fmt: skip
    fast = dataclasses.replace(of.source_access.forward, rate_bps=100_000_000, owd_s=0.001)
    return dataclasses.replace(
        of, bottleneck=Link(forward=way, reverse=way),
        source_access=Link(forward=fast, reverse=fast),
        destination_access=Link(forward=fast, reverse=fast),
    )  # fmt: skip


def cell(
    wireless: Callable[..., Cell], lab: VirtualLab, managed: Discipline, **changes: Any
) -> Cell:
    """Return a cell of a TCP flow with ECN and an SCTP one over that network."""
    made = wireless(duration_s=DURATION_S, pcap=True)
    hosts = dataclasses.replace(
        made.hosts, entries=(*(e for e in made.hosts.entries if not _ecn(e)), ECN)
    )
    return dataclasses.replace(
        made, network=network(made.wired, managed), hosts=hosts, lab=dict(lab.describe()), **changes
    )  # fmt: skip


def _ecn(entry: LedgerEntry) -> bool:
    return any(knob.name == "net.ipv4.tcp_ecn" for knob in entry.knobs)


def run(lab: VirtualLab, one: Cell, folder: Path) -> Path:
    folder.mkdir()
    (folder / "cell.json").write_text(cell_json(one))
    lab.run(one, folder, threading.Event())
    return folder


@pytest.fixture(scope="module", params=list(DISCIPLINES))
def calibrated(
    request: pytest.FixtureRequest, managing: VirtualLab, wireless: Callable[..., Cell],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Cell, dict[str, Any], dict[str, list[calibration_checks.Packet]]]:  # fmt: skip
    """Calibrate a path with each discipline once."""
    one = cell(wireless, managing, DISCIPLINES[request.param], purpose="calibrate")
    folder = run(managing, one, tmp_path_factory.mktemp("calibrated") / "cell")
    found = json.loads((folder / "raw" / "calibration.json").read_text())
    logs = {}
    for name, entry in found.items():
        path: Path = folder / "raw" / "calibration" / entry["log"]
        logs[name] = calibration_checks.read_log(path.read_text(), str(path))
    return one, found, logs


def judged(measured: Any, **changes: Any) -> list[calibration_checks.Check]:
    """Judge a measurement as that of a bottleneck with other properties."""
    one, found, logs = measured
    way = dataclasses.replace(one.wired.bottleneck.forward, **changes)
    wanted = dataclasses.replace(one.wired, bottleneck=Link(forward=way, reverse=way))
    return calibration_checks.checks(wanted, one.seed, found, logs, PROPERTIES.tolerances)


def test_the_path_is_as_asked(calibrated: Any) -> None:
    made = judged(calibrated)
    assert [check for check in made if not check.agrees] == []
    managed = [check for check in made if check.check == "queue discipline"]
    assert len(managed) == 2  # both ways


def test_another_target_or_interval_is_caught(calibrated: Any) -> None:
    own: Discipline = calibrated[0].wired.bottleneck.forward.discipline
    changes: dict[str, float] = {"target_s": 3 * own.target_s}
    if own.kind != "pie":
        changes = {"interval_s": 0.09}
    made = judged(calibrated, discipline=dataclasses.replace(own, **changes))
    assert [check.agrees for check in made if check.check == "queue discipline"] == [False, False]


def test_another_room_is_caught(calibrated: Any) -> None:
    kind = calibrated[0].wired.bottleneck.forward.discipline.kind
    if kind == "fq_codel":  # which is filled, not overfilled: a larger one would not be told
        return
    for queue_pkts in (QUEUE_PKTS - 1, QUEUE_PKTS + 2):
        made = judged(calibrated, queue_pkts=queue_pkts)
        assert False in [check.agrees for check in made if check.check == "buffer"]


@pytest.mark.parametrize("ecn", [False, True])
@pytest.mark.parametrize("kind", list(DISCIPLINES))
def test_all_packets_are_accounted_for_and_marks_come_with_ecn_alone(
    managing: VirtualLab, wireless: Callable[..., Cell], tmp_path: Path, kind: QueueKind, ecn: bool
) -> None:
    one = cell(wireless, managing, dataclasses.replace(DISCIPLINES[kind], ecn=ecn))
    folder = run(managing, one, tmp_path / "cell")
    write_tables(folder, one)
    audit = json.loads((folder / run_folder.AUDIT).read_text())
    assert [check for check in audit["checks"] if check["agrees"] is False] == []
    assert {"marked packets received", "when dropped, by kernel events"} <= {
        check["check"] for check in audit["checks"] if check["agrees"]
    }
    qdiscs = pl.read_parquet(folder / run_folder.QDISCS_TABLE)
    (own,) = qdiscs.filter(kind=kind, node="r1").iter_rows(named=True)
    assert (own["marked_pkts"] > 0) is ecn
    assert own["dropped_pkts"] + own["marked_pkts"] > 0
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    assert flows["marked_pkts"].sum() == own["marked_pkts"]
    # Four times the target is far from the 480 ms that the full buffer takes.
    path = pl.read_parquet(folder / run_folder.PATH_TABLE)
    assert path["queue_mean_s"].max() < 0.06
