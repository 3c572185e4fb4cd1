"""``explanation.html``: what mechanisms explain, as a page that needs nothing else. Pure."""

from __future__ import annotations

from markupsafe import Markup

from model.run_files.comparing.explanation import Explanation
from reports.explanation import tables
from reports.explanation.figure import figure
from reports.figures.chart import render_svg
from reports.page import zoomable
from reports.page.html import render


def page(found: Explanation) -> str:
    """Return the page."""
    drawn = figure(found)
    script = zoomable.program(None)
    metric = found.metric
    first = [
        tables.explained_grid(found), tables.levels_grid(found, metric),
        tables.effects_grid(found, metric), tables.shares_grid(found, metric),
        tables.alone_grid(found, metric),
        tables.pairs_grid(found, metric),
        tables.claims_grid(found), tables.mechanisms_grid(found),
    ]  # fmt: skip
    return render(
        "sets/explanation.html.j2", here="", found=found, figure=drawn, notes=tables.notes(found),
        svg=Markup(render_svg(drawn)), grids=[one for one in first if one is not None],
        script=script, script_digest=zoomable.digest(script), colours=zoomable.COLOURS,
    )  # fmt: skip
