"""``bisect.json``, as it is written and read: between which kernels a claim's verdict turns.

Invariants: it holds what was asked for and every step so far, so that an interrupted bisection goes
on from it; steps are in the order they were made, the good and the bad end first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from model.run_files.json_file import MisfitError, Name
from model.run_files.summary_fields import Interval, Number

Count = Annotated[int, Field(ge=0)]
Seeds = Annotated[int, Field(ge=1)]
Compares = Literal["holds", "refuted", "undecided"]
Verdict = Literal[Compares, "untested", "not run"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked for; ``tree`` is the folder of a git tree, or null for Debian's versions.

    ``study_sha256`` is of the study file's text. ``good`` and ``bad`` are as they were written,
    ``ends`` the commits or versions that these are, ``versions`` all that can be had from the one
    to the other. A claim that stays undecided gets more seeds, up to the last of ``rounds``.
    """

    study: str
    study_sha256: str
    claim: Name
    tree: str | None
    good: str
    bad: str
    ends: tuple[str, str]
    versions: tuple[str, ...]
    rounds: Annotated[tuple[Seeds, ...], Field(min_length=1)]
    hosts: str
    at: tuple[str, ...]
    scale: str
    pcap: bool


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One comparison of the claim in a step's run, in words and as a number."""

    what: str
    result: str
    wanted: str
    verdict: Compares
    estimate: Number
    ci95: Interval
    n: Count


@dataclass(frozen=True, kw_only=True)
class Step:
    """One kernel and what its run gave.

    ``commit`` is a commit's whole id, or a version; ``run`` is the run's folder in the set, null
    where there is none, because the kernel could not be built. ``verdict`` is null where
    nothing could be judged; ``reason`` says why, or why more seeds did not help. The verdict turns
    on the comparison of number ``decisive``.
    """

    commit: str
    kernel: str
    run: str | None
    seeds: Count
    verdict: Verdict | None
    outcome: Literal["good", "bad", "skipped"]
    reason: str | None
    compared: tuple[Compared, ...]
    decisive: Count | None

    def __post_init__(self) -> None:
        """Refuse a decisive comparison that is none."""
        if self.decisive is not None and self.decisive >= len(self.compared):
            raise MisfitError(
                "no such comparison", where="decisive", wanted=f"below {len(self.compared)}",
                got=str(self.decisive),
            )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit, as git tells of it; of ``files_touched`` files some are named.

    Of a merge these are the files that differ from its first parent.
    """

    commit: str
    parents: tuple[str, ...]
    subject: str
    author_date: str
    files: tuple[str, ...]
    files_touched: Count


@dataclass(frozen=True, kw_only=True)
class Bisection:
    """A bisection so far; ``text`` is the claim's.

    ``candidates`` are what may have turned the verdict, one unless steps were skipped; none yet
    while it is not done. ``commits`` tells of them, where there is a git tree. There were
    ``between`` commits, or versions, to choose from.
    """

    schema: int = 1
    study: Name
    title: str
    text: str
    asked: Asked
    between: Count
    steps: tuple[Step, ...] = ()
    candidates: tuple[str, ...] = ()
    commits: tuple[Commit, ...] = ()

    def step(self, commit: str) -> Step | None:
        """Return the step of a commit or version; None if it was not made."""
        return next((one for one in self.steps if one.commit == commit), None)


BISECTION = TypeAdapter(Bisection)
