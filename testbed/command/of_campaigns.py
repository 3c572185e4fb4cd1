"""The commands about campaigns and what they leave: how far they are, and the disk they take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from testbed.command.runs import gc as collecting
from testbed.command.runs import status as statuses

_GC = (
    "Examples: groundtruth gc --dry-run; groundtruth gc results/latest; groundtruth gc --store "
    "--older 7."
)


def add(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(status)
    app.command(epilog=_GC)(gc)


def status(
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="a run folder or a set; default: results/latest")
    ] = "results/latest",
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="again every few seconds, until the run ends")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="write a page; with --watch it refreshes while the run goes on",
        ),
    ] = None,
) -> None:
    """Say how far a run is, also while another process runs it: cells, time left, failures."""
    statuses.command(run, html, watch=watch)


def gc(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="runs or sets to remove raw files of"),
    ] = None,
    store: Annotated[
        bool, typer.Option("--store", help="make the store smaller; so it is without RUN")
    ] = False,
    older_days: Annotated[
        float,
        typer.Option(
            "--older", min=0, metavar="DAYS", help="of the store: entries not used for so long"
        ),
    ] = collecting.OLDER_DAYS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="say what would be freed, remove nothing")
    ] = False,
) -> None:
    """Free disk space: raw files of runs, which no report needs, and old entries of the store.

    Of a finished cell go captures, traces and samples, which its tables were made of; reports,
    exports of tables and verify need none. Parsing it again does, and Wireshark.
    """
    for name in runs or ():
        collecting.of_run(name, dry_run=dry_run)
    if store or not runs:
        collecting.of_store(older_days, dry_run=dry_run)
