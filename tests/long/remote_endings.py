"""The remote lab's machines after a program that was killed, and after sessions that were.

    python -m pytest tests/long/remote_endings.py

Six machines by ssh, as in ``remote_six_machines.py``; some five minutes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.labs.virtual import virtual_lab
from tests.support.machines import testbed

STUDY = Path(__file__).parents[1] / "lab" / "host" / "small.yaml"
KILLED = """
look before
# The program is killed with all that it started: machines notice, and give back what they lent.
begin_run killed
kill -KILL -$run
wait_for_end || true
for name in $MACHINES; do until as_before $name; do sleep 0.5; done; done
look after
same before after

# Sessions are killed as well: nobody is left to undo anything, until it is asked for.
begin_run sessions
kill -STOP -$run  # or its next cell's sessions would
pkill -KILL -f on_machine.session
kill -KILL -$run
wait_for_end || true
as_before left && exit 1
$PYTHON -m testbed clean --lab remote
look after
same before after
"""


@pytest.mark.timeout(900)
def test_nothing_is_left_by_killed_runs(tmp_path: Path) -> None:
    lab = virtual_lab.ensure("6.12", lambda _what, _done: None)
    testbed.on_six(lab, tmp_path, STUDY, KILLED, copied=True)
    assert (tmp_path / "after" / "left").read_text() == (tmp_path / "before" / "left").read_text()
