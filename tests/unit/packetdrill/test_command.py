"""What ``groundtruth packetdrill`` does first."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.errors import RunError
from testbed.command import packetdrill
from testbed.labs.booted import image
from testbed.packetdrill import kernel, program


def test_a_source_that_cannot_be_built_is_told_before_a_kernel_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_: object) -> None:
        raise RunError("cannot build packetdrill", where=str(tmp_path))

    def not_yet(*_: object) -> None:
        raise AssertionError("a kernel is built")

    (tmp_path / program.MAKEFILE).write_text("all:\n\tfalse\n")
    monkeypatch.setattr(image, "ensure", lambda _report: tmp_path)
    monkeypatch.setattr(program, "ensure", fails)
    monkeypatch.setattr(kernel, "ensure", not_yet)
    wanted = packetdrill.Wanted(
        source=tmp_path, files=(), kernel="6.12", jobs=1, data_dir=tmp_path / "results",
        form="screen", captures=False, tolerance_usecs=None, virtual_limit_s=60.0,
    )  # fmt: skip
    with pytest.raises(RunError, match="cannot build packetdrill"):
        packetdrill.command(wanted)
    assert not (tmp_path / "results").exists()
