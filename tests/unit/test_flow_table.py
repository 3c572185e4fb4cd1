"""How goodput varies over time, from a receiver's intervals worked by hand."""

import dataclasses
from pathlib import Path

import polars as pl
import pytest

from reports.flow_table import read_variation
from tests.report_run import make_cell

pytestmark = pytest.mark.unit


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
