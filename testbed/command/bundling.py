"""``groundtruth bundle`` and ``verify`` of a bundle: a run as one file that others can check.

Invariants: the file appears whole or not at all; nothing of the run is changed; elsewhere than at
the run's own name no file is overwritten unasked. A bundle is unpacked into a folder that is gone
afterwards, and nothing in it is believed before its digests were compared.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from model import plain_files
from model.errors import DisagreementError, StudyError
from model.words import how_many
from testbed.campaign import again, digests, new_runs, saved_runs, study_sets
from testbed.campaign.progress import Display
from testbed.command.runs import plans, run_and_report
from testbed.command.version import own_version
from testbed.machine import scratch
from testbed.machine.console import out, words

if TYPE_CHECKING:
    from testbed.bundles.received import Received

#: What a bundle's file must be called, so that others know what it is.
SUFFIXES = (".tar.gz", ".tgz")
#: The beginning of the name of a folder in which a bundle is unpacked.
UNPACKED = ".groundtruth-bundle-"
#: That of the project, whose studies and kernels' configurations are in it.
LICENSE = "GPL-2.0-or-later"
#: How many files that differ are named.
MOST_NAMED = 10
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


def is_bundle(name: str) -> bool:
    """Return whether a name on the command line is that of a bundle: of a file called as one."""
    return name.endswith(SUFFIXES) and plain_files.is_file(Path(name).resolve())


def verify(name: str, count: int, jobs: int | None) -> None:
    """Check a bundle, repeat some cells of each of its runs in this machine's lab, and compare.

    Raises:
        ParseError: it is no bundle.
        DisagreementError: something in it is not as packed, or repeated cells have other bytes.
    """
    from testbed.bundles import received  # when needed, as above

    with scratch.scratch(Path(tempfile.gettempdir()), UNPACKED) as place:
        got = received.receive(Path(name).resolve(), place)
        out().print(f"{how_many(got.files, 'file')} as packed")
        found = study_sets.find(str(got.run))
        errors = run_and_report.each(found, lambda run: _verify(found, run, got, count, jobs))
        run_and_report.raise_if_any(errors)
        if count:  # other tables may be anything, and what reads Parquet is no wall
            words().print("verdicts were not made again from tables: --sample 0 does that")
            return
        if stale := received.unsummarised(found):
            raise DisagreementError(
                "not what tables give here: " + ", ".join(stale), where=got.folder.name,
                hint="of a bundle of another version it may rightly differ; provenance.json names"
                " its commit",
            )  # fmt: skip
        out().print("summaries are what the tables give")


def _verify(
    found: study_sets.Found, run: Path, got: Received, count: int, jobs: int | None
) -> None:
    from testbed.bundles import received  # when needed, as above

    checked = received.checked(run, evidence=got.evidence)
    if left := len(checked.cells) - len(checked.done):
        words().print(f"{found.named(run)}{left} of {len(checked.cells)} cells were not finished")
    chosen = again.choose(checked.done, count)
    with Display(words()) as display:
        lab, other = saved_runs.lab_here(run, checked.cells, display.building)
        lab.check_whole(thorough=True)
    if other:
        words().print(f"{found.named(run)}{other}", soft_wrap=True, markup=False)
        words().print("so bytes may rightly differ; cells are repeated all the same")
    with Display(words()) as display:
        at_once = plans.slots(jobs, lab.properties.name)
        problems = again.repeat(run, chosen, lab, jobs=at_once, report=display.cells)
    repeated = f"{found.named(run)}{how_many(len(chosen), 'cell')} repeated"
    if problems and other:
        lines = [f"{where}: {how}" for where, how in problems.items()]
        raise DisagreementError(
            f"{repeated} in another lab, with other bytes in {how_many(len(lines), 'file')}:\n  "
            + "\n  ".join(lines[:MOST_NAMED]),
            where=run.name, hint="in the lab of the run they would have to be the same",
        )  # fmt: skip
    digests.raise_if_any(problems, run, f"of {len(chosen)} cells not the same")
    in_another = ", though in another lab" if other else ""
    out().print(f"{repeated}, every file the same to the byte{in_another}")
