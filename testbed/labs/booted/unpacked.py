"""A root of Debian's packages, unpacked and nothing else: for one program, not for a system.

No package's script runs, nobody's rights are needed, and the host needs none of it installed.
"""

from __future__ import annotations

import os
import re
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from testbed.labs.booted import image
from testbed.labs.confinement import host_tools
from testbed.machine import contents
from testbed.machine.process import BuildReport, Watch, run_logged

#: Beside a root, where it is asked for: a line for each package, name and version.
VERSIONS = "packages"
#: Lists the packages' files, whose names say what they are, in the log.
LISTED = 'ls "$1/var/cache/apt/archives"'


def unpack(
    folder: Path,
    packages: Sequence[str],
    *,
    places: Sequence[str],
    what: str,
    timeout_s: float,
    expected_lines: int,
    report: BuildReport,
    name_versions: bool = False,
) -> None:
    """Make ``root`` in an entry of the cache, of these packages and all they need.

    Args:
        folder: the entry.
        packages: among them ``base-files``, which has the folders of a root.
        places: where confined programs have folders mounted that the packages do not bring.
        what: what is fetched, in words.
        timeout_s: after which time it is given up.
        expected_lines: how much mmdebstrap says of it.
        report: is told how far it is.
        name_versions: write down which packages there are.
    """
    mirrors = host_tools.mirrors()
    mmdebstrap = host_tools.find(host_tools.MMDEBSTRAP)
    target = folder / "root.tar"
    run_logged(
        [
            str(mmdebstrap), "--mode=chrootless", "--variant=extract", "--format=tar",
            f"--include={','.join(packages)}",
            '--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"',
            "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            *(f"--aptopt={option}" for option in mirrors.apt_options),
            *([f"--extract-hook={LISTED}"] if name_versions else []),
            image.SUITE, str(target), *image.sources(mirrors),
        ],
        log=folder / "build.log",
        what=f"fetching {what}",
        timeout_s=timeout_s,
        watch=Watch(what=what, expected_lines=expected_lines, report=report),
        env={
            **os.environ,
            "SOURCE_DATE_EPOCH": str(image.DATE_S),
            "TMPDIR": str(folder),
            "PATH": f"{mmdebstrap.parent}:{os.environ.get('PATH', '')}",
        },
    )  # fmt: skip
    image.unpack(target, folder / "root")
    for place in places:
        (folder / "root" / place[1:]).mkdir(parents=True, exist_ok=True)
    if name_versions:
        found = fetched(_log(folder))
        lines = (f"{name} {version}\n" for name, version in sorted(found.items()))
        (folder / VERSIONS).write_text("".join(lines))
    contents.settle(folder)


def _log(folder: Path) -> str:
    return (folder / "build.log").read_text(errors="replace")


def fetched(log: str) -> dict[str, str]:
    """Return the packages whose files a log lists, by name, each with its version; pure."""
    found = re.findall(r"^([a-z0-9.+-]+)_([^_\s]+)_[a-z0-9]+\.deb$", log, re.MULTILINE)
    return {name: urllib.parse.unquote(version) for name, version in found}


def versions(folder: Path) -> dict[str, str]:
    """Return the version of each package of an entry, by name."""
    lines = (folder / VERSIONS).read_text().splitlines()
    return dict(line.split(" ", 1) for line in lines)
