"""The path is what was asked for; and each kind of wrong path is caught by its measurement."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed import judge
from testbed.cell import Cell, Direction, Loss, Network

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def measured(
    wireless: Callable[..., Cell], lab: Any, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Network, dict[str, Any], dict[str, list[judge.Packet]]]:
    """Calibrate the wireless path once: its network, the raw numbers, the packet logs."""
    import threading

    from testbed.cell import cell_json

    cell = wireless(purpose="calibrate")
    folder = tmp_path_factory.mktemp("calibration") / "cell"
    folder.mkdir()
    (folder / "cell.json").write_text(cell_json(cell))
    lab.run(cell, folder, threading.Event())
    found = json.loads((folder / "raw" / "calibration.json").read_text())
    logs = {}
    for run, entry in found.items():
        path: Path = folder / "raw" / "calibration" / entry["log"]
        logs[run] = judge.read_log(path.read_text(), str(path))
    return cell.network, found, logs


def _with(network: Network, **changes: Any) -> Network:
    forward: Direction = dataclasses.replace(network.bottleneck.forward, **changes)
    return dataclasses.replace(
        network, bottleneck=dataclasses.replace(network.bottleneck, forward=forward)
    )


def _wrong(network: Network, measured: Any) -> list[str]:
    _, found, logs = measured
    return [item.check for item in judge.judge(network, found, logs) if not item.agrees]


def test_the_path_is_as_asked(measured: Any) -> None:
    network, found, logs = measured
    judged = judge.judge(network, found, logs)
    assert {item.check for item in judged} == {
        "rtt", "loss forward", "loss reverse", "rate", "buffer",
    }  # fmt: skip
    assert [item for item in judged if not item.agrees] == []


# The measurement stays; what was asked for changes. So each row is a path that differs from the
# wanted one in exactly this, seen by real traffic on a real kernel.
@pytest.mark.parametrize(
    ("changes", "caught_by"),
    [
        ({"owd_s": 0.2501}, "rtt"),
        ({"owd_s": 0.025}, "rtt"),
        ({"queue_pkts": 9}, "buffer"),
        ({"queue_pkts": 11}, "buffer"),
        ({"loss": Loss(model="random", loss_frac=0.02)}, "loss forward"),
        ({"loss": Loss(model="none", loss_frac=0.0)}, "loss forward"),
        ({"rate_bps": 3_010_000}, "rate"),
        ({"rate_bps": 2_990_000}, "rate"),
    ],
)
def test_a_wrong_path_is_caught(measured: Any, changes: dict[str, Any], caught_by: str) -> None:
    network, _, _ = measured
    assert caught_by in _wrong(_with(network, **changes), measured)
