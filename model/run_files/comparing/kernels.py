"""``kernels.json``, as it is written and read: what is not the same on several kernels.

Invariants: what is unknown is null with a reason; a metric's numbers are in its own unit; a level
is of one kernel's runs alone, and only a change is of two, paired by seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter

from model.run_files.json_file import Name
from model.run_files.point import Point
from model.run_files.study import Compare, Group, Parameter
from model.run_files.summary_fields import Interval, Number

Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, kw_only=True)
class KernelRun:
    """The study's run on one kernel: the kernel as it was asked for, and the run folder's name.

    ``manifest_sha256`` tells the run from any other; ``excluded`` cells do not count; ``facts`` are
    what its cells recorded of their lab, words by what they are about.
    """

    kernel: str
    run: str
    manifest_sha256: str
    seeds: Count
    excluded: Count
    facts: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Level:
    """A metric at a point on one kernel, as that run's own report has it.

    ``published_inside`` is whether the published value could be one run of this kernel.
    """

    kernel: str
    metric: str
    point: Point
    n: Count
    mean: Number
    ci95: Interval
    published: Number
    published_inside: bool | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Change:
    """A metric at a point on a kernel less that on the one before it, over the seeds of both.

    ``p`` is small if the two are shown to differ at all, ``p_corrected`` the same corrected for all
    changes of the file; ``told_apart`` is whether that one is small enough.
    """

    metric: str
    point: Point
    before: str
    after: str
    n: Count
    difference: Number
    ci95: Interval
    p: Number
    p_corrected: Number
    told_apart: bool
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class OnKernel:
    """A claim's verdict on one kernel, as that run's own report has it; ``evidence`` is in words.

    ``decisive`` is the number found where the verdict turns, with its unit; empty if there is none.
    """

    kernel: str
    verdict: str
    decisive: str
    evidence: str
    p_holds: Number
    p_refuted: Number


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """A claim of the study with its verdict on each kernel, in the order of the runs."""

    claim: Name
    text: str
    on: tuple[OnKernel, ...]

    @property
    def differs(self) -> bool:
        """Whether its verdict is not the same on all kernels."""
        return len({one.verdict for one in self.on}) > 1

    @property
    def turns(self) -> bool:
        """Whether it holds on one kernel and is refuted on another."""
        return {"holds", "refuted"} <= {one.verdict for one in self.on}


@dataclass(frozen=True, kw_only=True)
class Kernels:
    """A study on several kernels; a run's kernel is compared with that of the run before it.

    ``metrics`` are those that are compared: the study's own, then each group's goodput.
    """

    schema: int = 1
    study: Name
    title: str
    groups: tuple[Group, ...]
    compare: Compare | None
    flows: tuple[Name, ...]
    parameters: tuple[Parameter, ...]
    metrics: tuple[str, ...]
    runs: tuple[KernelRun, ...]
    levels: tuple[Level, ...]
    changes: tuple[Change, ...]
    claims: tuple[JudgedClaim, ...]


KERNELS = TypeAdapter(Kernels)
