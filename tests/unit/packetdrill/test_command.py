"""What ``groundtruth packetdrill`` does first."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.errors import RunError, StudyError
from testbed.command import packetdrill
from testbed.labs.booted import image
from testbed.labs.contract.lab import Check
from testbed.labs.virtual import virtual_lab
from testbed.machine.process import BuildReport
from testbed.packetdrill import kernel, program


def wanted(folder: Path) -> packetdrill.Wanted:
    """Return what asks for a folder's packetdrill."""
    (folder / program.MAKEFILE).write_text("all:\n\tfalse\n")
    return packetdrill.Wanted(
        source=folder, files=(), kernel="6.12", jobs=1, data_dir=folder / "results",
        form="screen", captures=False, tolerance_usecs=None, virtual_limit_s=60.0,
    )  # fmt: skip


def test_a_source_that_cannot_be_built_is_told_before_a_kernel_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_: object) -> None:
        raise RunError("cannot build packetdrill", where=str(tmp_path))

    def checked_first(_name: str, _report: BuildReport, check: Check) -> None:
        check({}, {})
        raise AssertionError("a kernel is built")

    monkeypatch.setattr(image, "ensure", lambda _report: tmp_path)
    monkeypatch.setattr(program, "ensure", fails)
    monkeypatch.setattr(kernel, "ensure", checked_first)
    with pytest.raises(RunError, match="cannot build packetdrill"):
        packetdrill.command(wanted(tmp_path))
    assert not (tmp_path / "results").exists()


def test_a_kernel_that_is_not_to_be_had_is_told_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def none_offered(*_: object) -> None:
        raise StudyError("no such kernel", where="KERNEL")

    def not_yet(*_: object) -> None:
        raise AssertionError("something is built")

    monkeypatch.setattr(virtual_lab, "check_offered", none_offered)
    monkeypatch.setattr(image, "ensure", not_yet)
    monkeypatch.setattr(program, "ensure", not_yet)
    with pytest.raises(StudyError, match="no such kernel"):
        packetdrill.command(wanted(tmp_path))
