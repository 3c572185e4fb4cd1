"""Run on a machine of its own: a study in the host lab, and what is different of the machine then.

untouched.py STUDY: leaves the run in $OUT/results, its status and what is left of it in
$OUT/untouched.json.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from testbed.command.cli import command_status
from tests.lab.host.programs import endings


def study(name: str) -> int:
    """Run it as the command does, in a process that has loaded the project already, to its end."""
    argv = ["run", name, "--lab", "host", "--no-sensitivity", "-D", str(endings.RESULTS)]
    sys.exit(command_status(argv))  # what is to be done at exit is done


def main() -> None:
    """Look, run, look again, and tell."""
    before = endings.state()
    # In memory: while a cell writes by 9P the machine's time would jump.
    endings.RESULTS.mkdir()
    _, status = os.waitpid(endings.begin(study, sys.argv[1]), 0)
    left = endings.settled(before)
    out = Path(os.environ["OUT"])
    shutil.copytree(endings.RESULTS, out / "results", symlinks=True)
    told = {"status": os.waitstatus_to_exitcode(status), "left": left}
    (out / "untouched.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
