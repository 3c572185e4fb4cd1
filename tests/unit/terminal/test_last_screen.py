"""The last screen: the answer in 40 lines of 80 columns, and what is left out counted."""

from __future__ import annotations

import dataclasses
import io
import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from model.run_files.cells import RunWarning
from reports.store.run import read_run
from reports.terminal.last_screen import LINES, cut, last_screen, print_last_screen
from reports.verdict.summary import Summary, summarise
from reports.verdict.verdicts import HOLDS, REFUTED, UNDECIDED, UNTESTED, Judged, Verdict
from tests.support.runs.report_run import build_run

PLACES = ("report: /a/very/long/place" + "/x" * 60 + "/index.html", "tables: groundtruth report X")


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return summarise(read_run(build_run(tmp_path_factory.mktemp("run"))))


def claim(number: int, verdict: str) -> Verdict:
    return Verdict(
        id=f"c{number}", text=f"Claim {number} is about much that a line cannot hold, " * 3,
        where="Table 1", verdict=verdict, evidence="", p_holds=None, p_refuted=None, comparisons=(),
    )  # fmt: skip


def claiming(summary: Summary, name: str, **counts: int) -> Summary:
    kinds = {"hold": HOLDS, "refuted": REFUTED, "open": UNDECIDED, "untested": UNTESTED}
    verdicts = [kinds[kind] for kind, n in counts.items() for _ in range(n)]
    return dataclasses.replace(
        summary, study=name, verdicts=tuple(claim(i, v) for i, v in enumerate(verdicts, 1))
    )


def texts(*summaries: Summary) -> list[str]:
    return [line.text for line in last_screen(summaries, PLACES, 80)]


def test_a_run_says_what_ran_what_holds_and_where_it_is(summary: Summary) -> None:
    lines = texts(claiming(summary, "one", hold=2, refuted=1, open=1, untested=3))
    assert lines[0] == summary.title
    assert lines[1] == cut(summary.ran, 80)
    assert " ".join(lines[2:4]) == (
        "Of 7 claims 2 hold (✓), 1 is refuted (✗), 1 is undecided (?), 3 cannot be tested."
    )
    assert [line[:9] for line in lines[4:8]] == [
        "✓ Claim 1", "✓ Claim 2", "✗ Claim 3", "? Claim 4",
    ]  # fmt: skip
    assert lines[-2:] == list(PLACES)


NUMBER = "1234.5 kbit/s (1200.1 to 1300.9)"


def numbered(summary: Summary) -> Summary:
    """Return a run of one claim that turns on a number."""
    found: Any = None
    decisive = Judged(
        comparison=found, found=found, verdict=HOLDS, what="", result="", wanted="", short=NUMBER
    )
    held = dataclasses.replace(claim(1, HOLDS), decisive=decisive)
    return dataclasses.replace(summary, verdicts=(held,))


def test_a_claim_ends_with_the_number_it_turns_on(summary: Summary) -> None:
    for width, shown in ((80, True), (62, True), (50, False)):
        lines = [line.text for line in last_screen([numbered(summary)], PLACES, width)]
        (line,) = (line for line in lines if line.startswith("✓"))
        assert line.endswith(f"  {NUMBER}") == shown
        assert cell_len(line) <= width


@pytest.mark.parametrize("width", [0, 1, 4, 5, 12, 37, 40, 200])
def test_however_narrow_or_wide_nothing_is_cut_inside_out(summary: Summary, width: int) -> None:
    wide = claiming(summary, "one", hold=1)
    wide = dataclasses.replace(
        wide, title="衛星回線" * 30, verdicts=(*wide.verdicts, *summary.verdicts)
    )
    lines = [line.text for line in last_screen([wide], PLACES, width)]
    assert all(cell_len(line) <= max(width, 24) for line in lines if line not in PLACES)


def test_the_same_study_twice_is_told_twice(summary: Summary) -> None:
    lines = texts(claiming(summary, "one", hold=2), claiming(summary, "one", refuted=3))
    assert lines.count("one:") == 2
    assert sum(line.startswith("✓ Claim") for line in lines) == 2
    assert sum(line.startswith("✗ Claim") for line in lines) == 3


def test_studies_without_claims_take_no_room(summary: Summary) -> None:
    silent = [dataclasses.replace(claiming(summary, f"s{i}"), warnings=()) for i in range(6)]
    lines = texts(claiming(summary, "one", hold=20), *silent)
    assert sum(line.startswith("✓ Claim") for line in lines) == 20


@pytest.mark.parametrize("studies", [1, 2, 4, 9, 16, 40])
def test_however_much_there_is_it_fits_and_says_what_is_left_out(
    summary: Summary, studies: int
) -> None:
    every = [claiming(summary, f"s{i}", hold=9, refuted=20, open=30) for i in range(studies)]
    lines = texts(*every)
    assert len(lines) <= LINES
    assert all(len(line) <= 80 for line in lines if line not in PLACES)
    shown = [line for line in lines if re.match(r"[✓✗?] Claim", line)]
    (left,) = (line for line in lines if "more: --tables" in line)
    assert left.startswith(f"and {59 * studies - len(shown)} claims more")
    # What was decided goes before what is open.
    decided = [line for line in shown if not line.startswith("?")]
    assert len(decided) == min(29 * studies, len(shown))


def test_each_study_of_a_set_has_its_claims(summary: Summary) -> None:
    lines = texts(claiming(summary, "big", refuted=50), claiming(summary, "small", hold=1))
    at = lines.index("small:")
    assert lines[lines.index("big:") + 1].startswith("✗ Claim 1 ")
    assert lines[at + 1].startswith("✓ Claim 1 ")
    assert lines[at + 2].startswith("and ")


def test_what_puts_all_in_doubt_is_told_first(summary: Summary) -> None:
    rules = ("another-kernel", "approximated", "approximated", "local-changes", "cell-excluded")
    warned = tuple(RunWarning(rule=rule, where="", text=f"About {rule}.") for rule in rules)
    lines = texts(dataclasses.replace(summary, warnings=warned))
    at = lines.index("Read before trusting it (5 warnings, all in the report):")
    assert lines[at + 1 : at + 4] == [
        "- cell-excluded: About cell-excluded.",
        "- another-kernel: About another-kernel.",
        "- approximated (2 times): About approximated.",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_printed_as_it_is(summary: Summary, encoding: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict", newline="\n")
    one = claiming(summary, "one", hold=1, refuted=1)
    one = dataclasses.replace(one, title="A \x1b[2Jtitle [red]x[/red]")
    print_last_screen([one], PLACES, Console(file=stream, width=80))
    stream.flush()
    lines = raw.getvalue().decode(encoding).splitlines()
    assert "\x1b" not in lines[0]
    assert lines[0].endswith("[2Jtitle [red]x[/red]")
    assert lines[2].startswith("Of 2 claims 1 holds")
    assert lines[3][0] == ("✓" if encoding == "utf-8" else "=")
    assert lines[-2] == PLACES[0]
    assert len(lines) == len(last_screen([one], PLACES, 80))


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("one two three", 13, "one two three"), ("one two three", 12, "one two ..."),
        ("one two, three", 13, "one two ..."), ("unbreakable", 8, "unbr ..."),
    ],
)  # fmt: skip
def test_a_cut_is_between_words_and_marked(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown
    assert len(cut(text, width)) <= width
