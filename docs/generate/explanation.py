"""Write the tables of docs/kernels.md on which mechanisms explain the wireless study's results.

    .venv/bin/groundtruth explain wireless --reps 10 --at loss=0.8%,1%,3%
    .venv/bin/python -m docs.generate.explanation results/latest

What lies outside the marks stays as it is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

from docs.generate.marks import between
from model import run_folder
from model.run_files.comparing.explanation import EXPLANATION, Explanation
from model.run_files.json_file import read
from reports.explanation import tables
from reports.page.grid import Grid, pieces

FILE = Path(__file__).parents[1] / "kernels.md"
BEGIN, END = "<!-- written by python -m docs.generate.explanation -->\n", "<!-- end of it -->\n"


def text(found: Explanation) -> str:
    """Return the tables in Markdown."""
    metric = found.metric
    grids = [
        tables.levels_grid(found, metric), tables.effects_grid(found, metric),
        tables.shares_grid(found, metric), tables.alone_grid(found, metric),
        tables.explained_grid(found), tables.claims_grid(found),
    ]  # fmt: skip
    return "\n".join(_table(grid) for grid in grids if grid is not None)


def _table(grid: Grid) -> str:
    rows = [grid.heads, ("---",) * len(grid.columns), *grid.rows]
    lines = [f"| {' | '.join(''.join(t for t, _ in pieces(one)) for one in row)} |" for row in rows]
    notes = "".join(f"{note} " for note in grid.notes).rstrip()
    return f"{grid.caption}:\n\n" + "".join(f"{line}\n" for line in lines) + f"\n{notes}\n"


def main(folder: str) -> None:
    """Write the tables of an explanation's folder into the page."""
    found = read(EXPLANATION, Path(folder) / run_folder.EXPLANATION_JSON)
    page = FILE.read_text(encoding="utf-8")
    FILE.write_text(between(page, BEGIN, text(found), END, FILE.name), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
