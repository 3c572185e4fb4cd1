"""``kernels.html``: what changed between kernels, as a page that needs nothing else. Pure."""

from __future__ import annotations

from markupsafe import Markup

from model.run_files.comparing.kernels import Kernels
from reports.figures.chart import render_svg
from reports.kernels import tables
from reports.kernels.figure import figure
from reports.page import zoomable
from reports.page.html import render


def page(found: Kernels) -> str:
    """Return the page."""
    drawn = figure(found)
    script = zoomable.program(None)
    grids = [
        tables.claims_grid(found), tables.metrics_grid(found, found.metrics),
        tables.changes_grid(found), tables.every_claim_grid(found),
    ]  # fmt: skip
    return render(
        "sets/kernels.html.j2", here="", found=found, title=tables.title(found), figure=drawn,
        notes=tables.notes(found), svg=Markup(render_svg(drawn)), grids=grids,
        kernels=tables.kernels_grid(found), script=script,
        script_digest=zoomable.digest(script), colours=zoomable.COLOURS,
    )  # fmt: skip
