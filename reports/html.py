"""The report as one HTML page that needs nothing else: no network, no fonts, no other file. Pure.

Invariant: every text from a file is escaped by the template engine; only our own figures, whose
text the drawing library escapes, and their program are placed as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jinja2
from markupsafe import Markup

from reports import estimates_page, evidence, live, packet_page, page
from reports.asked import FigureSet
from reports.display import count
from reports.figures import Figure
from reports.repeats_page import repeats_page
from reports.run import Run
from reports.story_page import story_page
from reports.summary import Summary
from reports.verdict_page import verdict_page

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("reports"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def _ran(run: Run, summary: Summary) -> str:
    kernels = sorted({str(cell.env["kernel_release"]) for cell in run.finished})
    counted = sum(point.cells_counted for point in summary.points)
    planned = sum(point.cells_planned for point in summary.points)
    runs = count(planned, "run") if counted == planned else f"{counted} of {count(planned, 'run')}"
    words = f"{runs} of {run.study.duration_s:g} s at {count(len(summary.points), 'point')}"
    if summary.sensitivity.cells:
        words += f", {count(len(summary.sensitivity.cells), 'run')} of variations"
    return f"{words} on Linux {', '.join(kernels)}" if kernels else words


def _seeds(seeds: tuple[int, ...]) -> str:
    if len(seeds) > 2 and seeds == tuple(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(str(seed) for seed in seeds)


def _seeds_used(run: Run) -> tuple[int, ...]:
    """Return the seeds of the run, of one that adds them those planned so far."""
    planned = {cell.seed for cell in run.plan if cell.purpose == "measure"}
    return tuple(seed for seed in run.study.seeds if seed in planned)


def _also_measured(summary: Summary) -> tuple[list[str], list[str]]:
    others = [name for name in summary.metric_table() if name not in summary.headline]
    losses = [f"loss_{group.id}_frac" for group in summary.groups]
    shown = {*losses, *packet_page.metric_names(summary.groups)}
    return losses, [name for name in others if name not in shown]


def _content(run: Run, summary: Summary) -> dict[str, Any]:
    table = summary.metric_table()
    losses, others = _also_measured(summary)
    check_words, failed_checks = evidence.measuring_checks(run)
    essential, rest = evidence.environment(run)
    return {
        "study": run.study,
        "summary": summary,
        "ran": _ran(run, summary),
        "seeds": _seeds(_seeds_used(run)),
        "heads": page.setting_heads(summary),
        "results": [page.result_table(summary, table[name]) for name in summary.headline],
        "estimates": {
            name: found
            for name in summary.headline
            if (found := estimates_page.estimates_table(summary, table[name]))
        },
        "contradicted": page.contradicted_rows(summary),
        "against": page.table_contradictions(summary),
        "losses": page.overview(summary, losses),
        "others": page.overview(summary, others),
        "runs": page.single_runs(summary),
        "packets": packet_page.packet_evidence(run, summary),
        "story": story_page(summary),
        "verdicts": verdict_page(summary),
        "repeats": repeats_page(summary),
        "calibrations": evidence.calibrations(run),
        "check_words": check_words,
        "failed_checks": failed_checks,
        "ledger": evidence.ledger(run, summary),
        "essential": essential,
        "recorded": rest,
        "provenance": evidence.provenance(run),
        "repeat": evidence.repeat_command(run),
    }


def render_page(
    run: Run,
    summary: Summary,
    headline: tuple[Figure, ...],
    asked: tuple[FigureSet, ...],
    svgs: Mapping[str, str],
    library: Callable[[], str],
) -> str:
    """Return ``report/index.html``; ``svgs`` is the drawn figures by their id.

    ``library`` gives the script that draws them, and is asked only where there are any.
    """
    shown = {figure.id: live.placed(figure, svgs[figure.id]) for figure in headline}
    beside = {name: shown.pop(name) for name in summary.headline if name in shown}
    script = live.program(library()) if svgs else Markup("")
    return _TEMPLATES.get_template("report.html.j2").render(
        _content(run, summary),
        drawn=beside,
        further=tuple(shown.values()),
        sets=tuple(live.placed_set(found, svgs) for found in asked),
        colours=live.COLOURS,
        script=script,
        script_digest=live.digest(script) if script else "",
    )
