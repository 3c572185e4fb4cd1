"""The commands about campaigns: how far they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from testbed.command.runs import status as statuses

def add(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(status)


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
