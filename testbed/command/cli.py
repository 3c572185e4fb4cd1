"""The command ``groundtruth``: words in, exit status out. Wiring only.

Exit status: 0 ok, 1 results disagree where agreement was asked for, 2 usage or study file, 3 a
run failed, 4 not possible here, 5 agreement was asked for and nothing could be judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from model.errors import GroundtruthError, StudyError
from testbed.campaign import attempts
from testbed.command import (
    bundling,
    comparing,
    listing,
    new_study,
    of_campaigns,
    of_clusters,
    of_labs,
    other_tools,
)
from testbed.command.comparisons import several_kernels
from testbed.command.comparisons.attach import attach
from testbed.command.options import (
    At,
    CheckRoom,
    DataDir,
    Hosts,
    Jobs,
    Kernel,
    Kernels,
    Lab,
    Patches,
    Reps,
    Retries,
    RunFolder,
    Scale,
    SimulatedRun,
    Simulator,
    StudyNames,
    Tables,
    TestFormat,
    WithSensitivity,
)
from testbed.command.runs import commands, plans
from testbed.command.runs.run_and_report import TOLD
from testbed.command.version import own_version
from testbed.labs import registry
from testbed.machine import room
from testbed.machine.standard_streams import say
from testbed.study.scaling import FULL

#: How typer and rich exit when nobody reads the output any more; here 1 means disagreement.
NO_READER_STATUS = 1

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Re-run published transport-protocol simulations on the real Linux kernel, in virtual "
    "time, and see which of their numbers hold.",
)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"groundtruth {own_version()}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="show version")
    ] = False,
) -> None:
    """Take the options that come before a command."""


@app.command()
def run(
    studies: StudyNames,
    reps: Reps = None,
    lab: Lab = registry.DEFAULT.properties.name,
    kernel: Kernels = "",
    patch: Patches = None,
    jobs: Jobs = None,
    hosts: Hosts = "",
    data_dir: DataDir = Path("results"),
    pcap: Annotated[bool, typer.Option("--pcap", help="capture packets of every cell")] = False,
    telemetry: Annotated[
        bool,
        typer.Option(
            "--telemetry/--no-telemetry",
            help="record the kernel's state per acknowledgement, drops and queues",
        ),
    ] = True,
    sensitivity: WithSensitivity = True,
    scale: Scale = str(FULL),
    at: At = None,
    tables: Tables = False,
    simulator: Simulator = "",
    retries: Retries = attempts.RETRIES,
    check_room: CheckRoom = True,
) -> None:
    """Run one or several studies and report what holds."""
    several_kernels.run(
        studies,
        plans.Choices(
            reps=reps,
            lab=lab,
            kernel=kernel,
            jobs=jobs,
            hosts=hosts,
            pcap=pcap,
            telemetry=telemetry,
            sensitivity=sensitivity,
            scale=scale,
            at=tuple(at or ()),
            tables=tables,
            simulator=simulator,
            patches=tuple(patch or ()),
            retries=retries,
            check_room=check_room,
        ),
        data_dir,
    )


@app.command()
def resume(
    run: RunFolder,
    jobs: Jobs = None,
    tables: Tables = False,
    retries: Retries = attempts.RETRIES,
    check_room: CheckRoom = True,
) -> None:
    """Run the cells of a run that are not finished, then report."""
    several_kernels.resume(run, jobs, retries, tables=tables, check_room=check_room)


@app.command()
def plan(
    studies: StudyNames,
    reps: Reps = None,
    lab: Lab = registry.DEFAULT.properties.name,
    kernel: Kernels = "",
    patch: Patches = None,
    jobs: Jobs = None,
    hosts: Hosts = "",
    sensitivity: WithSensitivity = True,
    scale: Scale = str(FULL),
    at: At = None,
) -> None:
    """Show the cells of studies and what they cost, without running anything."""
    several_kernels.plan(
        studies,
        plans.Choices(
            reps=reps,
            lab=lab,
            kernel=kernel,
            jobs=jobs,
            hosts=hosts,
            pcap=False,
            telemetry=True,
            sensitivity=sensitivity,
            scale=scale,
            at=tuple(at or ()),
            patches=tuple(patch or ()),
        ),
    )


@app.command()
def validate(studies: StudyNames, hosts: Hosts = "", kernel: Kernel = "") -> None:
    """Check study files, also for settings that are legal but mislead."""
    plans.validate_studies(studies, hosts, kernel)


@app.command(
    name="list", epilog=f"Kinds: {', '.join(listing.KINDS)}; without one, all but metrics."
)
def list_(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="what to list, such as studies",
            autocompletion=lambda: list(listing.KINDS),
        ),
    ] = "",
) -> None:
    """List what there is by name: studies, templates, host profiles, labs, metrics."""
    if kind and kind not in listing.KINDS:
        raise typer.BadParameter(f"wanted one of {', '.join(listing.KINDS)}", param_hint="KIND")
    listing.show((kind,) if kind else tuple(listing.KINDS)[:-1])


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="the study's name")],
    template: Annotated[
        str,
        typer.Option(
            "--template",
            metavar="TEMPLATE",
            help=f"begin as this template, claims included; default: {new_study.TEMPLATE}",
            autocompletion=new_study.templates,
        ),
    ] = "",
    like: Annotated[
        str,
        typer.Option(
            "--like", metavar="STUDY", help="take the settings of this study, without its claims"
        ),
    ] = "",
    hosts: Annotated[
        str, typer.Option("--hosts", metavar="PROFILE", help="host profile of the new study")
    ] = new_study.HOSTS,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="its title; default: from its name")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="overwrite a file of that name")] = False,
) -> None:
    """Write NAME.yaml, a commented study to start from."""
    new_study.command(name, like=like, template=template, hosts=hosts, title=title, force=force)


@app.command()
def report(
    run: RunFolder,
    tables: Tables = False,
    form: TestFormat = "screen",
    simulated: SimulatedRun = "",
) -> None:
    """Compute a run's summary and report again from its tables."""
    if form not in TOLD:
        raise typer.BadParameter(f"wanted one of {', '.join(TOLD)}", param_hint="--format")
    if simulated:
        attach(run, simulated)
    several_kernels.report(run, "tables" if tables else form)


