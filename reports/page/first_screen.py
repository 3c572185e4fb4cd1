"""The first screen of a page, of one study or all of a set: which claims hold, by how much. Pure.

A study's part is its :class:`Answer`, which its report leaves for the page of a set. Escaping is
the template's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from model.run_files.study import Study
from model.words import how_many
from reports.figures.plain.offsets import Quantity, offsets, overview
from reports.page.grid import judgement
from reports.page.verdicts import sure, tally, typographic_words
from reports.published.reference import Reference, reference
from reports.verdict.summary import Summary
from reports.verdict.trust import GRAVE
from reports.verdict.verdicts import HOLDS, NOT_RUN, REFUTED, UNDECIDED, UNTESTED, Verdict

#: How many reasons to distrust the first screen tells.
MOST_DOUBTS = 3
#: What buttons that filter are called, and the sign of a line, by its verdict.
_BUTTONS = {
    HOLDS: "hold", REFUTED: "refuted", UNDECIDED: "undecided",
    UNTESTED: "cannot be tested", NOT_RUN: "not run",
}  # fmt: skip
_SIGNS = {UNDECIDED: "?", UNTESTED: "\N{EN DASH}", NOT_RUN: "\N{EN DASH}"}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One claim in a line, and its evidence: ``found`` at ``what``, and what was ``wanted``.

    Without a decisive comparison, ``found`` says why there is none.
    """

    text: str
    where: str
    verdict: str
    number: str
    found: str
    wanted: str
    what: str
    sure: str
    suspected: str


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """A reason not to trust a run; a grave one puts all of it in doubt."""

    rule: str
    text: str
    grave: bool


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A study's first screen; ``picture`` is empty if nothing stands beside the published.

    ``live`` says how the verdicts of a simulator's runs are spread; empty where none was run.
    """

    study: str
    title: str
    ran: str
    scale: float
    reference: Reference | None
    lines: tuple[Line, ...]
    live: str
    picture: str
    pictured: str
    doubts: tuple[Doubt, ...]
    system: str = "kernel"


def answer(study: Study, summary: Summary) -> Answer:
    """Return what the first screen says of a study."""
    found = offsets(summary)
    label = f"{summary.system.capitalize()} against everything published: {summary.title}"
    return Answer(
        study=summary.study,
        title=summary.title,
        ran=summary.ran,
        scale=summary.scale,
        system=summary.system,
        reference=reference(study.source, summary.study, summary.ran),
        lines=tuple(_line(one) for one in summary.verdicts),
        live=_live(summary),
        picture=str(overview(found, label)) if found else "",
        pictured=_pictured(found, summary.system),
        doubts=tuple(
            Doubt(rule=one.rule, text=one.text, grave=one.rule in GRAVE) for one in summary.warnings
        ),
    )


def _live(summary: Summary) -> str:
    """Return how a simulator's verdicts are spread, beside the kernel's."""
    live = summary.simulated
    if live is None or not live.claims:
        return ""
    decided = [
        one.verdict == its.verdict
        for one in summary.verdicts
        if (its := live.claim(one.id)) and {one.verdict, its.verdict} <= {HOLDS, REFUTED}
    ]
    both = f" Both decide {len(decided)}, {sum(decided)} of them alike." if decided else ""
    return f"{live.simulator} itself: {tally(one.verdict for one in live.claims)}{both}"


def _line(verdict: Verdict) -> Line:
    one = verdict.decisive
    known = one is not None and one.found.estimate is not None
    return Line(
        text=verdict.text,
        where=verdict.where,
        verdict=verdict.verdict,
        number=typographic_words(one.short.partition(" (")[0]) if one and known else "",
        found=typographic_words(one.result) if one and known else verdict.evidence,
        wanted=typographic_words(one.wanted) if one and known else "",
        what="; ".join(filter(None, (one.what, verdict.spread))) if one and known else "",
        sure=sure(verdict),
        suspected=verdict.suspected,
    )


def _pictured(found: Sequence[Quantity], system: str) -> str:
    """Return what the picture shows, in words, with all there is to count."""
    every = [one for part in found for one in part.offsets]
    judged = [one.judged for one in every if one.judged is not None]
    quantities = how_many(len(found), "quantity", "quantities")
    text = f"{how_many(len(every), 'published value')} of {quantities}."
    if judged:
        text += f" {sum(judged)} of {len(judged)} could be one run of this {system}."
    zeros = sum(part.without for part in found)
    return text + (f" Not shown: {zeros} published as 0." if zeros else "")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A study on the screen; ``here`` is what its ids begin with, ``name`` its own on the page."""

    name: str
    here: str
    answer: Answer

    @property
    def tested(self) -> tuple[Line, ...]:
        """The claims that runs could tell, those they decided first."""
        told = [one for one in self.answer.lines if one.verdict != UNTESTED]
        return tuple(sorted(told, key=lambda one: list(_BUTTONS).index(one.verdict)))

    @property
    def untested(self) -> tuple[Line, ...]:
        """The claims that no run could."""
        return tuple(one for one in self.answer.lines if one.verdict == UNTESTED)

    @property
    def tally(self) -> str:
        """How its verdicts are spread, in words."""
        verdicts = [one.verdict for one in self.answer.lines]
        if not verdicts:
            return "The study makes no claims."
        return tally(verdicts, self.answer.scale)

    @property
    def picture(self) -> Markup:
        """Its picture, every text of which was escaped when it was drawn."""
        return Markup(self.answer.picture)


