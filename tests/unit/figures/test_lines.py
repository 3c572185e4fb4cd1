"""Studies with several swept settings: which points are lines, their names, their chart."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.run_files.point import Point, Scalar
from model.run_files.publication import Comparison, Versus
from model.run_files.study import Parameter
from reports.figures.along import along_figure, is_claimed
from reports.figures.chart import render_svg
from reports.figures.headline import headline_figures
from reports.figures.lines import MOST_LINES, Lines, lines_of
from reports.store.run import read_run
from reports.verdict.summary import Summary, summarise
from tests.support.runs.report_run import build_run

NAME = "goodput_T_bps"
SPEED = Parameter(name="max_mps", path="network.mobility.speed.max")
RATE = Parameter(name="rate_bps", path="flows.cbr.rate", label="constant flows of {value}")
PROTOCOL = Parameter(name="protocol", path="flows.main.protocol", label="by {value}")
MESSAGE = Parameter(name="message_bytes", path="flows.main.message")
EVERY = (PROTOCOL, MESSAGE, SPEED, RATE)


def at(protocol: str, speed: Scalar, rate: float) -> Point:
    message = {"tcp": 1400, "sctp": 700}[protocol]
    return Point.of(
        {"protocol": protocol, "message_bytes": message, "max_mps": speed, "rate_bps": rate}
    )


TWO_SETS = [
    *(at(protocol, speed, 16e3) for speed in (20.0, 1.0, 5.0) for protocol in ("tcp", "sctp")),
    *(at(protocol, 5.0, rate) for rate in (4e3, 48e3) for protocol in ("tcp", "sctp")),
]


def test_two_sets_of_runs_are_two_charts_with_a_line_for_each_protocol() -> None:
    by_speed, by_rate = lines_of(EVERY, TWO_SETS)
    assert by_speed == Lines(
        parameter=SPEED,
        lines=tuple(
            (f"by {protocol}", tuple(at(protocol, speed, 16e3) for speed in (1.0, 5.0, 20.0)))
            for protocol in ("tcp", "sctp")
        ),
        shared="constant flows of 16 kbit/s",
    )
    assert [name for name, _ in by_rate.lines] == ["by tcp", "by sctp"]
    assert by_rate.shared == "max 5 m/s"
    assert [by_rate.place(point) for point in by_rate.lines[0][1]] == [4e3, 16e3, 48e3]


def test_a_point_on_no_line_stands_beside_those_it_is_like() -> None:
    # it differs from those of set 1 in protocol and message, from those of set 2 in the rate, too
    alone = Point.of({**at("sctp", 5.0, 16e3).as_dict(), "protocol": "udp", "message_bytes": 100})
    by_speed, by_rate = lines_of(EVERY, [*TWO_SETS, alone])
    assert by_speed.lines[-1][1] == (alone,)
    assert len(by_rate.lines) == 2
    assert [name for name, _ in by_speed.lines] == ["by tcp", "by sctp", "by udp"]


@pytest.mark.parametrize(
    ("parameters", "points"),
    [
        ((SPEED,), [Point.of({"max_mps": 1.0}), Point.of({"max_mps": 5.0})]),
        (EVERY, [at("tcp", 1.0, 4e3), at("tcp", 5.0, 16e3)]),
        (EVERY, [*TWO_SETS[:6], at("tcp", "none", 4e3)]),
        ((), [Point.of({})]),
    ],
    ids=["one setting", "no two alike", "a word among numbers", "nothing swept"],
)
def test_where_there_are_no_lines(parameters: tuple[Parameter, ...], points: list[Point]) -> None:
    assert lines_of(parameters, points) == ()


def test_more_lines_than_can_be_told_apart_are_none() -> None:
    def grid(rates: int) -> list[Point]:
        return [at("tcp", speed, float(rate)) for speed in (1.0, 2.0) for rate in range(rates)]

    assert len(lines_of(EVERY, grid(MOST_LINES))[0].lines) == MOST_LINES
    assert lines_of(EVERY, grid(MOST_LINES + 1)) == ()


@given(st.sets(st.tuples(st.sampled_from(["tcp", "sctp"]), st.integers(0, 3), st.integers(0, 3))))
def test_no_point_is_on_no_chart(chosen: set[tuple[str, int, int]]) -> None:
    points = [at(protocol, float(speed), float(rate)) for protocol, speed, rate in sorted(chosen)]
    found = lines_of(EVERY, points)
    on_charts = {point for chart in found for _, line in chart.lines for point in line}
    assert not found or on_charts == set(points)
    for chart in found:
        assert len({name for name, _ in chart.lines}) == len(chart.lines)
        for _, line in chart.lines:
            places = [chart.place(point) for point in line]
            assert places == sorted(set(places))


def judged(point: Point, versus: Point | None) -> SimpleNamespace:
    other = Versus(metric=NAME, point=versus) if versus else None
    return SimpleNamespace(
        comparison=Comparison(
            metric=NAME, point=point, versus=other, relative=False, low=0.0, strict=True
        )
    )


def two_settings(tmp_path: Path, *, published: bool) -> Summary:
    """A run of two losses as of two speeds and one protocol, by a setting more than it has."""
    found = summarise(read_run(build_run(tmp_path / "run", losses=(0.008, 0.01), seeds=2)))
    (loss,) = found.parameters
    other = Parameter(name="rate_bps", path="flows.cbr.rate")
    renamed = {
        point.point: Point.of({**point.point.as_dict(), "rate_bps": 16e3}) for point in found.points
    }
    points = tuple(
        dataclasses.replace(
            point, point=renamed[point.point],
            metrics={
                name: one if published else dataclasses.replace(one, published=None)
                for name, one in point.metrics.items()
            },
        )
        for point in found.points
    )  # fmt: skip
    cells = tuple(dataclasses.replace(one, point=renamed[one.point]) for one in found.cells)
    return dataclasses.replace(
        found, points=points, cells=cells, parameters=(loss, other), headline=(NAME,)
    )


def test_the_chart_has_means_intervals_and_what_all_lines_share(tmp_path: Path) -> None:
    summary = two_settings(tmp_path, published=False)
    (figure,) = headline_figures(summary)
    assert figure.id == NAME
    assert figure.title.endswith(", by bottleneck loss, data: rate 16 kbit/s")
    line, bar, mark = figure.spec["layer"][:3]
    assert [one["mark"]["type"] for one in (line, bar, mark)] == ["line", "rule", "point"]
    rows = figure.spec["datasets"][figure.spec["data"]["name"]]
    for row, point in zip(rows, summary.points, strict=True):
        found = point.metrics[NAME].estimate
        assert found.mean is not None
        assert found.ci95 is not None
        assert row["y"] == pytest.approx(found.mean / 1e3)
        assert row["hi"] == pytest.approx(found.ci95[1] / 1e3)
        assert row["lo"] == pytest.approx(max(0.0, found.ci95[0] / 1e3))
    assert [row["x"] for row in rows] == pytest.approx([0.8, 1.0])
    assert "Bottleneck loss, data (%)" in render_svg(figure)


def test_a_metric_that_was_published_keeps_the_chart_with_the_printed_values(
    tmp_path: Path,
) -> None:
    summary = two_settings(tmp_path, published=True)
    summary = dataclasses.replace(summary, headline=("pct_increase",))
    assert [figure.id for figure in headline_figures(summary)] == ["pct_increase"]


def test_only_what_is_claimed_along_a_setting_is_drawn_along_a_second(tmp_path: Path) -> None:
    summary = two_settings(tmp_path, published=False)
    assert not is_claimed(summary, NAME, "rate_bps")
    first, second, other = at("tcp", 5.0, 4e3), at("tcp", 5.0, 16e3), at("sctp", 5.0, 16e3)
    claimed = cast(
        Summary,
        SimpleNamespace(
            verdicts=[
                SimpleNamespace(
                    comparisons=[
                        judged(second, None), judged(second, first), judged(other, second),
                    ]
                )
            ]
        ),
    )  # fmt: skip
    assert is_claimed(claimed, NAME, "rate_bps")
    assert not is_claimed(claimed, "goodput_S_bps", "rate_bps")
    assert not is_claimed(claimed, NAME, "protocol")  # the message differs, too
    assert not is_claimed(claimed, NAME, "max_mps")
    (lines,) = lines_of(summary.parameters, [one.point for one in summary.points])
    nowhere = dataclasses.replace(
        summary,
        points=tuple(
            dataclasses.replace(
                point,
                metrics={
                    **point.metrics,
                    NAME: dataclasses.replace(
                        point.metrics[NAME],
                        estimate=dataclasses.replace(
                            point.metrics[NAME].estimate, mean=None, ci95=None
                        ),
                    ),
                },
            )
            for point in summary.points
        ),
    )
    assert along_figure(nowhere, summary.metric_table()[NAME], lines, None) is None
