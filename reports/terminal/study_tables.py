"""The tables of a study on a terminal: warnings first, then published numbers beside the kernel's.

Invariant: a table wider than the terminal is split by metric, never cut.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from model.run_files.cells import RunWarning
from model.run_files.study import Parameter
from model.words import how_many
from reports.inference.increase_at_equal_loss import INCREASE
from reports.measures.metrics import Metric
from reports.measures.quantities import (
    UNKNOWN,
    as_printed,
    difference,
    named,
    number,
    point_words,
)
from reports.page.causes import claims_table, terminal_table
from reports.page.grid import Column, Field, Grid, judgement, part, side_by_side
from reports.page.places import with_unit
from reports.page.repeats import replication_table, replication_words, variation_line
from reports.page.result_tables import CONTRADICTED, estimates_table, setting_columns
from reports.page.verdicts import sure, tally
from reports.terminal.screen import PLUS_MINUS, STYLES, Screen
from reports.verdict.points import MetricSummary, PointSummary
from reports.verdict.summary import Summary
from reports.verdict.verdicts import COMPARISON_VERDICTS
from reports.verdict.words import Words

#: Longest place or text of a warning shown here; summary.json and the page have all of it.
_PLACE_CHARS = 160


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


def _simulator(summary: Summary) -> str:
    return summary.simulated.simulator if summary.simulated else ""


def _simulated(found: MetricSummary, metric: Metric) -> Field:
    """Return the live simulator's mean, marked by where the paper lies in its runs."""
    if found.live is None:
        return UNKNOWN
    text = number(found.live.mean, metric.quantity)
    if found.published is None:
        return text
    words = {None: "unknown", True: "inside", False: "outside"}
    mark = judgement(words[found.live.published_in_pi95])
    return part("", f"{text} ", part(mark.look, mark.sign or UNKNOWN))


def _telling(summary: Summary) -> tuple[Parameter, ...]:
    """Return the settings that tell the points apart; the page shows those that go with them."""
    words = Words(summary.metric_table(), summary.parameters)
    names = words.naming(point.point for point in summary.points)
    return tuple(p for p in summary.parameters if p.name in names) or named(summary.parameters)


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
        if any(point.metrics[one.name].live for point in points):
            live = [_simulated(point.metrics[one.name], one) for point in points]
            fields += [(Column("simulated"), live)]
    return side_by_side("", fields)


def _runs(point: PointSummary) -> str:
    if point.cells_counted == point.cells_planned:
        return str(point.cells_counted)
    return f"{point.cells_counted} of {point.cells_planned}"


def _print_results(screen: Screen, summary: Summary) -> None:
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


def _print_warnings(screen: Screen, warnings: tuple[RunWarning, ...]) -> None:
    if not warnings:
        return
    title = f"Read this before trusting the run ({how_many(len(warnings), 'warning')})"
    screen.print(title, "bold yellow")
    items = Table.grid(padding=(0, 1, 0, 0))
    items.add_column()
    items.add_column(ratio=1)
    for warning in warnings:
        place = f"{_shortened(warning.where)}: " if warning.where else ""
        rule = screen.text(f"{warning.rule}: ", "bold")
        items.add_row("-", rule + screen.text(f"{place}{_shortened(warning.text)}"))
    screen.console.print(items)


def _print_verdicts(screen: Screen, summary: Summary) -> None:
    """Print what became of each claim, its evidence below it; nothing if nothing is claimed."""
    if not summary.verdicts:
        return
    screen.print(tally((one.verdict for one in summary.verdicts), summary.scale), "bold")
    items = Table.grid(padding=(0, 1, 0, 0))
    items.add_column(no_wrap=True)
    items.add_column(ratio=1)
    for verdict in summary.verdicts:
        found = judgement(verdict.verdict)
        style = f"bold {STYLES[found.look]}" if found.sign else ""
        how = sure(verdict)
        live = summary.simulated.claim(verdict.id) if summary.simulated else None
        its = f"{_simulator(summary)}: {live.verdict}" if live else ""
        if live and live.verdict in COMPARISON_VERDICTS:
            its += f": {live.evidence}"
        said = " ".join(filter(None, (verdict.evidence, verdict.suspected, its)))
        words = screen.text(verdict.text, "bold")
        words.append_text(screen.text(f" ({how})" * bool(how), "not bold")).append("\n")
        words.append_text(screen.text(said, "not bold"))
        items.add_row(screen.text(f"{found.sign or UNKNOWN} {verdict.verdict}", style), words)
    screen.console.print(items)


def _print_footnotes(screen: Screen, summary: Summary) -> None:
    metrics = [m for p in summary.points for m in p.metrics.values()]
    legend = f"{summary.system} mean"
    if any(m.estimate.ci95 for m in metrics):
        legend += f" {PLUS_MINUS} half its 95 % confidence interval"
    if any(m.published is not None for m in metrics):
        legend += (
            f"; paper: published; diff.: {summary.system} - paper. ✓ published value inside the "
            "95 % prediction interval of one run (an ordinary draw), ✗ outside, "
            f"{UNKNOWN} not known."
        )
    screen.print(legend)
    words = [f"{point_words(p.point, summary.parameters)}: {found.text}" for p in summary.points
             for found in p.contradictions]  # fmt: skip
    words += [f"{found.where}: {found.text}" for found in summary.contradictions]
    for line in words:
        screen.print(f"{CONTRADICTED} {line}", "dim")


def _print_repeats(screen: Screen, summary: Summary) -> None:
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


def print_summary(summary: Summary, console: Console) -> None:
    """Print the summary's tables; colour follows the terminal and ``NO_COLOR``."""
    screen = Screen(console)
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
