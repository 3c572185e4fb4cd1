"""What this machine can run, and what stands in the way. Reads only; builds nothing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from model.words import how_many, size_text
from testbed.labs.contract.lab import Finding, LabKind
from testbed.machine import cache
from testbed.store import cells as store
from testbed.store import upkeep

#: How many damaged entries of the store are named.
MOST_NAMED = 3
STORE = "store of finished cells"
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


def _store() -> Finding:
    root = store.place()
    if root and (trouble := upkeep.unreadable(root)):
        return Finding(
            name=STORE, state=f"{root} {trouble}", well=False, needed=False,
            hint=f"{store.VARIABLE} names another; until then every cell runs",
        )  # fmt: skip
    entries = list(upkeep.held(root)) if root else []
    bad = upkeep.damaged(root) if root else {}
    state = f"{root}, {how_many(len(entries), 'entry', 'entries')}"
    state += f" of {size_text(sum(one.size_bytes for one in entries))}"
    if bad:
        first = "; ".join(f"{name}: {how}" for name, how in list(bad.items())[:MOST_NAMED])
        state += f", {len(bad)} damaged: {first}"
    return Finding(
        name=STORE,
        state=state if root else "off",
        well=not bad,
        needed=False,
        hint="a damaged entry is never used; groundtruth gc removes those that were set aside",
    )


def examine(kind: LabKind, kernel_versions: Sequence[str]) -> list[Finding]:
    """Return all findings; the lab can run if every needed one is well."""
    own = [_host_sctp()] if kind.properties.clock == "virtual" else []
    return [_python(), *kind.doctor(kernel_versions), _browser(), _store(), *own]
