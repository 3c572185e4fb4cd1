"""The summary on a terminal: warnings first, then the published numbers beside the kernel's.

Invariants: every word of it also reads without colour; a table wider than the terminal is split by
metric, never cut; the marks fall back to ASCII where the terminal's encoding has no others.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from model.run_files.cells import RunWarning
from model.run_files.study import Parameter
from reports.inference.increase_at_equal_loss import INCREASE
from reports.measures.metrics import Metric
from reports.measures.quantities import (
    MINUS,
    UNKNOWN,
    as_printed,
    count,
    difference,
    number,
)
from reports.page.causes import claims_table, terminal_table
from reports.page.grid import Column, Field, Grid, judgement, part, pieces, plain, side_by_side
from reports.page.last_screen import last_screen
from reports.page.places import with_unit
from reports.page.repeats import replication_table, replication_words, variation_line
from reports.page.result_tables import CONTRADICTED, estimates_table, setting_columns
from reports.page.verdicts import sure, tally
from reports.verdict.points import MetricSummary, PointSummary
from reports.verdict.summary import Summary
from reports.verdict.trust import point_words
from reports.verdict.words import Words

#: How wide a line of a column's head may be.
_HEAD_CHARS = 13
#: Longest place or text of a warning shown here; summary.json and the page have all of it.
_PLACE_CHARS = 160

PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
#: What stands for a sign on every terminal, and on one whose encoding has no others.
_PLAIN = {MINUS: "-", "\N{NO-BREAK SPACE}": " "}
_ASCII = {"✓": "=", "✗": "X", UNKNOWN: "-", CONTRADICTED: "*", PLUS_MINUS: "+-"}
_STYLES = {"inside": "green", "outside": "red"}


class _Screen:
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
        return Text.assemble(*(self.text(t, _STYLES.get(look, "")) for t, look in pieces(field)))

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


def _shortened(text: str) -> str:
    return text if len(text) <= _PLACE_CHARS else f"{text[: _PLACE_CHARS - 4].rstrip()} ..."


def _measured(metric: Metric, found: MetricSummary) -> str:
    text, ci95 = number(found.estimate.mean, metric.quantity), found.estimate.ci95
    if ci95 is None:
        return text
    return f"{text} {PLUS_MINUS} {number((ci95[1] - ci95[0]) / 2, metric.quantity)}"


def _compared(point: PointSummary, metric: Metric) -> tuple[Field, Field]:
    """Return the published value, and kernel - paper with the mark that says where paper lies."""
    found, quantity = point.metrics[metric.name], metric.quantity
    if found.published is None:
        return UNKNOWN, f"{UNKNOWN} "
    sign = CONTRADICTED if point.contradicted(metric.name) else " "
    words = {None: "unknown", True: "inside", False: "outside"}
    mark = judgement(words[found.published_in_pi95])
    text = difference(found.estimate.mean, found.published, quantity)
    return (
        f"{as_printed(found.published, quantity)}{sign}",
        part("", f"{text} ", part(mark.look, mark.sign or UNKNOWN)),
    )


def _telling(summary: Summary) -> tuple[Parameter, ...]:
    """Return the settings that tell the points apart; the page shows those that go with them."""
    words = Words(summary.metric_table(), summary.parameters)
    names = words.naming(point.point for point in summary.points)
    return tuple(p for p in summary.parameters if p.name in names) or summary.parameters


def _results(summary: Summary, metrics: list[Metric]) -> Grid:
    """Return several metrics beside each other, each with what was published of it."""
    points = summary.points
    fields = setting_columns(_telling(summary), summary)
    fields += [(Column("runs"), [_runs(point) for point in points])]
    for one in metrics:
        fields += [(Column(with_unit(one)), [_measured(one, p.metrics[one.name]) for p in points])]
        if any(point.metrics[one.name].published is not None for point in points):
            paper, less = zip(*(_compared(point, one) for point in points), strict=True)
            fields += [(Column("paper"), paper), (Column("diff."), less)]
    return side_by_side("", fields)


def _runs(point: PointSummary) -> str:
    if point.cells_counted == point.cells_planned:
        return str(point.cells_counted)
    return f"{point.cells_counted} of {point.cells_planned}"


def _print_results(screen: _Screen, summary: Summary) -> None:
    """Print as few tables as fit the width, each with whole metrics, in the study's order."""
    names = summary.metric_table()
    groups: list[list[Metric]] = []
    for name in summary.headline:
        wider = [*groups[-1], names[name]] if groups else [names[name]]
        if groups and screen.fits(_results(summary, wider)):
            groups[-1] = wider
        else:
            groups.append([names[name]])
    for metrics in groups:
        screen.console.print(screen.table(_results(summary, metrics)))


