"""The tables of the verdicts: one row per claim, and every comparison. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from model.run_files.comparing.simulated import Simulated
from model.words import how_many
from reports.measures.quantities import UNKNOWN
from reports.page.grid import NONE, Field, Grid, columns, judgement, part
from reports.verdict.summary import Summary
from reports.verdict.verdicts import (
    COMPARISON_VERDICTS,
    HOLDS,
    LEVEL,
    NOT_RUN,
    REFUTED,
    UNDECIDED,
    UNTESTED,
    Verdict,
)
from reports.verdict.words import p_words

_NEGATIVE = re.compile(r"(?<![\w.])-(?=[0-9])")


@dataclass(frozen=True, kw_only=True)
class VerdictPage:
    """How the verdicts are spread, what they rest on, and their tables."""

    tally: str
    rule: str
    claims: Grid
    comparisons: tuple[Grid, ...]


def verdict_page(summary: Summary) -> VerdictPage | None:
    """Return what is shown of the verdicts; None if the study claims nothing."""
    if not summary.verdicts:
        return None
    return VerdictPage(
        tally=tally((one.verdict for one in summary.verdicts), summary.scale),
        rule=rule(summary.verdicts),
        claims=claims_table(summary),
        comparisons=tuple(_comparisons(one) for one in summary.verdicts if one.comparisons),
    )


def claims_table(summary: Summary) -> Grid:
    """Return the verdict of each claim, the decisive comparison before what else is known.

    Beside it stands that of a live simulator, where there is one.
    """
    simulated = summary.simulated
    rows = [
        (
            part("", f"{one.text} ", part("rule", one.where)),
            judgement(one.verdict, also="verdict"),
            *_of_simulator(one, simulated),
            part("", *_evidence(one), *(part("of", each) for each in _also(one, simulated))),
            part("sure", _together(sure(one)) or UNKNOWN),
        )
        for one in summary.verdicts
    ]
    its = [f"By {simulated.simulator}"] if simulated else []
    heads = columns("words", "Claim", "Verdict", *its, "Evidence", "How sure")
    return Grid(f"What is claimed, and what this {summary.system} says", heads, rows, look="claims")


def _of_simulator(verdict: Verdict, simulated: Simulated | None) -> tuple[Field, ...]:
    """Return the simulator's verdict on a claim; nothing where none ran."""
    if simulated is None:
        return ()
    found = simulated.claim(verdict.id)
    return (NONE if found is None else judgement(found.verdict),)


def _also(verdict: Verdict, simulated: Simulated | None) -> list[str]:
    """Return what else is told of a claim: suspects, and what a live simulator's runs say of it."""
    found = simulated.claim(verdict.id) if simulated else None
    judged = found is not None and found.verdict in COMPARISON_VERDICTS
    its = f"{simulated.simulator}: {found.evidence}" if simulated and found and judged else ""
    return [one for one in (verdict.suspected, typographic_words(its)) if one]


def _evidence(verdict: Verdict) -> tuple[Field, ...]:
    decisive = verdict.decisive
    if decisive is None or decisive.found.estimate is None:
        return (verdict.evidence,)
    of = "; ".join(filter(None, (decisive.what, verdict.spread)))
    wanted = f"; claimed: {typographic_words(decisive.wanted)}"
    return part("strong", typographic_words(decisive.result)), wanted, part("of", of)


def _comparisons(verdict: Verdict) -> Grid:
    rows = [
        (
            one.what,
            typographic_words(one.result),
            typographic_words(one.wanted),
            judgement(one.verdict),
        )
        for one in verdict.comparisons
    ]
    heads = columns("words", "Compared", "Found", "Wanted", "Verdict")
    return Grid(verdict.text, heads, rows, look="wide")


def attached_verdicts(
    verdicts: Sequence[Verdict], scale: float, simulated: Simulated | None = None
) -> Grid:
    """Return the verdict of each claim by its id, all evidence in whole sentences.

    ``scale`` is what the times of the experiment were multiplied by; ``simulated`` what a live
    simulator gave, if one ran.
    """
    rows = [
        (
            one.id,
            judgement(one.verdict),
            *_of_simulator(one, simulated),
            sure(one),
            f"{one.text} ({one.where})",
            " ".join((one.evidence, *_also(one, simulated))),
        )
        for one in verdicts
    ]
    its = [f"By {simulated.simulator}"] if simulated else []
    heads = columns("name", "Claim", "Verdict", *its)
    heads += columns("words", "How sure", "What is claimed", "Evidence")
    notes = (tally((one.verdict for one in verdicts), scale), rule(verdicts))
    return Grid("Verdicts on the claims", heads, rows, notes)


def tally(verdicts: Iterable[str], scale: float = 1.0) -> str:
    """Return ``Of 10 claims 3 hold, 1 is refuted, 4 are undecided, 2 cannot be tested.``

    With times scaled by less than 1 it says that this is not about the publication.
    """
    return tallied(verdicts, scale, {})


def tallied(verdicts: Iterable[str], scale: float, signs: Mapping[str, str]) -> str:
    """Return the tally, each verdict that has a sign with it behind its word."""
    found = Counter(verdicts)
    parts = [
        f"{found[one]} {words[found[one] > 1]}{signs.get(one, '')}"
        for one, words in _TALLIED.items()
        if found[one]
    ]
    if scale != 1:
        parts[-1] += f"; times are scaled by {scale:g}, so these are no verdicts on the publication"
    return f"Of {how_many(found.total(), 'claim')} {', '.join(parts)}."


_TALLIED = {
    HOLDS: ("holds", "hold"),
    REFUTED: ("is refuted", "are refuted"),
    UNDECIDED: ("is undecided", "are undecided"),
    UNTESTED: ("cannot be tested", "cannot be tested"),
    NOT_RUN: ("was not run", "were not run"),
}


def rule(verdicts: Sequence[Verdict]) -> str:
    """Return how sure the verdicts are, taken together."""
    tested = sum(one.verdict not in (UNTESTED, NOT_RUN) for one in verdicts)
    return (
        f"A claim holds if the runs show every comparison it makes, and is refuted if they show "
        f"that one is false; else it is undecided: more runs may tell. The p-values are corrected "
        f"for the {how_many(tested, 'claim')} tested, so the chance that any of these verdicts is "
        f"wrong is at most {100 * LEVEL:g} %, if runs scatter about normally."
    )


def sure(verdict: Verdict) -> str:
    """Return how sure a verdict is, or how far from that an undecided one is."""
    if verdict.verdict == HOLDS and verdict.p_holds is not None:
        return p_words(verdict.p_holds)
    if verdict.verdict == REFUTED and verdict.p_refuted is not None:
        return p_words(verdict.p_refuted)
    p_values = [p for p in (verdict.p_holds, verdict.p_refuted) if p is not None]
    if verdict.verdict != UNDECIDED or not p_values:
        return ""
    if min(p_values) >= 1:
        return "not significant"
    way = "holding" if verdict.p_holds == min(p_values) else "refuting"
    return f"not significant: {p_words(min(p_values))} for {way}"


def _together(text: str) -> str:
    """Return the text with its p-value on one line."""
    before, p, value = text.rpartition("p ")
    return before + p.replace(" ", "\N{NO-BREAK SPACE}") + value.replace(" ", "\N{NO-BREAK SPACE}")


def typographic_words(text: str) -> str:
    """Return words with minus signs before their negative numbers."""
    return _NEGATIVE.sub("\N{MINUS SIGN}", text)
