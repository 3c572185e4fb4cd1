"""The kernel has the timer frequency that the lab promises, and every cell says so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from model import run_folder
from model.cell import Cell
from testbed.labs.virtual.virtual_lab import VirtualLab

#: Once the kernel has left the ticks of its start behind.
SCRIPT = """
sleep 1; cat /proc/timer_list > /cell/before
sleep 10; cat /proc/timer_list > /cell/after
exit 0
"""


def _jiffies_and_ns(timers: str) -> tuple[int, int]:
    jiffies = re.search(r"^jiffies: (\d+)$", timers, re.MULTILINE)
    now_ns = re.search(r"^now at (\d+) nsecs$", timers, re.MULTILINE)
    assert jiffies
    assert now_ns
    return int(jiffies[1]), int(now_ns[1])


def test_the_kernel_counts_as_many_ticks_as_the_lab_promises(
    lab: VirtualLab, script: Callable[..., Path]
) -> None:
    folder = script(SCRIPT)
    before, after = (_jiffies_and_ns((folder / n).read_text()) for n in ("before", "after"))
    ticks, passed_s = after[0] - before[0], (after[1] - before[1]) / 1e9
    assert 10 <= passed_s < 10.1
    assert abs(ticks - passed_s * lab.properties.tick_hz) <= 1


def test_a_cell_holds_the_kernel_to_it(
    wireless: Callable[..., Cell], run_cell: Callable[..., Path]
) -> None:
    folder = run_cell(wireless(duration_s=5.0))
    assert json.loads((folder / run_folder.ENV).read_text())["tick_hz"] == 250
    checks = json.loads((folder / run_folder.VERIFY).read_text())["checks"]
    (check,) = (check for check in checks if check["check"] == "timer frequency")
    assert (check["wanted"], check["got"], check["agrees"]) == ("250", "250", True)
