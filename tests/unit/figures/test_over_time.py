"""Goodput, delay and jitter over time: bins worked out by hand, and runs over each other."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from reports.figures.chart import KERNEL, PUBLISHED
from reports.figures.goodput_bins import ARRIVALS, SENT, first_seen, from_packets, new_data
from reports.figures.over_time import (
    DELAY,
    JITTER,
    Series,
    delays,
    goodput,
    jitter,
    over_time_figure,
    per_bin,
)
from tests.support.runs.figure_run import S, T, columns, packets, recorded


def no_chunks(_flow: str, _point: str) -> pl.DataFrame:
    return pl.DataFrame()


def packet(number: int, sent_s: float, delivered_s: float | None, **fields: Any) -> list[Any]:
    """Return a data packet at its sender, at the bottleneck's far end and at its receiver."""
    common = {"flow": "T", "direction": "data", "packet": number, "payload_bytes": 1000,
              "retransmission": False, **fields}  # fmt: skip
    seen = [{**common, "point": "sent", "t_s": sent_s}]
    if delivered_s is not None:
        seen += [{**common, "point": "loss_passed", "t_s": delivered_s - 0.01},
                 {**common, "point": "delivered", "t_s": delivered_s}]  # fmt: skip
    return seen


#: Four packets; the second is lost and sent again at 1.2 s, so it arrives last.
FOUR = packets(
    packet(0, 0.0, 0.5, seq=1),
    packet(1, 0.1, None, seq=1001),
    packet(2, 0.2, 0.9, seq=2001),
    packet(3, 0.3, 1.1, seq=3001),
    packet(4, 1.2, 1.8, seq=1001, retransmission=True),
)


def test_delays_are_in_the_order_of_arrival_and_jitter_is_their_difference() -> None:
    found = delays(FOUR, T)
    assert found["t_s"].to_list() == [0.5, 0.9, 1.1, 1.8]
    assert found["ms"].round(6).to_list() == [500, 700, 800, 600]
    steps = jitter(found)
    assert steps["t_s"].to_list() == [0.9, 1.1, 1.8]
    assert steps["ms"].round(6).to_list() == [200, 100, 200]


def test_a_bin_has_the_mean_and_the_extremes_of_what_arrived_in_it_or_nothing() -> None:
    found = per_bin(delays(FOUR, T), 0.0, 2.5, 1.0)
    assert found.columns == ["start_s", "end_s", "value", "low", "high"]
    assert found.rows() == [
        (0.0, 1.0, 600.0, 500.0, 700.0),
        (1.0, 2.0, 700.0, 600.0, 800.0),
        (2.0, 2.5, None, None, None),
    ]


def test_goodput_counts_data_as_it_comes_out_of_the_bottleneck() -> None:
    found = goodput(FOUR, T, no_chunks, 0.0, 2.0, 1.0)
    # 1000 bytes each at 0.49, 0.89, 1.09 and 1.79 s: what waits for the second counts at once.
    assert found["value"].to_list() == [16.0, 16.0]
    assert found["high"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("counted", "news"),
    [
        ("handed_on", [(0.5, 1000), (1.8, 1000), (1.8, 1000), (1.8, 1000)]),
        (ARRIVALS, [(0.49, 1000), (0.89, 1000), (1.09, 1000), (1.79, 1000)]),
        # The lost packet counted when it was first sent; sent again it does not.
        (SENT, [(0.0, 1000), (0.1, 1000), (0.2, 1000), (0.3, 1000)]),
    ],
)
def test_data_counts_when_the_study_asks_for(counted: str, news: list[tuple[float, int]]) -> None:
    found = new_data(FOUR, T, no_chunks, counted)
    assert [(round(t_s, 6), size) for t_s, size in found.iter_rows()] == news


