"""The checks run with what the README asks for, and refuse at once where they cannot run."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
RUN = ROOT / ".ci" / "run"


def test_the_machine_of_the_checks_holds_what_the_readme_names() -> None:
    sentence = next(
        line for line in (ROOT / "README.md").read_text().splitlines() if "Debian 12 or 13" in line
    )
    wanted = re.findall(r"`([\w-]+)`", sentence)
    made = re.search(r"PACKAGES=([\w,-]+)", RUN.read_text())
    assert made
    assert sorted(made.group(1).split(",")) == sorted(wanted)
    assert {"git", "make", "python3"} <= set(wanted)


def test_another_release_is_refused() -> None:
    done = subprocess.run([RUN, "buster"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "usage: bash .ci/run [bookworm|trixie]\n"


def test_where_namespaces_are_refused_that_is_said_at_once(tmp_path: Path) -> None:
    stand_in = tmp_path / "unshare"
    stand_in.write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2; exit 1\n")
    stand_in.chmod(0o755)
    # As root, whoever runs the tests: EUID cannot be set from outside, so the script's own test is.
    script = RUN.read_text().replace("((EUID == 0))", "((1))").replace(
        'dirname -- "${BASH_SOURCE[0]}"', f"echo {shlex.quote(str(RUN.parent))}"
    )  # fmt: skip
    done = subprocess.run(
        ["bash", "-c", script], env={"PATH": f"{tmp_path}:/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 4
    assert "wanted: mount, PID and user namespaces" in done.stderr
    assert "got:    unshare failed: Operation not permitted" in done.stderr
    assert sorted(tmp_path.iterdir()) == [stand_in]
