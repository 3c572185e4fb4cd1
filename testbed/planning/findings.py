"""Findings: settings of a study that are legal but misleading, with numbers and reason. Pure.

A finding is a warning to read before trusting a run. A study acknowledges a rule it means to
break, with its reason; what it acknowledges without cause is itself a finding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from model import run_folder, units
from model.cell import Cell
from testbed.planning.rule_hits import Hit
from testbed.planning.rules import CELL_RULES, OF_LINKS, SEED_RULES
from testbed.points.load_study import Study
from testbed.points.resolve import resolve_cell
from testbed.points.sweep import Point
from testbed.study.scaling import FULL
from testbed.study.setting_types import DEFAULT
from testbed.study.vocabulary import SPANS, source_version
from testbed.study.written_flows import Copy, written_out

#: Rules about how long a run is: who acknowledges one means the length that is written.
OF_LENGTH = ("short-run", "too-few-losses")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One misleading setting: the rule, ``file:line`` as the file was called, and why."""

    rule: str
    where: str
    text: str

    def record(self) -> dict[str, str]:
        """Return the finding for a run's JSON: its place is in the run's own copy of the study.

        How the file was called differs by folder, and equal runs have equal files.
        """
        line = self.where.rpartition(":")[2]
        return {"rule": self.rule, "where": f"{run_folder.STUDY}:{line}", "text": self.text}


@dataclass(frozen=True, kw_only=True)
class AcknowledgedFinding(Finding):
    """A finding the study's author means, and why."""

    why: str

    def record(self) -> dict[str, str]:
        """Return the finding and the reason for JSON."""
        return {**super().record(), "why": self.why}


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All findings of a study, those its author has answered apart."""

    warnings: tuple[Finding, ...]
    acknowledged: tuple[AcknowledgedFinding, ...]

    @property
    def everything(self) -> tuple[Finding, ...]:
        """All of them."""
        return (*self.warnings, *self.acknowledged)


def find(study: Study, *, seeds: Sequence[int], simulated: bool = False) -> Findings:
    """Return the findings of a study that is to run with these seeds, in order of rule.

    Where it is ``simulated`` no kernel stands for the hosts.
    """
    cells = [_looked_at(study, point, seeds) for point in study.points]
    found = [*_cell_findings(study, cells), *_seed_findings(study, seeds, cells)]
    found += [*(() if simulated else _kernel_findings(study)), *_window_findings(study, cells)]
    found.sort(key=lambda finding: finding.rule)
    reasons = {
        a.rule: a.why
        for a in study.settings.acknowledged
        if study.scale == FULL or a.rule not in OF_LENGTH
    }
    fired = {finding.rule for finding in found}
    if study.left_out:  # what is acknowledged may be of the points that are
        everywhere = dataclasses.replace(
            study, points=(*study.points, *study.left_out), left_out=()
        )
        fired |= {one.rule for one in find(everywhere, seeds=seeds).everything}
    fired |= {finding.rule for finding in _seed_findings(study, study.settings.seeds, cells)}
    found += _needless(study, fired)
    return Findings(
        warnings=tuple(finding for finding in found if finding.rule not in reasons),
        acknowledged=tuple(
            AcknowledgedFinding(
                rule=finding.rule, where=finding.where, text=finding.text, why=reasons[finding.rule]
            )
            for finding in found
            if finding.rule in reasons
        ),
    )


def _looked_at(study: Study, point: Point, seeds: Sequence[int]) -> Cell:
    """Return the cell of a point whose findings are told.

    Of seeds that each have a file of movements that is the one whose file ends first.
    """

    def resolved(seed: int) -> Cell:
        lab = {"kernel": study.kernel_at(point)}
        return resolve_cell(study, point, seed=seed, replicate=1, lab=lab)

    def ends_s(seed: int) -> float:
        file = study.movements.of(point, seed)
        return file.ends_s if file else 0.0

    return resolved(min(seeds, key=ends_s))


def _cell_findings(study: Study, cells: Sequence[Cell]) -> Iterator[Finding]:
    """Yield one finding per rule and subject: that of the point, and copy, where it is worst."""
    worst_at: dict[tuple[str, str], dict[int, tuple[Point, Hit]]] = {}
    for number, (point, cell) in enumerate(zip(study.points, cells, strict=True)):
        written = written_out(point.settings.flows)
        for rule, check in CELL_RULES.items():
            if rule in OF_LINKS and cell.ad_hoc:
                continue
            for hit in (_as_written(hit, written) for hit in check(cell)):
                points = worst_at.setdefault((rule, hit.subject), {})
                if number not in points or hit.severity > points[number][1].severity:
                    points[number] = (point, hit)
    for (rule, _), points in worst_at.items():
        hits = list(points.values())
        point, worst = max(hits, key=lambda pair: pair[1].severity)
        everywhere = len(hits) == len(study.points) and len({hit.text for _, hit in hits}) == 1
        text = worst.text if everywhere else worst.text + _points_words(point, len(hits), study)
        yield Finding(rule=rule, where=point.document.where(worst.loc), text=text)


def _as_written(hit: Hit, written: Sequence[Copy]) -> Hit:
    """Return a hit of a run's flow as one of the flow it was written as."""
    if hit.loc[0] != "flows":
        return hit
    _, number, *rest = hit.loc
    copy = written[int(number)]
    return dataclasses.replace(hit, subject=copy.flow.id, loc=("flows", copy.index, *rest))


