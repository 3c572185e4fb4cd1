"""Verdicts as test results, for a kernel's CI: KTAP, and JUnit's XML. Pure.

A claim that holds passes, one that is refuted fails; what is undecided, cannot be tested or was not
run is skipped, with the reason. A study has one more test, that all its cells ran and count.
Invariant: every claim is one test in the study's order, whatever its verdict, so two kernels'
results can be compared line by line.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reports.verdict.summary import Summary
from reports.verdict.verdicts import HOLDS, REFUTED, Verdict

Outcome = Literal["pass", "fail", "skip"]
#: The test that all cells of a study ran, and count.
CELLS = "cells"
#: What no XML 1.0 document may hold.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, kw_only=True)
class Result:
    """One test: its name, what came of it, and in words what was asked and what was found."""

    name: str
    outcome: Outcome
    asked: str
    found: str


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Tests that belong together, such as a study's claims, and in words what ran on what."""

    name: str
    ran: str
    tests: tuple[Result, ...]


def results(summary: Summary) -> tuple[Result, ...]:
    """Return a study's tests: its cells, then its claims in order."""
    return (_cells(summary), *map(_claim, summary.verdicts))


def _cells(summary: Summary) -> Result:
    planned = sum(point.cells_planned for point in summary.points)
    counted = sum(point.cells_counted for point in summary.points)
    return Result(
        name=CELLS, outcome="pass" if counted == planned else "fail",
        asked="All measuring cells ran, and none of their checks failed.",
        found=f"{counted} of {planned} count",
    )  # fmt: skip


def _claim(one: Verdict) -> Result:
    outcomes: dict[str, Outcome] = {HOLDS: "pass", REFUTED: "fail"}
    found = f"{one.verdict}: {one.evidence}"
    return Result(
        name=one.id, outcome=outcomes.get(one.verdict, "skip"), asked=one.text, found=found
    )


def suites_of(summaries: Sequence[Summary], runs: Sequence[str] = ()) -> list[Suite]:
    """Return a suite per study; studies that are there more than once are told by their runs.

    ``runs`` are the names of the studies' runs in their set, if they are of one: of ``wireless`` on
    two kernels ``wireless@6.12`` and ``wireless@7.3``.
    """
    studies = [one.study for one in summaries]
    return [
        Suite(
            name=f"{one.study}@{run}" if studies.count(one.study) > 1 else one.study,
            ran=one.ran,
            tests=results(one),
        )
        for one, run in zip(summaries, runs or studies, strict=True)
    ]


def ktap(summaries: Sequence[Summary], runs: Sequence[str] = ()) -> str:
    """Return the results as KTAP, version 1; ``runs`` as for :func:`suites_of`."""
    return ktap_of(suites_of(summaries, runs))


def ktap_of(suites: Sequence[Suite]) -> str:
    """Return tests as KTAP, version 1: one per suite, with what is in it as subtests."""
    lines = ["KTAP version 1", f"1..{len(suites)}"]
    for number, suite in enumerate(suites, 1):
        tests = suite.tests
        lines += [
            "  KTAP version 1", f"  # Subtest: {_line(suite.name)}", f"  1..{len(tests)}",
            f"  # {_line(suite.ran)}",
        ]  # fmt: skip
        for place, one in enumerate(tests, 1):
            lines += [f"  # {_line(words)}" for words in (one.asked, one.found) if words]
            result = "not ok" if one.outcome == "fail" else "ok"
            skip = f" # SKIP {_line(one.found)}" if one.outcome == "skip" else ""
            lines.append(f"  {result} {place} {one.name}{skip}")
        failed = any(one.outcome == "fail" for one in tests)
        lines.append(f"{'not ok' if failed else 'ok'} {number} {_line(suite.name)}")
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    """Return a text on one line, without what would begin a directive or move a cursor."""
    plain = " ".join(text.split()).replace("#", "no.")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in plain)


def junit(summaries: Sequence[Summary], runs: Sequence[str] = ()) -> str:
    """Return the results as JUnit's XML; ``runs`` as for :func:`suites_of`."""
    return junit_of(suites_of(summaries, runs))


def junit_of(suites: Sequence[Suite]) -> str:
    """Return tests as JUnit's XML."""
    root = ET.Element("testsuites")
    for each in suites:
        tests = each.tests
        counts = {name: sum(one.outcome == name for one in tests) for name in ("fail", "skip")}
        suite = ET.SubElement(
            root, "testsuite", name=_xml(each.name), tests=str(len(tests)),
            failures=str(counts["fail"]), skipped=str(counts["skip"]), errors="0",
        )  # fmt: skip
        properties = ET.SubElement(suite, "properties")
        ET.SubElement(properties, "property", name="ran", value=_xml(each.ran))
        for one in tests:
            case = ET.SubElement(suite, "testcase", classname=_xml(each.name), name=one.name)
            if one.outcome != "pass":
                tag = "failure" if one.outcome == "fail" else "skipped"
                ET.SubElement(case, tag, message=_xml(one.found)).text = _xml(one.asked)
            ET.SubElement(case, "system-out").text = _xml(f"{one.asked}\n{one.found}")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