@dataclass(frozen=True, kw_only=True)
class Distrusted:
    """A reason to distrust, and the studies of which it is said."""

    doubt: Doubt
    times: int
    studies: tuple[Shown, ...]


@dataclass(frozen=True)
class Screen:
    """The studies of a page, in its order."""

    studies: Sequence[Shown]

    @property
    def system(self) -> str:
        """What was run: "kernel" or "simulator"; "runs" where both are on the page."""
        (found, *others) = sorted({one.answer.system for one in self.studies}) or ["kernel"]
        return "runs" if others else found

    @cached_property
    def _verdicts(self) -> list[str]:
        return [line.verdict for one in self.studies for line in one.answer.lines]

    @property
    def tally(self) -> str:
        """How all verdicts are spread, in words; empty where nothing is claimed."""
        scale = min((one.answer.scale for one in self.studies), default=1.0)
        return tally(self._verdicts, scale) if self._verdicts else ""

    @property
    def buttons(self) -> list[tuple[str, str, int]]:
        """What claims can be filtered by: verdict, word, how many there are."""
        found = Counter(self._verdicts)
        return [(one, word, found[one]) for one, word in _BUTTONS.items() if found[one]]

    @property
    def pictured(self) -> list[Shown]:
        """The studies with a picture."""
        return [one for one in self.studies if one.answer.picture]

    @property
    def warnings(self) -> str:
        """How many warnings there are, in words."""
        return how_many(sum(len(one.answer.doubts) for one in self.studies), "warning")

    @property
    def distrusted(self) -> list[Distrusted]:
        """The first reasons to distrust, grave ones before others, each rule once."""
        every = [(one, doubt) for one in self.studies for doubt in one.answer.doubts]
        rules = dict.fromkeys(doubt.rule for _, doubt in every if doubt.grave)
        rules |= dict.fromkeys(doubt.rule for _, doubt in every)
        found = []
        for rule in list(rules)[:MOST_DOUBTS]:
            said = [(one, doubt) for one, doubt in every if doubt.rule == rule]
            studies = {one.name: one for one, _ in said}
            found.append(
                Distrusted(doubt=said[0][1], times=len(said), studies=tuple(studies.values()))
            )
        return found


def sign(line: Line) -> str:
    """Return the sign before a claim."""
    return judgement(line.verdict).sign or _SIGNS.get(line.verdict, "")


def look(line: Line) -> str:
    """Return the look of a verdict."""
    return judgement(line.verdict).look
