"""The commands about labs on this machine: built, carried to another, looked at, tidied up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from testbed.command import labs
from testbed.command.options import Kernels, Lab, Patches
from testbed.labs import registry

_BUILD = (
    "Examples: groundtruth build; groundtruth build --kernel ~/linux@v6.12.5 --patch fix.patch; "
    "groundtruth build --lab stock --kernel 6.12."
)


def add(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command(epilog=_BUILD)(build)
    carrying = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Carry a built lab to a machine that cannot build it.",
    )  # fmt: skip
    app.add_typer(carrying, name="lab")
    carrying.command(name="export")(export_lab)
    carrying.command(name="import")(import_lab)
    carrying.command(name="parts")(lab_parts)
    app.command()(doctor)
    app.command()(clean)


def build(
    lab: Lab = registry.DEFAULT.properties.name, kernel: Kernels = "", patch: Patches = None
) -> None:
    """Build the lab (image, kernel, probes) into the cache, so that later runs start at once."""
    labs.build(lab, kernel, patch or ())


def export_lab(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="what to write, such as lab.tar.gz")],
    lab: Lab = registry.DEFAULT.properties.name,
    kernel: Kernels = "",
    patch: Patches = None,
    force: Annotated[bool, typer.Option("--force", help="overwrite a file that is there")] = False,
) -> None:
    """Write image, kernels and code of a lab into a file; built first if needed."""
    labs.export_lab(file, lab, kernel, patch or (), force=force)


def import_lab(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="what lab export has written")],
) -> None:
    """Put a lab that was exported into the cache: neither network nor Debian is needed."""
    labs.import_lab(file)


def lab_parts(
    lab: Lab = registry.DEFAULT.properties.name, kernel: Kernels = "", patch: Patches = None
) -> None:
    """Name what a lab is made of: entries of the cache, each with the digest of its contents."""
    labs.tell_parts(lab, kernel, patch or ())


def doctor(
    lab: Lab = registry.DEFAULT.properties.name, kernel: Kernels = "", patch: Patches = None
) -> None:
    """Say what this machine can run, and what stands in the way."""
    labs.doctor(lab, kernel, patch or ())


def clean(lab: Lab = registry.DEFAULT.properties.name) -> None:
    """Undo what a killed run left changed on this machine, and only that."""
    labs.clean(lab)
