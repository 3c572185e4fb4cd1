"""The path is what was asked for; and each kind of wrong path is caught by its measurement."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model.cell import Cell
from model.links import Direction, Link, Loss, Network
from testbed.campaign import calibration_checks
from testbed.labs.virtual.virtual_lab import PROPERTIES
from tests.support.runs import lab_part


@pytest.fixture(scope="module")
def measured(
    wireless: Callable[..., Cell], run_cell_once: Callable[..., Path]
) -> tuple[Cell, dict[str, Any], dict[str, list[calibration_checks.Packet]]]:
    """Calibrate the wireless path once: its network, the raw numbers, the packet logs."""
    cell = wireless(purpose="calibrate")
    folder = run_cell_once(cell)
    found, logs = lab_part.measured(folder)
    return cell, found, logs


def _with(network: Network, link: str, way: str, **changes: Any) -> Network:
    requested = getattr(network, link)
    direction: Direction = dataclasses.replace(getattr(requested, way), **changes)
    return dataclasses.replace(
        network, **{link: dataclasses.replace(requested, **{way: direction})}
    )


def test_the_path_is_as_asked(measured: Any) -> None:
    cell, found, logs = measured
    made = calibration_checks.checks(cell.wired, cell.seed, found, logs, PROPERTIES.tolerances)
    assert {item.check for item in made} == {
        "rtt", "loss forward", "loss reverse", "rate", "buffer",
    }  # fmt: skip
    assert [item for item in made if not item.agrees] == []
    # Both ways of the bottleneck and of two pairs' links at either side.
    assert len([item for item in made if item.check == "buffer"]) == 10


# The measurement stays; what was asked for changes. So each row is a path that differs from the
# wanted one in exactly this, seen by real traffic on a real kernel.
@pytest.mark.parametrize(
    ("link", "way", "changes", "caught_by"),
    [
        ("bottleneck", "forward", {"owd_s": 0.2501}, "rtt"),
        ("bottleneck", "forward", {"owd_s": 0.025}, "rtt"),
        ("bottleneck", "forward", {"queue_pkts": 9}, "buffer"),
        ("bottleneck", "forward", {"queue_pkts": 11}, "buffer"),
        ("bottleneck", "forward", {"loss": Loss(model="random", loss_frac=0.0105)}, "loss forward"),
        ("bottleneck", "forward", {"loss": Loss(model="random", loss_frac=0.0095)}, "loss forward"),
        ("bottleneck", "forward", {"loss": Loss(model="none", loss_frac=0.0)}, "loss forward"),
        ("bottleneck", "reverse", {"loss": Loss(model="random", loss_frac=0.01)}, "loss reverse"),
        ("bottleneck", "forward", {"rate_bps": 3_010_000}, "rate"),
        ("bottleneck", "forward", {"rate_bps": 2_990_000}, "rate"),
        ("bottleneck", "reverse", {"queue_pkts": 9}, "buffer"),
        ("bottleneck", "reverse", {"rate_bps": 3_010_000}, "rate"),
        *(
            (link, way, {"queue_pkts": queue_pkts}, "buffer")
            for link in ("source_access", "destination_access")
            for way in ("forward", "reverse")
            for queue_pkts in (99, 101)
        ),
        ("source_access", "forward", {"rate_bps": 10_050_000}, "rate"),
        ("destination_access", "reverse", {"rate_bps": 9_950_000}, "rate"),
    ],
)
def test_a_wrong_path_is_caught(
    measured: Any, link: str, way: str, changes: dict[str, Any], caught_by: str
) -> None:
    cell, found, logs = measured
    wrong = calibration_checks.checks(
        _with(cell.wired, link, way, **changes), cell.seed, found, logs, PROPERTIES.tolerances
    )
    assert caught_by in [item.check for item in wrong if item.agrees is False]


def test_a_source_that_is_far_is_found_there(
    wireless: Callable[..., Cell], run_cell_once: Callable[..., Path]
) -> None:
    """Its pair's round trip is its own link's; were it as near as the other, it would be caught."""
    cell = wireless(purpose="calibrate")
    access = cell.wired.source_access
    far = Link(
        forward=dataclasses.replace(access.forward, owd_s=0.052, channel_limit_pkts=3000),
        reverse=dataclasses.replace(access.reverse, owd_s=0.052, channel_limit_pkts=3000),
    )
    network = dataclasses.replace(cell.wired, far_accesses=(far,))
    folder = run_cell_once(dataclasses.replace(cell, network=network), "far")
    found, logs = lab_part.measured(folder)

    def judged(asked: Network) -> dict[str, bool | None]:
        made = calibration_checks.checks(asked, cell.seed, found, logs, PROPERTIES.tolerances)
        return {item.where: item.agrees for item in made if item.check == "rtt"}

    near, other = "src1 to dst1 and back", "src2 to dst2 and back"
    assert judged(network) == {near: True, other: True}
    assert judged(cell.wired) == {near: True, other: False}
