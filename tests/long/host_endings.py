"""The machine is as it was after a run of the host lab that was killed at 20 drawn moments: on the
virtual lab's kernel, and on Debian's with modules, where somebody else has links and queues.

.venv/bin/python -m pytest tests/long/host_endings.py
"""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.labs.virtual import virtual_lab
from tests.lab.host.test_endings import check_endings
from tests.support.machines import emulated

KILLS = 20
#: What stays once it is loaded is loaded before; the rest comes and goes. What is somebody's stays.
SOMEBODY = """
modprobe -a sctp veth dummy && modprobe ifb numifbs=0 || exit 1
ip() { chroot $IMAGE ip "$@" || exit 1; }
ip link add theirs type veth peer name other
ip address add 198.51.100.1/24 dev theirs
ip link set theirs up
ip link add dropping type dummy
chroot $IMAGE tc qdisc add dev theirs root tbf rate 1mbit burst 10kb limit 10kb || exit 1
chroot $IMAGE tc qdisc add dev dropping root pfifo limit 7 || exit 1
"""


@pytest.mark.timeout(1500)
def test_nothing_of_a_run_is_left_whenever_it_is_killed(tmp_path: Path) -> None:
    lab = virtual_lab.ensure("6.12", lambda _what, _done: None)
    check_endings(lab, tmp_path, KILLS, 1400)


@pytest.mark.timeout(4 * 3600)
def test_on_debians_kernel_all_that_was_loaded_is_unloaded_and_others_keep_theirs(
    tmp_path: Path,
) -> None:
    check_endings(emulated.debian(), tmp_path, KILLS, 4 * 3500, first=SOMEBODY)
