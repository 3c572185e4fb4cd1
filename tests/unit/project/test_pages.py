"""The pages name files of this project: each that they name is there."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")])
#: In what a run makes, or of the machine: not files of the project.
MADE = ("results/", "tables/", "raw/", "cells/", "report/", "wireshark/")
NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|config|yml))(?:::\w+)?`")
LINKED = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


@pytest.fixture(scope="module")
def there() -> set[str]:
    """Return every file of the project and every folder of one, and each file's name."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    files = {Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    folders = {folder for file in files for folder in file.parents}
    return {str(path) for path in files | folders} | {file.name for file in files}


def ends(named: str, there: set[str]) -> bool:
    """Whether there is a file or folder of that name, or one whose path ends with it."""
    named = named.rstrip("/")
    return named in there or any(path.endswith(f"/{named}") for path in there)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_files_that_are_there(page: Path, there: set[str]) -> None:
    top = {path.partition("/")[0] for path in there if "/" in path}
    named = {
        name
        for name in NAMED.findall(page.read_text())
        if "/" not in name or name.partition("/")[0] in top - {made.rstrip("/") for made in MADE}
    }
    if page.name != "CHANGELOG.md":  # which tells of files as they were
        assert {name for name in named if not ends(name, there)} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_links_to_files_that_are_there(page: Path) -> None:
    links = set(LINKED.findall(page.read_text()))
    assert {link for link in links if not (page.parent / link).exists()} == set()
