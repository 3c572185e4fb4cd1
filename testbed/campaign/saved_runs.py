"""Run folders as they were left: found, held, read to be resumed, verified or reported."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from model import plain_files, run_folder
from model.cell import cell_id, from_dict
from model.errors import ParseError, StudyError
from testbed.campaign import manifest
from testbed.campaign.run_cell import json_text
from testbed.labs import registry
from testbed.labs.contract.lab import Lab, LabKind
from testbed.machine.process import BuildReport
from testbed.planning.plan import PlannedCell
from testbed.planning.resolved import plan_json

LATEST = "latest"
#: How often a folder is looked at in which another process removes what was just listed.
LOOKS = 5
#: How many packages of another version are named.
MOST_NAMED = 8


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
    for left in reversed(range(LOOKS)):
        try:
            for _ in plain_files.files(folder, run_folder.NEVER_READ):
                pass
        except OSError as error:
            if left and isinstance(error, FileNotFoundError):
                continue  # by who runs it: a cell that is begun again is emptied first
            raise ParseError(
                "nothing but plain files and folders belongs in a run's folder",
                where=str(error.filename or folder), got=error.strerror or str(error),
                hint="remove it; then resume runs again what misses it",
            ) from error  # fmt: skip
        break
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


def kernel_configs(lab: Lab, cells: Sequence[PlannedCell]) -> dict[str, str]:
    """Return what the kernels of these cells were configured with, by name, where that is known."""
    names = dict.fromkeys(planned.cell.lab["kernel"] for planned in cells)
    return {name: text for name in names if (text := lab.kernel_config(name))}


def record_lab(
    run: Path, packages: Mapping[str, str], configs: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write down a new run's lab in words, so that another one's difference can be told.

    Of kernels that are not of known source it keeps what is needed to find or build them again, of
    each what it was configured with.
    """
    content: dict[str, Any] = {"schema": 1, "packages": dict(packages)}
    if configs:
        content["configs"] = dict(configs)
    labs = [planned.cell.lab for planned in load_candidates(run)] if _is_planned(run) else []
    for name in dict.fromkeys(lab.get("name", "") for lab in labs):
        names = tuple(dict.fromkeys(lab["kernel"] for lab in labs if lab.get("name") == name))
        if kernels := registry.named(name).kernel_sources(names):
            content["kernels"] = {**content.get("kernels", {}), **kernels}
    manifest.write(run, {run_folder.LAB: json_text(content)})


def _is_planned(run: Path) -> bool:
    return plain_files.is_file(run / run_folder.CELLS)


def _recorded_kernels(run: Path) -> object:
    """Return what a run keeps of its kernels; nothing where it keeps none."""
    try:
        return json.loads(plain_files.read_text(run / run_folder.LAB)).get("kernels")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None


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
    wanted, kinds = _wanted(run, cells)

    def check_common(found: Mapping[str, str], packages: Mapping[str, str]) -> None:
        for one in wanted:
            _check_same(run, one, found, packages)

    lab = kinds[0].ready([one.get("kernel", "") for one in wanted], report, check_common)
    for one in wanted:
        _check_same(run, one, lab.describe(one["kernel"]), lab.packages())
    return lab


def lab_here(run: Path, cells: Sequence[PlannedCell], report: BuildReport) -> tuple[Lab, str]:
    """Return this machine's lab with the kernels of a run, built if needed.

    With it comes in what it is another than the run's, whose bytes its cells then need not have;
    empty if it is the same.
    """
    wanted, kinds = _wanted(run, cells)
    lab = kinds[0].ready([one.get("kernel", "") for one in wanted], report)
    try:
        for one in wanted:
            _check_same(run, one, lab.describe(one["kernel"]), lab.packages())
    except StudyError as error:
        return lab, str(error)
    return lab, ""


def _wanted(
    run: Path, cells: Sequence[PlannedCell]
) -> tuple[list[Mapping[str, str]], list[LabKind]]:
    """Return the labs that cells are of, and their kinds, which know the run's kernels then."""
    if not cells:
        raise StudyError("the run has no cells")
    wanted = list({json.dumps(planned.cell.lab): planned.cell.lab for planned in cells}.values())
    kinds = [registry.named(one.get("name", "")) for one in wanted]
    for kind in kinds:
        kind.keep_sources(_recorded_kernels(run))
    return list(wanted), kinds


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
