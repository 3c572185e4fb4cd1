"""A machine of which the host lab changes settings, and what it says when it undoes."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.labs.host.undo import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A machine with two settings and a place for recordings."""
    found = Places(tmp_path / "run", tmp_path / "sys", tmp_path / "tracing")
    (found.sysctls / "net/core").mkdir(parents=True)
    (found.sysctls / "net/core/rmem_max").write_text("212992\n")
    (found.sysctls / "net/core/wmem_max").write_text("4096\t16384\n")
    (found.tracing / "instances").mkdir(parents=True)
    return found
