"""A terminal: what it can show of texts, tables and judgements.

Invariants: every word of it also reads without colour; a line is never cut here, a table's cells
are broken; the marks fall back to ASCII where the terminal's encoding has no others.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from reports.measures.quantities import MINUS, UNKNOWN
from reports.page.grid import Field, Grid, pieces, plain
from reports.page.result_tables import CONTRADICTED

#: How wide a line of a column's head may be.
_HEAD_CHARS = 13
PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
#: What stands for a sign on every terminal, and on one whose encoding has no others.
_PLAIN = {MINUS: "-", "\N{NO-BREAK SPACE}": " "}
_ASCII = {"✓": "=", "✗": "X", UNKNOWN: "-", CONTRADICTED: "*", PLUS_MINUS: "+-"}
STYLES = {"inside": "green", "outside": "red", "bold": "bold"}


class Screen:
    """A console, and the signs it can show."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._signs, self._encoding = str.maketrans(_PLAIN), console.encoding
        try:
            "".join(_ASCII).encode(console.encoding)
        except (UnicodeEncodeError, LookupError):
            self._signs, self._encoding = str.maketrans({**_PLAIN, **_ASCII}), "ascii"

    def text(self, text: str, style: str = "") -> Text:
        """Return the text as it can be shown; nor does any study file move the cursor."""
        shown = text.translate(self._signs)
        shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
        return Text(shown.encode(self._encoding, "replace").decode(self._encoding), style)

    def print(self, text: str, style: str = "") -> None:
        """Print a line."""
        self.console.print(self.text(text, style))

    def table(self, grid: Grid) -> Table:
        """Return a table; its heads are broken into lines."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for column in grid.columns:
            lines = textwrap.wrap(plain(column.head), _HEAD_CHARS, break_long_words=False)
            head = Text("\n").join(self.text(line) for line in lines)
            table.add_column(head, justify="right" if column.kind == "number" else "left")
        for row in grid.rows:
            table.add_row(*(self._field(field) for field in row))
        return table

    def _field(self, field: Field) -> Text:
        return Text.assemble(*(self.text(t, STYLES.get(look, "")) for t, look in pieces(field)))

    def fits(self, grid: Grid) -> bool:
        """Return whether a table needs no more than the terminal's width."""
        wide = self.console.options.update(max_width=10_000)
        return Measurement.get(self.console, wide, self.table(grid)).maximum <= self.console.width

    def print_table(self, grid: Grid | None) -> None:
        """Print a table with its caption above and its notes below; nothing for None."""
        if grid:
            self.print(grid.caption)
            self.console.print(self.table(grid))
            for note in grid.notes:
                self.print(note, "dim")


def print_grids(title: str, grids: Sequence[Grid], notes: Sequence[str], console: Console) -> None:
    """Print a title, tables and lines; none of these is of a summary."""
    screen = Screen(console)
    screen.print(title, "bold")
    for grid in grids:
        screen.print_table(grid)
    for note in notes:
        screen.print(f"- {note}")
