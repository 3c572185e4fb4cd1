"""Write the tables of docs/kernels.md on several kernels, from what is kept in benchmarks/kernels.

    .venv/bin/groundtruth run wireless --kernel 6.12,7.3 --at loss=0.8%,1%,3% --reps 4
    .venv/bin/python -m docs.generate.kernel_matrix results/latest

Without a set, the page is written from what is kept. A test holds the page against that. What lies
outside the marks stays as it is written.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from docs.generate.marks import between
from model import run_folder
from model.run_files.comparing.kernels import KERNELS, Kernels
from model.run_files.json_file import read, text_of
from reports.kernels import tables
from reports.page import markdown
from reports.page.grid import Grid

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "kernels.md"
KEPT = ROOT / "benchmarks" / "kernels" / "kernels-wireless.json"
BEGIN = "<!-- written by python -m docs.generate.kernel_matrix -->\n"
END = "<!-- end of the matrix -->\n"


def text(found: Kernels) -> str:
    """Return the tables in Markdown."""
    seeds = " and ".join(dict.fromkeys(str(run.seeds) for run in found.runs))
    grids = [
        tables.kernels_grid(found), tables.claims_grid(found),
        tables.metrics_grid(found, found.metrics),
    ]  # fmt: skip
    notes = "".join(f"- {markdown.escaped(note)}\n" for note in tables.notes(found))
    where = KEPT.relative_to(ROOT)
    head = f"{tables.title(found)}, {seeds} seeds (every number: `{where}`).\n\n"
    return head + "\n".join(map(_table, grids)) + f"\n{notes}" * bool(notes)


def _table(grid: Grid) -> str:
    lines = []
    if grid.columns:
        heads = markdown.row(grid.heads), markdown.rule(grid.columns)
        lines = [*heads, *map(markdown.row, grid.rows), ""]
    told = [markdown.escaped(" ".join(grid.notes))] if grid.notes else []
    return "\n".join([f"{markdown.escaped(grid.caption)}:", "", *lines, *told]) + "\n"


def written(page: str) -> str:
    """Return the page with the tables of what is kept."""
    return between(page, BEGIN, text(read(KERNELS, KEPT)), END, FILE.name)


def main(folders: Sequence[str]) -> None:
    """Keep the comparison of a set's folder, if one is given, and write the page."""
    for folder in folders:
        found = read(KERNELS, Path(folder) / run_folder.KERNELS_JSON)
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(text_of(KERNELS, found), encoding="utf-8")
    FILE.write_text(written(FILE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
