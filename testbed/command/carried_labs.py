"""A built lab as one file, for machines that cannot build it; and such a file into the cache."""

from __future__ import annotations

import hashlib
from pathlib import Path

from model.errors import StudyError
from testbed.campaign.progress import Display
from testbed.command import commands
from testbed.labs import registry
from testbed.machine import carried
from testbed.machine.console import out, words


def export_lab(target: Path, lab_name: str, version: str, *, force: bool) -> None:
    """Write a lab into a file, built first if needed; without a version for all own hosts.

    Raises:
        StudyError: the file is there already.
    """
    if target.exists() and not force:
        raise StudyError("it is there already", where=str(target), hint="--force, or another name")
    kind = registry.named(lab_name)
    with Display(words()) as display:
        lab = kind.ready(commands.kernel_versions(kind, version), display.building)
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


def _tell_digest(file: Path) -> None:
    """Print a file's SHA-256: whoever carries a lab can compare."""
    with file.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    out().print(f"{file}: {file.stat().st_size / 1e6:.0f} MB, SHA-256 {digest}", soft_wrap=True)
