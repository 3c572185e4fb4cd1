"""Run a study through LAB=host in a machine with Debian's kernel, to be compared with other labs.

    .venv/bin/python -m benchmarks.host_agreement FOLDER --reps 12

The machine is QEMU's with this one's files, and its real time is a count of instructions: no load
on this machine makes it late. The run folder is left in FOLDER/results; the same command goes on
with what is not finished there. It has one processor that does about 10^9 instructions a second.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from tests.support.machines import emulated, quick

STUDY = Path(__file__).resolve().parents[1] / "studies/examples/agreement.yaml"
TIMEOUT_S = 24 * 3600.0
#: Inside, where what was given is OUT.
SCRIPT = """
if [ -e $OUT/results/latest ]; then
	$PYTHON -m testbed resume $OUT/results/latest
else
	$PYTHON -m testbed run {study} --lab host --reps {reps} --scale {scale} --no-sensitivity \\
		-D $OUT/results
fi
"""


def main(argv: list[str]) -> None:
    """Run or go on with the study that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--study", type=Path, default=STUDY)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--reps", type=int, default=10)
    given = parser.parse_args(argv)
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in ("status", "said"):
        (given.folder / name).unlink(missing_ok=True)
    script = SCRIPT.format(
        study=shlex.quote(str(given.study.resolve())), reps=given.reps,
        scale=shlex.quote(given.scale),
    )  # fmt: skip
    sys.stdout.write(
        quick.run(emulated.debian(), given.folder.resolve(), script, timeout_s=TIMEOUT_S)
    )


if __name__ == "__main__":
    main(sys.argv[1:])
