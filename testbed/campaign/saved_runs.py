"""Run folders: making one for a plan, and loading one to resume, verify or report it.

results/<UTC>-<study>/   and   results/latest -> the newest
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from model import plain_files, run_folder
from model.cell import cell_id, from_dict, to_dict
from model.errors import ParseError, StudyError
from testbed.campaign import manifest
from testbed.campaign.run_cell import json_text
from testbed.labs import registry
from testbed.labs.contract.lab import Lab
from testbed.machine import scratch
from testbed.machine.process import BuildReport
from testbed.planning.findings import Findings
from testbed.planning.plan import Plan, PlannedCell
from testbed.planning.resolved import plan_json, resolved_json

PROJECT = Path(__file__).resolve().parents[2]
LATEST = "latest"
#: How many packages of another version are named.
MOST_NAMED = 8


def check_writable(data_dir: Path) -> None:
    """Raise :class:`StudyError` unless runs can be written below ``data_dir``; write nothing."""
    problem = _unwritable(data_dir)
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


def _unwritable(data_dir: Path) -> str:
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


def new_folder(data_dir: Path, name: str, make: Callable[[Path, datetime.datetime], None]) -> Path:
    """Return a new folder, the latest, once ``make`` has filled it; it has its name when whole.

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
        run_folder.PROVENANCE: json_text(started),
    }
    manifest.write(run, contents)


