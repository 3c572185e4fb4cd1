"""Build a site of static pages from the Markdown there is: `make docs`.

    .venv/bin/python -m docs.generate.site [FOLDER]

Its pages are laid out as in the project, so a link that works there works here; files that pages
link to come along. A link or a heading that is not there fails the build.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
STYLE = "docs/generate/site.css"
LINKED = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def pages() -> list[Path]:
    """Return the pages of the project: those of its root, of docs, and each part's own."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("[a-z]*/README.md")])


def written(site: Path) -> None:
    """Build the site into a folder, in place of what is there.

    Raises:
        mkdocs.exceptions.Abort: a page links to what is not there, or has no place in the menu.
    """
    with tempfile.TemporaryDirectory() as folder:
        for file in (*pages(), ROOT / STYLE):
            linked = ((file.parent / link).resolve() for link in LINKED.findall(file.read_text()))
            for one in (file, *(path for path in linked if path.is_file())):
                place = Path(folder) / one.relative_to(ROOT)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(one, place)
        build(
            load_config(str(ROOT / "mkdocs.yml"), docs_dir=folder, site_dir=str(site), strict=True)
        )


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else SITE
    written(where)
    sys.stdout.write(f"site: {where / 'index.html'}\n")
