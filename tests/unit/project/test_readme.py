"""What the docs quote is what was measured, with the study files as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docs.generate import readme


@pytest.fixture
def quoted() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(readme.QUOTED.read_text())
    return found


@pytest.mark.parametrize("page", readme.PARTS, ids=lambda page: page.name)
def test_a_page_says_what_was_measured(page: Path, quoted: dict[str, Any]) -> None:
    text = page.read_text()
    assert readme.written(page, text, quoted) == text, (
        "write it again: python -m docs.generate.readme"
    )


def test_what_was_measured_is_of_these_studies(quoted: dict[str, Any]) -> None:
    hint = "measure again: make showcase"
    assert quoted["inputs"] == readme.inputs(), hint


def test_a_number_that_was_not_measured_is_written_over(quoted: dict[str, Any]) -> None:
    text = readme.README.read_text()
    mean = f"{quoted['wireless'][0]['pct_increase']['mean']:.1f}"
    page = readme.README
    assert readme.written(page, text.replace(f"{mean} (", "99.9 ("), quoted) == text
    with pytest.raises(ValueError, match="no <!-- quoted: claims"):
        readme.written(page, text.replace("<!-- end: claims -->", ""), quoted)
