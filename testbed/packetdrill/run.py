"""Run cases in the lab, a boot for each, and keep what the lab left of them.

A boot takes a fraction of a second, so nothing of one script (settings, connections, a panic) can
reach another. Invariants: what a lab left is looked at before it is moved or read; captures are
kept of failures, and of all cases if asked for; a lab that did not come as far as the script, that
was killed, or whose machine gave it too little, is an error of the run and no script's failure.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from model import plain_files, run_folder
from model.cell import Limits
from model.errors import GroundtruthError, MachineError, RunError
from testbed.labs.booted.booting import Boot
from testbed.labs.contract import accept
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine import trees, workers
from testbed.packetdrill import results
from testbed.packetdrill.results import CaseResult
from testbed.packetdrill.scripts import IN_LAB, Case

SEED = 1
#: The lab's program, and packetdrill in the lab.
TOOLS = "/gt/packetdrill"
PROGRAM = ("/usr/bin/python3", "-S", "-E", f"{TOOLS}/run_case.py")
PACKETDRILL = f"{TOOLS}/bin/packetdrill"
#: Given to the lab, and what it may leave, with the most bytes.
GIVEN, RESULT, STDOUT, STDERR, CAPTURE = (
    "case.json", "result.json", "stdout", "stderr", "capture.pcap",
)  # fmt: skip
LEFT = {
    GIVEN: 1 << 16, RESULT: 1 << 16, STDOUT: 1 << 19, STDERR: 1 << 19, CAPTURE: 128 << 20,
}  # fmt: skip
#: What the lab says before any script of a user's can say it.
_BEGUN = re.compile(rb"^lab: phase script\r?$", re.MULTILINE)
#: What the lab's own program needs beside the script's limit: readiness and a last block.
ROOM_S = 120.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How cases are run: where, with what, and after which times one is given up.

    ``virtual_limit_s`` is the lab's time, of packetdrill alone; ``wall_limit_s`` is for a program
    that computes for ever, for which the lab's time stands still.
    """

    lab: VirtualLab
    tools: Path
    scripts: Path
    more_words: tuple[str, ...] = ()
    virtual_limit_s: float = 300.0
    wall_limit_s: float = 300.0
    captures: bool = False


def run_cases(
    cases: Sequence[Case],
    asked: Asked,
    folder: Path,
    *,
    jobs: int,
    report: Callable[[int, int], None],
) -> list[CaseResult]:
    """Run all cases, ``jobs`` at once, each in a folder of its own; return the results in order.

    Raises:
        GroundtruthError: a case could not be run.
    """
    found: dict[int, CaseResult] = {}
    broken: list[GroundtruthError | OSError] = []

    def ended(case: Case, what: CaseResult | GroundtruthError | OSError) -> None:
        if isinstance(what, CaseResult):
            found[case.number] = what
        else:
            broken.append(what)
        report(len(found) + len(broken), len(cases))

    act = functools.partial(run_case, asked=asked, above=folder)
    workers.each(cases, act, name=lambda case: case.place, jobs=jobs, ended=ended)
    if broken:
        raise broken[0]
    return [found[case.number] for case in cases]


def run_case(case: Case, *, asked: Asked, above: Path) -> CaseResult:
    """Run one case in a boot of its own; its folder in ``above`` is new.

    Raises:
        RunError: the script never began, or the machine ended the lab: nothing is known of it.
    """
    folder = above / case.place
    guest = folder / run_folder.GUEST
    guest.mkdir(parents=True)
    given = {
        "words": case.words(PACKETDRILL, asked.more_words), "folder": case.script.folder,
        "limit_s": asked.virtual_limit_s,
    }  # fmt: skip
    plain_files.write_text(guest / GIVEN, json.dumps(given, sort_keys=True) + "\n")
    shutil.copyfile(guest / GIVEN, folder / GIVEN)
    boot = Boot(
        seed=SEED, program=PROGRAM,
        limits=Limits(wall_s=asked.wall_limit_s, virtual_s=asked.virtual_limit_s + ROOM_S),
        shown={TOOLS: asked.tools, IN_LAB: asked.scripts},
    )  # fmt: skip
    try:
        asked.lab.boot(boot, guest, workers.CANCELLED)
        accept.take_files(guest, folder, LEFT, given=(GIVEN,))
        why, virtual_s = _judged(folder, asked.virtual_limit_s)
    except RunError as error:
        if workers.CANCELLED.is_set() or isinstance(error, MachineError) or not _begun(folder):
            raise
        why, virtual_s = results.printable(_words(error, case)), None
        trees.remove(guest)
    made = CaseResult(
        case=case, passed=not why, said=why, virtual_s=virtual_s, sha256=_digests(folder)
    )
    if made.passed and not asked.captures:
        (folder / CAPTURE).unlink()
    return made


def _begun(folder: Path) -> bool:
    """Return whether the lab came as far as the script: what follows can be its doing."""
    return _BEGUN.search((folder / run_folder.CONSOLE).read_bytes()) is not None


def _judged(folder: Path, limit_s: float) -> tuple[str, float]:
    """Return why a case fails, or "", and how long it took in the lab's time.

    Raises:
        RunError: the lab left no result.
    """
    try:
        text = plain_files.read_text(folder / RESULT, LEFT[RESULT])
        ended = results.read_ended(json.loads(text))
        stderr = plain_files.read_bytes(folder / STDERR, LEFT[STDERR]).decode(errors="replace")
        for name in (STDOUT, CAPTURE):
            plain_files.opened(folder / name).close()
    except (OSError, ValueError, RecursionError) as error:
        raise RunError("the lab left no result", got=str(error)) from error
    return results.why_not(ended, stderr, limit_s), ended.virtual_s


def _words(error: RunError, case: Case) -> str:
    """Return an error's words without the case, which the result names."""
    where = error.where.removeprefix(f"cell {case.place}, ")
    return RunError(
        error.what, where=where, wanted=error.wanted, got=error.got, hint=error.hint
    ).message()


def _digests(folder: Path) -> dict[str, str]:
    return {
        name: plain_files.sha256(folder / name) if plain_files.is_file(folder / name) else ""
        for name in (STDOUT, STDERR, CAPTURE)
    }
