"""How goodput varies over time, from a receiver's intervals worked by hand."""

import dataclasses
from pathlib import Path

import polars as pl
import pytest

from reports.store.flow_table import read_variation
from tests.support.runs.report_run import make_cell


def test_bins_are_whole_ones_of_the_window_and_silence_counts(tmp_path: Path) -> None:
    rows = [
        ("T", 9.0, 10.0, 9_999),  # before the window
        ("T", 10.0, 11.0, 100), ("T", 19.0, 20.0, 100),  # 200 bytes in the first ten seconds
        ("T", 25.0, 26.0, 400),  # 400 in the next; none at all in the third
        ("T", 40.0, 41.0, 9_999),  # in a bin that the window cuts
        ("S", 10.0, 11.0, 300), ("S", 20.0, 21.0, 300), ("S", 30.0, 31.0, 300),
    ]  # fmt: skip
    path = tmp_path / "intervals.parquet"
    schema = ["flow", "start_s", "end_s", "goodput_bytes"]
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(path)
    cell = dataclasses.replace(
        make_cell("measure", 0.01, 1), measure_from_s=10.0, measure_to_s=45.0
    )
    # 200, 400, 0: mean 200, s = sqrt((0 + 200^2 + 200^2) / 2) = 200
    assert read_variation(path, cell) == {"T": pytest.approx(100), "S": 0}
    short = dataclasses.replace(cell, measure_to_s=29.0)
    assert read_variation(path, short) == {}
    one = dataclasses.replace(cell, flows=tuple(
        dataclasses.replace(flow, group="B") for flow in cell.flows
    ))  # fmt: skip
    # 500, 700, 300 together: mean 500, s = 200
    assert read_variation(path, one) == {"B": pytest.approx(40)}


@pytest.mark.parametrize(("start_s", "measure_from_s"), [(0.4, 0.0), (0.0, 0.4), (10.0, 0.0)])
def test_every_bin_holds_as_many_seconds_as_the_others(
    tmp_path: Path, start_s: float, measure_from_s: float
) -> None:
    rows = [("T", float(second), second + 1.0, 100) for second in range(45)]
    if measure_from_s:
        rows[0] = ("T", measure_from_s, 1.0, 60)
    path = tmp_path / "intervals.parquet"
    schema = ["flow", "start_s", "end_s", "goodput_bytes"]
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(path)
    cell = make_cell("measure", 0.01, 1)
    flow = dataclasses.replace(cell.flows[0], start_s=start_s)
    cell = dataclasses.replace(
        cell, measure_from_s=measure_from_s, measure_to_s=41.2, flows=(flow,)
    )
    # A flow of constant rate does not vary.
    assert read_variation(path, cell) == {"T": 0}
