"""The summary on a terminal: warnings first, then the published numbers beside the kernel's.

Invariants: every word of it also reads without colour; a table wider than the terminal is split by
metric, never cut; the marks fall back to ASCII where the terminal's encoding has no others.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    setting,
    setting_label,
)
from reports.page.causes import claims_table, terminal_rows, terminal_words
from reports.page.estimates import adjustment_words, estimates_table
from reports.page.repeats import replication_table, replication_words, variation_line
from reports.page.verdicts import sure, tally
from reports.verdict.points import MetricSummary, PointSummary
from reports.verdict.summary import Summary
from reports.verdict.trust import point_words
from reports.verdict.words import Words

#: How wide a column of settings, and one of means, may be; their heads are broken into lines.
_SETTING_CHARS, _MEAN_CHARS = 11, 13
#: Longest place or text of a warning shown here; summary.json and the page have all of it.
_PLACE_CHARS = 160


@dataclass(frozen=True)
class _Marks:
    """The signs of one encoding."""

    inside: str
    outside: str
    unknown: str
    contradicted: str
    plus_minus: str


_UNICODE = _Marks("✓", "✗", UNKNOWN, "†", "±")
_ASCII = _Marks("=", "X", "-", "*", "+-")


def _marks(console: Console) -> _Marks:
    try:
        "".join(vars(_UNICODE).values()).encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return _UNICODE


def _measured(metric: Metric, found: MetricSummary, marks: _Marks) -> Text:
    if found.estimate.mean is None:
        return Text(marks.unknown)
    text = number(found.estimate.mean, metric.quantity)
    if found.estimate.ci95 is None:
        return Text(text)
    half = (found.estimate.ci95[1] - found.estimate.ci95[0]) / 2
    return Text(f"{text} {marks.plus_minus} {number(half, metric.quantity)}")


def _mark(found: MetricSummary, marks: _Marks) -> Text:
    if found.published is None:
        return Text("")
    if found.published_in_pi95 is None:
        return Text(marks.unknown)
    if found.published_in_pi95:
        return Text(marks.inside, style="green")
    return Text(marks.outside, style="red")


def _published(point: PointSummary, metric: Metric, marks: _Marks) -> Text:
    found = point.metrics[metric.name]
    if found.published is None:
        return Text(marks.unknown)
    sign = marks.contradicted if point.contradicted(metric.name) else " "
    return Text(as_printed(found.published, metric.quantity) + sign)


def _difference(metric: Metric, found: MetricSummary, marks: _Marks) -> Text:
    """Return kernel - paper, and the mark that says where paper lies."""
    text = difference(found.estimate.mean, found.published, metric.quantity)
    return Text.assemble(text.replace(UNKNOWN, marks.unknown), " ", _mark(found, marks))


def _is_published(summary: Summary, metric: Metric) -> bool:
    return any(point.metrics[metric.name].published is not None for point in summary.points)


def _telling(summary: Summary) -> tuple[Parameter, ...]:
    """Return the settings that tell the points apart; the page shows those that go with them."""
    words = Words(summary.metric_table(), summary.parameters)
    names = words.naming(point.point for point in summary.points)
    return tuple(p for p in summary.parameters if p.name in names) or summary.parameters


def _table(summary: Summary, metrics: list[Metric], marks: _Marks) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    parameters = _telling(summary)
    for parameter in parameters:
        table.add_column(
            Text(_printable(setting_label(parameter.path))),
            justify="right",
            max_width=_SETTING_CHARS,
        )
    table.add_column("runs", justify="right")
    for metric in metrics:
        unit = f" ({metric.quantity.unit})" if metric.quantity.unit else ""
        table.add_column(
            Text(_printable(f"{metric.label}{unit}")), justify="right", max_width=_MEAN_CHARS
        )
        if _is_published(summary, metric):
            table.add_column("paper", justify="right")
            table.add_column("diff.", justify="right")
    for point in summary.points:
        settings = point.point.as_dict()
        row = [Text(_printable(setting(p.name, settings[p.name]))) for p in parameters]
        row.append(Text(_runs(point)))
        for metric in metrics:
            found = point.metrics[metric.name]
            row.append(_measured(metric, found, marks))
            if _is_published(summary, metric):
                row += [_published(point, metric, marks), _difference(metric, found, marks)]
        table.add_row(*row)
    return table


def _runs(point: PointSummary) -> str:
    if point.cells_counted == point.cells_planned:
        return str(point.cells_counted)
    return f"{point.cells_counted} of {point.cells_planned}"


def _fits(table: Table, console: Console) -> bool:
    wide = console.options.update(max_width=10_000)
    return Measurement.get(console, wide, table).maximum <= console.width


def _tables(summary: Summary, console: Console, marks: _Marks) -> list[Table]:
    """Return as few tables as fit the width, each with whole metrics, in the study's order."""
    names = summary.metric_table()
    groups: list[list[Metric]] = []
    for name in summary.headline:
        wider = [*groups[-1], names[name]] if groups else [names[name]]
        if groups and _fits(_table(summary, wider, marks), console):
            groups[-1] = wider
        else:
            groups.append([names[name]])
    return [_table(summary, metrics, marks) for metrics in groups]


