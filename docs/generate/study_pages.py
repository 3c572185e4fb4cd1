"""Write the pages of what gallery studies found, each from what is kept of a run of its study.

    groundtruth run rfc9438
    .venv/bin/python -m docs.generate.study_pages results/latest

This keeps the run's numbers (docs/generate/kept/STUDY.json), its report (docs/showcase/STUDY.html)
and its figures (docs/images/STUDY-*.svg). Without a run, the pages are written from what is kept. A
test holds each page against that, and that against the study file: when points or claims change,
run the study again. What lies outside the marks stays as it is written.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.generate import kept_run
from docs.generate.marks import between
from model import run_folder
from model.run_files.study import Parameter
from reports.measures.quantities import called
from testbed.points.load_study import STUDIES_FOLDER, load_study

ROOT = Path(__file__).resolve().parents[2]
POINTS = ("<!-- quoted: points -->\n", "<!-- end: points -->\n")


@dataclass(frozen=True)
class Shown:
    """How a metric is shown: its head, in units of what, and with how many digits."""

    head: str
    per: float
    digits: int


@dataclass(frozen=True)
class Page:
    """A study's page.

    ``settings`` by the heads of their columns, ``metrics``, of which ``printed`` are those that
    the publication prints numbers for, and ``figures``, which are kept.
    """

    study: str
    settings: Mapping[str, str]
    metrics: Mapping[str, Shown]
    printed: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def study_file(self) -> Path:
        """Return the study's file."""
        return STUDIES_FOLDER / f"{self.study}.yaml"

    @property
    def file(self) -> Path:
        """Return the page."""
        return ROOT / "docs" / "guides" / f"{self.study}.md"

    @property
    def kept(self) -> Path:
        """Return the file with what is quoted of a run."""
        return ROOT / "docs" / "generate" / "kept" / f"{self.study}.json"

    @property
    def report(self) -> Path:
        """Return the report of that run."""
        return ROOT / "docs" / "showcase" / f"{self.study}.html"


SECONDS_MS, PERCENT = 1e-3, 1e-2
#: The flows of head-of-line.
FLOWS = {
    "tcp": "TCP", "one": "one stream", "four": "four", "many": "sixteen", "unordered": "unordered",
}  # fmt: skip
PAGES = (
    Page(
        study="rfc9438",
        settings={
            "congestion_control": "congestion control", "owd_s": "round trip",
            "every_pkts": "loss",
        },
        metrics={
            "cwnd_mean_X_segments": Shown("average window, segments", 1, 1),
            "loss_X_frac": Shown("realised loss, %", PERCENT, 4),
            "timeouts_X": Shown("timeouts", 1, 0),
        },
        printed=("cwnd_mean_X_segments",),
    ),
    Page(
        study="head-of-line",
        settings={"loss_frac": "loss"},
        metrics={
            f"hol_{kind}_{group}_{unit}": Shown(f"{words}, {label}{sign}", per, digits)
            for kind, unit, words, sign, per, digits in (
                ("wait_mean", "s", "waits for others", ", ms", SECONDS_MS, 2),
                ("blocked", "frac", "blocked", ", %", PERCENT, 2),
            )
            for group, label in FLOWS.items()
        },
    ),
)  # fmt: skip


def measured(page: Page, run: Path) -> dict[str, Any]:
    """Return what is quoted of a run."""
    summary = kept_run.summary_of(run)
    return {
        "study": kept_run.inputs(page.study_file),
        "points": [
            {
                "point": one["point"],
                "metrics": kept_run.metrics_of(one, tuple(page.metrics)),
                "printed": {name: one["metrics"][name]["published"] for name in page.printed},
            }
            for one in summary["points"]
        ],
        "claims": kept_run.claims_of(summary),
    }  # fmt: skip


def points_table(page: Page, quoted: Mapping[str, Any], parameters: Sequence[Parameter]) -> str:
    """Return the table of points: what was asked for, in readers' words, and what came of it."""
    by_name = {one.name: one for one in parameters}
    heads = [
        *page.settings.values(),
        *(f"printed: {page.metrics[name].head}" for name in page.printed),
        *(shown.head for shown in page.metrics.values()),
    ]
    rows = []
    for one in quoted["points"]:
        asked = [called(by_name[name], one["point"][name]) for name in page.settings]
        found = [
            kept_run.with_interval(one["metrics"][name], shown.digits, shown.per)
            for name, shown in page.metrics.items()
        ]
        printed = [f"{one['printed'][name] / page.metrics[name].per:g}" for name in page.printed]
        rows.append([*asked, *printed, *found])
    return kept_run.table(heads, rows)


def written(page: Page, text: str, quoted: Mapping[str, Any]) -> str:
    """Return the page's text with the tables of what is kept."""
    study = load_study(page.study_file)
    parameters = [
        Parameter(name=one.name, path=one.path, label=study.labels.get(one.path))
        for one in study.parameters
    ]
    for marks, table in (
        (POINTS, points_table(page, quoted, parameters)),
        (kept_run.CLAIMS, kept_run.claims_table(quoted)),
    ):
        text = between(text, marks[0], table, marks[1], page.file.name)
    return text


def keep(page: Page, run: Path) -> None:
    """Keep what is quoted of a run, its report and its figures."""
    kept_run.keep(page.kept, measured(page, run))
    report = run / run_folder.REPORT
    page.report.parent.mkdir(exist_ok=True)
    shutil.copyfile(report / "index.html", page.report)
    for name in page.figures:
        figure = ROOT / "docs" / "images" / f"{page.study}-{name}.svg"
        shutil.copyfile(report / "figures" / f"{name}.svg", figure)


def main(folders: Sequence[str]) -> None:
    """Keep what is quoted of runs, if any are given, and write all pages."""
    pages = {page.study: page for page in PAGES}
    for folder in folders:
        keep(pages[kept_run.summary_of(Path(folder))["study"]], Path(folder))
    for page in PAGES:
        text = page.file.read_text(encoding="utf-8")
        page.file.write_text(written(page, text, kept_run.kept(page.kept)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
