"""The figures of a report, each defined once: as a picture for print, and to zoom into on the page.

Pure but for drawing: tables come in as data frames (:mod:`reports.cell_tables` reads them).
"""

from reports.figures.chart import Figure
from reports.figures.draw import render_pdf, render_svg
from reports.figures.headline import headline_figures

__all__ = ["Figure", "headline_figures", "render_pdf", "render_svg"]
