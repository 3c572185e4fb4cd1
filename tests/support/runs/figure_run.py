"""A run whose study asks for figures, with recorded tables to draw them from at 1 % loss."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from model import run_folder
from reports.figures.chart import Figure
from reports.figures.study_figures import FigureSet, study_figures
from reports.store.run import read_run
from reports.verdict.summary import summarise
from tests.support.runs.report_run import build_run, make_cell, only_cell

TABLES = Path(__file__).parents[2] / "data" / "tables-7.3"
LOSSES = (0.008, 0.01)
POINT = [{"loss_frac": 0.01}]
T, S = make_cell("measure", 0.01, 1).flows
FIGURES: list[dict[str, Any]] = [
    {"kind": "cwnd", "from_s": 0.0, "to_s": 60.0, "points": POINT},
    {"kind": "time_sequence", "from_s": 0.0, "to_s": 12.0, "points": POINT},
    {"kind": "single_loss", "before_s": 1.0, "after_s": 3.0, "points": POINT},
    {"kind": "goodput_bins", "bin_s": 0.1, "from_s": 2.0, "to_s": 12.0, "points": POINT},
    {"kind": "share", "points": [{"loss_frac": loss} for loss in LOSSES], "where": "Figure 2"},
    {"kind": "over_time", "of": "delay", "bin_s": 1.0, "from_s": 0.0, "to_s": 12.0,
     "where": {"T": "Figure 3", "S": "Figure 4"}, "points": POINT},
]  # fmt: skip


def recorded(table: str) -> pl.DataFrame:
    """Return a recorded table."""
    return pl.read_parquet(TABLES / f"{table}.parquet")


def packets(*rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return a packets table of these rows, in order of time."""
    given = [row for some in rows for row in some]
    return pl.DataFrame(given, schema=recorded("packets").schema).sort("t_s")


def columns(figure: Figure, layer: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the data of a figure's layer."""
    found: dict[str, list[Any]] = figure.spec["datasets"][layer["data"]["name"]][0]
    return found


def sets(run: Path) -> tuple[FigureSet, ...]:
    """Return what a run's study asks for, drawn."""
    found = read_run(run)
    return study_figures(run, found, summarise(found))


def build_figure_run(run: Path, figures: list[dict[str, Any]] | None = None) -> Path:
    """Write a finished run of two points and two seeds; only one cell has tables to draw."""
    changes = {"figures": FIGURES if figures is None else figures}
    build_run(run, losses=LOSSES, seeds=2, changes=changes)
    cell = only_cell(run, loss=0.01, seed=1)
    shutil.copy(TABLES / "packets.parquet", cell / run_folder.PACKETS_TABLE)
    shutil.copy(TABLES / "congestion.parquet", cell / run_folder.CONGESTION_TABLE)
    return run
