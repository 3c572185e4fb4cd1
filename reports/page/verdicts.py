"""What the HTML page shows of the verdicts: one row per claim, and every comparison. Pure.

Escaping is the template's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reports.measures.quantities import count
from reports.verdict.summary import Summary
from reports.verdict.verdicts import HOLDS, LEVEL, NOT_RUN, REFUTED, UNDECIDED, UNTESTED, Verdict
from reports.verdict.words import p_words

#: A verdict's sign and the style of its field.
_SIGNS = {HOLDS: ("✓", "inside"), REFUTED: ("✗", "outside")}
_NONE = ("", "unknown")
_NEGATIVE = re.compile(r"(?<![\w.])-(?=[0-9])")


class HasVerdict(Protocol):
    """Anything with a verdict."""

    @property
    def verdict(self) -> str:
        """Holds, refuted, undecided or why not judged."""


@dataclass(frozen=True, kw_only=True)
class ComparisonRow:
    """One comparison in words, its verdict, and the style of that."""

    what: str
    result: str
    wanted: str
    verdict: str
    style: str


@dataclass(frozen=True, kw_only=True)
class VerdictRow:
    """One claim: ``result`` is the decisive number, ``evidence`` what it is of, or all there is.

    ``sure`` is empty where nothing was judged; ``shown`` is the verdict with its sign.
    """

    id: str
    text: str
    where: str
    verdict: str
    shown: str
    style: str
    result: str
    wanted: str
    evidence: str
    sure: str
    comparisons: tuple[ComparisonRow, ...] = ()
    suspected: str = ""


@dataclass(frozen=True, kw_only=True)
class VerdictPage:
    """The verdict table, how the verdicts are spread, and what they rest on."""

    tally: str
    rule: str
    rows: tuple[VerdictRow, ...]


def verdict_page(summary: Summary) -> VerdictPage | None:
    """Return what is shown of the verdicts; None if the study claims nothing."""
    if not summary.verdicts:
        return None
    return VerdictPage(
        tally=tally(summary.verdicts),
        rule=rule(summary.verdicts),
        rows=tuple(_row(verdict) for verdict in summary.verdicts),
    )


def tally(verdicts: Sequence[HasVerdict]) -> str:
    """Return ``Of 10 claims 3 hold, 1 is refuted, 4 are undecided, 2 cannot be tested.``"""
    number = {name: sum(one.verdict == name for one in verdicts) for name in _TALLIED}
    parts = [
        f"{n} {_TALLIED[name][0 if n == 1 else 1]}" for name, n in number.items() if n
    ]  # fmt: skip
    return f"Of {count(len(verdicts), 'claim')} {', '.join(parts)}."


_TALLIED = {
    HOLDS: ("holds", "hold"),
    REFUTED: ("is refuted", "are refuted"),
    UNDECIDED: ("is undecided", "are undecided"),
    UNTESTED: ("cannot be tested", "cannot be tested"),
    NOT_RUN: ("was not run", "were not run"),
}


def rule(verdicts: tuple[Verdict, ...]) -> str:
    """Return how sure the verdicts are, taken together."""
    tested = sum(one.verdict != UNTESTED for one in verdicts)
    return (
        f"A claim holds if the runs show every comparison it makes, and is refuted if they show "
        f"that one is false; else it is undecided: more runs may tell. The p-values are corrected "
        f"for the {count(tested, 'claim')} tested, so the chance that any of these verdicts is "
        f"wrong is at most {100 * LEVEL:g} %, if runs scatter about normally."
    )


def sure(verdict: Verdict) -> str:
    """Return how sure a verdict is, or which way an undecided one leans."""
    if verdict.verdict == HOLDS and verdict.p_holds is not None:
        return p_words(verdict.p_holds)
    if verdict.verdict == REFUTED and verdict.p_refuted is not None:
        return p_words(verdict.p_refuted)
    p_values = [p for p in (verdict.p_holds, verdict.p_refuted) if p is not None]
    if verdict.verdict != UNDECIDED or not p_values:
        return ""
    if min(p_values) >= 1:
        return "far from sure"
    way = "holding" if verdict.p_holds == min(p_values) else "refuted"
    return f"leans to {way}, {p_words(min(p_values))}"


def signed(verdict: str) -> tuple[str, str]:
    """Return a verdict with its sign, and the style of its field."""
    sign, style = _SIGNS.get(verdict, _NONE)
    return f"{sign} {verdict}".strip(), style


def _row(verdict: Verdict) -> VerdictRow:
    shown, style = signed(verdict.verdict)
    decisive, evidence = verdict.decisive, verdict.evidence
    measured = decisive is not None and decisive.found.estimate is not None
    if decisive and measured:
        evidence = "; ".join(words for words in (decisive.what, verdict.spread) if words)
    return VerdictRow(
        id=verdict.id,
        text=verdict.text,
        where=verdict.where,
        verdict=verdict.verdict,
        shown=shown,
        style=style,
        result=_typographic(decisive.result) if decisive and measured else "",
        wanted=_typographic(decisive.wanted) if decisive and measured else "",
        evidence=evidence,
        suspected=verdict.suspected,
        sure=_together(sure(verdict)),
        comparisons=tuple(
            ComparisonRow(
                what=one.what,
                result=_typographic(one.result),
                wanted=_typographic(one.wanted),
                verdict=signed(one.verdict)[0],
                style=signed(one.verdict)[1],
            )
            for one in verdict.comparisons
        ),
    )


def _together(text: str) -> str:
    """Return the text with its p-value on one line."""
    before, p, value = text.rpartition("p ")
    return before + p.replace(" ", "\N{NO-BREAK SPACE}") + value.replace(" ", "\N{NO-BREAK SPACE}")


def _typographic(text: str) -> str:
    return _NEGATIVE.sub("\N{MINUS SIGN}", text)
