"""Verdicts as test results: KTAP line by line, JUnit's XML through a parser."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from reports.store.run import read_run
from reports.terminal.test_results import junit, ktap, results, suites_of
from reports.verdict.summary import Summary, summarise
from tests.support.runs.report_run import build_run, only_cell
from tests.support.runs.varied_run import CLAIMS, claim

UNTESTED = {
    "id": "why", "text": "It is why.", "where": "Section 6", "untested": "No run can say # it.",
    "comparisons": [],
}  # fmt: skip
NEVER = claim("never", (0, 1), 99.0)
OPEN = claim("open", (0,), 10.0)


def summary(folder: Path) -> Summary:
    """Return a run whose claims hold, are refuted, undecided and untested, in this order."""
    claims = [CLAIMS[1], NEVER, OPEN, UNTESTED]
    return summarise(read_run(build_run(folder, changes={"claims": claims})))


def test_runs_of_one_study_are_told_apart(tmp_path: Path) -> None:
    found = summary(tmp_path)
    other = dataclasses.replace(found, study="other")
    alone = suites_of([found, other], ["wireless", "other"])
    assert [one.name for one in alone] == ["wireless", "other"]
    several = [found, found, other]
    runs = ["6.12", "7.3", "other"]
    names = ["wireless@6.12", "wireless@7.3", "other"]
    assert [one.name for one in suites_of(several, runs)] == names
    lines = ktap(several, runs).splitlines()
    assert [line.split(": ")[1] for line in lines if "# Subtest: " in line] == names
    assert [line for line in lines if line[0] in "no"] == [
        f"not ok {place} {name}" for place, name in enumerate(names, 1)
    ]
    suites = ET.fromstring(junit(several, runs)).findall("testsuite")
    assert [suite.get("name") for suite in suites] == names
    assert [{case.get("classname") for case in suite.iter("testcase")} for suite in suites] == [
        {name} for name in names
    ]


def test_a_studys_claims_are_subtests(tmp_path: Path) -> None:
    found = summary(tmp_path)
    evidence = [one.found for one in results(found)]
    assert ktap([found]).splitlines() == [
        "KTAP version 1",
        "1..1",
        "  KTAP version 1",
        "  # Subtest: wireless",
        "  1..5",
        f"  # {found.ran}",
        "  # All measuring cells ran, and none of their checks failed.",
        "  # 35 of 35 count",
        "  ok 1 cells",
        "  # The increase is above 0 %.",
        f"  # {evidence[1]}",
        "  ok 2 positive",
        "  # The increase is above 99 %.",
        f"  # {evidence[2]}",
        "  not ok 3 never",
        "  # The increase is above 10 %.",
        f"  # {evidence[3]}",
        f"  ok 4 open # SKIP {evidence[3]}",
        "  # It is why.",
        "  # untested: No run can say no. it.",
        "  ok 5 why # SKIP untested: No run can say no. it.",
        "not ok 1 wireless",
    ]
    words = [text.split(":")[0] for text in evidence[1:]]
    assert words == ["holds", "refuted", "undecided", "untested"]


def test_each_study_of_a_set_is_a_test(tmp_path: Path) -> None:
    one = summary(tmp_path)
    text = ktap([one, dataclasses.replace(one, study="other", verdicts=one.verdicts[:1])])
    assert re.findall(r"^(?:not )?ok .*|^1\.\..*", text, re.MULTILINE) == [
        "1..2", "not ok 1 wireless", "ok 2 other",
    ]  # fmt: skip


def test_a_cell_that_does_not_count_fails(tmp_path: Path) -> None:
    build_run(tmp_path)
    (only_cell(tmp_path) / "DONE").unlink()
    first = results(summarise(read_run(tmp_path)))[0]
    assert (first.name, first.outcome, first.found) == ("cells", "fail", "34 of 35 count")


def test_junit_says_the_same(tmp_path: Path) -> None:
    found = summary(tmp_path)
    (suite,) = ET.fromstring(junit([found]))
    counts = {name: suite.get(name) for name in ("name", "tests", "failures", "skipped", "errors")}
    assert counts == {
        "name": "wireless", "tests": "5", "failures": "1", "skipped": "2", "errors": "0",
    }  # fmt: skip
    about, *tests = suite
    assert [one.attrib for one in about] == [{"name": "ran", "value": found.ran}]
    assert "on Linux" in found.ran
    cases = {case.get("name"): [child.tag for child in case] for case in tests}
    assert cases == {
        "cells": ["system-out"], "positive": ["system-out"], "never": ["failure", "system-out"],
        "open": ["skipped", "system-out"], "why": ["skipped", "system-out"],
    }  # fmt: skip


@pytest.mark.parametrize("text", ["a\x00b", "a\x1b[2Jb", "</testsuite>", "x\n1..7\nok 9", "\ud800"])
def test_no_text_of_a_study_breaks_the_form(tmp_path: Path, text: str) -> None:
    found = summary(tmp_path)
    first = dataclasses.replace(found.verdicts[0], text=text, evidence=text)
    hostile = dataclasses.replace(found, verdicts=(first,), study="study")
    lines = ktap([hostile]).splitlines()
    assert len(lines) == 13
    assert all(line.isprintable() for line in lines)
    (suite,) = ET.fromstring(junit([hostile]).encode("utf-8"))
    assert len(suite) == 3
