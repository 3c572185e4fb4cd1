"""Draws charts as SVG and PDF, without browser or network; equal charts give equal bytes."""

from __future__ import annotations

import re

import vl_convert

from reports.figures.chart import Figure

#: A resource dictionary of a PDF page: the writer lists its entries in random order.
_PDF_RESOURCES = re.compile(rb"(<<\n)((?:[ ]+/[a-z]{2}\d+ [^\n]*\n)+)")
#: Names inside a picture: the library numbers them on from picture to picture.
_SVG_NAME = re.compile(r'(?<=id=")clip\d+(?=")')


def render_svg(figure: Figure) -> str:
    """Return the figure as SVG text; the names inside it are its own."""
    drawn = str(vl_convert.vegalite_to_svg(dict(figure.spec), allowed_base_urls=[]))
    for number, name in enumerate(_SVG_NAME.findall(drawn)):
        own = f"{figure.id}-{number}"
        drawn = drawn.replace(f'id="{name}"', f'id="{own}"').replace(
            f"url(#{name})", f"url(#{own})"
        )
    return drawn


def render_pdf(svg: str) -> bytes:
    """Return a drawn figure as PDF; its resource lists are sorted, so equal figures are equal."""
    drawn: bytes = vl_convert.svg_to_pdf(svg)
    return _PDF_RESOURCES.sub(
        lambda found: found[1] + b"".join(sorted(found[2].splitlines(keepends=True))), drawn
    )
