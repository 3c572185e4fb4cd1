"""Write how labs agree, and within which margins, into docs/labs.md and README.md.

    python -m docs.generate.agreement COMPARISON...    of comparisons that are there, kept first
    python -m docs.generate.agreement                  from what is kept in benchmarks/agreement

A comparison is the folder that ``groundtruth crosscheck`` names. A test holds both pages against
what is kept, and that against the study file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from docs.generate.marks import between
from model import run_folder
from model.run_files.comparing.crosscheck import CROSSCHECK, Comparison, Crosscheck
from model.run_files.comparing.margins import MARGINS
from model.run_files.json_file import read, text_of
from reports.agreement.tables import all_grid, facts_grid, notes, verdict_words
from reports.measures.judged import PART, metric_table, ranked
from reports.page import markdown
from reports.page.grid import Grid

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "benchmarks" / "agreement"
LABS, README = ROOT / "docs" / "labs.md", ROOT / "README.md"
#: What the README says of a comparison: how far these may differ, by the names' beginnings.
RATES, INCREASE = ("goodput_",), "pct_increase"


def kept() -> list[Crosscheck]:
    """Return the comparisons that are kept, by their files' names."""
    return [read(CROSSCHECK, path) for path in sorted(KEPT.glob("*.json"))]


def keep(folder: Path) -> None:
    """Keep a comparison, in place of an older one of the same study and labs."""
    found = read(CROSSCHECK, folder / run_folder.CROSSCHECK_JSON)
    KEPT.mkdir(exist_ok=True)
    (KEPT / file_name(found)).write_text(text_of(CROSSCHECK, found))


def file_name(found: Crosscheck) -> str:
    """Return the name of the file that keeps a comparison."""
    labs = re.sub(r"[^\w.]+", "-", "-".join(lab.label for lab in found.labs))
    return f"{found.study}-{labs}.json"


def _table(grid: Grid) -> str:
    lines = (
        markdown.row(grid.heads), markdown.rule(grid.columns), *map(markdown.row, grid.rows)
    )  # fmt: skip
    return "\n".join(lines) + "\n"


def results(every: list[Crosscheck]) -> str:
    """Return what came of the comparisons, as docs/labs.md has it."""
    parts = []
    for found in every:
        facts = facts_grid(found)
        told = "".join(f"- {markdown.escaped(line)}\n" for line in (*facts.notes, *notes(found)))
        parts.append(
            f"**{verdict_words(found)}** ([`agreement`](../studies/examples/agreement.yaml), "
            f"{found.duration_s:g} s; every number: `benchmarks/agreement/{file_name(found)}`)\n\n"
            f"{_table(facts)}\n{_table(all_grid(found, ranked(found)))}\n{told}"
        )
    return "\n".join(parts)


def margins() -> str:
    """Return the table of the margins."""
    lines = ["| margin | metrics | why |\n|---|---|---|\n"]
    for one in MARGINS:
        names = ", ".join(f"`{name}`" for name in one.metrics)
        bound = "not judged" if one.bound is None else (
            f"{100 * one.bound:g} % of the mean of both" if one.relative else f"{one.bound:g}"
        )  # fmt: skip
        lines.append(f"| {bound} | {names} | {one.why} |\n")
    return "".join(lines)


def sentences(every: list[Crosscheck]) -> str:
    """Return what the README says of the comparisons."""
    lines = []
    for found in every:
        rates = _farthest(one for one in found.comparisons if one.metric.startswith(RATES))
        increase = _farthest(one for one in found.comparisons if one.metric == INCREASE)
        points = len({one.point for one in found.comparisons})
        digits = metric_table(found)[INCREASE].quantity.decimals
        lines.append(
            f"- {verdict_words(found)} ({points} loss rates of the wireless study, "
            f"{found.duration_s:g} s): at equal realised loss goodput is the same to "
            f"{PART.scale * rates:.1f} %, the increase of "
            f"SCTP over TCP SACK to {increase:.{digits}f} points (90 % intervals).\n"
        )
    return "".join(lines)


def _farthest(compared: Iterable[Comparison]) -> float:
    """Return how far from nothing the 90 % intervals reach."""
    return max(abs(end) for one in compared for end in one.ci90 or ())


def written(page: Path, text: str) -> str:
    """Return a page's text with what is to stand between its marks."""
    every = kept()
    made = {
        LABS: {"agreement": results(every), "margins": margins()},
        README: {"agreement": sentences(every)},
    }
    for name, part in made[page].items():
        begin, end = f"<!-- written: {name} -->\n", f"<!-- end: {name} -->"
        text = between(text, begin, part, end, page.name)
    return text


def main() -> None:
    """Keep the comparisons named, and write the pages."""
    for name in sys.argv[1:]:
        keep(Path(name))
    for page in (LABS, README):
        page.write_text(written(page, page.read_text()))


if __name__ == "__main__":
    main()
