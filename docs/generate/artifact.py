"""Write ARTIFACT.md: for artifact reviewers, every claim, the command that judges it, what comes.

    .venv/bin/python -m docs.generate.artifact               from plans and from what is kept
    .venv/bin/python -m docs.generate.artifact RUN           keep the verdicts of a run, too

Minutes are those of the plan, whose estimate rests on a study's settings alone. Verdicts are those
kept of runs (docs/generate/kept), with each study's own seeds; none is written by hand. A run is
kept here only if no other page quotes its study.
"""

from __future__ import annotations

import functools
import json
import math
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docs.generate import kept_run, last_screen
from model.cell import Cell
from model.words import how_many
from testbed.command.runs.plan_costs import with_reports
from testbed.labs.virtual import costs
from testbed.planning import resources
from testbed.planning.plan import Plan, make_plan
from testbed.points.load_study import STUDIES_FOLDER, load_study

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "ARTIFACT.md"
KEPT = Path(__file__).with_name("kept")
#: What minutes are of.
CORES = 2
#: The studies of the first tier; those of radios are the third's.
SMOKE = ("anatomy", "anatomy-wireless")
VERDICTS = {
    "holds": "holds", "refuted": "refuted", "undecided": "undecided",
    "untested": "cannot be tested",
}  # fmt: skip
NOT_KEPT = "not kept"
#: What is kept of a run that no other page quotes.
ALONE = {"study", "claims"}
#: So many characters of a claim are shown.
MOST_SHOWN = 100
#: Up to so many minutes, the step they are rounded up to.
STEPS = ((10, 1), (60, 5), (math.inf, 30))
HEAD = """# For artifact reviewers

Written by `python -m docs.generate.artifact` from the studies' plans and from kept runs; do not
edit.

Needed: Debian 12 or 13 on x86_64 with the few packages that the [README](README.md#two-commands)
names, two cores, the network, and free disk: 6 GB while the lab is built, 1 GB of it afterwards,
and what the tier's run leaves; no root. Clone, `make doctor` (it says what is missing), then the
command of a tier:

"""
AFTER = """
Each ends with a screen of verdicts. All of them, with figures and reasons, stand in
`results/latest/report/index.html`. `make verify` runs three cells of each study of the latest run
again and compares every byte (all cells: `.venv/bin/groundtruth verify results/latest --sample 0`);
`.venv/bin/groundtruth verify BUNDLE` does so with those of a
[bundle](docs/data-format.md#a-bundle-one-file-that-lasts) that somebody sent.

- Minutes are the plan's for 2 cores; building the lab comes once, before.
- Runs with the same seeds on the same lab are the same to the byte, so the verdicts below are to be
  expected. They are those of kept runs, with each study's own seeds. Newer Debian packages make
  another lab ([limitations](docs/limitations.md)), and a kept run may be of an older version: where
  either matters, a verdict near its bound may be another.
- "cannot be tested": no number of a run can say it. "not kept": the project keeps no run of it, so
  nothing is expected.
- Each claim in full, and how it is judged: [docs/published-claims.md](docs/published-claims.md);
  what a verdict means, and how sure it is: [docs/claims.md](docs/claims.md).
"""
TIERS_HEAD = (
    "| tier | command | minutes | disk | build, once | expected |\n|---|---|---|---|---|---|\n"
)
CLAIMS_HEAD = "\n| claim | command | minutes | expected verdict |\n|---|---|---|---|\n"
ASSUMED_HEAD = "\n| what | command | minutes | expected |\n|---|---|---|---|\n"


@dataclass(frozen=True)
class Tier:
    """Studies that one command runs; with ``sensitivity`` also alternatives of assumptions."""

    name: str
    plans: tuple[Plan, ...]
    sensitivity: bool = False

    @property
    def names(self) -> list[str]:
        """The names of its studies."""
        return [plan.study.settings.study for plan in self.plans]


@functools.cache
def plan_of(name: str) -> Plan:
    """Return the plan of one of the project's studies, as the program makes it for this lab."""
    study = load_study(STUDIES_FOLDER / f"{name}.yaml")
    return make_plan(study, seeds=study.settings.seeds, lab={})


