"""The commands that make a cluster of machines: keys, a scheduler, workers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from model.errors import StudyError
from testbed.cluster import address, keys, programs
from testbed.machine.console import out

_KEYS = "Copy the folder to each of the cluster's machines, and to nobody else."


def add(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(scheduler)
    app.command()(worker)
    app.command("cluster-keys", epilog=_KEYS)(cluster_keys)


def scheduler(
    listen: Annotated[
        str, typer.Argument(metavar="[ADDRESS]", help="where it listens: tls://HOST:PORT")
    ] = f"tls://0.0.0.0:{address.PORT}",
) -> None:
    """Run a cluster's scheduler here until it is told to end."""
    programs.scheduler(address.parse(listen))


def worker(
    scheduler_address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="the scheduler's: tls://HOST:PORT")
    ],
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="cells at once; default: all cores"),
    ] = None,
) -> None:
    """Run cells here that a cluster's scheduler gives away, until told to end."""
    cores = sorted(os.sched_getaffinity(0))
    if jobs is not None and jobs > len(cores):
        raise StudyError(
            "more cells at once than cores", where="--jobs", wanted=f"at most {len(cores)}",
            got=str(jobs),
        )  # fmt: skip
    programs.worker(address.parse(scheduler_address), cores[:jobs])


def cluster_keys(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="a new folder for them")
    ] = None,
) -> None:
    """Make the keys by which a cluster's machines know each other."""
    place = folder or address.keys_folder()
    keys.make(place)
    out().print(f"keys: {place}", soft_wrap=True)
