"""``groundtruth packetdrill``: scripts run in the virtual lab, as a table or test results.

Invariant: a folder of results appears whole or not at all; what cannot be used is told before
anything is built.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from model import plain_files
from model.errors import DisagreementError
from testbed.campaign import new_runs
from testbed.campaign.progress import Display
from testbed.campaign.run_cell import json_text
from testbed.command.runs.plans import kernel_and_patches
from testbed.command.runs.run_and_report import jobs_or_cores
from testbed.labs.booted import image
from testbed.labs.virtual.kind import VIRTUAL
from testbed.machine.console import out, words
from testbed.packetdrill import canary, kernel, program, results, run, scripts
from testbed.packetdrill.results import CaseResult, Setup

FORMATS = ("screen", "ktap", "junit")
RECORD, KTAP, JUNIT = "packetdrill.json", "results.ktap", "results.xml"
CASES, SHOWN = "cases", "scripts"
NAME = "packetdrill"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be run, how, and how it is told.

    ``tolerance_usecs`` takes the place of packetdrill's own tolerance, in time and in part.
    """

    source: Path
    files: tuple[Path, ...]
    kernel: str
    patches: tuple[str, ...] = ()
    jobs: int | None
    data_dir: Path
    form: str
    captures: bool
    tolerance_usecs: int | None
    virtual_limit_s: float

    def more_words(self) -> tuple[str, ...]:
        """Return what packetdrill is told besides."""
        if self.tolerance_usecs is None:
            return ()
        return (f"--tolerance_usecs={self.tolerance_usecs}", "--tolerance_percent=0")


def command(wanted: Wanted) -> None:
    """Build what is missing, run the scripts, write a folder of results and tell of it.

    Raises:
        DisagreementError: scripts fail.
        VerifyError: packetdrill does not tell right from wrong on this kernel.
    """
    name, _ = kernel_and_patches(VIRTUAL, wanted.kernel, wanted.patches)
    program.source_folder(wanted.source)
    given = scripts.of_user(wanted.files) if wanted.files else None
    new_runs.check_writable(wanted.data_dir)
    with Display(words()) as display:

        def program_first(*_: object) -> None:
            program.ensure(wanted.source, image.ensure(display.building))

        lab = kernel.ensure(name, display.building, program_first)
        built = program.ensure(wanted.source, lab.image)
        chosen = given or scripts.of_kernel(kernel.own_scripts(lab))
        setup = Setup(
            lab=lab.describe(), kernels=VIRTUAL.kernel_sources([name]),
            packetdrill={"source": built.source_sha256, "program": built.program_sha256},
            more_words=wanted.more_words(), seed=run.SEED, virtual_limit_s=wanted.virtual_limit_s,
        )  # fmt: skip
        found: list[CaseResult] = []

        def make(folder: Path, now: datetime.datetime) -> None:
            shown = folder / SHOWN
            shown.mkdir()
            chosen.write(shown)
            asked = run.Asked(
                lab=lab, tools=built.folder, scripts=shown, more_words=setup.more_words,
                virtual_limit_s=wanted.virtual_limit_s, captures=wanted.captures,
            )  # fmt: skip
            jobs = jobs_or_cores(wanted.jobs)
            canary.check(asked, folder, f"--with {wanted.source}, kernel {name}", jobs)
            found.extend(
                run.run_cases(
                    chosen.cases(), asked, folder / CASES, jobs=jobs, report=display.cases
                )
            )
            _write(folder, found, setup, now)

        folder = new_runs.new_folder(wanted.data_dir, NAME, make, latest=False)
    _tell(found, setup, folder, wanted.form)


def _write(folder: Path, found: Sequence[CaseResult], setup: Setup, now: datetime.datetime) -> None:
    from reports.terminal.test_results import junit_of, ktap_of

    record = {
        "schema": 1, **setup.record(), "provenance": new_runs.provenance(now, sys.argv),
        "cases": [one.record() for one in found],
    }  # fmt: skip
    suites = results.suites(found, setup)
    plain_files.write_text(folder / RECORD, json_text(record))
    plain_files.write_text(folder / KTAP, ktap_of(suites))
    plain_files.write_text(folder / JUNIT, junit_of(suites))


def _tell(found: Sequence[CaseResult], setup: Setup, folder: Path, form: str) -> None:
    """Print results; raise :class:`DisagreementError` if scripts fail."""
    if form == "screen":
        for line in results.lines(found, setup, str(folder)):
            out().print(line)
        out().print(f"results: {folder}")
    else:
        file = folder / {"ktap": KTAP, "junit": JUNIT}[form]
        out().print(plain_files.read_text(file), end="")
    failed = {one.case.script.name: None for one in found if not one.passed}
    if failed:
        named = [results.one_line(name) for name in failed]
        raise DisagreementError(
            f"{len(failed)} of {len({one.case.script.name for one in found})} scripts fail",
            where=str(folder), got="; ".join(named[:5]) + ("; ..." if len(named) > 5 else ""),
        )  # fmt: skip
