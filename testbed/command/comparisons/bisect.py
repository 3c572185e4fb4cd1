"""``groundtruth bisect``: with which commit, or version, of the kernel a claim's verdict turns.

Invariants: each kernel tried has a run of its own in one set; ``bisect.json`` there is written
after every step, so that whoever is interrupted or killed goes on from it with the same seeds.
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from decimal import Decimal
from pathlib import Path

from model import plain_files, run_folder
from model.errors import RunError, StudyError, UnsupportedError, going_on
from model.run_files.comparing.bisection import BISECTION, Asked, Bisection, Step
from model.run_files.json_file import read, text_of
from model.words import how_many
from testbed.campaign import new_runs, saved_runs, study_sets
from testbed.campaign.progress import duration_text
from testbed.command.comparisons import bisected_kernels
from testbed.command.comparisons.bisect_steps import Steps, short
from testbed.command.comparisons.bisected_kernels import Kernels
from testbed.command.runs import clusters, plan_costs, plans
from testbed.labs import registry
from testbed.machine.command_line import groundtruth
from testbed.machine.console import out, words
from testbed.planning.bisection import Found, Outcome, next_step, unproved_parents
from testbed.planning.plan import Plan
from testbed.points.load_study import STUDIES_FOLDER, find_study
from testbed.points.some_points import check_claim
from testbed.study.form_validation import validate_sections
from testbed.study.study_form import StudyFile
from testbed.study.yaml_document import read_document

#: Of so many candidates that could not be told apart, git is asked what they are.
MOST_DESCRIBED = 50


def of_study(
    study_name: str, tree: str, ends: tuple[str, str], choices: plans.Choices, data_dir: Path
) -> None:
    """Find with which commit of a tree, or version, between two ends a claim's verdict turns.

    Raises:
        StudyError: the study has no such claim, the tree no such commits, or both ends give the
            same verdict, or none.
        UnsupportedError: the lab builds no kernels.
    """
    lab = registry.named(choices.lab)
    if not lab.properties.builds:
        raise UnsupportedError(
            f"the {choices.lab} lab builds no kernel", where="LAB", wanted="virtual",
            got=choices.lab,
        )  # fmt: skip
    choices = dataclasses.replace(choices, sensitivity=False)
    _check_claim(study_name, choices.claim)
    if tree:
        kernels = bisected_kernels.of_tree(tree, *ends)
    else:
        bisected_kernels.check_versions(*ends)
        kernels = bisected_kernels.versions_of(ends)
    plan = _first_plan(study_name, kernels, choices)
    if not tree:
        plans.check_named(lab, ends)
        kernels = bisected_kernels.of_versions(*ends)
    new_runs.check_writable(data_dir)
    state = _begun(study_name, plan, kernels, ends, choices)

    def make(place: Path, _: object) -> None:
        plain_files.write_text(place / run_folder.BISECTION_JSON, text_of(BISECTION, state))

    folder = new_runs.new_folder(data_dir, f"{state.study}-bisect", make)
    words().print(f"set: {folder}", soft_wrap=True)
    _go_on(folder, state, kernels, choices)


def _check_claim(study_name: str, claim: str) -> None:
    """Raise :class:`StudyError` where a study's own claims have none of that id.

    It needs neither trees nor mirrors. What else is wrong with the study its plan says.
    """
    settings, valid, _ = validate_sections(StudyFile, read_document(find_study(study_name)))
    if {"study", "claims"} <= valid:
        check_claim(settings, claim)


def _first_plan(study_name: str, kernels: Kernels, choices: plans.Choices) -> Plan:
    """Return the plan of the good end, before anything is built; say what a step costs."""
    clusters.check(choices.lab)
    named = registry.named(choices.lab).kernel_instead(kernels.asked_for(kernels.ends[0]))
    (plan,) = plans.plans_of([study_name], dataclasses.replace(choices, kernel=named))
    cells = dataclasses.replace(plan, cells=plan.first, base_cells=len(plan.first))
    cost, *_ = plan_costs.cost_lines([cells], choices.worker_count())
    words().print(f"a step: a kernel, {cost}; more where the claim stays undecided")
    return plan


def _begun(
    study_name: str, plan: Plan, kernels: Kernels, ends: tuple[str, str], choices: plans.Choices
) -> Bisection:
    """Return a bisection of which no step is made."""
    file, settings = find_study(study_name), plan.study.settings
    own = file.parent == STUDIES_FOLDER and file.stem == study_name
    asked = Asked(
        study=study_name if own else str(file.resolve()),
        study_sha256=_digest(plan.study.document.text),
        claim=choices.claim,
        tree=str(kernels.tree) if kernels.tree else None,
        good=ends[0],
        bad=ends[1],
        ends=kernels.ends,
        versions=kernels.versions,
        rounds=plan.rounds,
        hosts=choices.hosts,
        at=choices.at,
        scale=str(choices.scale),
        pcap=choices.pcap,
    )
    text = next(one.text for one in settings.claims if one.id == choices.claim)
    return Bisection(
        study=settings.study, title=settings.title, text=text, asked=asked,
        between=len(kernels.history.parents),
    )  # fmt: skip


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def is_set(name: str) -> bool:
    """Return whether there is a bisection of that name: no study has such a name."""
    return plain_files.is_file(Path(name) / run_folder.BISECTION_JSON)


def of_set(name: str, jobs: int | None, retries: int) -> None:
    """Go on with a bisection, or say again what it found.

    Raises:
        StudyError: the study is another now, or the tree has not its commits.
    """
    folder = saved_runs.looked_at(Path(name).resolve())
    state = read(BISECTION, folder / run_folder.BISECTION_JSON)
    if _is_over(state):
        _tell(state, folder)
        return
    asked = state.asked
    choices = plans.Choices(
        reps=asked.rounds[0], lab=registry.DEFAULT.properties.name, kernel="", jobs=jobs,
        hosts=asked.hosts, pcap=asked.pcap, telemetry=True, sensitivity=False,
        scale=Decimal(asked.scale), at=asked.at, claim=asked.claim,
        retries=retries,
    )  # fmt: skip
    kernels = bisected_kernels.as_asked(asked)
    plan = _first_plan(asked.study, kernels, choices)
    if _digest(plan.study.document.text) != asked.study_sha256:
        raise StudyError(
            "the study is another now", where=asked.study, wanted="as the bisection began with it",
            hint="put it back as it was, or begin anew",
        )  # fmt: skip
    _go_on(folder, state, kernels, choices)


def _is_over(state: Bisection) -> bool:
    if len(state.candidates) != 1:
        return bool(state.candidates)
    (name,) = state.candidates
    commit = next((one for one in state.commits if one.commit == name), None)
    found = Found(candidates=state.candidates)
    return not unproved_parents(found, commit.parents if commit else (), _outcomes(state))


def _outcomes(state: Bisection) -> dict[str, Outcome]:
    return {one.commit: one.outcome for one in state.steps}


def _go_on(folder: Path, state: Bisection, kernels: Kernels, choices: plans.Choices) -> None:
    """Make what is left of the steps, then tell what was found."""
    held = study_sets.Found(folder=folder, runs=(), is_set=True)
    with going_on(groundtruth("bisect", folder)), study_sets.locked(held):
        steps = Steps(folder=folder, asked=state.asked, kernels=kernels, choices=choices)
        state = _Search(steps, state).made()
    _tell(state, folder)


class _Search:
    """A bisection while it is made."""

    def __init__(self, steps: Steps, state: Bisection) -> None:
        self._steps, self._state = steps, state
        self._took_s: list[float] = []

    def made(self) -> Bisection:
        """Make the steps that are left; return all of it."""
        ends = self._ends()
        if not self._state.candidates:
            self._search(ends)
        self._prove(ends)
        return self._state

    def _ends(self) -> tuple[str, str]:
        """Judge both ends; return their verdicts, which differ."""
        for commit in self._state.asked.ends:
            if self._state.step(commit) is None:
                self._judge(commit, None)
        good, bad = (self._state.step(commit) for commit in self._state.asked.ends)
        assert good is not None
        assert bad is not None
        if {good.verdict, bad.verdict} != {"holds", "refuted"}:
            asked = self._state.asked
            undecided = not {good.verdict, bad.verdict} <= {"holds", "refuted"}
            more = f", or --reps {2 * asked.rounds[-1]}" if undecided else ""
            raise StudyError(
                "both ends must be decided, and differ", where=f"{asked.study}: {asked.claim}",
                wanted="holds at one, refuted at the other",
                got=f"{asked.good}: {_gave(good)}; {asked.bad}: {_gave(bad)}",
                hint=f"other ends{more}; runs: {self._steps.folder}",
            )  # fmt: skip
        others = self._state.steps[2:]
        both = (
            dataclasses.replace(good, outcome="good", reason=None),
            dataclasses.replace(bad, outcome="bad", reason=None),
        )
        self._save(steps=(*both, *others))
        return str(good.verdict), str(bad.verdict)

    def _search(self, verdicts: tuple[str, str]) -> None:
        """Judge one commit after the other until nothing more can be told apart."""
        history = self._steps.kernels.history
        inside = set(history.parents)
        while True:
            known = {one: what for one, what in _outcomes(self._state).items() if one in inside}
            step = next_step(history, known)
            if isinstance(step, Found):
                break
            left = f"{how_many(step.suspects, 'candidate')}, about {how_many(step.steps, 'step')}"
            left += f", some {duration_text(step.steps * self._pace_s())}" if self._took_s else ""
            words().print(f"{left} left; next {short(step.commit)}", soft_wrap=True)
            self._judge(step.commit, verdicts)
        if not step.candidates:
            raise RunError("no commit is left", where=str(self._steps.folder),
                           got="steps that contradict each other")  # fmt: skip
        commits = self._steps.kernels.described(step.candidates[:MOST_DESCRIBED])
        self._save(candidates=step.candidates, commits=commits)

    def _prove(self, verdicts: tuple[str, str]) -> None:
        """Judge the parents of the one commit found that only others have cleared."""
        found = Found(candidates=self._state.candidates)
        parents = self._state.commits[0].parents if self._state.commits else ()
        for parent in unproved_parents(found, parents, _outcomes(self._state)):
            words().print(f"found; its parent {short(parent)} has no run of its own yet")
            self._judge(parent, verdicts)

    def _judge(self, commit: str, verdicts: tuple[str, str] | None) -> None:
        began_s = time.monotonic()
        step = self._steps.judge(commit, verdicts)
        if step.run:
            self._took_s.append(time.monotonic() - began_s)
        self._save(steps=(*self._state.steps, step))
        _say(f"{short(commit)}: {_gave(step)}{f' ({step.outcome})' if verdicts else ''}")

    def _pace_s(self) -> float:
        return sum(self._took_s) / len(self._took_s)

    def _save(self, **changes: object) -> None:
        changed = dataclasses.replace(self._state, **changes)  # type: ignore[arg-type]
        if changed != self._state:
            path = self._steps.folder / run_folder.BISECTION_JSON
            plain_files.write_text(path, text_of(BISECTION, changed))
            self._state = changed


def _gave(step: Step) -> str:
    """Return what a step gave, in words."""
    if step.verdict is None:
        return str(step.reason)
    if step.decisive is None:
        return step.verdict
    number = step.compared[step.decisive]
    return f"{step.verdict}, {number.result}"


def _say(text: str) -> None:
    """Print a line in which there may be anything: a build's complaint."""
    from reports.terminal.screen import Screen  # when needed: it takes long to load

    Screen(words()).print(text)


def _tell(state: Bisection, folder: Path) -> None:
    """Write and print what was found."""
    # Imported when needed: they take longer to load than most commands.
    from reports.explanation import bisected
    from reports.page.review_tables import MARKDOWN
    from reports.terminal.screen import print_grids

    text = MARKDOWN.text(bisected.attachment(state))
    plain_files.write_text(folder / run_folder.BISECTION_MD, text)
    print_grids(bisected.title(state), [bisected.screen_grid(state)], bisected.answer(state), out())
    out().print(f"bisection: {folder / run_folder.BISECTION_MD}", soft_wrap=True)
