"""Arguments and options that several commands take: names, values and help."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from testbed.command import listing
from testbed.command.runs.run_and_report import TOLD
from testbed.labs import registry
from testbed.study.scaling import parse_scale

MAX_REPS, MAX_RETRIES = 100_000, 100

StudyNames = Annotated[
    list[str],
    typer.Argument(
        metavar="STUDY...",
        help="names or files of studies; several make a set",
        autocompletion=lambda: [name for name, _ in listing.KINDS["studies"][1]()],
    ),
]
SimulatedRun = Annotated[
    str,
    typer.Option(
        "--simulated",
        metavar="RUN",
        help="a finished run of the same study with --lab ns2: the report shows both",
    ),
]
TestFormat = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="screen|tables|ktap|junit",
        help="what to end with; ktap and junit: claims as test results, for a kernel's CI",
        autocompletion=lambda: list(TOLD),
    ),
]
RunFolder = Annotated[
    str, typer.Argument(metavar="RUN", help="a run folder or a set: results/latest")
]


def _reps(text: str) -> int | Literal["auto"]:
    """Return a number of seeds, or the word for as many as are needed."""
    if text == "auto":
        return "auto"
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MAX_REPS:
        raise typer.BadParameter(f"{text!r} is neither from 1 to {MAX_REPS} nor auto")
    return int(text)


Reps = Annotated[
    Any,  # an int, "auto" or None: typer knows no such union
    typer.Option(
        "--reps",
        "--runs",
        parser=_reps,
        metavar="N|auto",
        help="seeds per point (the study's); auto: until its intervals are narrow enough",
    ),
]
SeedCount = Annotated[
    int | None,
    typer.Option("--reps", "--runs", min=1, max=MAX_REPS, help="seeds per point (the study's)"),
]
WithSensitivity = Annotated[
    bool,
    typer.Option(
        "--sensitivity/--no-sensitivity", help="try the alternatives of the study's assumptions"
    ),
]
Lab = Annotated[
    str,
    typer.Option("--lab", help="where cells run", autocompletion=lambda: list(registry.LABS)),
]
Simulator = Annotated[
    str,
    typer.Option(
        "--simulator",
        metavar="LAB[:PROFILE]",
        help="run it in a simulator as well, such as ns2 or ns2:ns235, and show both: published, "
        "simulated, measured",
        autocompletion=lambda: [
            name for name, kind in registry.LABS.items() if kind.properties.simulates
        ],
    ),
]
Kernel = Annotated[
    str,
    typer.Option(
        "--kernel",
        metavar="VERSION|FOLDER[@REVISION]",
        help="kernel in place of the hosts': 6.12, or a git tree of Linux such as ~/linux@v6.12",
    ),
]
Patches = Annotated[
    list[str] | None,
    typer.Option(
        "--patch",
        metavar="FILE",
        help="build each kernel with this patch, such as fix.patch; again for another",
    ),
]
Kernels = Annotated[
    str,
    typer.Option(
        "--kernel",
        metavar="VERSION|FOLDER[@REVISION][,...]",
        help="kernel in place of the hosts': 6.12, or a git tree of Linux such as ~/linux@v6.12; "
        "several with commas, such as 6.1,6.12,7.3: a run on each, and what changed between them",
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="cells at once; default: all cores")
]
Retries = Annotated[
    int,
    typer.Option(
        "--retries",
        min=0,
        max=MAX_RETRIES,
        metavar="N",
        help="how often a cell is tried again that failed because of the machine",
    ),
]
CheckRoom = Annotated[
    bool,
    typer.Option(
        "--check-room/--no-check-room",
        help="refuse to begin where disk or memory are less than the cells are expected to take",
    ),
]
Hosts = Annotated[str, typer.Option("--hosts", help="host profile in place of the study's")]
Scale = Annotated[
    Any,  # a Decimal, whose text is read once
    typer.Option(
        "--scale",
        parser=parse_scale,
        metavar="FACTOR",
        help="multiply the experiment's times by this, at most 1; not the path's or the hosts'",
    ),
]
At = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="SETTING=VALUE[,VALUE]",
        help="only the points of a sweep with this value, such as loss=1%; again for another "
        "setting",
    ),
]
Tables = Annotated[bool, typer.Option("--tables", help="end with all tables, not with one screen")]
DataDir = Annotated[Path, typer.Option("--data-dir", "-D", help="folder that gets the run folder")]
