"""The processes that hold namespaces are found also while they become other programs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from testbed.labs.remote.on_machine import links


def test_an_environment_is_read_also_while_a_process_becomes_another_program() -> None:
    # Read at once, some of these have no environment yet: 1 % of them on an idle machine.
    for _ in range(300):
        process = subprocess.Popen(
            ["sh", "-c", "exec sleep 9"], env={"PATH": os.environ["PATH"], "MARK": "here"}
        )
        try:
            for _ in range(5):
                assert b"MARK=here" in links._environment(Path(f"/proc/{process.pid}"))
        finally:
            process.kill()
            process.wait()


def test_an_empty_environment_is_not_waited_for() -> None:
    with subprocess.Popen(["/bin/sleep", "9"], env={}) as process:
        assert links._environment(Path(f"/proc/{process.pid}")) == b""
        process.kill()
