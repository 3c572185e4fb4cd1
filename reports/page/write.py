"""Writes a run's report: read, summarise, draw, write; the only part of reports that writes files.

Invariants: an older report stays until the new one is whole (all files are written beside their
places, then renamed); writing twice gives the same bytes; nothing under ``cells/`` is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from model import plain_files, run_folder
from model.run_files.json_file import text_of
from reports.figures.chart import render_pdf, render_svg, unchecked
from reports.figures.headline import headline_figures
from reports.figures.study_figures import drawn_metrics, study_figures
from reports.inference.replication import Replication
from reports.page import zoomable
from reports.page.html import Drawn, render_reports
from reports.page.review_tables import TABLE_FILES, attachment
from reports.page.section import SECTION
from reports.store.run import read_run, read_study
from reports.verdict.files import summary_csv, summary_json
from reports.verdict.summary import Summary, summarise


def write_report(
    run: Path,
    changed: Mapping[str, str] | None = None,
    library: Callable[[], str] = zoomable.library,
) -> Summary:
    """Read a run folder, write its summary, figures, page and tables; return the summary.

    Args:
        run: the folder.
        changed: finished cells to leave out, by id, and why; see :func:`read_run`.
        library: gives the script that draws the page's figures.

    Raises:
        ParseError: the folder is not a readable run; the file is named.
    """
    try:
        summary, files = _made(run, changed, library)
    except Exception:
        # Nothing of an older report may pass for one that cannot be written.
        (run / run_folder.REPORT_SECTION).unlink(missing_ok=True)
        raise
    plain_files.write_together(files)
    return summary


def _made(
    run: Path, changed: Mapping[str, str] | None, library: Callable[[], str]
) -> tuple[Summary, dict[Path, bytes]]:
    """Return a run's summary, and what its report's files hold."""
    found = read_run(run, changed)
    summary = summarise(found)
    report = run / run_folder.REPORT
    with unchecked():
        headline = headline_figures(summary, drawn_metrics(found))
        sets = study_figures(run, found, summary)
    every = [*headline, *(figure for one in sets for figure in one.figures)]
    svgs = {figure.id: render_svg(figure) for figure in every}
    files = {
        run / run_folder.SUMMARY_JSON: summary_json(summary).encode(),
        run / run_folder.SUMMARY_CSV: summary_csv(summary).encode(),
    }
    for name, svg in svgs.items():
        files[report / "figures" / f"{name}.svg"] = svg.encode()
        files[report / "figures" / f"{name}.pdf"] = render_pdf(svg)
    drawn = Drawn(headline=headline, sets=sets, svgs=svgs)
    page, section = render_reports(found, summary, drawn, library)
    files[run / run_folder.REPORT_HTML] = page.encode()
    tables = attachment(summary)
    files |= {run / one.name: one.text(tables).encode() for one in TABLE_FILES}
    files[run / run_folder.REPORT_SECTION] = text_of(SECTION, section).encode()
    return summary, files


def read_replication(run: Path) -> Replication | None:
    """Return how far a run is that adds runs as needed; None for one with a fixed number.

    Raises:
        ParseError: the folder is not a readable run; the file is named.
    """
    if read_study(run).precision is None:
        return None
    return summarise(read_run(run)).replication
