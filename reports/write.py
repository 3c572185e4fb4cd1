"""Writes a run's report: read, summarise, draw, write; the only part of reports that writes files.

Invariants: each file appears whole or not at all (written beside its place, then renamed); writing
twice gives the same bytes; nothing under ``cells/`` is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from reports import live
from reports.asked import asked_figures, asked_metrics
from reports.attached import attachment
from reports.figures import headline_figures, render_pdf, render_svg
from reports.html import Drawn, render_reports
from reports.latex import tables_latex
from reports.markdown import tables_markdown
from reports.replication import Replication
from reports.run import read_run, read_study
from reports.section import section_json
from reports.summary import Summary, summarise
from reports.summary_files import summary_csv, summary_json
from testbed import plain, runfolder


def write_report(
    run: Path,
    changed: Mapping[str, str] | None = None,
    library: Callable[[], str] = live.library,
) -> Summary:
    """Read a run folder, write its summary, figures, page and tables; return the summary.

    Args:
        run: the folder.
        changed: finished cells to leave out, by id, and why; see :func:`read_run`.
        library: gives the script that draws the page's figures.

    Raises:
        ParseError: the folder is not a readable run; the file is named.
    """
    # Nothing of an older report may pass for this one where this one cannot be written.
    (run / runfolder.REPORT_SECTION).unlink(missing_ok=True)
    found = read_run(run, changed)
    summary = summarise(found)
    report = run / runfolder.REPORT
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
    drawn = Drawn(headline=headline, asked=asked, svgs=svgs)
    page, section = render_reports(found, summary, drawn, library)
    files[run / runfolder.REPORT_HTML] = page.encode()
    attached = attachment(summary)
    files[run / runfolder.TABLES_MD] = tables_markdown(attached).encode()
    files[run / runfolder.TABLES_TEX] = tables_latex(attached).encode()
    files[run / runfolder.REPORT_SECTION] = section_json(section).encode()
    for path, content in files.items():
        plain.write(path, content, unlocked=True)
    return summary


def read_replication(run: Path) -> Replication | None:
    """Return how far a run is that adds runs as needed; None for one with a fixed number.

    Raises:
        ParseError: the folder is not a readable run; the file is named.
    """
    if read_study(run).repeats.precision is None:
        return None
    return summarise(read_run(run)).replication
