"""One step of a bisection: a kernel built, the study run on it, the claim judged.

Invariants: a step's run folder is in the bisection's set before anything runs in it, and is gone on
with where it is; only what is the kernel's own fault skips a step, and never an interrupt or a
machine that cannot go on.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from model.errors import BuildError, RunError, StudyError
from model.run_files.comparing.bisection import Asked, Compared, Compares, Step, Verdict
from model.words import how_many
from testbed.campaign import run_cells, saved_runs, study_sets
from testbed.campaign.progress import Display
from testbed.cluster.address import ClusterError
from testbed.command.comparisons.bisected_kernels import Kernels
from testbed.command.runs import plans, run_and_report
from testbed.labs import registry
from testbed.labs.contract.lab import Lab
from testbed.machine.console import words
from testbed.planning.bisection import more_seeds, outcome_of
from testbed.planning.plan import PlannedCell

#: With less than this free, cells may have failed for want of room.
LEAST_FREE_BYTES = 200_000_000
#: How much of a build's complaint is kept.
MOST_REASON = 500


def short(commit: str) -> str:
    """Return what a commit is called where people read it; a version as it is."""
    return commit[:12]


class SkipError(Exception):
    """Nothing can be judged on this kernel; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the runs of a kernel say of the claim."""

    seeds: int
    verdict: Verdict
    evidence: str
    compared: tuple[Compared, ...]
    decisive: int | None


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What all steps of a bisection have in common."""

    folder: Path
    asked: Asked
    kernels: Kernels
    choices: plans.Choices

    def judge(self, commit: str, verdicts: tuple[str, str] | None) -> Step:
        """Return a step, made now; ``verdicts`` are those of the two ends, unless it is one.

        Raises:
            BuildError: an end cannot be built.
            GroundtruthError: it cannot go on here; what has run is kept.
        """
        kernel, name = "", self._run_name(commit)
        try:
            kernel = self._kernel(commit)
            judged = self._judged(name, kernel, commit)
        except SkipError as skip:
            if verdicts is None:
                raise RunError("cannot be judged", where=short(commit), got=str(skip)) from skip
            run = name if name in study_sets.names_of(self.folder) else None
            return Step(
                commit=commit, kernel=kernel, run=run, seeds=0, verdict=None, outcome="skipped",
                reason=str(skip)[:MOST_REASON], compared=(), decisive=None,
            )  # fmt: skip
        except BuildError as error:
            if verdicts is None:
                raise
            return Step(
                commit=commit, kernel=kernel, run=None, seeds=0, verdict=None, outcome="skipped",
                reason=f"does not build: {error}"[:MOST_REASON], compared=(), decisive=None,
            )  # fmt: skip
        outcome = outcome_of(judged.verdict, *(verdicts or ("", "")))
        reason = f"undecided with {how_many(judged.seeds, 'seed')}: {judged.evidence}"
        return Step(
            commit=commit, kernel=kernel, run=name, seeds=judged.seeds, verdict=judged.verdict,
            outcome=outcome, reason=reason[:MOST_REASON] if outcome == "skipped" else None,
            compared=judged.compared, decisive=judged.decisive,
        )  # fmt: skip

    def _run_name(self, commit: str) -> str:
        return commit if self.kernels.tree is None else commit[:16]

    def _kernel(self, commit: str) -> str:
        """Return the name of a commit's kernel; it may be of no version that can be built."""
        kind = registry.named(self.choices.lab)
        try:
            return kind.kernel_instead(self.kernels.asked_for(commit))
        except StudyError as error:
            self.kernels.check_there()
            raise SkipError(str(error)) from error

    def _judged(self, name: str, kernel: str, commit: str) -> Judged:
        """Build, run with as many seeds as it takes, and judge."""
        choices = dataclasses.replace(self.choices, kernel=kernel)
        run, cells, lab = self._prepared(name, choices)
        found = study_sets.Found(folder=run, runs=(run,), is_set=False)
        with study_sets.locked(found):
            while True:
                self._run(run_cells.Part(run=run, cells=cells, lab=lab))
                seeds = max(planned.cell.replicate for planned in cells)
                judged = _verdict(run, self.asked.claim, seeds)
                wanted = more_seeds(judged.verdict, seeds, self.asked.rounds)
                if wanted is None:
                    return judged
                words().print(f"{short(commit)}: undecided; now with {wanted} seeds")
                candidates = saved_runs.load_candidates(run)
                cells = [one for one in candidates if one.cell.replicate <= wanted]
                saved_runs.record_plan(run, cells)

    def _prepared(self, name: str, choices: plans.Choices) -> tuple[Path, list[PlannedCell], Lab]:
        """Return the step's run folder, there or made now, its planned cells, and their lab."""
        run = self.folder / name
        with Display(words()) as display:
            if name in study_sets.names_of(self.folder):
                cells = saved_runs.load_cells(run)
                return run, cells, saved_runs.lab_of(run, cells, display.building)
            lab = registry.named(choices.lab).ready([choices.kernel], display.building)
        planned = plans.make_plan(self.asked.study, choices, of_kernel=lab.describe)
        study_sets.add(self.folder, name, planned, sys.argv, "bisect")
        configs = saved_runs.kernel_configs(lab, planned[0].cells)
        saved_runs.record_lab(run, lab.packages(), configs)
        return run, list(planned[0].first), lab

    def _run(self, part: run_cells.Part) -> None:
        """Run what is not finished; where only some runs fail, those once more.

        What failed twice is taken for the kernel's doing: a lost run may have been the host's.

        Raises:
            SkipError: runs do not come to their end on this kernel, though there is room.
            ClusterError: it is not there that runs were for.
            RunError: there is no room.
        """
        found = study_sets.Found(folder=part.run, runs=(part.run,), is_set=False)
        for tried in (1, 2):
            try:
                run_and_report.run_only(
                    found, [part], self.choices.worker_count(), self.choices.retries
                )
                return
            except ClusterError:  # no kernel's doing
                raise
            except RunError as error:
                if shutil.disk_usage(part.run).free < LEAST_FREE_BYTES:
                    raise
                done = _measured(run_and_report.finished(part.run, part.cells))
                every = _measured(part.cells)
                if not done:
                    raise SkipError(f"no run comes to its end on it: {error}") from error
                if tried > 1:
                    got = f"{every - done} of {how_many(every, 'run')} do not come to their end"
                    raise SkipError(f"{got} on it: {error}") from error
                words().print(f"{how_many(every - done, 'run')} failed; once more")


def _measured(cells: Sequence[PlannedCell]) -> int:
    return sum(planned.cell.purpose == "measure" for planned in cells)


def _verdict(run: Path, claim: str, seeds: int) -> Judged:
    """Return what a run's report would say of a claim."""
    # When needed: tables and statistics take longer to load than most commands.
    from reports.store.run import read_run
    from reports.verdict.summary import summarise

    found = next(one for one in summarise(read_run(run)).verdicts if one.id == claim)
    compared = tuple(
        Compared(
            what=one.what, result=one.result, wanted=one.wanted,
            verdict=cast(Compares, one.verdict),
            estimate=one.found.estimate, ci95=one.found.ci95, n=one.found.n,
        )
        for one in found.comparisons
    )  # fmt: skip
    decisive = found.comparisons.index(found.decisive) if found.decisive else None
    return Judged(
        seeds=seeds, verdict=cast(Verdict, found.verdict), evidence=found.evidence,
        compared=compared, decisive=decisive,
    )  # fmt: skip
