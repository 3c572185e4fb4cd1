"""``groundtruth explain``: which mechanisms explain what a study's kernel does otherwise.

Invariants: each set of mechanisms is a run of its own, with a report of its own, so no figure mixes
them; what is told is read from run folders that are whole and as they were left.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from model import plain_files, run_folder
from model.errors import StudyError, going_on
from model.words import how_many
from testbed.campaign import study_sets
from testbed.campaign.progress import Display
from testbed.command.comparisons import crosscheck
from testbed.command.runs import plan_costs, plans, run_and_report
from testbed.labs import registry
from testbed.machine.console import out, words
from testbed.planning.mechanism_sets import mechanism_sets, name_of
from testbed.planning.plan import Plan
from testbed.points.load_study import Study
from testbed.points.mechanisms import chosen, idle
from testbed.study.problems import one_of, suggestion

if TYPE_CHECKING:
    from model.run_files.comparing.explanation import Explanation


def of_study(
    study_name: str, by: Sequence[str], choices: plans.Choices, data_dir: Path, metric: str
) -> None:
    """Run a study with every set of mechanisms that it takes, then say what each of them does.

    Raises:
        StudyError: the study has no such hypothesis, or none that changes its hosts.
    """
    # Captures are most of what a run keeps, and here are many runs: only who asks gets them.
    choices = dataclasses.replace(choices, sensitivity=False, captures=choices.pcap)
    choices = plans.settled(choices)
    (first,) = plans.plans_of([study_name], choices)
    _check_metric(first.study, metric)
    hypotheses = chosen(first.study, by)
    left_out = {one.id: why for one in hypotheses if (why := idle(first.study, one))}
    ids = [one.id for one in hypotheses if one.id not in left_out]
    if not ids:
        raise StudyError(
            "no hypothesis changes these hosts", where=study_name, wanted="at least one",
            got="; ".join(f"{name}: {why}" for name, why in left_out.items()),
        )  # fmt: skip
    if len(first.seeds) < 2:
        raise StudyError("too few to compare", where="SEEDS", wanted="at least 2", got="1")
    sets = mechanism_sets(ids)
    each = [
        dataclasses.replace(choices, mechanisms=tuple(name for name in ids if name in those))
        for those in sets
    ]
    made = [plans.make_plan(study_name, one)[0] for one in each]
    _say_costs(made, ids, choices)
    plans.check_place(made, choices, data_dir)
    with Display(words()) as display:
        lab = registry.named(choices.lab).ready(plans.kernels(made), display.building)
    planned = [plans.make_plan(study_name, one, of_kernel=lab.describe) for one in each]
    found = study_sets.create(
        data_dir, planned, sys.argv, names=[name_of(those, ids) for those in sets],
        set_name=f"{first.study.settings.study}-explain", then="explain",
    )  # fmt: skip
    words().print(f"set: {found.folder}", soft_wrap=True)
    parts = study_sets.parts(found, planned, [lab] * len(planned))
    with going_on(found.go_on), study_sets.locked(found):
        run_and_report.run_only(found, parts, choices.worker_count(), choices.retries)
    _tell(found, left_out, metric)


def _check_metric(study: Study, metric: str) -> None:
    """Raise for a metric that the explanation will not have, before anything runs."""
    told = [name for claim in study.settings.claims for name in (*claim.names, *claim.versus_names)]
    told += [one.metric for one in study.settings.explanations]
    goodputs = [f"goodput_{group}_bps" for group in study.settings.groups]
    names = list(dict.fromkeys((*study.settings.metrics, *told, *goodputs)))
    if metric and metric not in names:
        hint = suggestion(metric, names)
        raise StudyError(
            "no such metric", where="--metric", wanted=one_of(names, hint), got=metric, hint=hint
        )


def _say_costs(made: Sequence[Plan], ids: Sequence[str], choices: plans.Choices) -> None:
    cost, *_ = plan_costs.cost_lines(made, choices.worker_count())
    mechanisms = how_many(len(ids), "mechanism")
    does = "does" if len(ids) == 1 else "do"
    words().print(f"{len(made)} runs say what {mechanisms} {does}: {cost}")


def is_set(name: str) -> bool:
    """Return whether there is a set of runs of that name, or a run: no study has such a name."""
    files = (run_folder.SET, run_folder.RESOLVED)
    return any(plain_files.is_file(Path(name) / file) for file in files)


def of_set(name: str, metric: str) -> None:
    """Say again what mechanisms do, from the set of runs that was made to tell."""
    found = study_sets.find(name)
    if not found.is_set:
        raise StudyError(
            "one run explains nothing", where=name, wanted="a study, or the set of runs of one",
            hint="groundtruth explain STUDY",
        )  # fmt: skip
    _tell(found, {}, metric)


def _tell(found: study_sets.Found, left_out: dict[str, str], metric: str) -> None:
    """Write and print what the runs of a set explain."""
    # Imported when needed: they take longer to load than most commands.
    from reports.explanation import tables
    from reports.terminal.screen import print_grids

    made = _explained(found.runs, left_out, metric)
    _write(made, found.folder)
    first = tables.notes(made)
    grids = [tables.explained_grid(made), tables.claims_grid(made),
             tables.levels_grid(made, made.metric), tables.effects_grid(made, made.metric),
             tables.shares_grid(made, made.metric)]  # fmt: skip
    print_grids(f"Why they differ: {made.title}", [one for one in grids if one], first, out())
    out().print(f"explanation: {found.folder / run_folder.EXPLANATION_HTML}", soft_wrap=True)


def _explained(runs: Sequence[Path], left_out: dict[str, str], metric: str) -> Explanation:
    from model.run_files.comparing.explanation import MechanismRun
    from reports.agreement.lab_facts import facts
    from reports.explanation.explain import MechanismResult, explain
    from reports.store.run import read_run
    from reports.verdict.summary import summarise

    results = []
    for path in runs:
        crosscheck.check_whole(path)
        run = read_run(path)
        summary = summarise(run)
        record = MechanismRun(
            run=path.name,
            mechanisms=run.study.mechanisms,
            manifest_sha256=plain_files.sha256(path / run_folder.MANIFEST),
            kernels=tuple(facts(run, [])["kernel"].split(", ")),
            seeds=len({one.seed for one in summary.cells if one.excluded is None}),
            excluded=sum(one.excluded is not None for one in summary.cells),
        )
        results.append(MechanismResult(record=record, study=run.study, summary=summary))
    return explain(results, left_out, metric)


def _write(made: Explanation, folder: Path) -> None:
    from model.run_files.comparing.explanation import EXPLANATION
    from model.run_files.json_file import text_of
    from reports.explanation.page import page
    from reports.explanation.tables import attachment
    from reports.page.review_tables import MARKDOWN

    files = {
        folder / run_folder.EXPLANATION_JSON: text_of(EXPLANATION, made),
        folder / run_folder.EXPLANATION_MD: MARKDOWN.text(attachment(made)),
        folder / run_folder.EXPLANATION_HTML: page(made),
    }
    plain_files.write_together({path: text.encode() for path, text in files.items()})
