"""The commands that make a cluster of machines, and look at it: keys, a scheduler, workers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from model.errors import StudyError, UnsupportedError
from testbed.campaign.progress import Display
from testbed.cluster import address, keys, programs
from testbed.command import labs
from testbed.command.options import Kernels, Lab
from testbed.labs import registry
from testbed.machine.console import out, words

_KEYS = "Copy the folder to each of the cluster's machines, and to nobody else."


def add(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(scheduler)
    app.command()(worker)
    app.command("cluster-keys", epilog=_KEYS)(cluster_keys)
    app.command("cluster-workers")(cluster_workers)


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


def cluster_workers(
    scheduler_address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="tls://HOST:PORT, or an inventory's file")
    ],
    lab: Lab = registry.DEFAULT.properties.name,
    kernel: Kernels = "",
    least: Annotated[int, typer.Option(min=1, help="how many workers there should be")] = 1,
    within: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="how long to wait for them")
    ] = 0.0,
) -> None:
    """Say which workers a cluster has, and why any of them cannot run this machine's cells."""
    from testbed.cluster import fitness  # when needed: it takes a second to load

    where = address.read(scheduler_address)
    kind = registry.named(lab)
    versions = labs.kernel_versions(kind, kernel)
    with Display(words()) as display:
        built = kind.ready(versions, display.building)
    found = fitness.look(where, fitness.needs(built, versions), least=least, within_s=within)
    for one in found:
        out().print(f"{'NO' if one.why else 'ok':3} {one.name}", soft_wrap=True)
        if one.why:
            out().print(f"    {one.why}", soft_wrap=True)
    unfit = sum(bool(one.why) for one in found)
    if unfit or len(found) < least:
        raise UnsupportedError(
            "the cluster is not as it should be", where=str(where),
            wanted=f"{least} workers or more, all fit", got=f"{len(found)}, {unfit} of them unfit",
        )  # fmt: skip