@contextlib.contextmanager
def locked(run: Path) -> Iterator[None]:
    """Hold a run folder for the block; raise :class:`StudyError` if another process has it."""
    handle = os.open(run, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StudyError(
                "another groundtruth is working on this run", where=str(run), hint="wait for it"
            ) from error
        yield
    finally:
        os.close(handle)


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
    """Return the project's commit and whether it has local changes; null where git cannot say."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(PROJECT), *words],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def find_run(text: str) -> Path:
    """Return a run folder given by its path; raise :class:`StudyError` if it is none."""
    run = Path(text)
    try:
        found = plain_files.is_file(run / run_folder.PLAN)
        problem = "a folder without" if run.is_dir() else "no such folder"
    except OSError as error:
        found, problem = False, str(error)
    if not found:
        raise StudyError(
            "not a run folder",
            where=text,
            wanted=f"a folder with {run_folder.PLAN} or {run_folder.SET}",
            got=problem,
            hint=_half(run) or f"runs are in results/; the newest is results/{LATEST}",
        )
    return run.resolve()


def _half(run: Path) -> str:
    """Return what to do with a part of a run folder; empty if it is none."""
    parts = (run_folder.STUDY, run_folder.RESOLVED, run_folder.CELLS, run_folder.MANIFEST)
    if not any(plain_files.is_file(run / name) for name in parts):
        return ""
    return (
        "part of a run: whatever wrote or copied it was interrupted. Copy it again, or start the "
        "study anew; without a plan no cell was run"
    )


def looked_at(folder: Path) -> Path:
    """Return the folder of a run or a set, which may be somebody else's, once all in it was seen.

    Raises:
        ParseError: there is anything but plain files and folders in it: nothing is read or written.
    """
    try:
        for _ in plain_files.files(folder, run_folder.NEVER_READ):
            pass
    except OSError as error:
        raise ParseError(
            "nothing but plain files and folders belongs in a run's folder",
            where=str(error.filename or folder), got=error.strerror or str(error),
            hint="remove it; then resume runs again what misses it",
        ) from error  # fmt: skip
    return folder


def load_cells(run: Path) -> list[PlannedCell]:
    """Return the planned cells of a run, whose files were found to be what the run wrote.

    Raises:
        ParseError: they cannot be read.
        DisagreementError: a file of the run is another now.
    """
    manifest.check(run)
    cells = {planned.id: planned for planned in load_candidates(run)}
    ids = planned_ids(run)
    unknown = [one for one in ids if one not in cells]
    if unknown:
        raise ParseError(
            "a planned cell is none of the run's", where=str(run / run_folder.PLAN),
            wanted=f"one of {run_folder.CELLS}", got=unknown[0][:80],
        )  # fmt: skip
    return [cells[one] for one in ids]


def planned_ids(run: Path) -> list[str]:
    """Return the ids of a run's planned cells; raise :class:`ParseError` if they cannot be read."""
    path = run / run_folder.PLAN
    try:
        ids = [entry["id"] for entry in json.loads(plain_files.read_text(path))["cells"]]
        if not all(isinstance(one, str) for one in ids):
            raise ValueError("an id is no text")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ParseError("cannot read a run's plan", where=str(path), got=str(error)) from error
    return ids


def record_plan(run: Path, cells: Sequence[PlannedCell]) -> None:
    """Replace a run's plan by one of these cells, whole or not at all."""
    manifest.write(run, {run_folder.PLAN: plan_json(cells)})


def load_candidates(run: Path) -> list[PlannedCell]:
    """Return every cell a run may come to plan; raise :class:`ParseError` if it cannot be read."""
    path = run / run_folder.CELLS
    try:
        listed = json.loads(plain_files.read_text(path))
        cells = [PlannedCell(id=entry["id"], cell=from_dict(entry["cell"])) for entry in listed]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ParseError("cannot read a run's cells", where=str(path), got=str(error)) from error
    for planned in cells:
        if cell_id(planned.cell) != planned.id:
            raise ParseError(
                "a cell is not what its id says",
                where=str(path),
                wanted=planned.id,
                got=cell_id(planned.cell),
                hint="the file was edited; start a new run instead",
            )
    return cells


def record_lab(run: Path, packages: Mapping[str, str]) -> None:
    """Write down a new run's lab in words, so that another one's difference can be told."""
    content = {"schema": 1, "packages": dict(packages)}
    manifest.write(run, {run_folder.LAB: json_text(content)})


def _recorded_packages(run: Path) -> dict[str, str]:
    """Return the packages of a run's image; none where the run does not tell."""
    try:
        return dict(json.loads(plain_files.read_text(run / run_folder.LAB))["packages"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def lab_of(run: Path, cells: Sequence[PlannedCell], report: BuildReport) -> Lab:
    """Return the lab a run was planned for, with all its kernels, built if needed.

    Raises:
        StudyError: this checkout or machine gives another lab, so cells would not compare. Seen
            before a kernel is built, unless the kernel is what differs.
    """
    if not cells:
        raise StudyError("the run has no cells")
    wanted = list({json.dumps(planned.cell.lab): planned.cell.lab for planned in cells}.values())
    kinds = [registry.named(one.get("name", "")) for one in wanted]

    def check_common(found: Mapping[str, str], packages: Mapping[str, str]) -> None:
        for one in wanted:
            _check_same(run, one, found, packages)

    lab = kinds[0].ready([one.get("kernel", "") for one in wanted], report, check_common)
    for one in wanted:
        _check_same(run, one, lab.describe(one["kernel"]), lab.packages())
    return lab


def _check_same(
    run: Path, wanted: Mapping[str, str], found: Mapping[str, str], packages: Mapping[str, str]
) -> None:
    changed = {
        name: (wanted.get(name, "none"), value)
        for name, value in found.items()
        if wanted.get(name) != value
    }
    if changed:
        raise _another_lab(run, changed, packages)


def _another_lab(
    run: Path, changed: dict[str, tuple[str, str]], packages: Mapping[str, str]
) -> StudyError:
    """Return the error that names what differs, package versions among it."""
    hint = "check out the run's commit (see its provenance.json), or start a new run"
    recorded = _recorded_packages(run)
    if "image_digest" in changed and recorded:
        moved = {
            name: (recorded.get(name, "absent"), packages.get(name, "absent"))
            for name in sorted(recorded.keys() | packages.keys())
            if recorded.get(name) != packages.get(name)
        }
        for name in list(moved)[:MOST_NAMED]:
            changed[f"package {name}"] = moved[name]
        if len(moved) > MOST_NAMED:
            hint = f"{len(moved)} packages moved, all are in {run_folder.LAB}; {hint}"
        elif not moved:
            hint = f"no package moved: the image was set up in another way; {hint}"
    return StudyError(
        "this lab is not the one the run was made with",
        wanted="; ".join(f"{name} {before}" for name, (before, _) in changed.items()),
        got="; ".join(f"{name} {now}" for name, (_, now) in changed.items()),
        hint=hint,
    )