def tiers() -> tuple[Tier, Tier, Tier]:
    """Return the tiers: one loss each, all claims on wired paths, everything."""
    names = sorted(file.stem for file in STUDIES_FOLDER.glob("*.yaml"))
    first = [*expected_of_first(), *names]  # the first command's own studies are told first
    plans = {name: plan_of(name) for name in dict.fromkeys(first)}
    radios = {name for name, plan in plans.items() if any(one.cell.ad_hoc for one in plan.cells)}
    wired = [plans[name] for name in plans if name not in radios and name not in SMOKE]
    return (
        Tier("1: smoke", tuple(plans[name] for name in SMOKE)),
        Tier("2: wired", tuple(wired)),
        Tier("3: all", tuple(plans.values()), sensitivity=True),
    )


def expected_of_first() -> dict[str, dict[str, str]]:
    """Return the verdicts kept of the first command: by study and claim."""
    record = json.loads(last_screen.RECORD.read_text())
    return {
        one["study"]: {claim["id"]: claim["verdict"] for claim in one["claims"]}
        for one in record["studies"]
    }


@functools.cache
def expected_verdicts() -> dict[str, dict[str, str]]:
    """Return the verdicts that are kept of runs with the studies' own seeds: by study and claim."""
    found = expected_of_first()
    for file in KEPT.glob("*.json"):
        if (STUDIES_FOLDER / file.name).with_suffix(".yaml").exists():
            found[file.stem] = {one["id"]: one["verdict"] for one in kept_run.kept(file)["claims"]}
    return found


def verdicts_of(plan: Plan) -> dict[str, str]:
    """Return what is expected of a study's claims, in words, by their ids."""
    kept = expected_verdicts().get(plan.study.settings.study, {})
    return {
        claim.id: VERDICTS["untested"] if claim.untested is not None
        else VERDICTS.get(kept.get(claim.id, ""), NOT_KEPT)
        for claim in plan.study.settings.claims
    }  # fmt: skip


def minutes(plans: Sequence[Plan], *, sensitivity: bool) -> str:
    """Return how many minutes plans cost together, rounded.

    It is what ``groundtruth plan`` says, there on two lines where assumptions have alternatives.
    """
    base = [one for plan in plans for one in plan.cells[: plan.base_cells]]
    more = [one for plan in plans for one in plan.of_variations]
    kind = plans[0].lab_kind
    wall_s = with_reports(kind, base, CORES, len(plans)).wall_s
    if sensitivity and more:
        wall_s += with_reports(kind, more, CORES, 0).wall_s
    return rounded(wall_s)


def rounded(wall_s: float) -> str:
    """Return a time in minutes, rounded up: to 1 minute, from 10 to 5, from an hour to 30."""
    step = next(step for most, step in STEPS if wall_s <= 60 * most)
    return str(step * math.ceil(wall_s / 60 / step))


def _cells(plans: Sequence[Plan], *, sensitivity: bool) -> list[Cell]:
    """Return the cells that these plans run, those of variations only with ``sensitivity``."""
    return [
        one.cell
        for plan in plans
        for one in (plan.cells if sensitivity else plan.cells[: plan.base_cells])
    ]


def disk(plans: Sequence[Plan], *, sensitivity: bool) -> str:
    """Return what runs of these plans take of the disk while they run, rounded up to 0.1 GB."""
    takes = resources.needed(_cells(plans, sensitivity=sensitivity), CORES)
    return f"{math.ceil((takes.disk_bytes + takes.scratch_bytes) / 1e8) / 10:g} GB"


def build_minutes(plans: Sequence[Plan], *, sensitivity: bool) -> str:
    """Return how long building the lab for these plans takes, and which kernels that is."""
    kernels = {cell.lab["kernel"] for cell in _cells(plans, sensitivity=sensitivity)}
    needed_s = costs.IMAGE_BUILD_S + costs.KERNEL_BUILD_S * len(kernels)
    return f"{math.ceil(needed_s / 60)} min: kernel {', '.join(sorted(kernels))}"


