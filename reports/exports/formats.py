"""The formats a run is exported to, by name, and the files each has of a run's cells.

To add one: a module beside, and a line in ``FORMATS``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from model import run_folder
from model.run_files.study import Study
from reports.exports.cell import ExportedCell, OutFile
from reports.exports.csv_tables import columns_file, metrics_file, table_files
from reports.exports.flent import flent_files
from reports.exports.omnetpp import omnetpp_files
from reports.exports.qlog import qlog_files
from reports.store.run import Run
from reports.verdict.points import ordered_metrics, summarise_cells

CellFiles = Callable[[ExportedCell], Iterator[OutFile]]
RunFiles = Callable[[Study, Sequence[ExportedCell]], Iterable[OutFile]]


def _no_files(study: Study, cells: Sequence[ExportedCell]) -> Iterable[OutFile]:
    return ()


def _of_all_cells(study: Study, cells: Sequence[ExportedCell]) -> Iterable[OutFile]:
    swept = (*study.parameters, *study.variation_parameters)
    names = list(dict.fromkeys(parameter.name for parameter in swept))
    return metrics_file(study.id, names, cells), columns_file(study.id)


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format: what opens its files, the files of each cell, and those of all cells together."""

    opens: str
    of_cell: CellFiles
    of_run: RunFiles = _no_files


FORMATS: dict[str, Format] = {
    "flent": Format(
        opens="flent -i FILE -f summary; flent -i FILE -p totals -o totals.png; flent-gui FILE",
        of_cell=flent_files,
    ),
    "omnetpp": Format(opens="opp_scavetool query -l *.sca; the OMNeT++ IDE", of_cell=omnetpp_files),
    "qlog": Format(opens="qvis; any reader of JSON text sequences", of_cell=qlog_files),
    "csv": Format(opens="spreadsheets, R, pandas", of_cell=table_files, of_run=_of_all_cells),
}


def exported_cells(
    run: Run, folder: Path, epoch_ns: Callable[[Path], int | None]
) -> list[ExportedCell]:
    """Return the finished measuring cells of a run folder, in the study's order.

    Args:
        run: what the folder holds.
        folder: the folder.
        epoch_ns: tells time zero of the cell in a folder, None if nothing does.
    """
    metrics = ordered_metrics(run.study)
    summaries = {one.id: one for one in summarise_cells(run, metrics)}
    return [
        ExportedCell(
            study=run.study, folder=run_folder.cell_folder(folder, found.plan.id), found=found,
            excluded=summaries[found.plan.id].excluded, metrics=metrics,
            values=summaries[found.plan.id].values,
            epoch_ns=epoch_ns(run_folder.cell_folder(folder, found.plan.id)),
        )
        for found in run.measured()
    ]  # fmt: skip


def files(study: Study, cells: Sequence[ExportedCell], kind: str) -> Iterator[OutFile]:
    """Yield the files of a format; none is made before it is asked for."""
    made = FORMATS[kind]
    return itertools.chain(
        itertools.chain.from_iterable(map(made.of_cell, cells)), made.of_run(study, cells)
    )
