"""Draws charts as SVG and PDF, without browser or network; equal charts give equal bytes."""

from __future__ import annotations

import re

import vl_convert

from reports.figures.chart import Figure

#: A resource dictionary of a PDF page: the writer lists its entries in random order.
_PDF_RESOURCES = re.compile(rb"(<<\n)((?:[ ]+/[a-z]{2}\d+ [^\n]*\n)+)")
#: Names inside a picture: the library numbers them on from picture to picture.
_SVG_NAME = re.compile(r'(?<=id=")clip\d+(?=")')
#: Where a picture says places, in more digits than any eye or printer has.
_SVG_PLACES = re.compile(r'(?<= )(?:transform|d|x2|y2)="[^"]*"')
#: What changes nothing: an opacity of 1, the width of a stroke that is not there.
_SVG_NEEDLESS = re.compile(r' opacity="1"|(?<=fill="#[0-9a-f]{6}") stroke-width="2"')
_SVG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def render_svg(figure: Figure) -> str:
    """Return the figure as SVG text; names inside it are its own, places to 0.01 pixels."""
    drawn = str(vl_convert.vegalite_to_svg(dict(figure.spec), allowed_base_urls=[]))
    for number, name in enumerate(_SVG_NAME.findall(drawn)):
        own = f"{figure.id}-{number}"
        drawn = drawn.replace(f'id="{name}"', f'id="{own}"').replace(
            f"url(#{name})", f"url(#{own})"
        )
    drawn = _SVG_NEEDLESS.sub("", drawn)
    return _SVG_PLACES.sub(lambda place: _SVG_NUMBER.sub(_hundredths, place[0]), drawn)


def _hundredths(number: re.Match[str]) -> str:
    """Return a number in pixels to two places, without ending zeros."""
    text = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def render_pdf(svg: str) -> bytes:
    """Return a drawn figure as PDF; its resource lists are sorted, so equal figures are equal."""
    drawn: bytes = vl_convert.svg_to_pdf(svg)
    return _PDF_RESOURCES.sub(
        lambda found: found[1] + b"".join(sorted(found[2].splitlines(keepends=True))), drawn
    )
