"""Which commit of a history to try next, and which it was: a bisection by what runs gave. Pure.

As every bisection it assumes that one commit changes the outcome, and that all that come after it
have the new one. What may be that commit is then an ancestor of every bad one, or that itself, and
of no good one. The next to try is the one that leaves the fewest, whichever way it goes; after
commits that could not be judged it lies ever further from them, because what cannot be built comes
in rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["good", "bad", "skipped"]
#: A claim that stays undecided gets twice as many seeds, this often.
DOUBLINGS = 2


@dataclass(frozen=True)
class History:
    """The commits behind a good one up to a bad one, each with its parents among them.

    Parents come before their children, so the bad one is the last.
    """

    parents: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        """Refuse a commit that comes before a parent of it."""
        seen: set[str] = set()
        for commit, parents in self.parents.items():
            if not seen.issuperset(parents):
                raise ValueError(f"{commit} is before its parents")
            seen.add(commit)

    @property
    def bad(self) -> str:
        """The last commit."""
        return next(reversed(list(self.parents)))

    def behind(self, commits: Iterable[str]) -> set[str]:
        """Return these commits, as far as they are of the history, and all they come after."""
        todo = [one for one in commits if one in self.parents]
        found = set(todo)
        while todo:
            new = [one for one in self.parents[todo.pop()] if one not in found]
            found.update(new)
            todo += new
        return found


@dataclass(frozen=True, kw_only=True)
class Try:
    """The commit to judge next; ``suspects`` may be the first bad one, ``steps`` are left."""

    commit: str
    suspects: int
    steps: int


@dataclass(frozen=True, kw_only=True)
class Found:
    """The first bad commit; several where those that could not be judged hide which it is."""

    candidates: tuple[str, ...]


def chain(names: Sequence[str]) -> History:
    """Return the history of versions, each made from the one before."""
    before: Sequence[tuple[str, ...]] = ((), *((name,) for name in names[:-1]))
    return History(dict(zip(names, before, strict=True)))


def next_step(history: History, outcomes: Mapping[str, Outcome]) -> Try | Found:
    """Return what to judge next, or what was found; the last commit counts as bad anyway."""
    bad = {history.bad, *(one for one, what in outcomes.items() if what == "bad")}
    good = {one for one, what in outcomes.items() if what == "good"}
    suspects = _suspects(history, bad, good)
    ranked = [one for one in _by_use(history, suspects) if one not in bad]
    untried = [one for one in ranked if one not in outcomes]
    if not untried:
        return Found(candidates=tuple(suspects))
    passed = ranked.index(untried[0])  # so many better ones were skipped
    chosen = untried[min(len(untried) - 1, 2**passed - 1)]
    steps = (len(suspects) - 1).bit_length()
    return Try(commit=chosen, suspects=len(suspects), steps=min(steps, len(untried)))


def _suspects(history: History, bad: Iterable[str], good: Iterable[str]) -> list[str]:
    """Return what may be the first bad commit, parents first."""
    cleared = history.behind(good)
    common = set.intersection(*(history.behind([one]) for one in bad))
    return [one for one in history.parents if one in common and one not in cleared]


def _by_use(history: History, suspects: Sequence[str]) -> list[str]:
    """Return the suspects, those first that leave the fewest in the worse case."""
    counts = _counts(history, suspects)
    every = len(suspects)
    return sorted(suspects, key=lambda one: max(counts[one], every - counts[one]))


def _counts(history: History, suspects: Sequence[str]) -> dict[str, int]:
    """Return how many suspects each comes after, itself included.

    A bit for each suspect says which; it is forgotten with the last child that asks.
    """
    place = {one: index for index, one in enumerate(suspects)}
    parents = {one: [p for p in history.parents[one] if p in place] for one in suspects}
    children = dict.fromkeys(suspects, 0)
    for those in parents.values():
        for parent in those:
            children[parent] += 1
    bits: dict[str, int] = {}
    counts = {}
    for one in suspects:
        reached = 1 << place[one]
        for parent in parents[one]:
            reached |= bits[parent]
            children[parent] -= 1
            if not children[parent]:
                del bits[parent]
        if children[one]:
            bits[one] = reached
        counts[one] = reached.bit_count()
    return counts


def outcome_of(verdict: str, good: str, bad: str) -> Outcome:
    """Return what a verdict makes of a commit, given those of the good and of the bad one."""
    if verdict == good:
        return "good"
    return "bad" if verdict == bad else "skipped"


def rounds_of(seeds: int) -> tuple[int, ...]:
    """Return with how many seeds a commit is judged, one number after the other."""
    return tuple(seeds * 2**doubled for doubled in range(DOUBLINGS + 1))


def more_seeds(verdict: str, had: int, rounds: Sequence[int]) -> int | None:
    """Return how many seeds a commit gets next; None where more would decide nothing."""
    if verdict != "undecided":
        return None
    return next((number for number in rounds if number > had), None)


def unproved_parents(
    found: Found, all_parents: Sequence[str], outcomes: Mapping[str, Outcome]
) -> list[str]:
    """Return the parents of the one commit found that no run of their own has shown to be good.

    A parent may have been cleared by a good commit that comes after it. ``all_parents`` are also
    those outside the history.
    """
    if len(found.candidates) > 1:
        return []
    return [one for one in all_parents if one not in outcomes]
