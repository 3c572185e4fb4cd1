"""The command that sets results of a user's own simulator beside a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from testbed.command.comparisons import new_mapping, own_results

_COMPARE = (
    "Examples: groundtruth compare results/latest --with sim/*.xml --mapping mine.yaml; "
    "groundtruth compare results/latest --with sim/*.xml --new-mapping mine.yaml; groundtruth "
    "compare results/A --with results/B/export/csv/wireless-metrics.csv --name 'kernel 6.1'."
)


def add(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=_COMPARE)(compare)


def compare(
    names: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="a run folder; more files for --with may follow it"),
    ],
    with_files: Annotated[
        list[Path],
        typer.Option("--with", metavar="FILE...", help="results of your own simulator"),
    ],
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--mapping", metavar="FILE", help="how they are read; exports of groundtruth need none"
        ),
    ] = None,
    new_mapping_: Annotated[
        Path | None,
        typer.Option(
            "--new-mapping", metavar="FILE", help="write a mapping to start from, and stop"
        ),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="what they are called; default: the mapping's source")
    ] = "",
    margin: Annotated[
        list[str] | None,
        typer.Option(
            "--margin",
            metavar="METRIC=VALUE",
            help="how far apart is equivalent: 5%, 2ms; default: the metric's own margin",
        ),
    ] = None,
    agreement: Annotated[
        bool,
        typer.Option(
            "--assert",
            help="status 1 if anything differs by more than its margin, 5 if nothing is judged",
        ),
    ] = False,
) -> None:
    """Set results of your own simulator beside a run: what differs, by how much, how sure.

    ns-3's FlowMonitor XML, captures, ns-2's traces, OMNeT++'s scalars and vectors, CSV; gzip,
    bzip2 and xz too. A mapping says which file is which point, and what in it is which group.
    """
    run, *others = names
    files = (*with_files, *map(Path, others))
    if new_mapping_ is not None:
        if mapping or name or margin or agreement:
            raise typer.BadParameter(
                "goes without what a comparison takes: --mapping, --name, --margin, --assert",
                param_hint="--new-mapping",
            )
        new_mapping.command(run, files, new_mapping_)
        return
    wanted = own_results.Wanted(
        files=files, mapping=mapping, source=name, margins=tuple(margin or ()), agreement=agreement
    )
    own_results.command(run, wanted)
