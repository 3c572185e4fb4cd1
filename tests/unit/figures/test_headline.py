"""Figures of metrics: what a single run is called, and axes where all values are one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from reports.figures.chart import Figure, render_svg
from reports.figures.headline import headline_figures
from reports.store.run import read_run
from reports.verdict.summary import Summary, summarise
from tests.support.runs.report_run import build_run

NAME = "goodput_T_bps"


def summary_of(tmp_path: Path, seeds: int) -> Summary:
    found = summarise(read_run(build_run(tmp_path / "run", losses=(0.008, 0.01), seeds=seeds)))
    return dataclasses.replace(found, headline=(NAME,))


def with_values(summary: Summary, values: tuple[float, ...]) -> Summary:
    """Return a summary of one run per point with these values, and nothing published."""
    points, cells = [], []
    for point, cell, value in zip(summary.points, summary.cells, values, strict=True):
        found = point.metrics[NAME]
        metric = dataclasses.replace(
            found, published=None, estimate=dataclasses.replace(found.estimate, mean=value)
        )
        points.append(dataclasses.replace(point, metrics={**point.metrics, NAME: metric}))
        of_cell = {**cell.values, NAME: dataclasses.replace(cell.values[NAME], value=value)}
        cells.append(dataclasses.replace(cell, values=of_cell))
    return dataclasses.replace(summary, points=tuple(points), cells=tuple(cells))


def drawn(summary: Summary) -> Figure:
    (figure,) = headline_figures(summary)
    return figure


def y_of(figure: Figure) -> Any:
    return figure.spec["layer"][0]["encoding"]["y"]


def test_several_runs_have_bars_and_dots(tmp_path: Path) -> None:
    figure = drawn(summary_of(tmp_path, seeds=2))
    assert "bars: the mean of the runs and its 95 % confidence interval." in figure.caption
    assert "Dots: single runs." in figure.caption
    assert "kernel mean, 95 % CI" in render_svg(figure)
    assert "Discs: single runs." not in figure.caption


def test_a_single_run_is_promised_no_interval(tmp_path: Path) -> None:
    figure = drawn(summary_of(tmp_path, seeds=1))
    assert "Discs: single runs." in figure.caption
    picture = render_svg(figure)
    assert "kernel, one run" in picture
    for words in ("bars", "95 %", "Dots"):
        assert words not in figure.caption
        assert words not in picture


@pytest.mark.parametrize(
    ("values", "domain", "ticks"),
    [
        # As shown, in kbit/s with one decimal, these are one value.
        ((187_700.0, 187_700.0), [0.0, 187.7 * 1.2], ["0.0", "187.7"]),
        ((187_690.0, 187_710.0), [0.0, 187.7 * 1.2], ["0.0", "187.7"]),
        ((0.0, 0.0), [0.0, 1.0], ["0.0"]),
    ],
)
def test_the_only_value_there_is_stands_at_a_tick(
    tmp_path: Path, values: tuple[float, float], domain: list[float], ticks: list[str]
) -> None:
    figure = drawn(with_values(summary_of(tmp_path, seeds=1), values))
    assert y_of(figure)["scale"]["domain"] == pytest.approx(domain)
    picture = render_svg(figure)
    assert all(f">{tick}<" in picture for tick in ticks)
    assert "NaN" not in picture


def test_different_values_span_the_axis(tmp_path: Path) -> None:
    figure = drawn(with_values(summary_of(tmp_path, seeds=1), (187_700.0, 187_900.0)))
    assert "domain" not in y_of(figure)["scale"]


@pytest.mark.parametrize(
    ("values", "from_zero"),
    [((2_000.0, 187_700.0), True), ((30_000.0, 187_700.0), False)],
)
def test_no_axis_goes_below_what_can_be(
    tmp_path: Path, values: tuple[float, float], from_zero: bool
) -> None:
    """Rounded outwards, an axis of rates from 2 to 188 kbit/s would begin below none at all."""
    figure = drawn(with_values(summary_of(tmp_path, seeds=1), values))
    assert y_of(figure)["scale"]["zero"] is from_zero
    assert ">\N{MINUS SIGN}" not in render_svg(figure)
