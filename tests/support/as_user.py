"""Run Python as an ordinary user of no account, also where only root may enter what it needs.

For tests that root runs: in a mount namespace of their own, the project, the lab and Python's own
files are bound to places everybody can enter; nothing is copied and no owner changed.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from testbed.labs.confinement import host_tools
from testbed.labs.virtual.virtual_lab import VirtualLab

PROJECT = Path(__file__).parents[2]
#: Below what labs use, above accounts.
UID = 61_000
#: Hidden in the namespace; any folder every machine has.
PLACE = Path("/mnt")
TIMEOUT_S = 900.0


def places(lab: VirtualLab) -> dict[Path, Path]:
    """Return what must be reached: where it is to be, and where it is."""
    bubblewrap = host_tools.find(host_tools.BUBBLEWRAP)
    cache = PLACE / "cache" / "groundtruth"
    found = {
        PLACE / "project": PROJECT,
        PLACE / "python": Path(sys.base_prefix),
        PLACE / "site": Path(next(path for path in sys.path if path.endswith("site-packages"))),
        PLACE / "tool": bubblewrap.parent,
    }
    others = [
        part
        for pattern in ("kernel-*", "stock-*", "emulator-*")
        for part in sorted(lab.kernel.parent.glob(pattern))
        if part.is_dir()
    ]
    for part in (lab.image.parent, *others, lab.code):
        found[cache / part.name] = part.resolve()
    return found


def run(lab: VirtualLab, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run ``python WORDS`` as that user in the project's folder; return its output, both mixed."""
    script = ["set -eu", f"mount -t tmpfs -o mode=755 none {PLACE}"]
    for place, source in places(lab).items():
        script.append(f"mkdir -p {shlex.quote(str(place))}")
        script.append(f"mount --rbind {shlex.quote(str(source))} {shlex.quote(str(place))}")
    home = PLACE / "home"
    script.append(f"mkdir -m 700 {home} && chown {UID}:{UID} {home}")
    environment = {
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_CACHE_HOME": str(PLACE / "cache"),
        "PATH": f"{PLACE}/tool:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": f"{PLACE}/project:{PLACE}/site",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CI": os.environ.get("CI", ""),
    }
    python = f"{PLACE}/python/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    command = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
    command += ["--inh-caps=-all", "--bounding-set=-all", "--", "env", "-i"]
    command += [f"{name}={value}" for name, value in environment.items()]
    script.append(f"cd {PLACE}/project")
    script.append("exec " + shlex.join([*command, python, *words]))
    return subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(script)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
