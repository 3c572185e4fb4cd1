"""The commands for other tools: what writes a run for them (Wireshark, flent, OMNeT++, whatever
reads CSV) or for other people (one file), and packetdrill, which the lab runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from testbed.command import bundling
from testbed.command import export as exporting
from testbed.command import packetdrill as drilling
from testbed.command import wireshark as tracing
from testbed.command.options import DataDir, Jobs, Patches, RunFolder
from testbed.study.vocabulary import DEFAULT_KERNEL

_WIRESHARK = (
    "Examples: groundtruth wireshark results/latest; groundtruth wireshark results/latest "
    "--cell 02c9; groundtruth wireshark --install-profile. Then: wireshark -C Groundtruth FILE, "
    "tcptrace FILE-senders.pcap."
)
_EXPORT = (
    "Examples: groundtruth export results/latest --format csv; groundtruth export "
    "results/latest --format flent --format qlog --to plots. Formats: flent, a data file for each "
    "cell; omnetpp, a scalar file for each cell; qlog, a trace for each TCP and SCTP flow; csv, "
    "every table and all metrics."
)
_BUNDLE = (
    "Examples: groundtruth bundle results/latest; groundtruth bundle results/latest --to "
    "paper.tar.gz --license CC-BY-4.0. Then, anywhere: groundtruth verify paper.tar.gz."
)
_PACKETDRILL = (
    "Examples: groundtruth packetdrill --with ~/packetdrill; groundtruth packetdrill --with "
    "~/packetdrill --kernel ~/linux --format ktap; groundtruth packetdrill --with ~/packetdrill "
    "--patch fix.patch my-test.pkt tests/. Status 1: scripts fail."
)


def add(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command(epilog=_WIRESHARK)(wireshark)
    app.command(epilog=_EXPORT)(export)
    app.command(epilog=_BUNDLE)(bundle)
    app.command(epilog=_PACKETDRILL)(packetdrill)


def wireshark(
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="a run folder with captures: results/latest")
    ] = "",
    cells: Annotated[
        list[str] | None,
        typer.Option("--cell", metavar="ID", help="just this cell; the start of its id is enough"),
    ] = None,
    all_points: Annotated[
        bool, typer.Option("--all-points", help="also write every packet at every capture point")
    ] = False,
    install_profile: Annotated[
        bool, typer.Option("--install-profile", help="install the Wireshark profile Groundtruth")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="overwrite a profile that was changed")
    ] = False,
) -> None:
    """Write a run's captures for Wireshark, each packet's story in its comment.

    For each captured cell RUN/pcap gets a pcapng of the senders' view, where each packet is once,
    and the same as a classic pcap for tcptrace. With --all-points it also gets a pcapng with every
    packet at every capture point.
    """
    if not run and not install_profile:
        raise typer.BadParameter("give a run folder, or --install-profile", param_hint="RUN")
    if force and not install_profile:
        raise typer.BadParameter("goes with --install-profile", param_hint="--force")
    if cells and not run:
        raise typer.BadParameter("goes with a run folder", param_hint="--cell")
    if all_points and not run:
        raise typer.BadParameter("goes with a run folder", param_hint="--all-points")
    if install_profile:
        tracing.install_profile(force)
    if run:
        tracing.command(run, cells or [], all_points=all_points)


def export(
    run: RunFolder,
    formats: Annotated[
        list[str],
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help=f"what to write: {', '.join(exporting.FORMATS)}; again for another",
            autocompletion=lambda: list(exporting.FORMATS),
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FOLDER", help="where to; default: RUN/export/FORMAT"),
    ] = None,
    cells: Annotated[
        list[str] | None,
        typer.Option("--cell", metavar="ID", help="just this cell; the start of its id is enough"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="with --to: overwrite files that are in FOLDER")
    ] = False,
) -> None:
    """Write a run for other tools: flent, OMNeT++, viewers of qlog, whatever reads CSV."""
    unknown = [one for one in formats if one not in exporting.FORMATS]
    if unknown:
        raise typer.BadParameter(
            f"wanted one of {', '.join(exporting.FORMATS)}, got {unknown[0]}",
            param_hint="--format",
        )
    if force and to is None:
        raise typer.BadParameter("goes with --to", param_hint="--force")
    chosen = exporting.Wanted(
        formats=tuple(dict.fromkeys(formats)), cells=tuple(cells or ()), to=to, force=force
    )
    exporting.command(run, chosen)


def bundle(
    run: RunFolder,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="where to; default: RUN.tar.gz, beside it"),
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="with raw files and captures: all of the run")
    ] = False,
    unfinished: Annotated[
        bool,
        typer.Option("--unfinished", help="also if cells are not finished; the bundle says which"),
    ] = False,
    license_: Annotated[
        str,
        typer.Option("--license", metavar="SPDX", help="licence of what is in it, as you give it"),
    ] = bundling.LICENSE,
    force: Annotated[
        bool, typer.Option("--force", help="with --to: overwrite FILE if it is there")
    ] = False,
) -> None:
    """Pack a run into one file that others can check: an RO-Crate, the same bytes each time."""
    if force and to is None:
        raise typer.BadParameter("goes with --to", param_hint="--force")
    bundling.command(
        run,
        bundling.Wanted(
            license=license_, to=to, evidence=evidence, unfinished=unfinished, force=force
        ),
    )


def packetdrill(
    source: Annotated[
        Path,
        typer.Option("--with", metavar="DIR", help="packetdrill's source, which the lab builds"),
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...", help="scripts, or folders of them; default: the kernel's own"
        ),
    ] = None,
    kernel: Annotated[
        str,
        typer.Option(
            "--kernel",
            metavar="VERSION|FOLDER[@REVISION]",
            help="kernel: 6.12 or 7.3, of Debian's sources, or a git tree such as ~/linux@v6.12",
        ),
    ] = DEFAULT_KERNEL,
    patch: Patches = None,
    jobs: Jobs = None,
    data_dir: DataDir = Path("results"),
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="screen|ktap|junit",
            help="what to end with; ktap and junit: test results, for a kernel's CI",
            autocompletion=lambda: list(drilling.FORMATS),
        ),
    ] = "screen",
    pcap: Annotated[
        bool, typer.Option("--pcap", help="keep the packets of every case, not of failures only")
    ] = False,
    tolerance_usecs: Annotated[
        int | None,
        typer.Option(
            "--tolerance-usecs",
            min=1,
            max=10_000_000,
            help="how far off an event may be, in place of packetdrill's own tolerance",
        ),
    ] = None,
    limit_s: Annotated[
        float,
        typer.Option(
            "--limit",
            min=1,
            max=100_000,
            metavar="SECONDS",
            help="how long a case may take, in the lab's time",
        ),
    ] = 300.0,
) -> None:
    """Run packetdrill scripts on the lab's kernel, in virtual time.

    packetdrill is built from your copy of its source inside the lab's image. Without FILES the
    scripts are those that come with the source of the kernel, run over IPv4, IPv6 and IPv4-mapped
    IPv6 as the kernel's own runner does. Each case is a boot of its own.
    """  # fmt: skip
    if form not in drilling.FORMATS:
        raise typer.BadParameter(
            f"wanted one of {', '.join(drilling.FORMATS)}", param_hint="--format"
        )
    drilling.command(
        drilling.Wanted(
            source=source, files=tuple(files or ()), kernel=kernel, patches=tuple(patch or ()),
            jobs=jobs, data_dir=data_dir, form=form, captures=pcap,
            tolerance_usecs=tolerance_usecs, virtual_limit_s=limit_s,
        )
    )  # fmt: skip
