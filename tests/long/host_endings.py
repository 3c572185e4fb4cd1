"""The machine is as it was after a run of the host lab that was killed at 20 drawn moments.

.venv/bin/python -m pytest tests/long/host_endings.py
"""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.labs.virtual import virtual_lab
from tests.lab.host.test_endings import check_endings

KILLS = 20


@pytest.mark.timeout(1500)
def test_nothing_of_a_run_is_left_whenever_it_is_killed(tmp_path: Path) -> None:
    lab = virtual_lab.ensure("6.12", lambda _what, _done: None)
    check_endings(lab, tmp_path, KILLS, 1400)
