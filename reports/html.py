"""The report as one HTML page that needs nothing else: no network, no fonts, no other file. Pure.

Invariant: every text from a file is escaped by the template engine; only our own figures, whose
text the drawing library escapes, and their program are placed as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from reports import evidence, live, packet_page, page
from reports.asked import FigureSet
from reports.claims.verdicts import HOLDS, NOT_RUN, REFUTED, UNDECIDED, UNTESTED
from reports.display import UNKNOWN, count
from reports.figures import Figure
from reports.repeats_page import repeats_page
from reports.run import Run
from reports.story_page import story_page
from reports.summary import Summary
from reports.verdict_page import verdict_page

SET_TITLE = "What holds on the Linux kernel"
#: The verdicts that a set's page counts, in its order.
VERDICT_WORDS = (HOLDS, REFUTED, UNDECIDED, NOT_RUN, UNTESTED)

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
        "contradicted": page.contradicted_rows(summary),
        "losses": page.overview(summary, losses),
        "others": page.overview(summary, others),
        "runs": page.single_runs(summary),
        "packets": packet_page.packet_evidence(run, summary),
        "story": story_page(summary),
        "verdicts": verdict_page(summary),
        "repeats": repeats_page(summary),
        "calibrations": evidence.calibrations(run),
        "calibration_words": evidence.calibration_words(run),
        "check_words": check_words,
        "failed_checks": failed_checks,
        "ledger": evidence.ledger(run, summary),
        "essential": essential,
        "recorded": rest,
        "provenance": evidence.provenance(run),
        "repeat": evidence.repeat_command(run),
    }


@dataclass(frozen=True, kw_only=True)
class Part:
    """One study on a page: its markup, and what the page says of it elsewhere.

    Every anchor begins with ``at``, which is empty where the page is of this study alone.
    ``counts`` are its verdicts by ``VERDICT_WORDS``; ``missing`` says why a study of a set has no
    markup, else it is empty, and ``warnings`` is None then.
    """

    at: str
    title: str
    counts: tuple[str, ...]
    warnings: int | None
    missing: str
    drawn: bool
    head: Markup
    verdicts: Markup
    body: Markup


def study_part(
    run: Run,
    summary: Summary,
    headline: tuple[Figure, ...],
    asked: tuple[FigureSet, ...],
    svgs: Mapping[str, str],
    name: str = "",
) -> Part:
    """Return a study for a page: for its own, or by its folder's ``name`` for that of a set.

    ``svgs`` is the drawn figures by their id.
    """
    svgs = {figure: _renamed(figure, svg, name) for figure, svg in svgs.items()}
    shown = {figure.id: live.placed(figure, svgs[figure.id]) for figure in headline}
    beside = {metric: shown.pop(metric) for metric in summary.headline if metric in shown}
    content = {
        **_content(run, summary),
        "at": f"{name}-" if name else "",
        "h": 3 if name else 2,
        "beside": f"../{name}/report/" if name else "",
        "verdicts_title": summary.title if name else "Verdicts",
        "drawn": beside,
        "further": tuple(shown.values()),
        "sets": tuple(live.placed_set(found, svgs) for found in asked),
    }
    found = Counter(verdict.verdict for verdict in summary.verdicts)
    return Part(
        at=content["at"],
        title=summary.title,
        counts=tuple(str(found[word]) for word in VERDICT_WORDS),
        warnings=len(summary.warnings),
        missing="",
        drawn=bool(svgs),
        head=_markup("study_head.html.j2", content),
        verdicts=_markup("verdicts.html.j2", content) if content["verdicts"] else Markup(""),
        body=_markup("study.html.j2", content),
    )


def _renamed(figure: str, svg: str, name: str) -> str:
    """Return a picture whose inner names, which begin with its figure's, begin with ``name``."""
    if not name:
        return svg
    for before in ('id="', "url(#"):
        svg = svg.replace(f"{before}{figure}-", f"{before}{name}-{figure}-")
    return svg


def missing_part(name: str, why: str) -> Part:
    """Return what stands on a set's page for a study that could not be reported."""
    nothing = Markup("")
    return Part(
        at=f"{name}-", title=name, counts=(UNKNOWN,) * len(VERDICT_WORDS), warnings=None,
        missing=why, drawn=False, head=nothing, verdicts=nothing, body=nothing,
    )  # fmt: skip


def render_page(
    part: Part | Sequence[Part], library: Callable[[], str], title: str = SET_TITLE
) -> str:
    """Return ``report/index.html`` of one study, or of a set: then ``title`` is the page's.

    ``library`` gives the script that draws figures, and is asked only where there are any.
    """
    alone = isinstance(part, Part)
    parts = [part] if isinstance(part, Part) else list(part)
    script = live.program(library()) if any(one.drawn for one in parts) else Markup("")
    return _TEMPLATES.get_template("page.html.j2").render(
        parts=parts,
        of_set=not alone,
        title=parts[0].title if alone else title,
        words=VERDICT_WORDS,
        colours=live.COLOURS,
        script=script,
        script_digest=live.digest(script) if script else "",
    )


def _markup(template: str, content: Mapping[str, Any]) -> Markup:
    return Markup(_TEMPLATES.get_template(template).render(content))
