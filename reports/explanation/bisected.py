"""Which commit turned a claim's verdict, as tables and in words. Pure.

Invariant: all is told from ``bisect.json`` alone. The number shown of every step is of one
comparison, that on which the refuted end turns.
"""

from __future__ import annotations

from model.run_files.comparing.bisection import Bisection, Commit, Step
from model.words import how_many
from reports.measures.quantities import UNKNOWN
from reports.page.grid import Column, Field, Grid, columns, judgement
from reports.page.review_tables import Attachment

#: How much of a commit's id is shown, and how many of its files are named.
COMMIT_CHARACTERS, MOST_FILES = 12, 12


def short(commit: str) -> str:
    """Return a commit's id as people write it; a version as it is."""
    return commit[:COMMIT_CHARACTERS]


def title(found: Bisection) -> str:
    """Return what the answer begins with."""
    what = "commit" if found.asked.tree else "version"
    return f"Which {what} turns it: {found.text}"


def answer(found: Bisection) -> tuple[str, ...]:
    """Return what was found, in sentences; why nothing was if so."""
    if not found.candidates:
        return ("Not found yet.",)
    turned = f"from {_end(found, 0)} to {_end(found, 1)}"
    if len(found.candidates) > 1:
        names = ", ".join(short(one) for one in found.candidates)
        what = "commits" if found.asked.tree else "versions"
        return (
            f"The verdict turns {turned} with one of {len(found.candidates)} {what}: {names}.",
            "Those between could not be judged, so they are not told apart.",
            *_numbers(found),
        )
    (name,) = found.candidates
    commit = next((one for one in found.commits if one.commit == name), None)
    if commit is None:
        return (f"The verdict turns {turned} with {name}.", *_numbers(found), *_unproved(found))
    return (
        f"The verdict turns {turned} with commit {name}.",
        f"{commit.subject} ({commit.author_date})",
        f"It touches {_files(commit)}.",
        *_numbers(found),
        *_unproved(found),
    )


def _end(found: Bisection, index: int) -> str:
    step = found.step(found.asked.ends[index])
    return str(step.verdict) if step else UNKNOWN


def _files(commit: Commit) -> str:
    named = ", ".join(commit.files[:MOST_FILES]) or "no file"
    more = commit.files_touched - len(commit.files[:MOST_FILES])
    than = ", as compared with its first parent" if len(commit.parents) > 1 else ""
    return named + (f" and {how_many(more, 'file')} more" if more > 0 else "") + than


def _index(found: Bisection) -> int | None:
    """Return which comparison is shown: the one on which the refuted end turns."""
    ends = [step for name in found.asked.ends if (step := found.step(name))]
    refuted = next((step for step in ends if step.verdict == "refuted"), None)
    return refuted.decisive if refuted else next((step.decisive for step in ends), None)


def _numbers(found: Bisection) -> tuple[str, ...]:
    """Return the number before and after: at the last good step before it, and at it."""
    index = _index(found)
    before, after = _before(found), found.step(found.candidates[-1])
    sides = [one for one in (before, after) if one]
    if index is None or any(index >= len(one.compared) for one in sides):
        return ()
    words = [f"{label} ({short(one.commit)}): {one.compared[index].result}"
             for label, one in (("before", before), ("after", after)) if one]  # fmt: skip
    shown = sides[0].compared[index]
    return (f"{shown.what}; claimed: {shown.wanted}.", *(f"{one}." for one in words))


def _before(found: Bisection) -> Step | None:
    """Return the good step nearest before the candidates: a parent's, or the last that was made."""
    first = found.candidates[0]
    commit = next((one for one in found.commits if one.commit == first), None)
    parents = commit.parents if commit else ()
    good = [one for one in found.steps if one.outcome == "good"]
    of_parent = [one for one in good if one.commit in parents]
    if found.asked.versions:
        place = found.asked.versions.index
        good = sorted(good, key=lambda one: place(one.commit))
    return of_parent[0] if of_parent else good[-1] if good else None


def _unproved(found: Bisection) -> tuple[str, ...]:
    """Return what a run of its own did not show of the commit's parents."""
    (name,) = found.candidates
    commit = next((one for one in found.commits if one.commit == name), None)
    said = []
    for parent in commit.parents if commit else ():
        step = found.step(parent)
        if step is None:
            said.append(f"Its parent {short(parent)} was not run.")
        elif step.outcome == "bad":
            said.append(
                f"Its parent {short(parent)} gives the same verdict: it turns more than once in "
                "this history, and a bisection finds one of these places only."
            )
        elif step.outcome == "skipped":
            said.append(f"Its parent {short(parent)} could not be judged, so that rests on others.")
    return tuple(said)


def steps_grid(found: Bisection) -> Grid:
    """Return every step: commit, kernel, runs, verdict, number."""
    index = _index(found)
    rows: list[tuple[Field, ...]] = []
    for step in found.steps:
        shown = index is not None and index < len(step.compared)
        number = step.compared[index].result if shown and index is not None else UNKNOWN
        rows.append(
            (
                short(step.commit), step.kernel or UNKNOWN,
                str(step.seeds) if step.seeds else UNKNOWN,
                judgement(step.verdict or "not known"), step.outcome, number, step.reason or "",
            )
        )  # fmt: skip
    what = "commit" if found.asked.tree else "version"
    heads = (
        Column(what, "name"), Column("kernel", "name"), *columns("number", "seeds"),
        Column("verdict", "name"), Column("so it is", "name"), Column("number", "words"),
        Column("skipped because", "words"),
    )  # fmt: skip
    if not any(step.reason for step in found.steps):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return Grid(f"{how_many(len(found.steps), 'step')}, in the order they were made", heads, rows)


def screen_grid(found: Bisection) -> Grid:
    """Return the steps as a terminal has room for: numbers without their intervals, no reasons.

    A commit's kernel is called by the commit, so only that of a version is named.
    """
    whole = steps_grid(found)
    left_out = {"skipped because", *(["kernel"] if found.asked.tree else [])}
    kept = [place for place, head in enumerate(whole.columns) if head.head not in left_out]
    number = next(place for place, head in enumerate(whole.columns) if head.head == "number")
    rows = [
        tuple(
            str(row[place]).partition(",")[0].partition(" (")[0] if place == number else row[place]
            for place in kept
        )
        for row in whole.rows
    ]
    return Grid(whole.caption, [whole.columns[place] for place in kept], rows)


def files_grid(found: Bisection) -> Grid | None:
    """Return the files that the commit touches, as far as they are kept; None where none are."""
    rows: list[tuple[Field, ...]] = [
        (short(one.commit), one.subject, one.author_date, ", ".join(one.files))
        for one in found.commits
    ]
    heads = (Column("commit", "name"), Column("subject", "words"), Column("author date", "name"),
             Column("files", "words"))  # fmt: skip
    return Grid("The commits in question", heads, rows) if rows else None


def attachment(found: Bisection) -> Attachment:
    """Return everything, for ``bisect.md``."""
    tables = [steps_grid(found), *filter(None, [files_grid(found)])]
    notes = (
        f"{found.title}: {found.asked.good} to {found.asked.bad}, {found.between} in question.",
        *answer(found),
        "A bisection rests on this: one commit turns the verdict, for all that come after it.",
    )
    return Attachment(title=title(found), tables=tables, notes=notes)
