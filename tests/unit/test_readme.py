"""What the README quotes is what was measured, with the study files as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from docs import readme

pytestmark = pytest.mark.unit


@pytest.fixture
def quoted() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(readme.QUOTED.read_text())
    return found


def test_the_readme_says_what_was_measured(quoted: dict[str, Any]) -> None:
    text = readme.README.read_text()
    assert readme.written(text, quoted) == text, "write it again: python -m docs.readme"


def test_what_was_measured_is_of_these_studies(quoted: dict[str, Any]) -> None:
    hint = "measure again: make showcase"
    assert quoted["inputs"] == readme.inputs(), hint


def test_a_number_that_was_not_measured_is_written_over(quoted: dict[str, Any]) -> None:
    text = readme.README.read_text()
    mean = f"{quoted['wireless'][0]['pct_increase']['mean']:.1f}"
    assert readme.written(text.replace(f"{mean} (", "99.9 ("), quoted) == text
    with pytest.raises(ValueError, match="no <!-- quoted: claims"):
        readme.written(text.replace("<!-- end: claims -->", ""), quoted)
