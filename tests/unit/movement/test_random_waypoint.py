"""Random waypoint: its start in the steady state against what is known of that in closed form.

Seeds are fixed, so each test passes always or never. Bounds are such that a right model with other
seeds would pass too, but for about one in SURE tests.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from model import fields
from model.ad_hoc import Start
from model.errors import StudyError
from model.movement import closed_forms, random_waypoint, stationary
from model.movement.paths import Field, Movement, Row, length_mm
from model.movement.random_waypoint import RandomWaypoint, steady_speed_mps
from model.movement.stationary import Stationary
from model.movement.stream import Stream

S = 1_000_000_000
FIELD = Field(width_mm=1_000_000, height_mm=300_000)
SURE = 1e5
#: So many standard errors a mean is away no more often than that, either way (4.42).
FAR = float(stats.norm.isf(0.5 / SURE))
NODES, SEED = 4000, 20260101


def model(
    start: Start = "steady-state", pause_s: int = 0, *, low: float = 1.0, high: float = 20.0
) -> RandomWaypoint:
    return RandomWaypoint(
        field=FIELD, min_speed_mps=low, max_speed_mps=high, pause_ns=pause_s * S, start=start
    )


def walked(settings: RandomWaypoint, until_s: int, nodes: int = NODES) -> Movement:
    return random_waypoint.movement(settings, nodes=nodes, seed=SEED, until_ns=until_s * S)


def speeds_at(found: Movement, t_s: float) -> np.ndarray:
    return np.array([path.speed_mps(round(t_s * S)) for path in found.paths])


def deviation(values: np.ndarray, mean: float) -> float:
    """Return how many standard errors the mean of values is from what it should be."""
    return abs(float(values.mean()) - mean) / (float(values.std(ddof=1)) / math.sqrt(len(values)))


# What is known without a simulation.


@pytest.mark.parametrize("value", [1e-300, 0.001, 0.5, 0.7071, 0.99999, 1.0, 1.5, 2, 20, 1e9])
def test_the_logarithm_is_the_librarys(value: float) -> None:
    assert closed_forms.natural_log(value) == pytest.approx(math.log(value), rel=5e-16, abs=0)


def test_the_mean_distance_in_a_rectangle() -> None:
    # In the unit square (2 + sqrt 2 + 5 ln(1 + sqrt 2)) / 15, a line of length 1 nearly 1/3.
    square = closed_forms.mean_trip_mm(Field(width_mm=10**6, height_mm=10**6))
    wanted = (2 + math.sqrt(2) + 5 * math.log(1 + math.sqrt(2))) / 15
    assert square == pytest.approx(wanted * 1e6, rel=1e-12)
    thin = closed_forms.mean_trip_mm(Field(width_mm=10**6, height_mm=1000))
    assert thin == pytest.approx(1e6 / 3, rel=1e-4)
    # At the edge of what is taken for a line both ways agree.
    edge = [closed_forms.mean_trip_mm(Field(width_mm=10**9, height_mm=high))
            for high in (100_000, 99_999)]  # fmt: skip
    assert edge[0] == pytest.approx(edge[1], rel=1e-6)
    assert closed_forms.mean_trip_mm(Field(width_mm=1, height_mm=10**9)) == 1e9 / 3
    draws = np.random.default_rng(1).random((2, 2, 400_000)) * [[[1e6], [3e5]]]
    sampled = np.hypot(*(draws[0] - draws[1]))
    assert deviation(sampled, closed_forms.mean_trip_mm(FIELD)) < FAR


def test_means_worked_by_hand() -> None:
    assert closed_forms.mean_moving_speed_mps(5.0, 5.0) == 5.0
    assert closed_forms.mean_moving_speed_mps(1.0, math.e) == pytest.approx(math.e - 1)
    trip_s = closed_forms.mean_trip_s(FIELD, 5.0, 5.0)
    assert trip_s == pytest.approx(closed_forms.mean_trip_mm(FIELD) / 5000)
    assert closed_forms.paused_frac(FIELD, 5.0, 5.0, trip_s) == pytest.approx(0.5)
    assert closed_forms.mean_speed_mps(FIELD, 5.0, 5.0, trip_s) == pytest.approx(2.5)


# Paths.


@pytest.mark.parametrize("start", ["steady-state", "uniform"])
@pytest.mark.parametrize("pause_s", [0, 30])
def test_paths_keep_to_the_model(start: Start, pause_s: int) -> None:
    settings = model(start, pause_s)
    for path in walked(settings, 900, 60).paths:
        assert path.rows[0].t_ns == 0
        assert path.rows[-1].t_ns >= 900 * S
        behind = [row for row in path.rows if row.t_ns >= 900 * S]
        assert len(behind) <= 1 + (pause_s > 0), "a trip, and the pause before it"
        assert all(FIELD.holds(row.x_mm, row.y_mm) for row in path.rows)
        for number, (one, other) in enumerate(pairwise(path.rows)):
            took_ns, gone_mm = other.t_ns - one.t_ns, length_mm(one, other)
            if gone_mm == 0:
                whole = number > 0 or start == "uniform"
                assert took_ns == pause_s * S if whole else 0 < took_ns <= pause_s * S
            else:
                assert 0.9999 <= gone_mm / took_ns * 1e6 <= 20.0001


PINNED = [
    (
        Row(0, 449_413, 240_887),
        Row(216_731_900_577, 731_688, 193_028),
        Row(246_731_900_577, 731_688, 193_028),
    ),
    (
        Row(0, 685_491, 146_452),
        Row(86_575_205_993, 552_281, 239_124),
        Row(116_575_205_993, 552_281, 239_124),
    ),
]


def test_a_seed_is_a_movement_for_ever() -> None:
    """Other numbers here are other movements in every study that has a seed."""
    first = walked(model(pause_s=30), 900, 2)
    assert [path.rows[:3] for path in first.paths] == PINNED
    assert walked(model(pause_s=30), 900, 2) == first
    other = random_waypoint.movement(model(pause_s=30), nodes=2, seed=1, until_ns=900 * S)
    assert other.paths[0] != first.paths[0]


def test_another_node_or_a_longer_run_changes_no_path() -> None:
    few, many = walked(model(), 900, 5), walked(model(), 900, 6)
    assert many.paths[:5] == few.paths
    longer = walked(model(), 1800, 5)
    for path, further in zip(few.paths, longer.paths, strict=True):
        assert further.rows[: len(path.rows)] == path.rows


# The steady state.


@pytest.mark.parametrize(("low", "high"), [(1.0, 20.0), (3.0, 4.0), (0.5, 4.0), (0.01, 30.0)])
def test_speeds_have_the_density_of_the_steady_state(low: float, high: float) -> None:
    """Distribution: ln(speed / minimum) / ln(maximum / minimum)."""
    drawn = Stream(SEED, "speeds")
    found = np.array([steady_speed_mps(low, high, drawn) for _ in range(20_000)])
    assert low <= found.min() <= found.max() <= high
    spread = np.log(found / low) / math.log(high / low)
    assert stats.kstest(spread, "uniform").pvalue > 1 / SURE
    assert deviation(found, closed_forms.mean_moving_speed_mps(low, high)) < FAR


@pytest.mark.parametrize("pause_s", [0, 30, 120])
@pytest.mark.parametrize("t_s", [0, 100, 900])
def test_the_steady_state_is_there_from_the_start_on(pause_s: int, t_s: int) -> None:
    found = speeds_at(walked(model(pause_s=pause_s), t_s), t_s)
    share = closed_forms.paused_frac(FIELD, 1.0, 20.0, pause_s)
    paused = int((found == 0).sum())
    assert stats.binomtest(paused, NODES, share).pvalue > 1 / SURE
    assert deviation(found, closed_forms.mean_speed_mps(FIELD, 1.0, 20.0, pause_s)) < FAR
    moving = found[found > 0]
    spread = np.log(moving / 1.0) / math.log(20.0)
    # A place and a time are rounded, so a speed may pass the ends by as little.
    assert stats.kstest(np.clip(spread, 0, 1), "uniform").pvalue > 1 / SURE


def test_of_a_pause_at_the_start_what_is_left_is_uniform() -> None:
    found = walked(model(pause_s=120), 120)
    left_s = [path.rows[1].t_ns / S for path in found.paths if path.speed_mps(0) == 0]
    assert len(left_s) > 1500
    assert stats.kstest(np.array(left_s) / 120, "uniform").pvalue > 1 / SURE


ACROSS, UP = 8, 4


def cell_shares(moving: float) -> np.ndarray:
    """Return the chance of each cell of a grid in the steady state, from left to right, then up.

    Nodes that pause are uniform. Of those that move the density at a place is the integral over
    directions of a b (a + b), a and b the distances to the edge ahead and behind, over the mean
    length times the square of the area (E. Hyytia, P. Lassila and J. Virtamo, "Spatial node
    distribution of the random waypoint mobility model with applications", IEEE Transactions on
    Mobile Computing 5(6), 2006).
    """
    w, h, fine = 1000.0, 300.0, 6
    angles = (np.arange(720) + 0.5) * math.pi / 720
    cos, sin = np.cos(angles), np.sin(angles)
    shares = np.zeros((UP, ACROSS))
    for row in range(UP * fine):
        for column in range(ACROSS * fine):
            x, y = (column + 0.5) * w / (ACROSS * fine), (row + 0.5) * h / (UP * fine)
            sides = np.where(cos > 0, w - x, x) / np.abs(cos)
            other_sides = np.where(cos > 0, x, w - x) / np.abs(cos)
            ahead = np.minimum(sides, (h - y) / sin)
            behind = np.minimum(other_sides, y / sin)
            density = (ahead * behind * (ahead + behind)).mean() * math.pi
            shares[row // fine, column // fine] += density
    shares *= (w / (ACROSS * fine)) * (h / (UP * fine))
    shares /= closed_forms.mean_trip_mm(FIELD) / 1000 * (w * h) ** 2
    assert shares.sum() == pytest.approx(1, abs=0.002)
    return np.asarray(moving * shares / shares.sum() + (1 - moving) / (ACROSS * UP)).ravel()


def counted(found: Movement, t_s: int) -> np.ndarray:
    places = np.array([path.at(t_s * S) for path in found.paths])
    grid, _, _ = np.histogram2d(
        places[:, 1], places[:, 0], bins=(UP, ACROSS), range=((0, 300_000), (0, 1_000_000))
    )
    return np.asarray(grid).ravel()


@pytest.mark.parametrize("pause_s", [0, 60])
@pytest.mark.parametrize("t_s", [0, 400])
def test_places_have_the_density_of_the_steady_state(pause_s: int, t_s: int) -> None:
    found = counted(walked(model(pause_s=pause_s), t_s), t_s)
    shares = cell_shares(1 - closed_forms.paused_frac(FIELD, 1.0, 20.0, pause_s))
    assert stats.chisquare(found, shares * NODES).pvalue > 1 / SURE
    uniform = np.full(ACROSS * UP, NODES / (ACROSS * UP))
    assert stats.chisquare(found, uniform).pvalue < 1 / SURE, "the test can tell the two apart"


def test_the_uniform_start_drifts() -> None:
    """It begins too fast and too even, and falls to what the steady state has from the start."""
    found = walked(model("uniform"), 900)
    steady_mps = closed_forms.mean_speed_mps(FIELD, 1.0, 20.0, 0)
    first = speeds_at(found, 1)
    assert deviation(first, 10.5) < FAR, "at first all have the speed they drew"
    assert deviation(first, steady_mps) > 3 * FAR
    later = [speeds_at(found, t_s).mean() for t_s in (1, 60, 150)]
    assert later[0] > later[1] > later[2] > steady_mps
    uniform = np.full(ACROSS * UP, NODES / (ACROSS * UP))
    assert stats.chisquare(counted(found, 0), uniform).pvalue > 1 / SURE
    assert stats.chisquare(counted(found, 0), cell_shares(1.0) * NODES).pvalue < 1 / SURE
    paused = walked(model("uniform", 30), 30, 200)
    assert all(path.rows[1] == Row(30 * S, path.rows[0].x_mm, path.rows[0].y_mm)
               for path in paused.paths)  # fmt: skip


# What is refused, and nodes that stay.


def test_more_trips_than_a_movement_may_have() -> None:
    tiny = RandomWaypoint(
        field=Field(width_mm=10, height_mm=10), min_speed_mps=1.0, max_speed_mps=20.0, pause_ns=0,
        start="uniform",
    )  # fmt: skip
    with pytest.raises(StudyError, match="too many trips: wanted at most 1000000 in all, got ab"):
        random_waypoint.movement(tiny, nodes=46, seed=1, until_ns=900 * S)


@pytest.mark.parametrize("drawn", [model(), Stationary(field=FIELD)])
def test_a_cell_can_hold_a_model(drawn: RandomWaypoint | Stationary) -> None:
    kept = json.loads(json.dumps(fields.to_dict(drawn)))
    assert fields.build(RandomWaypoint | Stationary, kept, "mobility") == drawn


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (
            0.0,
            20.0,
            (
                "too slow a minimum speed: wanted at least 0.001 m/s, got 0 m/s (with a minimum"
                " of 0 there is no steady state: nodes get slower for as long as they move)"
            ),
        ),
        (
            5.0,
            4.0,
            "no such maximum speed: wanted from 5 m/s, the minimum, to 340 m/s, got 4 m/s",
        ),
        (
            1.0,
            math.inf,
            "no such maximum speed: wanted from 1 m/s, the minimum, to 340 m/s, got inf m/s",
        ),
        (
            1.0,
            math.nan,
            "no such maximum speed: wanted from 1 m/s, the minimum, to 340 m/s, got nan m/s",
        ),
    ],
)
def test_speeds_that_cannot_be(low: float, high: float, said: str) -> None:
    with pytest.raises(StudyError) as caught:
        model(low=low, high=high)
    assert str(caught.value) == said


def test_a_pause_is_not_negative() -> None:
    with pytest.raises(StudyError, match="negative pause: wanted 0 ns or more, got -1000000000 ns"):
        model(pause_s=-1)


def test_nodes_that_stay_are_placed_uniformly() -> None:
    found = stationary.movement(Stationary(field=FIELD), nodes=NODES, seed=SEED)
    assert {len(path.rows) for path in found.paths} == {1}
    uniform = np.full(ACROSS * UP, NODES / (ACROSS * UP))
    assert stats.chisquare(counted(found, 0), uniform).pvalue > 1 / SURE
    assert counted(found, 900).tolist() == counted(found, 0).tolist()
    more = stationary.movement(Stationary(field=FIELD), nodes=NODES + 1, seed=SEED)
    assert more.paths[:NODES] == found.paths


def test_a_stream_is_of_its_purpose() -> None:
    one, other = Stream(1, "speeds"), Stream(1, "places")
    numbers = [one.uniform() for _ in range(3)]
    assert numbers != [other.uniform() for _ in range(3)]
    again = Stream(1, "speeds")
    assert numbers == [again.uniform() for _ in range(3)]
    assert all(0 <= number < 1 for number in numbers)
    assert {Stream(n, "whole").whole(2) for n in range(40)} == {0, 1, 2}
