"""What a run ends with on a terminal: the answer on one screen.

Invariants: at most ``LINES`` lines; a line longer than the width is cut between words, and says so;
what is not shown is counted. Everything else is in the report, and in the tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console

from model.run_files.cells import RunWarning
from reports.measures.quantities import count
from reports.page.grid import judgement
from reports.page.verdicts import tally
from reports.terminal.screen import STYLES, Screen
from reports.verdict.summary import Summary
from reports.verdict.verdicts import HOLDS, REFUTED, UNDECIDED, Verdict

LINES = 40
#: How many warnings are told; the page has all.
MOST_WARNINGS = 3
#: Below the claims: the report, its tables, and what to do next.
LINES_BELOW = 4
#: Of claims that do not all fit, those told first.
FIRST = (REFUTED, HOLDS, UNDECIDED)
#: Rules that put a whole run in doubt, told before others.
GRAVE = (
    "no-cell-finished", "cells-unfinished", "cell-excluded", "calibration-failed",
    "not-calibrated", "read-back-disagrees", "cells-differ", "times-scaled", "few-runs",
    "seeds-change-nothing",
)  # fmt: skip
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
        summaries: of one study, or of each of a set.
        places: lines that say where report and tables are, and what to run next.
        width: of the terminal, in characters.
    """
    head = [Line(line, "bold") for line in _heads(summaries)]
    warned = _distrust([warning for one in summaries for warning in one.warnings])
    below = [*warned, *(Line(place) for place in places)]
    room = LINES - len(head) - len(below)
    lines = [*head, *_claims(summaries, room, width), *below]
    # Places are to be copied whole.
    whole = {*places}
    return [one if one.text in whole else Line(cut(one.text, width), one.look) for one in lines]


def cut(text: str, width: int) -> str:
    """Return as many words of a text as fit; what is left out is marked."""
    if len(text) <= width:
        return text
    kept = text[: width - len(_CUT) + 1].rpartition(" ")[0] or text[: width - len(_CUT)]
    return kept.rstrip(" ,;:") + _CUT


def _heads(summaries: Sequence[Summary]) -> Iterable[str]:
    if len(summaries) == 1:
        yield summaries[0].title
    for one in summaries:
        yield f"{one.study}: {one.ran}" if len(summaries) > 1 else one.ran
    verdicts = [verdict.verdict for one in summaries for verdict in one.verdicts]
    if verdicts:
        words = tally(verdicts, min(one.scale for one in summaries))
        for kind, phrase in (("holds", "hold"), ("refuted", "refuted"), ("undecided", "undecided")):
            words = re.sub(rf"\b{phrase}s?\b", rf"\g<0> ({_sign(kind)})", words, count=1)
        yield words


def _claims(summaries: Sequence[Summary], room: int, width: int) -> list[Line]:
    """Return a line for each claim that was decided or left open, as far as there is room."""
    told = {one.study: [v for v in one.verdicts if v.verdict in FIRST] for one in summaries}
    several = sum(map(bool, told.values())) > 1
    wanted = sum(map(len, told.values())) + several * len(told)
    shares = {name: len(these) for name, these in told.items()}
    if wanted > room:
        shares = _shared_out(shares, room - several * len(told) - 1)
    lines = []
    for name, these in told.items():
        if several and these:
            lines.append(Line(f"{name}:", "bold"))
        chosen = sorted(these, key=lambda one: FIRST.index(one.verdict))[: shares[name]]
        lines += [_claim(one, width) for one in these if one in chosen]
    left = sum(map(len, told.values())) - sum(shares.values())
    if left:
        lines.append(Line(f"and {count(left, 'claim')} more: --tables, or the report"))
    return lines


def _shared_out(sizes: dict[str, int], room: int) -> dict[str, int]:
    """Return how many of each fit: the room is dealt out one by one."""
    given = dict.fromkeys(sizes, 0)
    while room > 0 and any(given[name] < size for name, size in sizes.items()):
        for name, size in sizes.items():
            if room > 0 and given[name] < size:
                given[name] += 1
                room -= 1
    return given


def _claim(verdict: Verdict, width: int) -> Line:
    number = verdict.decisive.short if verdict.decisive else ""
    words = cut(verdict.text, width - len(number) - 4)
    text = f"{_sign(verdict.verdict)} {words}{number:>{width - 2 - len(words)}}"
    return Line(text.rstrip(), judgement(verdict.verdict).look)


def _sign(verdict: str) -> str:
    return judgement(verdict).sign or "?"


def _distrust(warnings: Sequence[RunWarning]) -> Iterable[Line]:
    rules = Counter(one.rule for one in warnings)
    if not rules:
        return
    texts = {one.rule: one.text for one in reversed(warnings)}
    order = sorted(rules, key=lambda rule: rule not in GRAVE)
    yield Line(f"Read before trusting it ({count(len(warnings), 'warning')}, all in the report):")
    for rule in order[:MOST_WARNINGS]:
        times = f" ({rules[rule]} times)" if rules[rule] > 1 else ""
        yield Line(f"- {rule}{times}: {texts[rule]}")