def _print_warnings(screen: _Screen, warnings: tuple[RunWarning, ...]) -> None:
    if not warnings:
        return
    title = f"Read this before trusting the run ({count(len(warnings), 'warning')})"
    screen.print(title, "bold yellow")
    items = Table.grid(padding=(0, 1, 0, 0))
    items.add_column()
    items.add_column(ratio=1)
    for warning in warnings:
        place = f"{_shortened(warning.where)}: " if warning.where else ""
        rule = screen.text(f"{warning.rule}: ", "bold")
        items.add_row("-", rule + screen.text(f"{place}{_shortened(warning.text)}"))
    screen.console.print(items)


def _print_verdicts(screen: _Screen, summary: Summary) -> None:
    """Print what became of each claim, its evidence below it; nothing if nothing is claimed."""
    if not summary.verdicts:
        return
    screen.print(tally((one.verdict for one in summary.verdicts), summary.scale), "bold")
    items = Table.grid(padding=(0, 1, 0, 0))
    items.add_column(no_wrap=True)
    items.add_column(ratio=1)
    for verdict in summary.verdicts:
        found = judgement(verdict.verdict)
        style = f"bold {_STYLES[found.look]}" if found.sign else ""
        how = sure(verdict)
        said = " ".join(filter(None, (verdict.evidence, verdict.suspected)))
        words = screen.text(verdict.text, "bold")
        words.append_text(screen.text(f" ({how})" * bool(how), "not bold")).append("\n")
        words.append_text(screen.text(said, "not bold"))
        items.add_row(screen.text(f"{found.sign or UNKNOWN} {verdict.verdict}", style), words)
    screen.console.print(items)


def _print_footnotes(screen: _Screen, summary: Summary) -> None:
    metrics = [m for p in summary.points for m in p.metrics.values()]
    legend = "kernel mean"
    if any(m.estimate.ci95 for m in metrics):
        legend += f" {PLUS_MINUS} half its 95 % confidence interval"
    if any(m.published is not None for m in metrics):
        legend += (
            "; paper: published; diff.: kernel - paper. ✓ published value inside the 95 % "
            "prediction interval of one run (an ordinary draw), ✗ outside, "
            f"{UNKNOWN} not known."
        )
    screen.print(legend)
    words = [f"{point_words(p.point)}: {found.text}" for p in summary.points
             for found in p.contradictions]  # fmt: skip
    words += [f"{found.where}: {found.text}" for found in summary.contradictions]
    for line in words:
        screen.print(f"{CONTRADICTED} {line}", "dim")


def _print_repeats(screen: _Screen, summary: Summary) -> None:
    """Print how far seeds were added, and what alternatives of assumptions did to verdicts."""
    if summary.replication:
        screen.print(replication_words(summary, summary.replication))
        screen.print_table(replication_table(summary, summary.replication))
    tried = summary.sensitivity
    if tried.variations or tried.left_out:
        screen.print("Sensitivity to assumptions", "bold")
    for one in tried.variations:
        screen.print(f"- {variation_line(one)}")
    for words in tried.left_out:
        screen.print(f"- {words}: not run")


def print_grids(title: str, grids: Sequence[Grid], notes: Sequence[str], console: Console) -> None:
    """Print a title, tables and lines; none of these is of a summary."""
    screen = _Screen(console)
    screen.print(title, "bold")
    for grid in grids:
        screen.print_table(grid)
    for note in notes:
        screen.print(f"- {note}")


def print_last_screen(
    summaries: Sequence[Summary], places: Sequence[str], console: Console
) -> None:
    """Print the answer on one screen; ``places`` are lines that say where everything is."""
    screen = _Screen(console)
    for line in last_screen(summaries, places, console.width):
        style = "bold" if line.look == "bold" else _STYLES.get(line.look, "")
        console.print(screen.text(line.text, style), soft_wrap=True)


def print_summary(summary: Summary, console: Console) -> None:
    """Print the summary's tables; colour follows the terminal and ``NO_COLOR``."""
    screen = _Screen(console)
    screen.print(summary.title, "bold")
    _print_warnings(screen, summary.warnings)
    _print_verdicts(screen, summary)
    _print_results(screen, summary)
    _print_footnotes(screen, summary)
    if INCREASE in summary.headline:
        screen.print_table(estimates_table(summary, summary.metric_table()[INCREASE]))
    _print_repeats(screen, summary)
    story = terminal_table(summary)
    if story:
        screen.print_table(claims_table(summary))
    screen.print_table(story)
