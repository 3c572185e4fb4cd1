"""The last screen of the README's first command: as recorded, of these studies, one screen."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from rich.cells import cell_len

from docs.generate import last_screen, readme
from reports.terminal.last_screen import LINES
from testbed.points.load_study import find_study, load_study


@pytest.fixture
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(last_screen.RECORD.read_text(encoding="utf-8"))
    return found


def test_the_readme_shows_what_was_recorded(record: dict[str, Any]) -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert last_screen.written(text, record) == text, (
        "write it again: python -m docs.generate.last_screen"
    )


def test_it_was_recorded_of_these_studies(record: dict[str, Any]) -> None:
    hint = "measure again: make experiment, python -m docs.generate.last_screen results/latest"
    assert record["inputs"] == last_screen.inputs(), hint
    assert [one["study"] for one in record["studies"]] == list(readme.STUDIES)
    for one in record["studies"]:
        settings = load_study(find_study(one["study"])).settings
        assert one["title"] == settings.title
        told = [(claim["id"], claim["text"]) for claim in one["claims"]]
        assert told == [(claim.id, claim.text) for claim in settings.claims]


def test_it_is_one_screen_and_says_which_claims_hold(record: dict[str, Any]) -> None:
    lines = last_screen.screen(record)
    assert len(lines) <= LINES
    assert all(cell_len(line) <= last_screen.COLUMNS for line in lines)
    claims = [claim["verdict"] for one in record["studies"] for claim in one["claims"]]
    tally = next(line for line in lines if line.startswith("Of "))
    assert tally.startswith(f"Of {len(claims)} claims {claims.count('holds')} hold (✓)")
    assert any(line.startswith("✗ ") for line in lines)
    assert lines[-1].startswith("next: ")


def test_another_run_of_the_same_claims_is_alike_and_one_without_a_claim_is_not(
    record: dict[str, Any],
) -> None:
    other = copy.deepcopy(record)
    for one in other["studies"]:
        for claim in one["claims"]:
            claim |= {"verdict": "undecided", "number": "1 %"}
    assert last_screen.differences(record, other) == []
    gone = other["studies"][0]["claims"].pop()
    assert last_screen.differences(record, other) == [f"wireless: {gone['id']}: {gone['text']}"]
