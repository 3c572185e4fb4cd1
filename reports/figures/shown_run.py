"""The run a figure shows: the first seed of a point that counts, its tables read when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import polars as pl

from model import run_folder
from model.cell import Cell, Flow
from model.run_files.point import Point, Scalar
from reports.measures.quantities import called, named, setting, setting_label
from reports.store.cell_tables import CellTables
from reports.store.run import Run
from reports.verdict.summary import Summary


class Shown:
    """One run; ``said`` has the words for each of its point's settings, by the setting's name."""

    def __init__(
        self, cell: Cell, tables: CellTables, labels: dict[str, str], point: Point,
        said: dict[str, str],
    ) -> None:  # fmt: skip
        self.cell, self.tables, self.labels = cell, tables, labels
        self.point, self.said = point, said

    @property
    def words(self) -> str:
        """Return where on the sweep the run is, and its seed."""
        return told([self], None)

    @cached_property
    def packets(self) -> pl.DataFrame | None:
        """Return every packet at every capture point, None without captures."""
        return self.tables.packets()

    @cached_property
    def congestion(self) -> pl.DataFrame | None:
        """Return the kernel's congestion state, None without telemetry."""
        return self.tables.congestion()

    @cached_property
    def episodes(self) -> pl.DataFrame | None:
        """Return the loss episodes, None if nothing says where they are."""
        return self.tables.episodes()

    @cached_property
    def intervals(self) -> pl.DataFrame | None:
        """Return what the receivers counted per interval, None without."""
        return self.tables.intervals()

    @cached_property
    def messages(self) -> pl.DataFrame | None:
        """Return how long messages took, None if they were not recorded."""
        return self.tables.messages()

    @property
    def numbered(self) -> list[Flow]:
        """Return the flows with sequence numbers."""
        return [flow for flow in self.cell.flows if flow.protocol != "udp"]

    def group(self, flow: Flow) -> str:
        """Return the name of a flow's group."""
        return self.labels.get(flow.group, flow.group)

    def overlaid(self, overlay: str) -> str:
        """Return by what a legend tells the run from others that are drawn over it."""
        return value_words(overlay, self.point.as_dict()[overlay])

    def name(self, flow: Flow) -> str:
        """Return a flow's name with its group's."""
        return f"{self.group(flow)} (flow {flow.id})"

    def label(self, flow: Flow) -> str:
        """Return a flow's name and its run's."""
        return f"{self.name(flow)}, {self.words}"


def first_counted(folder: Path, run: Run, summary: Summary, point: Point) -> Shown | None:
    """Return the run of a point that figures show, None if none counts."""
    counted = [cell for cell in summary.cells if cell.point == point and cell.excluded is None]
    if not counted:
        return None
    cell = next(found.cell for found in run.measured() if found.plan.id == counted[0].id)
    labels = {group.id: group.label for group in run.study.groups}
    tables = CellTables(run_folder.cell_folder(folder, counted[0].id))
    return Shown(cell, tables, labels, point, settings(run, point))


def settings(run: Run, point: Point) -> dict[str, str]:
    """Return the settings a point is named by in words, by their names."""
    values, swept = point.as_dict(), named(run.study.parameters)
    labels = [setting_label(one.path) for one in swept]
    return {
        one.name: called(one, values[one.name], f"{label[:1].lower()}{label[1:]} {{value}}")
        for label, one in zip(labels, swept, strict=True)
    }


def told(shown: Sequence[Shown], overlay: str | None) -> str:
    """Return which runs are drawn, those of one setting's values over each other."""
    others = [words for name, words in shown[0].said.items() if name != overlay]
    over = [one.overlaid(overlay) for one in shown] if overlay else []
    seeds = dict.fromkeys(str(one.cell.seed) for one in shown)
    return ", ".join([*others, *([" and ".join(over)] if over else []),
                      f"seed {' and '.join(seeds)}"])  # fmt: skip


def value_words(name: str, value: Scalar) -> str:
    """Return a setting's value as a legend names it."""
    words = setting(name, value)
    return words.upper() if words in ("tcp", "sctp", "udp") else words
