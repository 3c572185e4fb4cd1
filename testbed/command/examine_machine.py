"""What this machine can run, and what stands in the way. Reads only; builds nothing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from testbed.labs.contract.lab import Finding, LabKind
from testbed.machine import cache

#: As setup/browser looks for them; a unit test holds this against it.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def _python() -> Finding:
    return Finding(
        name="Python",
        state=sys.version.split()[0],
        well=sys.version_info >= (3, 11),
        needed=True,
        hint="3.11 or newer",
    )


def _browser() -> Finding:
    given = os.environ.get("GROUNDTRUTH_BROWSER")
    cached = cache.root() / "browser" / "browser"
    found = given or next(filter(None, map(shutil.which, BROWSERS)), None)
    found = found or (str(cached) if cached.exists() else None)
    fetchable = bool(shutil.which("apt-get") and shutil.which("dpkg-deb"))
    return Finding(
        name="browser, for the tests",
        state=found or ("will be fetched by make test" if fetchable else "missing"),
        well=bool(found or fetchable),
        needed=False,
        hint="install chromium, or name one in GROUNDTRUTH_BROWSER",
    )


def _host_sctp() -> Finding:
    there = Path("/proc/net/sctp").is_dir()
    return Finding(
        name="SCTP in this machine's kernel",
        state="there" if there else "not loaded; the virtual lab brings its own kernel",
        well=there,
        needed=False,
    )


def examine(kind: LabKind, kernel_versions: Sequence[str]) -> list[Finding]:
    """Return all findings; the lab can run if every needed one is well."""
    own = [_host_sctp()] if kind.properties.clock == "virtual" else []
    return [_python(), *kind.doctor(kernel_versions), _browser(), *own]