def command(names: Sequence[str], *, sensitivity: bool) -> str:
    """Return the command that runs studies, as one types it."""
    quoted = f'"{" ".join(names)}"' if len(names) > 1 else names[0]
    return f"`make experiment STUDY={quoted}{'' if sensitivity else ' SENSITIVITY=no'}`"


def tally(plans: Sequence[Plan]) -> str:
    """Return how many claims come out how."""
    count = Counter(verdict for plan in plans for verdict in verdicts_of(plan).values())
    words = [
        f"{count[one]} {'hold' if one == 'holds' else one}"
        for one in (*VERDICTS.values(), NOT_KEPT)
        if count[one]
    ]
    return f"{how_many(count.total(), 'claim')}: {', '.join(words)}"


def _tier_row(tier: Tier) -> str:
    plans, sensitivity = tier.plans, tier.sensitivity
    cells = (
        tier.name,
        command(tier.names, sensitivity=sensitivity),
        minutes(plans, sensitivity=sensitivity),
        disk(plans, sensitivity=sensitivity),
        build_minutes(plans, sensitivity=sensitivity),
        tally(plans),
    )
    return f"| {' | '.join(cells)} |\n"


def _claim_rows(plan: Plan) -> Iterator[str]:
    settings = plan.study.settings
    how = command([settings.study], sensitivity=False)
    takes = minutes([plan], sensitivity=False)
    verdicts = verdicts_of(plan)
    for claim in settings.claims:
        text = " ".join(claim.text.split()).rstrip(".").replace("|", "\\|")
        said = textwrap.shorten(text, MOST_SHOWN, placeholder=" …")
        yield f"| {said} | {how} | {takes} | {verdicts[claim.id]} |\n"


def _assumed_row(plan: Plan) -> str:
    settings = plan.study.settings
    tried = how_many(len(plan.study.variations), "alternative")
    cells = (
        f"{settings.study}: its claims under {tried} of what it assumes",
        command([settings.study], sensitivity=True),
        minutes([plan], sensitivity=True),
        NOT_KEPT,
    )
    return f"| {' | '.join(cells)} |\n"


def written() -> str:
    """Return the page."""
    smoke, wired, everything = tiers()
    told = {*smoke.names, *wired.names}
    radios = [plan for plan in everything.plans if plan.study.settings.study not in told]
    assumed = [plan for plan in everything.plans if plan.of_variations]
    parts = [HEAD, TIERS_HEAD, *map(_tier_row, (smoke, wired, everything)), AFTER]
    for tier, plans in ((smoke, smoke.plans), (wired, wired.plans), (everything, radios)):
        parts.append(f"\n## Tier {tier.name}\n")
        for plan in plans:
            if rows := list(_claim_rows(plan)):
                parts += [f"\n### {plan.study.settings.study}\n", CLAIMS_HEAD, *rows]
    parts += ["\n### Alternatives of assumptions\n", ASSUMED_HEAD, *map(_assumed_row, assumed)]
    return "".join(parts)


def keep(run: Path) -> None:
    """Keep the verdicts of a run with its study's own seeds.

    Raises:
        SystemExit: another page keeps what it quotes of this study, or the seeds are others.
    """
    summary = kept_run.summary_of(run)
    study = STUDIES_FOLDER / f"{summary['study']}.yaml"
    place = KEPT / f"{study.stem}.json"
    seeds = len(load_study(study).settings.seeds)
    if any(point["cells_counted"] != seeds for point in summary["points"]):
        raise SystemExit(f"{run}: not {how_many(seeds, 'seed')} at each point, as the study has")
    told = place.exists() and kept_run.kept(place).keys() - ALONE
    if told or study.stem in expected_of_first():
        raise SystemExit(f"{run}: what another page quotes of {study.stem} has its verdicts")
    claims = [{key: one[key] for key in ("id", "verdict")} for one in summary["claims"]]
    kept_run.keep(place, {"study": kept_run.inputs(study), "claims": claims})


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        keep(Path(folder))
    expected_verdicts.cache_clear()
    FILE.write_text(written(), encoding="utf-8")
