"""``comparison.html``: a user's own results beside a run, as a page by itself. Pure."""

from __future__ import annotations

from markupsafe import Markup

from model.run_files.comparing.own_results import OwnResults
from reports.beside import tables
from reports.beside.figure import figure
from reports.figures.chart import render_svg
from reports.page import zoomable
from reports.page.html import render


def page(found: OwnResults) -> str:
    """Return the page."""
    drawn = figure(found)
    script = zoomable.program(None)
    return render(
        "sets/comparison.html.j2", here="", found=found, figure=drawn,
        verdict=tables.verdict_words(found), notes=tables.notes(found),
        missing=tables.missing_words(found), svg=Markup(render_svg(drawn)),
        grids=tables.grids(found), script=script, script_digest=zoomable.digest(script),
        colours=zoomable.COLOURS,
    )  # fmt: skip
