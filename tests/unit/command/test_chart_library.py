"""The drawing library is bundled once per version, and a report does without a cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.page import zoomable
from testbed.command.runs import chart_library
from testbed.machine import cache


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Count bundling, into a cache of this test's own."""
    times: list[int] = []

    def library() -> str:
        times.append(1)
        return "draw()"

    monkeypatch.setattr(zoomable, "library", library)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return times


def test_it_is_bundled_once(bundled: list[int]) -> None:
    assert (chart_library.library(), chart_library.library()) == ("draw()", "draw()")
    assert len(bundled) == 1


def test_another_version_is_bundled_anew(
    bundled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    chart_library.library()
    monkeypatch.setattr(zoomable, "bundler", lambda: "newer")
    chart_library.library()
    assert len(bundled) == 2


def test_a_report_needs_no_cache(bundled: list[int]) -> None:
    cache.root().write_text("a file where the folder should be")
    assert chart_library.library() == "draw()"
    assert len(bundled) == 1
