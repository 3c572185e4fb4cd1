"""What came of a case, told from what the lab left; as a record, a table and test results. Pure.

Invariant: a case passes only if packetdrill itself ended with status 0 within its limit; whatever
else there is (another status, a signal, a limit, a panic, files no case leaves) is a failure that
says which.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from reports.terminal.test_results import Result, Suite
from testbed.packetdrill.scripts import Case

#: Of what a failing script said, at most so many lines are told; all of it is kept.
MOST_LINES, MOST_CHARACTERS = 8, 2000
#: No script's limit is as long; scripts can write what is read here.
LONGEST_S = 1e9
_AT_LINE = re.compile(r"^\S.*:\d+: ")


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How packetdrill ended: its status (less than 0: a signal's number), and when."""

    status: int
    late: bool
    virtual_s: float


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """What came of one case; ``said`` is why it fails, empty where it passes.

    Digests are of what it printed and of its packets, "" where the lab left none.
    """

    case: Case
    passed: bool
    said: str
    virtual_s: float | None
    sha256: dict[str, str]

    def record(self) -> dict[str, Any]:
        """Return what is written of it."""
        script = self.case.script
        return {
            "script": printable(script.name), "way": self.case.way, "folder": self.case.place,
            "passed": self.passed, "said": self.said, "virtual_s": self.virtual_s,
            "sha256": self.sha256,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Setup:
    """With what scripts were run: lab, packetdrill, and what it was told besides.

    ``kernels`` is what a kernel of a user's own source is found or built again by.
    """

    lab: dict[str, str]
    kernels: Mapping[str, Any] = field(default_factory=dict)
    packetdrill: dict[str, str]
    more_words: tuple[str, ...]
    seed: int
    virtual_limit_s: float

    def record(self) -> dict[str, Any]:
        """Return what is written of it."""
        return asdict(self)


def read_ended(value: Any) -> Ended:
    """Return what the lab says of packetdrill's end.

    Raises:
        ValueError: that is not what it writes.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"not an object: {value!r:.80}")
    status, late, virtual_s = (value.get(name) for name in ("status", "late", "virtual_s"))
    known = type(status) is int and type(late) is bool and type(virtual_s) in (int, float)
    if not known or not 0 <= virtual_s <= LONGEST_S:  # type: ignore[operator]  # it is a number
        raise ValueError(f"status {status!r:.80}, late {late!r:.80}, virtual_s {virtual_s!r:.80}")
    return Ended(status=status, late=late, virtual_s=float(virtual_s))  # type: ignore[arg-type]


def why_not(ended: Ended, stderr: str, limit_s: float) -> str:
    """Return why a case fails; empty if it passes."""
    if ended.late:
        return f"did not end within {limit_s:g} s of the lab's time" + _also(stderr)
    if ended.status < 0:
        return f"packetdrill was killed by signal {-ended.status}" + _also(stderr)
    if ended.status:
        return message(stderr) or f"packetdrill ended with status {ended.status} and said nothing"
    return ""


def _also(stderr: str) -> str:
    said = message(stderr)
    return f"; it said: {said}" if said else ""


def message(stderr: str) -> str:
    """Return what packetdrill says of its failure: from the last line that names one on."""
    lines = [printable(line) for line in stderr.splitlines() if line.strip()]
    starts = [number for number, line in enumerate(lines) if _AT_LINE.match(line)]
    told = lines[starts[-1] :] if starts else lines[-MOST_LINES:]
    return "\n".join(told[:MOST_LINES])[:MOST_CHARACTERS]


def printable(text: str) -> str:
    """Return a text without what moves a cursor; line ends stay, tabs become spaces."""
    return "".join(
        c if c.isprintable() or c == "\n" else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def one_line(name: str) -> str:
    """Return a name as it can stand in a line."""
    return printable(name).replace("\n", "\N{REPLACEMENT CHARACTER}")


def suites(found: Sequence[CaseResult], setup: Setup) -> list[Suite]:
    """Return the results as tests: a suite per script, with a test for each way it is run."""
    by_script: dict[str, list[CaseResult]] = {}
    for one in found:
        by_script.setdefault(one.case.script.name, []).append(one)
    return [
        Suite(
            name=printable(name),
            ran=_ran(setup),
            tests=tuple(
                Result(
                    name=printable(one.case.way), outcome="pass" if one.passed else "fail",
                    asked="", found=one.said,
                )
                for one in of_script
            ),
        )
        for name, of_script in by_script.items()
    ]  # fmt: skip


def _ran(setup: Setup) -> str:
    lab = setup.lab
    return f"packetdrill on Linux {lab['kernel_package']}, {lab['tick_hz']} Hz, virtual time"


def lines(found: Sequence[CaseResult], setup: Setup, folder: str) -> list[str]:
    """Return the lines that tell of results: failures in full, a count of the rest."""
    failed = [one for one in found if not one.passed]
    scripts = {one.case.script.name for one in found}
    bad = {one.case.script.name for one in failed}
    passing = f"{len(scripts) - len(bad)} of {len(scripts)} scripts pass"
    told = [f"{_ran(setup)}: {passing}, {len(found) - len(failed)} of {len(found)} cases"]
    alike: dict[tuple[str, str], list[Case]] = {}
    for one in failed:
        alike.setdefault((one.case.script.name, one.said), []).append(one.case)
    for (name, said), cases in alike.items():
        first, *rest = said.splitlines()
        ways = ", ".join(one_line(case.way) for case in cases)
        told += [f"✗ {one_line(name)} ({ways}): {first}", *(f"    {line}" for line in rest)]
        told += [f"    kept: {folder}/cases/{cases[0].place}"]
    return told
