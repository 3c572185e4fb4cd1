"""``groundtruth bundle``: a run as one file that others can check.

Invariants: the file appears whole or not at all; nothing of the run is changed; elsewhere than at
the run's own name no file is overwritten unasked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from model import plain_files
from model.errors import StudyError
from testbed.campaign import new_runs, study_sets
from testbed.command.version import own_version
from testbed.machine.console import out

#: What a bundle's file must be called, so that others know what it is.
SUFFIXES = (".tar.gz", ".tgz")
#: That of the project, whose studies and kernels' configurations are in it.
LICENSE = "GPL-2.0-or-later"
#: An SPDX identifier, as it stands in an address.
_LICENSE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be packed: into which file, if not the usual one, and under which licence."""

    license: str
    to: Path | None = None
    evidence: bool = False
    unfinished: bool = False
    force: bool = False


def command(run_name: str, wanted: Wanted) -> None:
    """Pack a run or a set, and say where.

    Raises:
        DisagreementError: it is damaged.
        StudyError: cells are not finished, there is no report, or the file cannot be that.
    """
    # When needed: summaries take longer to load than most commands.
    from testbed.bundles import archive, make

    if not _LICENSE.fullmatch(wanted.license):
        raise StudyError("not a licence", where="--license", wanted="an SPDX identifier",
                         got=wanted.license, hint="such as CC-BY-4.0")  # fmt: skip
    found = study_sets.find(run_name)
    file = wanted.to or found.folder.with_name(f"{found.folder.name}{archive.SUFFIX}")
    _check(file, found, overwrite=wanted.force or wanted.to is None)
    choices = make.Choices(
        file_name=file.name, version=own_version(), license=wanted.license,
        evidence=wanted.evidence, unfinished=wanted.unfinished,
    )  # fmt: skip
    with study_sets.locked(found):
        plain_files.write_pieces(file, make.pieces(found, choices), unlocked=True)
    out().print(f"{file}: {file.stat().st_size / 1e6:.1f} MB", soft_wrap=True)


def _check(file: Path, found: study_sets.Found, *, overwrite: bool) -> None:
    """Raise :class:`StudyError` unless a bundle may be written there."""
    if not file.name.endswith(SUFFIXES):
        raise StudyError("not a bundle's name", where=str(file), wanted=f"NAME{SUFFIXES[0]}",
                         got=file.name)  # fmt: skip
    if file.resolve().is_relative_to(found.folder):
        raise StudyError("what a run left is not written to", where=str(file),
                         wanted="a file outside the run")  # fmt: skip
    if file.is_dir() or (file.exists() and not overwrite):
        raise StudyError("a file is there", where=str(file), wanted="a name that is free",
                         hint="another name, or --force to overwrite")  # fmt: skip
    if problem := new_runs.unwritable(file.parent):
        raise StudyError("cannot write the bundle", where=str(file), got=problem,
                         hint="another file: --to FILE")  # fmt: skip