@pytest.mark.parametrize(
    ("units", "news"),
    [
        ([(1.0, 0, 10), (2.0, 20, 30), (3.0, 10, 20)], [(1.0, 10), (2.0, 10), (3.0, 10)]),
        ([(1.0, 0, 10), (2.0, 0, 10)], [(1.0, 10)]),
        # Overlapping one stretch, two, and filling what is between them.
        ([(1.0, 0, 10), (2.0, 5, 15)], [(1.0, 10), (2.0, 5)]),
        ([(1.0, 0, 10), (2.0, 20, 30), (3.0, 5, 25)], [(1.0, 10), (2.0, 10), (3.0, 10)]),
        ([(1.0, 20, 30), (2.0, 0, 5), (3.0, 0, 40)], [(1.0, 10), (2.0, 5), (3.0, 25)]),
        ([], []),
    ],
)
def test_of_a_unit_what_was_there_before_does_not_count_again(
    units: list[tuple[float, int, int]], news: list[tuple[float, int]]
) -> None:
    columns = {"t_s": pl.Float64, "start": pl.Int64, "end": pl.Int64}
    rows = pl.DataFrame(units, schema=columns, orient="row")
    assert first_seen(rows.with_columns(bytes=0)).rows() == news


def test_the_real_runs_bins_hold_all_that_came_out_of_the_bottleneck() -> None:
    table = recorded("packets")
    bins = from_packets(table, (T, S), no_chunks, 0.0, 12.0, 0.1, ARRIVALS)
    passed = table.filter(pl.col("payload_bytes") > 0, direction="data", point="loss_passed")
    each = passed.unique(["flow", "seq", "tsn"])["payload_bytes"].sum()
    assert (bins.rows["goodput_kbps"] * 0.1 * 125).sum() == pytest.approx(each, abs=1)


def series(name: str, values: list[float | None], flow: Any = T) -> Series:
    rows = {"start_s": [0.0, 1.0], "end_s": [1.0, 2.0], "value": values, "low": values,
            "high": values}  # fmt: skip
    return Series(flow, name, pl.DataFrame(rows, schema_overrides=dict.fromkeys(
        ("value", "low", "high"), pl.Float64)))  # fmt: skip


def figure(*found: Series, of: str = DELAY) -> Any:
    return over_time_figure(
        found, of=of, id="x", label="flow T", window_s=(0.0, 2.0), bin_s=1.0, top=30.0
    )


def lines(drawn: Any) -> list[dict[str, Any]]:
    return [layer for layer in drawn.spec["layer"] if layer["mark"]["type"] == "line"]


def test_two_runs_over_each_other_have_the_colours_of_their_protocols() -> None:
    made = figure(series("SCTP", [10.0, 20.0]), series("TCP", [30.0, None]))
    assert [layer["mark"]["color"] for layer in lines(made)] == [PUBLISHED, KERNEL]
    # A row more carries the step to the end of the last bin.
    wanted = {"start_s": [0.0, 1.0, 2.0], "value": [10.0, 20.0, 20.0]}
    assert columns(made, lines(made)[0]) == wanted
    assert "SCTP: mean of the bins 15.0 ms; single packets 10.0 to 20.0." in made.caption
    assert "TCP: mean of the bins 30.0 ms; single packets 30.0 to 30.0." in made.caption
    assert made.flow == "T"
    assert made.title == "One-way delay over time of flow T"


def test_of_several_flows_of_one_name_the_mean_stands_out() -> None:
    made = figure(series("SCTP", [10.0, 20.0]), series("SCTP", [20.0, None], S), of=JITTER)
    *single, mean = lines(made)
    assert [layer["mark"]["opacity"] for layer in single] == [0.35, 0.35]
    assert columns(made, mean)["value"] == [15.0, 20.0, 20.0]
    assert "SCTP, mean of 2" in str(made.spec)
    assert "Faint lines are single flows." in made.caption
    assert made.flow is None


def test_nothing_that_arrived_is_said() -> None:
    assert "TCP: nothing arrived." in figure(series("TCP", [None, None])).caption


def test_more_names_than_colours_differ_in_their_strokes() -> None:
    made = figure(*(series(f"n{number}", [1.0, 2.0]) for number in range(9)))
    looks = {
        (layer["mark"]["color"], str(layer["mark"].get("strokeDash"))) for layer in lines(made)
    }
    assert len(looks) == 9
