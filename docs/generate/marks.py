"""Pages that are written by hand but for what stands between two marks. Pure."""

from __future__ import annotations


def between(text: str, begin: str, middle: str, end: str, page: str) -> str:
    """Return a page's text with this between its marks.

    Raises:
        ValueError: the page does not have them.
    """
    before, _, rest = text.partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        raise ValueError(f"{page}: no {begin.strip()} ... {end.strip()}")
    return f"{before}{begin}{middle}{end}{after}"
