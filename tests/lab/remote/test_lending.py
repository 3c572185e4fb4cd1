"""Interfaces lent and given back as they were, also by who was killed at any step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.machines import testbed

PROGRAM = Path(__file__).with_name("programs") / "lending.py"
PROJECT = Path(__file__).parents[3]
WHY = {
    "eth1 | the machine is reached by it (10.1.0.1)",
    "lo | it is the loopback",
    "eth1 | nobody knows by which address the machine is reached",
    "eth1 | the machine's default route uses it",
    "eth2 | upper rest on it",
    "eth1 | the route to 10.6.0.0/16 has several hops, or one by number",
}


def test_interfaces_are_as_they_were_whenever_it_was_killed(
    lab: VirtualLab, tmp_path: Path
) -> None:
    environment = {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "PYTHONPATH": str(PROJECT)}
    if tools := testbed.tools():
        environment["PATH"] = (
            f"{tools}/usr/sbin:{tools}/usr/bin:{tools}/sbin:{tools}/bin:" + (environment["PATH"])
        )
        environment["LD_LIBRARY_PATH"] = f"{tools}/usr/lib/x86_64-linux-gnu"
    done = subprocess.run(
        [
            "unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]),
            "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
            "sh", "-c", 'mount -t sysfs sysfs /sys; exec "$@"', "sh",
            sys.executable, str(PROGRAM), str(tmp_path),
        ],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert set(done.stdout.splitlines()) == WHY
