"""The site: every page, no link that leads nowhere, nothing fetched when it is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mkdocs.exceptions import Abort

from docs.generate import site


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    site.written(folder)
    return folder


def test_every_page_is_there_and_the_first_is_the_readme(built: Path) -> None:
    for page in site.pages():
        name = "index.html" if page.name == "README.md" else f"{page.stem}.html"
        text = (built / page.parent.relative_to(site.ROOT) / name).read_text()
        head = page.read_text().partition("\n")[0].removeprefix("# ")
        assert f">{head.replace('`', '')}<a" in re.sub(r"</?code>", "", text)
    assert "docs/tutorial.html" in (built / "index.html").read_text()


def test_nothing_of_it_is_fetched_from_elsewhere(built: Path) -> None:
    fetched = re.compile(r"""(?:src|<link[^>]*href|url\(|@import)\s*[=(]?\s*["']?(?:https?:)?//""")
    for file in built.rglob("*"):
        if file.suffix in (".html", ".css"):
            assert not fetched.search(file.read_text()), file
    assert (built / "search" / "search_index.json").stat().st_size > 100_000


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project of two pages and no menu."""
    monkeypatch.setattr(site, "ROOT", tmp_path / "project")
    folder = tmp_path / "project"
    (folder / site.STYLE).parent.mkdir(parents=True)
    (folder / site.STYLE).touch()
    (folder / "docs" / "metrics.md").write_text("# Metrics\n\n## Per run\n")
    settings, _, _ = (site.SITE.parents[1] / "mkdocs.yml").read_text().partition("\nnav:")
    (folder / "mkdocs.yml").write_text(settings)
    return folder


def test_a_link_that_is_right_is_no_failure(small: Path, tmp_path: Path) -> None:
    (small / "README.md").write_text("# Two\n\n[there](docs/metrics.md#per-run)\n")
    site.written(tmp_path / "site")
    assert "docs/metrics.html#per-run" in (tmp_path / "site" / "index.html").read_text()


@pytest.mark.parametrize("link", ["docs/nowhere.md", "docs/metrics.md#nothing", "nothing.svg"])
def test_a_link_that_leads_nowhere_fails(link: str, small: Path, tmp_path: Path) -> None:
    (small / "README.md").write_text(f"# Two\n\n[there]({link})\n")
    with pytest.raises(Abort):
        site.written(tmp_path / "site")
