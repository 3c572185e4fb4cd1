"""Kernels whose netem takes no seed: refused for cells that draw losses, and for no others."""

from __future__ import annotations

import dataclasses
import os

import pytest

from model.cell import Cell
from model.errors import UnsupportedError
from model.links import Loss
from testbed.labs import registry
from testbed.labs.contract import seeded_loss
from testbed.labs.remote import inventory
from testbed.labs.remote import kind as remote_kind
from tests.support.recorded import wireless_cell

OLD, NEW = "6.1.0-41-amd64", "6.12.117+deb13-amd64"


def lossless(cell: Cell) -> Cell:
    bottleneck = cell.wired.bottleneck
    none = Loss(model="none", loss_frac=0.0)
    forward = dataclasses.replace(bottleneck.forward, loss=none)
    network = dataclasses.replace(
        cell.wired, bottleneck=dataclasses.replace(bottleneck, forward=forward)
    )
    return dataclasses.replace(cell, network=network)


@pytest.mark.parametrize(
    ("release", "takes"),
    [
        (OLD, False), (NEW, True), ("6.6.0", True), ("6.5.13-generic", False),
        ("6.8-generic", True), ("7.0", True), ("10.1", True), ("5.15", False), ("6", False),
    ],
)  # fmt: skip
def test_which_kernels_take_a_seed(release: str, takes: bool) -> None:
    assert seeded_loss.takes_seed(release) == takes


def refused(cell: Cell, name: str) -> str:
    with pytest.raises(UnsupportedError, match=r"takes no seed.*wanted Linux 6\.6 or newer") as one:
        registry.named(name).limits(cell)
    return str(one.value)


def test_the_stock_lab_looks_at_the_kernel_asked_for() -> None:
    cell = wireless_cell()
    old = dataclasses.replace(cell, lab={**cell.lab, "kernel": "6.1"})
    assert "got 6.1 (" in refused(old, "stock")
    registry.named("stock").limits(lossless(old))
    registry.named("stock").limits(dataclasses.replace(cell, lab={**cell.lab, "kernel": "6.12"}))


def test_the_host_lab_looks_at_the_running_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    running = list(os.uname())

    def run_kernel(release: str) -> None:
        running[2] = release
        monkeypatch.setattr(os, "uname", lambda: os.uname_result(running))

    run_kernel(OLD)
    assert "bookworm-backports" in refused(wireless_cell(), "host")
    registry.named("host").limits(lossless(wireless_cell()))
    (finding,) = (one for one in registry.named("host").doctor([]) if one.name == "kernel")
    assert (finding.state, finding.well, finding.needed) == (OLD, False, False)
    run_kernel(NEW)
    registry.named("host").limits(wireless_cell())


def test_the_remote_lab_looks_at_its_oldest_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_kind, "_releases", lambda _place: [NEW, "6.9.1", OLD, "6.10.2"])
    monkeypatch.setattr(inventory, "path", lambda: None)
    assert registry.named("remote").least_release() == OLD  # type: ignore[attr-defined]
