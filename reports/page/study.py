"""What a page shows of one study: everything but its figures, as values ready to be placed. Pure.

Escaping is the template's.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from reports.figures.moving.of_run import moving_nodes
from reports.figures.plain.multiples import multiple
from reports.figures.plain.offsets import forest, offsets
from reports.page import evidence, packets, result_tables
from reports.page.causes import story_page
from reports.page.repeats import repeats_page
from reports.page.verdicts import verdict_page
from reports.store.run import Run
from reports.verdict.summary import Summary


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
    shown = {*losses, *packets.metric_names(summary.groups)}
    return losses, [name for name in others if name not in shown]


def _forest(summary: Summary) -> Markup | None:
    found = offsets(summary)
    caption = f"Everything published, and the {summary.system}: {summary.title}"
    return forest(found, caption) if found else None


def study_content(run: Run, summary: Summary) -> dict[str, Any]:
    """Return what the templates name of a study, all but its figures."""
    table = summary.metric_table()
    losses, others = _also_measured(summary)
    check_words, failed_checks = evidence.measuring_checks(run)
    essential, rest = evidence.environment(run)
    options = evidence.repeat_options(run)
    means = "mean over runs, 95 % confidence interval in brackets"
    return {
        "study": run.study,
        "summary": summary,
        "ran": summary.ran,
        "seeds": _seeds(_seeds_used(run)),
        "forest": _forest(summary),
        "moving": moving_nodes(run, f"moving-{summary.study}"),
        "multiples": {
            name: picture
            for name in summary.headline
            if (picture := multiple(summary, table[name]))
        },
        "results": [result_tables.result(summary, table[name]) for name in summary.headline],
        "estimates": {
            name: found
            for name in summary.headline
            if (found := result_tables.estimates_table(summary, table[name]))
        },
        "contradictions": result_tables.contradictions(summary),
        "contradictions_between": result_tables.contradictions_between(summary),
        "losses": result_tables.overview(summary, losses, f"Realised loss: {means}"),
        "others": result_tables.overview(summary, others, f"Further metrics: {means}"),
        "runs": result_tables.single_runs(summary),
        "packets": packets.packet_evidence(run, summary),
        "story": story_page(summary),
        "verdicts": verdict_page(summary),
        "repeats": repeats_page(summary),
        "calibrations": evidence.calibrations(run),
        "check_words": check_words,
        "failed_checks": failed_checks,
        "ledger": evidence.ledger(run, summary),
        "essential": essential,
        "recorded": rest,
        "machines": evidence.machines(run),
        "repeat": evidence.repeat_command((run.study.id,), options),
        "options": options,
    }
