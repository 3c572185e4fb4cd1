"""Run on a machine of its own: a study in the host lab, and what is different of the machine then.

untouched.py STUDY: leaves the run in $OUT/results, and before and after in $OUT/untouched.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.lab.host.programs import endings

OUT = Path(os.environ["OUT"])


def main() -> None:
    """Look, run, look again, and tell."""
    before = endings.state()
    # In memory: what is written by 9P while a cell runs would be waited for.
    endings.RESULTS.mkdir()
    options = ["--lab", "host", "--no-sensitivity", "-D", str(endings.RESULTS)]
    ran = subprocess.run([sys.executable, "-m", "testbed", "run", sys.argv[1], *options])
    left = endings.settled(before)
    subprocess.run(["cp", "-a", str(endings.RESULTS), str(OUT)], check=True)
    told = {"status": ran.returncode, "left": left}
    (OUT / "untouched.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
