"""What a run ends with on a terminal: the answer on one screen.

Invariants: at most ``LINES`` lines; a line longer than the width is cut between words, and says so;
what is not shown is counted. Everything else is in the report, and in the tables.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console

from model.words import how_many
from reports.page.grid import judgement
from reports.page.verdicts import tallied
from reports.terminal.screen import STYLES, Screen
from reports.verdict.summary import Summary
from reports.verdict.trust import GRAVE
from reports.verdict.verdicts import HOLDS, REFUTED, UNDECIDED, Verdict

LINES = 40
#: How many warnings are told; the page has all.
MOST_WARNINGS = 3
#: How many studies are told of by a line of their own.
MOST_STUDIES = 8
#: Fewer columns than this for a claim's words: its number is left out.
LEAST_WORDS = 24
#: Of claims that do not all fit, those told first.
FIRST = (REFUTED, HOLDS, UNDECIDED)
_CUT = " ..."


@dataclass(frozen=True)
class Line:
    """A line and its look: ``bold``, a verdict's, or nothing."""

    text: str
    look: str = ""


def print_last_screen(
    summaries: Sequence[Summary], places: Sequence[str], console: Console
) -> None:
    """Print the answer on one screen; ``places`` are lines that say where everything is."""
    screen = Screen(console)
    for line in last_screen(summaries, places, console.width):
        console.print(screen.text(line.text, STYLES.get(line.look, "")), soft_wrap=True)


def last_screen(summaries: Sequence[Summary], places: Sequence[str], width: int) -> list[Line]:
    """Return the lines: what ran, verdicts, what to distrust, where everything is.

    Args:
        summaries: of one study, or of each of a set, which may have one twice.
        places: lines that say where report and tables are, and what to run next.
        width: of the terminal, in characters.
    """
    head = [Line(line, "bold") for line in _heads(summaries, width)]
    warned = _distrust(summaries)
    below = [*warned, *(Line(place) for place in places)]
    room = LINES - len(head) - len(below)
    lines = [*head, *_claims(summaries, room, width), *below]
    # Places are to be copied whole.
    whole = {*places}
    return [one if one.text in whole else Line(cut(one.text, width), one.look) for one in lines]


def cut(text: str, width: int) -> str:
    """Return as many words of a text as fit into so many columns; what is left out is marked."""
    if cell_len(text) <= width:
        return text
    if width <= len(_CUT):
        return set_cell_size(text, max(0, width)).rstrip()
    kept = set_cell_size(text, width - len(_CUT))
    before, space, _ = kept.rpartition(" ")
    whole = text[len(kept) : len(kept) + 1] == " " or not space
    return (kept if whole else before).rstrip(" ,;:") + _CUT


def _heads(summaries: Sequence[Summary], width: int) -> Iterable[str]:
    if len(summaries) == 1:
        yield summaries[0].title
    for one in summaries[:MOST_STUDIES]:
        yield f"{one.study}: {one.ran}" if len(summaries) > 1 else one.ran
    if len(summaries) > MOST_STUDIES:
        yield f"and {how_many(len(summaries) - MOST_STUDIES, 'study', 'studies')} more"
    live = [one.simulated for one in summaries if one.simulated]
    if live:
        theirs = [claim.verdict for one in live for claim in one.claims]
        names = ", ".join(dict.fromkeys(one.simulator for one in live))
        yield from textwrap.wrap(f"{names}: {tallied(theirs, 1.0, {})}", max(width, LEAST_WORDS))
    verdicts = [verdict.verdict for one in summaries for verdict in one.verdicts]
    if verdicts:
        signs = {kind: f" ({_sign(kind)})" for kind in FIRST}
        words = tallied(verdicts, min(one.scale for one in summaries), signs)
        whose = "kernel: " if live else ""
        yield from textwrap.wrap(f"{whose}{words}", max(width, LEAST_WORDS))


def _claims(summaries: Sequence[Summary], room: int, width: int) -> list[Line]:
    """Return a line for each claim that was decided or left open, as far as there is room."""
    told = [
        (one.study, these)
        for one in summaries
        if (these := [verdict for verdict in one.verdicts if verdict.verdict in FIRST])
    ]
    several = len(summaries) > 1
    claims = sum(len(these) for _, these in told)
    shares = [len(these) for _, these in told]
    if claims + several * len(told) > room:
        shares = _shared_out(shares, room - 1, heading=several)
    lines = []
    for (name, these), share in zip(told, shares, strict=True):
        if several and share:
            lines.append(Line(f"{name}:", "bold"))
        chosen = sorted(these, key=lambda one: FIRST.index(one.verdict))[:share]
        lines += [_claim(one, width) for one in these if one in chosen]
    if left := claims - sum(shares):
        lines.append(Line(f"and {how_many(left, 'claim')} more: --tables, or the report"))
    return lines


def _shared_out(sizes: Sequence[int], room: int, *, heading: bool) -> list[int]:
    """Return how many of each fit: room is dealt out one by one, the first costs a heading too."""
    given = [0] * len(sizes)
    while True:
        before = room
        for index, size in enumerate(sizes):
            cost = 1 + (heading and not given[index])
            if cost <= room and given[index] < size:
                given[index] += 1
                room -= cost
        if room == before:
            return given


def _claim(verdict: Verdict, width: int) -> Line:
    number = verdict.decisive.short if verdict.decisive else ""
    room = width - 2
    if room - cell_len(number) - 2 < LEAST_WORDS:
        number = ""
    words = cut(verdict.text, room - cell_len(number) - 2)
    gap = " " * (room - cell_len(words) - cell_len(number))
    text = f"{_sign(verdict.verdict)} {words}{gap}{number}"
    return Line(text.rstrip(), judgement(verdict.verdict).look)


def _sign(verdict: str) -> str:
    return judgement(verdict).sign or "?"


def _distrust(summaries: Sequence[Summary]) -> Iterable[Line]:
    warnings = [(one.study, warning) for one in summaries for warning in one.warnings]
    rules = Counter(warning.rule for _, warning in warnings)
    if not rules:
        return
    first = {warning.rule: (study, warning) for study, warning in reversed(warnings)}
    order = sorted(rules, key=lambda rule: rule not in GRAVE)
    yield Line(
        f"Read before trusting it ({how_many(len(warnings), 'warning')}, all in the report):"
    )
    for rule in order[:MOST_WARNINGS]:
        study, warning = first[rule]
        times = f" ({rules[rule]} times)" if rules[rule] > 1 else ""
        place = f"{study}: " if len(summaries) > 1 else ""
        yield Line(f"- {rule}{times}: {place}{warning.text}")