def _printable(text: str) -> str:
    """Return the text without control characters: no study file moves the cursor."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _shortened(text: str) -> str:
    short = text if len(text) <= _PLACE_CHARS else f"{text[: _PLACE_CHARS - 4].rstrip()} ..."
    return _printable(short)


def _print_warnings(console: Console, warnings: tuple[RunWarning, ...]) -> None:
    if not warnings:
        return
    title = f"Read this before trusting the run ({count(len(warnings), 'warning')})"
    console.print(Text(title, style="bold yellow"))
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column()
    grid.add_column(ratio=1)
    for warning in warnings:
        place = f"{_shortened(warning.where)}: " if warning.where else ""
        words = Text.assemble((f"{warning.rule}: ", "bold"), place, _shortened(warning.text))
        grid.add_row("-", words)
    console.print(grid)


def _print_footnotes(console: Console, summary: Summary, marks: _Marks) -> None:
    metrics = [m for p in summary.points for m in p.metrics.values()]
    legend = "kernel mean"
    if any(m.estimate.ci95 for m in metrics):
        legend += f" {marks.plus_minus} half its 95 % confidence interval"
    if any(m.published is not None for m in metrics):
        legend += (
            f"; paper: published; diff.: kernel - paper. {marks.inside} published value inside "
            f"the 95 % prediction interval of one run (an ordinary draw), {marks.outside} outside, "
            f"{marks.unknown} not known."
        )
    console.print(Text(legend))
    words = [f"{point_words(p.point)}: {found.text}" for p in summary.points
             for found in p.contradictions]  # fmt: skip
    words += [f"{found.where}: {found.text}" for found in summary.contradictions]
    for line in words:
        console.print(Text(_printable(f"{marks.contradicted} {line}"), style="dim"))


def _print_increase(console: Console, summary: Summary, marks: _Marks) -> None:
    """Print the estimates of the increase beside each other, if there is more than the mean."""
    found = INCREASE in summary.headline and estimates_table(
        summary, summary.metric_table()[INCREASE]
    )
    if not found:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for head in found.table.heads:
        first = head == found.table.heads[0]
        table.add_column(
            Text(_printable(head)), justify="right", max_width=_SETTING_CHARS if first else None
        )
    for row in found.table.rows:
        shown = (f.replace(UNKNOWN, marks.unknown).replace(MINUS, "-") for f in row)
        table.add_row(*(Text(_printable(field)) for field in shown))
    label = summary.metric_table()[INCREASE].label
    console.print(Text(_printable(f"{label} (%): estimates with 95 % intervals")))
    console.print(table)
    for words in (adjustment_words(summary), *found.notes):
        if words:
            console.print(Text(_printable(words), style="dim"))


def _print_story(console: Console, summary: Summary, marks: _Marks) -> None:
    """Print what happened; nothing if no run recorded it (the page says why)."""
    heads, rows = terminal_rows(summary)
    if not rows:
        return
    _print_claims(console, summary, marks)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    point = "; ".join(setting_label(parameter.path) for parameter in summary.parameters)
    table.add_column(Text(_printable(point)), justify="right", max_width=_SETTING_CHARS)
    for head in heads:
        table.add_column(head, justify="right")
    for row in rows:
        shown = (field.replace(UNKNOWN, marks.unknown) for field in row)
        table.add_row(*(Text(_printable(field)) for field in shown))
    console.print(Text(f"What happened: {terminal_words(summary)}"))
    console.print(table)


def _print_verdicts(console: Console, summary: Summary, marks: _Marks) -> None:
    """Print what became of each claim, its evidence below it; nothing if nothing is claimed."""
    if not summary.verdicts:
        return
    styles = {"holds": (marks.inside, "bold green"), "refuted": (marks.outside, "bold red")}
    console.print(Text(tally(summary.verdicts), style="bold"))
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for verdict in summary.verdicts:
        mark, style = styles.get(verdict.verdict, (marks.unknown, ""))
        words = Text(_printable(verdict.text), style="bold")
        how = sure(verdict)
        if how:
            words.append(f" ({how})", style="not bold")
        said = " ".join(filter(None, (verdict.evidence, verdict.suspected)))
        words.append(f"\n{_printable(said)}", style="not bold")
        table.add_row(Text(f"{mark} {verdict.verdict}", style=style), words)
    console.print(table)


def _print_claims(console: Console, summary: Summary, marks: _Marks) -> None:
    """Print what was published of single losses, if anything was, beside the kernel's."""
    found = claims_table(summary)
    if not found:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for head in found.heads:
        table.add_column(Text(_printable(head)), max_width=24 if head == found.heads[0] else None)
    for point, where, *row in found.rows:
        flow = where.split(",")[0]  # the page says where it is printed
        shown = (field.replace(UNKNOWN, marks.unknown) for field in (point, flow, *row))
        table.add_row(*(Text(_printable(field)) for field in shown))
    console.print(Text("Single losses: published, and the same episode of the first run"))
    console.print(table)


def _print_repeats(console: Console, summary: Summary) -> None:
    """Print how far seeds were added, and what alternatives of assumptions did to verdicts."""
    if summary.replication:
        found = replication_table(summary, summary.replication)
        console.print(Text(_printable(replication_words(summary, summary.replication))))
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for head in found.heads:
            table.add_column(Text(_printable(head)), max_width=30)
        for row in found.rows:
            table.add_row(*(Text(_printable(field)) for field in row))
        console.print(table)
    tried = summary.sensitivity
    if tried.variations or tried.left_out:
        console.print(Text("Sensitivity to assumptions", style="bold"))
    for one in tried.variations:
        console.print(Text(_printable(f"- {variation_line(one)}")))
    for words in tried.left_out:
        console.print(Text(_printable(f"- {words}: not run")))


def print_summary(summary: Summary, console: Console) -> None:
    """Print the summary; colour follows the terminal and ``NO_COLOR``."""
    marks = _marks(console)
    console.print(Text(_printable(summary.title), style="bold"))
    _print_warnings(console, summary.warnings)
    _print_verdicts(console, summary, marks)
    for table in _tables(summary, console, marks):
        console.print(table)
    _print_footnotes(console, summary, marks)
    _print_increase(console, summary, marks)
    _print_repeats(console, summary)
    _print_story(console, summary, marks)
