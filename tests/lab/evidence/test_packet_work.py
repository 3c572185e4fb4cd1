"""The kernel's thread for packet work that is left over goes before every program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

#: A program that is woken in the same instant would read the clock meanwhile, and packets be late.
SCRIPT = """
for process in /proc/[0-9]*; do
    read -r name < $process/comm
    case $name in
    ksoftirqd/*) set -- $(cat $process/stat); echo "$name ${40} ${41}" ;;
    esac
done > /cell/priorities
exit 0
"""
SCHED_FIFO = 1


def test_packet_work_left_to_a_thread_goes_before_programs(script: Callable[..., Path]) -> None:
    # proc(5), stat: field 40 is the real-time priority, 41 the policy; the name has no space.
    told = (script(SCRIPT) / "priorities").read_text()
    assert told == f"ksoftirqd/0 1 {SCHED_FIFO}\n"
