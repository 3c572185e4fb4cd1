"""The consoles that words and data are printed on: every text comes out as it is.

Invariant: nothing printed is taken for markup, an emoji's name or something to colour, wherever it
comes from: ``sat.yaml:100:`` names a line.
"""

from __future__ import annotations

from rich.console import Console


def out() -> Console:
    """Return the console for data; lines are as long as they are."""
    return _plain(stderr=False, soft_wrap=True)


def words() -> Console:
    """Return the console for words beside the data."""
    return _plain(stderr=True, soft_wrap=False)


def _plain(*, stderr: bool, soft_wrap: bool) -> Console:
    return Console(stderr=stderr, soft_wrap=soft_wrap, markup=False, emoji=False, highlight=False)
