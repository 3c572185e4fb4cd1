"""What a bisection found, in words and tables, from states made by hand."""

from __future__ import annotations

import dataclasses

import pytest

from model.errors import ParseError
from model.run_files.comparing.bisection import BISECTION
from model.run_files.json_file import parse, text_of
from reports.explanation.bisected import answer, attachment, screen_grid, steps_grid, title
from reports.page.grid import plain
from tests.support.runs.bisection import ASKED, CULPRIT, FOUND, PARENT, step


def test_the_commit_with_its_number_before_and_after() -> None:
    assert title(FOUND) == "Which commit turns it: On the 4th."
    assert answer(FOUND) == (
        f"The verdict turns from refuted to holds with commit {CULPRIT}.",
        "Wait for one more report (2026-01-02T03:04:05+00:00)",
        "It touches net/sctp/outqueue.c.",
        "Share b; claimed: at least 90 %.",
        "before (222222222222): 1 %.",
        "after (333333333333): 99 %.",
    )


def test_a_table_of_all_steps() -> None:
    grid = steps_grid(FOUND)
    assert [plain(one) for one in grid.rows[3]] == [
        "333333333333", "6.12-g333333333333", "3", "holds", "bad", "99 %"
    ]  # fmt: skip
    skipped = dataclasses.replace(FOUND, steps=(*FOUND.steps, step("5" * 40, "skipped", None)))
    assert plain(steps_grid(skipped).rows[4][-1]) == "does not build: net/sctp/x.c:7: no"
    assert plain(steps_grid(skipped).rows[0][-1]) == ""


def test_the_screen_has_numbers_alone_and_calls_a_commits_kernel_by_the_commit() -> None:
    long = dataclasses.replace(
        FOUND.steps[0],
        compared=tuple(
            dataclasses.replace(one, result="2.0 % (95 % CI 0.0 to 7.6), 5 runs")
            for one in FOUND.steps[0].compared
        ),
    )
    grid = screen_grid(dataclasses.replace(FOUND, steps=(long, *FOUND.steps[1:])))
    assert grid.heads == ("commit", "seeds", "verdict", "so it is", "number")
    assert [plain(one) for one in grid.rows[0]] == ["111111111111", "3", "refuted", "good", "2.0 %"]
    versions = dataclasses.replace(FOUND, asked=dataclasses.replace(ASKED, tree=None))
    assert "kernel" in screen_grid(versions).heads


def test_several_candidates_are_all_named() -> None:
    several = dataclasses.replace(FOUND, candidates=(PARENT, CULPRIT), commits=())
    first, second, *numbers = answer(several)
    assert first.endswith("with one of 2 commits: 222222222222, 333333333333.")
    assert second == "Those between could not be judged, so they are not told apart."
    assert numbers[-1] == "after (333333333333): 99 %."


def test_a_merge_and_its_parents() -> None:
    other = "6" * 40
    merge = dataclasses.replace(
        FOUND.commits[0], parents=(PARENT, other), files=tuple(f"{n}.c" for n in range(14)),
        files_touched=300,
    )  # fmt: skip
    found = dataclasses.replace(FOUND, commits=(merge,))
    assert "11.c and 288 files more, as compared with its first parent." in answer(found)[2]
    assert answer(found)[-1] == "Its parent 666666666666 was not run."
    turned = dataclasses.replace(found, steps=(*found.steps, step(other, "bad", 1.0)))
    assert answer(turned)[-1].startswith("Its parent 666666666666 gives the same verdict: it turns")
    broken = dataclasses.replace(found, steps=(*found.steps, step(other, "skipped", None)))
    assert answer(broken)[-1].startswith("Its parent 666666666666 could not be judged")


def test_versions() -> None:
    asked = dataclasses.replace(
        ASKED, tree=None, ends=("6.12", "7.3"), versions=("6.12", "7.2", "7.3")
    )
    steps = (step("6.12", "good", 0.0), step("7.3", "bad", 1.0), step("7.2", "good", 0.02))
    found = dataclasses.replace(FOUND, asked=asked, steps=steps, candidates=("7.3",), commits=())
    assert title(found) == "Which version turns it: On the 4th."
    assert answer(found) == (
        "The verdict turns from refuted to holds with 7.3.",
        "Share b; claimed: at least 90 %.", "before (7.2): 2 %.", "after (7.3): 100 %.",
    )  # fmt: skip


def test_all_of_it_is_written_and_read_back() -> None:
    text = text_of(BISECTION, FOUND)
    assert parse(BISECTION, text, "bisect.json") == FOUND
    assert len(attachment(FOUND).tables) == 2
    assert answer(dataclasses.replace(FOUND, candidates=())) == ("Not found yet.",)
    wrong = text.replace('"decisive": 1', '"decisive": 2', 1)
    with pytest.raises(ParseError, match=r"bisect.json: steps\[0\].decisive: no such comparison"):
        parse(BISECTION, wrong, "bisect.json")
