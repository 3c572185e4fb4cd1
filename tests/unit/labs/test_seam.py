"""What every lab says of itself, and that campaigns go by it: two labs differ in what they say."""

from __future__ import annotations

import dataclasses
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from model import run_folder
from model.errors import StudyError, UnsupportedError, VerifyError
from model.tolerances import Tolerances
from testbed.campaign import again, run_cell
from testbed.command import labs
from testbed.labs import registry
from testbed.labs.contract.lab import Properties
from testbed.planning.plan import make_plan
from tests.support.fake_lab import FakeLab
from tests.support.recorded import wireless_cell
from tests.support.study_file import study

CALIBRATE = dataclasses.replace(wireless_cell(), purpose="calibrate")


def lab_that_says(**properties: Any) -> FakeLab:
    lab = FakeLab()
    lab.properties = dataclasses.replace(lab.properties, **properties)
    return lab


def test_labs_have_names() -> None:
    kind = registry.named("virtual")
    assert kind is registry.DEFAULT
    assert kind.properties == Properties(
        name="virtual",
        kernels="User-Mode Linux of Debian's source, a process of any user",
        clock="virtual",
        tick_hz=250,
        repeatable=True,
        builds=True,
        tolerances=Tolerances(delay_s=20e-6, rate_frac=0.001),
    )


def test_a_lab_that_is_not_there_is_an_error_with_the_names_there_are() -> None:
    for act in (registry.named, lambda name: labs.doctor(name, "7.3")):
        with pytest.raises(
            StudyError,
            match=r"^LAB: no such lab: wanted virtual or .* or remote or ns2, got 'mars'$",
        ):
            act("mars")


def test_the_virtual_lab_runs_a_cell_on_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5})
    assert registry.DEFAULT.slots() == 3


def test_a_calibration_is_held_to_its_own_labs_tolerances(tmp_path: Path) -> None:
    # The recorded path is right to within rounding, which no clock of real numbers is.
    run_cell.execute(CALIBRATE, tmp_path / "x", FakeLab(), threading.Event())
    strict = lab_that_says(tolerances=Tolerances(delay_s=0.0, rate_frac=0.0))
    with pytest.raises(VerifyError, match=r"calibration: r\w+ is not as asked"):
        run_cell.execute(CALIBRATE, tmp_path / "y", strict, threading.Event())
    assert not run_folder.is_done(tmp_path / "y")


def test_only_a_lab_that_repeats_itself_is_verified_to_the_byte(tmp_path: Path) -> None:
    lab = lab_that_says(name="host", clock="real", repeatable=False)
    with pytest.raises(UnsupportedError, match="host lab: cells of this lab cannot be verified"):
        again.repeat(tmp_path, [], lab, jobs=1, report=lambda _: None)
    assert again.repeat(tmp_path, [], FakeLab(), jobs=1, report=lambda _: None) == {}


class Patient:
    """A kind of lab of which only the limits are asked."""

    properties = registry.DEFAULT.properties

    @staticmethod
    def limits(cell: object) -> object:
        return dataclasses.replace(CALIBRATE.limits, wall_s=12_345.0)


def test_limits_of_planned_cells_are_their_labs() -> None:
    (first, *_) = make_plan(study(), seeds=[1], lab={}, lab_kind=Patient()).cells  # type: ignore[arg-type]
    assert first.cell.limits.wall_s == 12_345.0