def _points_words(worst: Point, count: int, study: Study) -> str:
    return f" (at {count} of {len(study.points)} points; these numbers: {worst.words()})"


def _seed_findings(study: Study, seeds: Sequence[int], cells: Sequence[Cell]) -> Iterator[Finding]:
    for rule, check in SEED_RULES.items():
        for hit in check(seeds, cells):
            yield Finding(rule=rule, where=study.document.where(hit.loc), text=hit.text)


def _kernel_findings(study: Study) -> Iterator[Finding]:
    """Yield one finding if points run on another kernel than their host profile names."""
    others = [
        (study.profiles[point.settings.hosts].profile.kernel, study.kernel_at(point), point)
        for point in study.points
    ]
    others = [
        (named, kernel, point)
        for named, kernel, point in others
        if named not in (DEFAULT, source_version(kernel))
    ]
    if others:
        named, kernel, point = others[0]
        text = f"host profile '{point.settings.hosts}' names kernel {named} as the one that"
        text += f" stands for its hosts best; the study runs on {kernel}"
        if len(others) < len(study.points):
            text += _points_words(point, len(others), study)
        yield Finding(rule="another-kernel", where=point.document.where(("hosts",)), text=text)


def _window_findings(study: Study, cells: Sequence[Cell]) -> Iterator[Finding]:
    """Yield one finding for each window of time that is over before an answer is back."""
    for name in SPANS:
        span = getattr(study.settings, name)
        longest_s = max(0.0 if cell.ad_hoc else cell.wired.base_rtt_s(-1) for cell in cells)
        if span is not None and span.to_s - span.from_s < longest_s:
            text = f"{name} looks at {units.format_time(round(span.to_s - span.from_s, 9))}, less"
            text += f" than one round trip of {units.format_time(longest_s)}: what it finds is when"
            text += " a packet happened to pass"
            yield Finding(rule="short-run", where=study.document.where((name,)), text=text)


def _needless(study: Study, fired: set[str]) -> Iterator[Finding]:
    for index, acknowledged in enumerate(study.settings.acknowledged):
        if acknowledged.rule not in {*fired, "needless-acknowledgement"}:
            yield Finding(
                rule="needless-acknowledgement",
                where=study.document.where(("acknowledged", index, "rule")),
                text=f"rule {acknowledged.rule} is acknowledged but does not fire: remove it, or"
                " check that the settings are the intended ones",
            )
