"""Labs on this machine: built, looked at, tidied up after, carried in one file to another."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from model.errors import StudyError, UnsupportedError
from testbed.campaign.progress import Display
from testbed.command import examine_machine
from testbed.command.runs.plans import check_named, kernel_and_patches, named_kernels
from testbed.labs import registry
from testbed.labs.contract.lab import LabKind
from testbed.machine import carried, contents, workers
from testbed.machine.console import out, words
from testbed.points.load_study import kernels_of_hosts
from testbed.study import kernel_names


def build(lab_name: str, version: str, patches: Sequence[str] = ()) -> None:
    """Build what labs need and is not in the cache yet; without a version for all own hosts."""
    kind = registry.named(lab_name)
    versions = kernel_versions(kind, version, patches)
    with Display(words()) as display:
        lab = kind.ready(versions, display.building)
    packages = [lab.describe(one)["kernel_package"] for one in versions]
    names = f": {', '.join(versions)}" if any(map(kernel_names.of_own_source, versions)) else ""
    built = f"{lab_name} lab with kernel {' and '.join(packages)} is built{names}"
    out().print(built, soft_wrap=True)


def kernel_versions(kind: LabKind, asked: str, patches: Sequence[str] = ()) -> Sequence[str]:
    """Return the kernels that were asked for or the lab has; else those of all own hosts.

    Each has the patches that files are given of.
    """
    if "," in asked:
        return named_kernels(kind, asked, patches)
    only, names = kernel_and_patches(kind, asked, patches)
    kernels = [only] if only else kernels_of_hosts()
    return [kernel_names.patched(one, names) for one in kernels] if names else kernels


def clean(lab_name: str) -> None:
    """Undo what a killed run of a lab left on this machine."""
    undone: list[str] = []
    registry.named(lab_name).clean(undone.append)
    workers.sweep()
    for line in undone:
        out().print(line, soft_wrap=True)
    if not undone:
        out().print(f"nothing is left of the {lab_name} lab on this machine")


def doctor(lab_name: str, version: str, patches: Sequence[str] = ()) -> None:
    """Print what this machine can run; raise if that lab is not among it."""
    kind = registry.named(lab_name)
    try:
        versions = kernel_versions(kind, version, patches)
    except UnsupportedError:
        if version:
            raise
        versions = ()  # not to be known: the findings say why
    check_named(kind, versions)
    findings = examine_machine.examine(kind, versions)
    for finding in findings:
        mark = "ok" if finding.well else "NO" if finding.needed else "--"
        out().print(f"{mark:3} {finding.name}: {finding.state}")
        if not finding.well and finding.hint:
            out().print(f"    {finding.hint}")
    bad = [finding.name for finding in findings if finding.needed and not finding.well]
    if bad:
        got = f"not well: {', '.join(bad)}"
        raise UnsupportedError(f"the {lab_name} lab cannot run here", got=got)
    out().print(f"the {lab_name} lab can run here")


def export_lab(
    target: Path, lab_name: str, version: str, patches: Sequence[str] = (), *, force: bool
) -> None:
    """Write a lab into a file, built first if needed; without a version for all own hosts.

    Raises:
        StudyError: the file is there already.
    """
    if target.exists() and not force:
        raise StudyError("it is there already", where=str(target), hint="--force, or another name")
    kind = registry.named(lab_name)
    with Display(words()) as display:
        lab = kind.ready(kernel_versions(kind, version, patches), display.building)
        carried.pack(lab.parts(), target, display.building)
    _tell_digest(target)


def import_lab(source: Path) -> None:
    """Put the parts of a lab that are in a file into the cache.

    Raises:
        StudyError: the file is none that was exported, or is damaged.
    """
    if not source.is_file():
        raise StudyError("no such file", where=str(source))
    with Display(words()) as display:
        taken = carried.unpack(source, display.building)
    for name, new in taken:
        out().print(f"{name}: {'taken in' if new else 'there already'}", soft_wrap=True)
    _tell_digest(source)


def tell_parts(lab_name: str, version: str, patches: Sequence[str] = ()) -> None:
    """Print the names and digests of what a lab is made of, built first if needed."""
    kind = registry.named(lab_name)
    with Display(words()) as display:
        lab = kind.ready(kernel_versions(kind, version, patches), display.building)
    for part in lab.parts():
        out().print(f"{part.name} {contents.digest(part)}", soft_wrap=True)


def _tell_digest(file: Path) -> None:
    """Print a file's SHA-256: whoever carries a lab can compare."""
    with file.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    out().print(f"{file}: {file.stat().st_size / 1e6:.0f} MB, SHA-256 {digest}", soft_wrap=True)
