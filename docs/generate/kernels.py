"""Write the tables of docs/kernels.md: two runs of the same studies on two kernels, side by side.

    .venv/bin/groundtruth run wireless satellite wired --reps 10 --no-sensitivity --kernel 6.12
    .venv/bin/groundtruth run wireless satellite wired --reps 10 --no-sensitivity --kernel 7.3
    .venv/bin/python -m docs.generate.kernels RESULTS-6.12 RESULTS-7.3

Each folder is the set of runs on one kernel. What lies outside the marks stays as it is written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.generate.marks import between

FILE = Path(__file__).parents[1] / "kernels.md"
BEGIN, END = "<!-- written by python -m docs.generate.kernels -->\n", "<!-- end -->\n"
CLAIMS = "| study | claim | {} | {} | |\n|---|---|---|---|---|\n"
POINTS = (
    "| point | increase of SCTP over TCP, %: published | {0} | {1} "
    "| TCP's losses repeated before the 3rd duplicate, %: {0} | {1} "
    "| TCP's timeouts: {0} | {1} | SCTP's timeouts: {0} | {1} |\n" + "|---" * 10 + "|\n"
)
#: One run of one study on one kernel: its ``summary.json``.
Summary = Mapping[str, Any]


def tables(kernels: Sequence[str], studies: Mapping[str, Sequence[Summary]]) -> str:
    """Return the tables in Markdown; each study has a summary for each of the two kernels."""
    lines = [CLAIMS.format(*kernels)]
    for name, pair in studies.items():
        for first, second in zip(*(one["claims"] for one in pair), strict=True):
            verdicts = [first["verdict"], second["verdict"]]
            if verdicts == ["untested", "untested"]:
                continue
            differs = "differs" if verdicts[0] != verdicts[1] else ""
            lines.append(f"| {name} | {first['text']} | {' | '.join(verdicts)} | {differs} |\n")
    for name, pair in studies.items():
        if pair[0]["points"][0]["metrics"]["pct_increase"]["mean"] is None:
            continue  # it compares nothing within a run
        lines.append(f"\n{name.capitalize()}:\n\n{POINTS.format(*kernels)}")
        lines += [_row(both) for both in zip(*(one["points"] for one in pair), strict=True)]
    return "".join(lines)


def _row(both: Sequence[Mapping[str, Any]]) -> str:
    metrics = [point["metrics"]["pct_increase"] for point in both]
    cells = [", ".join(f"{name} {value}" for name, value in both[0]["point"].items())]
    cells.append(_number(metrics[0]["published"]))
    cells += [f"{_number(m['mean'])} ({' to '.join(map(_number, m['ci95']))})" for m in metrics]
    cells += [_number(_early_pct(_episodes(point, "T"))) for point in both]
    for group in ("T", "S"):
        cells += [str(_episodes(point, group)["timeouts"]) for point in both]
    return f"| {' | '.join(cells)} |\n"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _episodes(point: Mapping[str, Any], group: str) -> Mapping[str, Any]:
    (story,) = (entry for entry in point["happened"] if entry["group"] == group)
    found: Mapping[str, Any] = story["episodes"]
    return found


def _early_pct(episodes: Mapping[str, Any]) -> float:
    """Return the part of loss episodes in which the kernel's clock was faster than its counting."""
    return 100 * float(episodes["detected_by"].get("rack", 0)) / float(episodes["episodes"])


def main(folders: Sequence[str]) -> None:
    """Write the page's tables from two sets of runs, of the studies that are in both."""
    places = [Path(folder) for folder in folders]
    listed = [json.loads((place / "set.json").read_text())["studies"] for place in places]
    names = [name for name in listed[0] if name in listed[1]]
    studies = {
        name: [json.loads((place / name / "summary.json").read_text()) for place in places]
        for name in names
    }
    kernels = [_kernel(place / names[0]) for place in places]
    text = between(FILE.read_text(), BEGIN, f"\n{tables(kernels, studies)}\n", END, FILE.name)
    FILE.write_text(text, encoding="utf-8")


def _kernel(run: Path) -> str:
    cells = json.loads((run / "cells.json").read_text())
    return str(cells[0]["cell"]["lab"]["kernel"])


if __name__ == "__main__":
    main(sys.argv[1:])
