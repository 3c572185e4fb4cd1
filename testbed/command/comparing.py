"""The commands that set runs of one study beside each other: labs, mechanisms, commits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from model.errors import StudyError
from testbed.campaign import attempts
from testbed.command import own_results
from testbed.command.comparisons import bisect as bisecting
from testbed.command.comparisons import crosscheck as crosschecking
from testbed.command.comparisons import explain as explaining
from testbed.command.options import (
    At,
    CheckRoom,
    DataDir,
    Hosts,
    Jobs,
    Kernel,
    Lab,
    Patches,
    Retries,
    Scale,
    SeedCount,
)
from testbed.command.runs import plans
from testbed.labs import registry
from testbed.study.scaling import FULL

_CROSSCHECK = (
    "Examples: groundtruth crosscheck wireless --labs virtual,stock --reps 12; "
    "groundtruth crosscheck results/A results/B."
)
_EXPLAIN = (
    "Examples: groundtruth explain wireless --reps 10 --at loss=1%; groundtruth explain "
    "results/latest --metric goodput_T_bps."
)
_BISECT = (
    "Examples: groundtruth bisect wireless --claim lost-again-times-out 6.12 7.3; groundtruth "
    "bisect anatomy --claim C --tree ~/linux v6.12 v6.13; to go on "
    "with one: groundtruth bisect results/latest."
)


def add(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command(epilog=_CROSSCHECK)(crosscheck)
    app.command(epilog=_EXPLAIN)(explain)
    own_results.add(app)
    app.command(epilog=_BISECT)(bisect)


def crosscheck(
    names: Annotated[
        list[str],
        typer.Argument(metavar="STUDY|RUN...", help="a study, or run folders of one study"),
    ],
    labs: Annotated[
        str,
        typer.Option("--labs", metavar="LAB,LAB...", help="run the study in these labs first"),
    ] = "",
    reps: SeedCount = None,
    kernel: Kernel = "",
    jobs: Jobs = None,
    hosts: Hosts = "",
    scale: Scale = str(FULL),
    data_dir: DataDir = Path("results"),
    retries: Retries = attempts.RETRIES,
    check_room: CheckRoom = True,
) -> None:
    """Say whether labs agree on a study: each with the first, within the metrics' margins."""
    if not labs:
        if reps or kernel or jobs or hosts or scale != FULL:
            raise typer.BadParameter("goes with --labs", param_hint="an option of a run")
        crosschecking.of_runs(names, data_dir)
        return
    if len(names) > 1:
        raise typer.BadParameter("takes one study", param_hint="--labs")
    choices = plans.Choices(
        reps=reps, lab="", kernel=kernel, jobs=jobs, hosts=hosts, pcap=False, telemetry=True,
        sensitivity=False, scale=scale, retries=retries, check_room=check_room,
    )  # fmt: skip
    crosschecking.of_study(names[0], labs.split(","), choices, data_dir)


def explain(
    study: Annotated[
        str, typer.Argument(metavar="STUDY|SET", help="a study, or the set that explain made of it")
    ],
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="ID,ID...", help="some of the study's hypotheses; default: all"
        ),
    ] = "",
    metric: Annotated[
        str, typer.Option("--metric", metavar="METRIC", help="what to tell of first")
    ] = "",
    reps: SeedCount = None,
    at: At = None,
    kernel: Kernel = "",
    patch: Patches = None,
    jobs: Jobs = None,
    hosts: Hosts = "",
    scale: Scale = str(FULL),
    pcap: Annotated[
        bool, typer.Option("--pcap", help="capture packets of every cell; else of none")
    ] = False,
    data_dir: DataDir = Path("results"),
    retries: Retries = attempts.RETRIES,
    check_room: CheckRoom = True,
) -> None:
    """Say which mechanisms explain why the kernel's results are not the published ones.

    Each hypothesis of the study turns one mechanism to what was published, by a patch of the
    kernel or by a setting. The study runs with none, each, sets of them and all, with the same
    seeds.
    """
    if explaining.is_set(study):
        if by or reps or at or kernel or patch or jobs or hosts or pcap or scale != FULL:
            raise typer.BadParameter("goes with a study", param_hint="an option of a run")
        explaining.of_set(study, metric)
        return
    choices = plans.Choices(
        reps=reps, lab=registry.DEFAULT.properties.name, kernel=kernel, jobs=jobs, hosts=hosts,
        pcap=pcap, telemetry=True, sensitivity=False, scale=scale, at=tuple(at or ()),
        patches=tuple(patch or ()), retries=retries, check_room=check_room,
    )  # fmt: skip
    explaining.of_study(study, tuple(filter(None, by.split(","))), choices, data_dir, metric)


def bisect(
    study: Annotated[
        str, typer.Argument(metavar="STUDY|SET", help="a study, or the set of a bisection")
    ],
    ends: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="GOOD BAD", help="versions such as 6.12 7.3, or revisions of the tree"
        ),
    ] = None,
    claim: Annotated[
        str, typer.Option("--claim", metavar="ID", help="the claim whose verdict turns")
    ] = "",
    tree: Annotated[
        str, typer.Option("--tree", metavar="FOLDER", help="a git tree of Linux; it is only read")
    ] = "",
    reps: SeedCount = None,
    at: At = None,
    lab: Lab = registry.DEFAULT.properties.name,
    jobs: Jobs = None,
    hosts: Hosts = "",
    scale: Scale = str(FULL),
    pcap: Annotated[bool, typer.Option("--pcap", help="capture packets of every cell")] = False,
    data_dir: DataDir = Path("results"),
    retries: Retries = attempts.RETRIES,
) -> None:
    """Find the commit, or version, of the kernel with which a claim's verdict turns.

    GOOD is the older end, whatever it gives; one must hold, the other refute the claim. Where a
    claim stays undecided it gets up to four times the seeds; a commit that does not build, or still
    is undecided, is skipped.
    """
    if bisecting.is_set(study):
        if ends or claim or tree or reps or at or hosts or pcap or scale != FULL:
            raise typer.BadParameter("goes with a study", param_hint="an option of a run")
        bisecting.of_set(study, jobs, retries)
        return
    if explaining.is_set(study):
        raise StudyError(
            "no bisection", where=study, wanted="a study, or the set of a bisection", got="runs",
            hint="groundtruth bisect STUDY --claim ID GOOD BAD",
        )  # fmt: skip
    if ends is None or len(ends) != 2:
        raise typer.BadParameter("wanted two: GOOD BAD", param_hint="GOOD BAD")
    if not claim:
        raise typer.BadParameter("wanted the ID of a claim", param_hint="--claim")
    choices = plans.Choices(
        reps=reps, lab=lab, kernel="", jobs=jobs, hosts=hosts, pcap=pcap, telemetry=True,
        sensitivity=False, scale=scale, at=tuple(at or ()), claim=claim, retries=retries,
    )  # fmt: skip
    bisecting.of_study(study, tree, (ends[0], ends[1]), choices, data_dir)