@app.command()
def parse(run: RunFolder, jobs: Jobs = None) -> None:
    """Make the tables of a run's finished cells again from its raw files; report says the rest."""
    commands.parse(run, jobs)


@app.command()
def verify(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="a run folder, a set, or a bundle: run.tar.gz")
    ],
    cells: Annotated[
        int,
        typer.Option(
            "--cells", "--sample", min=0, help="how many cells of each study to repeat; 0: all"
        ),
    ] = 3,
    jobs: Jobs = None,
) -> None:
    """Repeat cells of a run or a bundle and compare every artefact to the byte."""
    if bundling.is_bundle(run):
        bundling.verify(run, cells, jobs)
    else:
        commands.verify(run, cells, jobs)


of_campaigns.add(app)
of_clusters.add(app)


comparing.add(app)


other_tools.add(app)


of_labs.add(app)


def command_status(argv: Sequence[str]) -> int:
    """Run the command that ``argv`` names and return its exit status.

    Usage errors are told by typer itself, with status 2.

    Raises:
        BrokenPipeError: nobody reads what is printed.
    """
    try:
        app(list(argv), prog_name="groundtruth")
    except GroundtruthError as error:
        say(f"groundtruth: {error}")
        return error.exit_status
    except BrokenPipeError:
        raise
    except OSError as error:
        hint = ""
        if room.is_full(error):
            hint = " (free some space; finished cells are kept, see: groundtruth resume)"
        say(f"groundtruth: {error}{hint}")
        return GroundtruthError.exit_status
    except SystemExit as end:
        if end.code == NO_READER_STATUS:
            return GroundtruthError.exit_status
        return end.code if isinstance(end.code, int) else StudyError.exit_status
    return 0
