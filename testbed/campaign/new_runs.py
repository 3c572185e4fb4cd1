"""Making a run folder for a plan: whole, with a name of its own, or not at all.

results/<UTC>-<study>/   and   results/latest -> the newest
"""

from __future__ import annotations

import datetime
import errno
import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from model import run_folder
from model.cell import to_dict
from model.errors import StudyError
from testbed.campaign import manifest
from testbed.campaign.run_cell import json_text
from testbed.campaign.saved_runs import LATEST
from testbed.machine import scratch
from testbed.planning.findings import Findings
from testbed.planning.plan import Plan
from testbed.planning.resolved import plan_json, resolved_json
from testbed.points.load_study import Study

PROJECT = Path(__file__).resolve().parents[2]
#: Where the program's own files are; studies are recorded with each run, and the rest decides none.
PROGRAM = (
    "ansible", "collectors", "mininet_topos", "model", "probes", "reports", "setup", "simulators",
    "testbed",
)  # fmt: skip


def check_writable(data_dir: Path) -> None:
    """Raise :class:`StudyError` unless runs can be written below ``data_dir``; write nothing."""
    problem = unwritable(data_dir)
    if problem:
        raise _cannot_write(data_dir, problem)


def _cannot_write(data_dir: Path, problem: str) -> StudyError:
    return StudyError(
        "cannot write results",
        where=str(data_dir),
        wanted="a folder that can be written",
        got=problem,
        hint="choose another with --data-dir",
    )


def unwritable(data_dir: Path) -> str:
    """Return why nothing can be written below a folder that need not exist; empty if it can."""
    place = data_dir
    try:
        while not place.exists() and place != place.parent:
            place = place.parent
        if not place.is_dir():
            return f"{place} is not a folder"
        if not os.access(place, os.W_OK | os.X_OK) or _read_only(place):
            return f"{place} is not writable"
    except OSError as error:  # a folder above may not be entered, or a name is too long
        return str(error)
    return ""


def _read_only(place: Path) -> bool:
    return bool(os.statvfs(place).f_flag & os.ST_RDONLY)


def create(data_dir: Path, plan: Plan, findings: Findings, argv: Sequence[str]) -> Path:
    """Make a new run folder with everything but its cells; return its path."""

    def make(run: Path, now: datetime.datetime) -> None:
        fill(run, plan, findings, provenance(now, argv))

    return new_folder(data_dir, plan.study.settings.study, make)


def new_folder(
    data_dir: Path,
    name: str,
    make: Callable[[Path, datetime.datetime], None],
    *,
    latest: bool = True,
) -> Path:
    """Return a new folder once ``make`` has filled it; it has its name when whole.

    It is the latest run then, unless it is none.

    Raises:
        StudyError: it could not be written.
    """
    now = datetime.datetime.now(tz=datetime.UTC)
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        with scratch.scratch(data_dir, run_folder.MAKING) as place:
            made = place / name
            made.mkdir()
            make(made, now)
            folder = _name(made, data_dir / f"{now:%Y%m%dT%H%M%SZ}-{name}")
            if latest:
                (place / LATEST).symlink_to(folder.name)
                (place / LATEST).replace(data_dir / LATEST)
    except OSError as error:
        raise _cannot_write(data_dir, str(error)) from error
    return folder


def fill(run: Path, plan: Plan, findings: Findings, started: Mapping[str, Any]) -> None:
    """Write into an empty run folder everything but its cells."""
    cells = [{"id": planned.id, "cell": to_dict(planned.cell)} for planned in plan.cells]
    contents = {
        run_folder.STUDY: plan.study.document.text,
        run_folder.RESOLVED: resolved_json(plan, findings),
        run_folder.PLAN: plan_json(plan.first),
        run_folder.CELLS: json_text(cells),
        run_folder.PROVENANCE: json_text({**started, "profiles": _profiles(plan.study)}),
    }
    manifest.write(run, contents)
    for sha256, text in plan.study.movements.of_cells(planned.cell for planned in plan.cells):
        manifest.write(run, {f"{run_folder.MOVEMENTS}/{sha256}.csv": text})


def _profiles(study: Study) -> dict[str, str]:
    """Return the texts of the host profiles a study uses, by name; its own are in its own file."""
    return {
        name: loaded.document.text
        for name, loaded in sorted(study.profiles.items())
        if not loaded.place
    }


def _name(made: Path, wanted: Path) -> Path:
    """Give a folder the name wanted, with a number if that is taken; return its path."""
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        folder = wanted.with_name(f"{wanted.name}{suffix}")
        if os.path.lexists(folder):
            continue
        try:
            return made.rename(folder)
        except OSError as error:  # by another process, a moment ago
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
    raise StudyError("too many runs within one second", where=str(wanted.parent))


def provenance(now: datetime.datetime, argv: Sequence[str]) -> dict[str, Any]:
    """Return ``provenance.json``: who started a run, when and with what."""
    return {
        "schema": 1,
        "started": now.isoformat(timespec="seconds"),
        "command": list(argv),
        "host": {
            "machine": platform.machine(),
            "kernel": platform.release(),
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
        },
        "git": git_state(),
    }


def git_state() -> dict[str, Any]:
    """Return the project's commit and whether the program's own files differ from it.

    Both are null where git cannot say, or the project lies in somebody else's repository.
    """

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(PROJECT), *words],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    if not (PROJECT / ".git").exists():  # a folder of packages, which may be below a checkout
        return {"commit": None, "dirty": None}
    commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain", "--", *PROGRAM)
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}
