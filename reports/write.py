"""Writes a run's report: read, summarise, draw, write; the only part of reports that writes files.

Invariants: each file appears whole or not at all (written beside its place, then renamed); writing
twice gives the same bytes; nothing under ``cells/`` is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from reports import live
from reports.asked import asked_figures, asked_metrics
from reports.figures import headline_figures, render_pdf, render_svg
from reports.html import Part, render_page, study_part
from reports.replication import Replication
from reports.run import read_run, read_study
from reports.summary import Summary, summarise
from reports.summary_files import summary_csv, summary_json
from reports.whole_file import write_whole
from testbed import runfolder


def write_report(
    run: Path,
    changed: Mapping[str, str] | None = None,
    library: Callable[[], str] = live.library,
) -> Summary:
    """Read a run folder, write its summary, figures and page into it, and return the summary.

    Args:
        run: the folder.
        changed: finished cells to leave out, by id, and why; see :func:`read_run`.
        library: gives the script that draws the page's figures.

    Raises:
        ParseError: the folder is not a readable run; the file is named.
    """
    return _write(run, changed, library, for_set=False)[0]


def write_study(
    run: Path, changed: Mapping[str, str] | None, library: Callable[[], str]
) -> tuple[Summary, Part]:
    """Write a run's report as :func:`write_report` does; return it for its set's page, too."""
    summary, part = _write(run, changed, library, for_set=True)
    return summary, part


def _write(
    run: Path, changed: Mapping[str, str] | None, library: Callable[[], str], *, for_set: bool
) -> tuple[Summary, Part]:
    found = read_run(run, changed)
    summary = summarise(found)
    report = (run / runfolder.REPORT_HTML).parent
    headline = headline_figures(summary, asked_metrics(found))
    asked = asked_figures(run, found, summary)
    every = [*headline, *(figure for one in asked for figure in one.figures)]
    svgs = {figure.id: render_svg(figure) for figure in every}
    files = {
        run / runfolder.SUMMARY_JSON: summary_json(summary).encode(),
        run / runfolder.SUMMARY_CSV: summary_csv(summary).encode(),
    }
    for name, svg in svgs.items():
        files[report / "figures" / f"{name}.svg"] = svg.encode()
        files[report / "figures" / f"{name}.pdf"] = render_pdf(svg)
    part = study_part(found, summary, headline, asked, svgs)
    files[run / runfolder.REPORT_HTML] = render_page(part, library).encode()
    for path, content in files.items():
        write_whole(path, content)
    if for_set:
        part = study_part(found, summary, headline, asked, svgs, run.name)
    return summary, part


def read_replication(run: Path) -> Replication | None:
    """Return how far a run is that adds runs as needed; None for one with a fixed number.

    Raises:
        ParseError: the folder is not a readable run; the file is named.
    """
    if read_study(run).repeats.precision is None:
        return None
    return summarise(read_run(run)).replication
