"""A virtual lab that cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.labs.confinement import host_tools, lab_user
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine import contents


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VirtualLab:
    """The parts of a lab, none of which could run."""
    monkeypatch.setattr(host_tools, "find", lambda tool: Path("/usr/bin") / tool.program)
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "linux").write_text("kernel")
    (tmp_path / "kernel" / "version").write_text("7.3.4-1\n")
    (tmp_path / "image" / "root").mkdir(parents=True)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "init").write_text("init")
    for name in ("image", "kernel", "code"):
        contents.settle(tmp_path / name)
    monkeypatch.setattr(lab_user, "of_sandbox", lambda: lab_user.STARTER)
    monkeypatch.setattr(lab_user, "lend", lambda folder, uid: None)
    return VirtualLab(
        image=tmp_path / "image" / "root",
        kernel=tmp_path / "kernel",
        code=tmp_path / "code",
        kernel_version="7.3",
    )
