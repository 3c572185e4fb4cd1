"""The drawing library is bundled once per version, and a report does without a cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports import live
from testbed import drawing
from testbed.labs import cache

pytestmark = pytest.mark.unit


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Count bundling, into a cache of this test's own."""
    times: list[int] = []

    def library() -> str:
        times.append(1)
        return "draw()"

    monkeypatch.setattr(live, "library", library)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return times


def test_it_is_bundled_once(bundled: list[int]) -> None:
    assert (drawing.library(), drawing.library()) == ("draw()", "draw()")
    assert len(bundled) == 1


def test_another_version_is_bundled_anew(
    bundled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing.library()
    monkeypatch.setattr(live, "bundler", lambda: "newer")
    drawing.library()
    assert len(bundled) == 2


def test_a_report_needs_no_cache(bundled: list[int]) -> None:
    cache.root().write_text("a file where the folder should be")
    assert drawing.library() == "draw()"
    assert len(bundled) == 1
