"""A movement on the page: few numbers, a picture at time 0, facts, and nothing that is fetched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.movement import random_waypoint
from model.movement.paths import Field, Movement, Path, Row
from model.movement.random_waypoint import RandomWaypoint
from reports.figures.moving.animation import animation, script, style
from reports.figures.moving.compact import compact, shown_routes, thinned
from reports.figures.moving.scene import Scene, facts
from tests.support.report_page import HOSTILE, Page

S = 1_000_000_000
FIELD = Field(width_mm=1_000_000, height_mm=300_000)
#: 0 and 2 stand 400 m apart; 1 goes from 0 towards 2, 5 m/s, and stays at 250 m.
WALKER = Path((Row(0, 0, 0), Row(50 * S, 250_000, 0)))
THREE = Movement((Path((Row(0, 0, 0),)), WALKER, Path((Row(0, 400_000, 0),))))


def scene(**changed: object) -> Scene:
    settings: dict[str, object] = {
        "movement": THREE, "field": FIELD, "range_mm": 250_000, "until_ns": 100 * S,
        "ends": (0, 2), "routes": ((0, ()), (30 * S, (0, 1, 2))), **changed,
    }  # fmt: skip
    return Scene(**settings)  # type: ignore[arg-type]


def test_steps_worked_by_hand() -> None:
    found = compact(THREE, 100 * S)
    assert found.steps == ((0, 0, 0), (0, 0, 0, 50_000, 2500, 0), (0, 4000, 0))
    assert found.tolerance_mm == 0


def test_rows_that_say_nothing_are_left_out() -> None:
    rows = [Row(t * S, t * 1000, 0) for t in range(10)]
    assert thinned(rows, 0) == [rows[0], rows[9]]
    # At the same places at another time: it was faster at first.
    rows[5] = Row(5 * S, 6000, 0)
    assert thinned(rows, 500) == [rows[0], rows[4], rows[5], rows[6], rows[9]]
    assert thinned(rows, 1000) == [rows[0], rows[9]]
    assert thinned(rows[:1], 0) == rows[:1]


@given(
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)), min_size=1, max_size=40),
    st.integers(0, 3000),
)
def test_what_is_left_is_within_the_tolerance(places: list[tuple[int, int]], most_mm: int) -> None:
    rows = [Row(number * S, *place) for number, place in enumerate(places)]
    path = Path(tuple(thinned(rows, most_mm)))
    for row in rows:
        x_mm, y_mm = path.at(row.t_ns)
        assert (x_mm - row.x_mm) ** 2 + (y_mm - row.y_mm) ** 2 <= (most_mm + 0.001) ** 2


def test_a_long_movement_is_small_or_made_so() -> None:
    settings = RandomWaypoint(
        field=FIELD, min_speed_mps=1.0, max_speed_mps=20.0, pause_ns=0, start="steady-state"
    )
    movement = random_waypoint.movement(settings, nodes=46, seed=1, until_ns=900 * S)
    found = animation(scene(movement=movement, until_ns=900 * S, ends=(0, 45), routes=()), "m", "t")
    assert len(found) < 50_000
    # A place a second, on a parabola: none of them is on the way between two others.
    bend = Path(tuple(Row(t * S, t * 1000, t * t // 3) for t in range(900)))
    dense = Movement((bend,) * 46)
    assert compact(dense, 900 * S, most_bytes=10**9).tolerance_mm == 0
    found = animation(scene(movement=dense, until_ns=900 * S, ends=(0, 45), routes=()), "m", "t")
    assert len(found) < 200_000
    assert "Places are shown to within 0.1 m." in found


def test_facts_worked_by_hand() -> None:
    assert dict(facts(scene())) == {
        "Nodes": "3",
        "Field": "1000 m \N{MULTIPLICATION SIGN} 300 m",
        "Range": "250 m",
        "Mean speed, pauses included": "0.833 m/s",  # 250 m in 300 s
        "Share of time paused": "83.3 %",
        # 0 and 1 all the time, 1 and 2 from 30 s on: 2 (100 + 70) / 300.
        "Mean number of nodes in range": "1.13",
        "Links that begin or end": "0.01 per second",
        "Share of time that links join 0 and 2": "70 %",
        "Fewest hops between them, mean": "2",
    }
    assert dict(facts(scene(range_mm=1)))["Fewest hops between them, mean"] == "none"


def test_the_picture_is_that_of_time_0() -> None:
    text = str(animation(scene(routes=((0, (0, 1, 2)),)), "m", "Three nodes"))
    page = Page(text)
    assert page.open == []
    marks = [attrs for tag, attrs in page.tags if tag == "circle"]
    # 1000 m are 720 px, with an edge of 12; y grows upwards, 300 m are 216 px.
    assert [(mark["class"], mark["cx"], mark["cy"]) for mark in marks] == [
        ("node end", "12.0", "228.0"), ("node", "12.0", "228.0"), ("node end", "300.0", "228.0"),
    ]  # fmt: skip
    near, way = (attrs["d"] for tag, attrs in page.tags if tag == "path")
    assert near == "M12.0 228.0L12.0 228.0"
    assert way == "M12.0 228.0L12.0 228.0L300.0 228.0"
    assert "0.0 s: 1 links; route 0 \N{EN DASH} 1 \N{EN DASH} 2" in page.words
    (controls,) = (attrs for _, attrs in page.tags if attrs.get("class") == "controls")
    assert "hidden" in controls
    data = json.loads(page.scripts[0])
    assert data["range"] == 2500
    assert data["routes"] == [[0, 0, 1, 2]]
    assert "0.0 s: 1 links; no route" in Page(str(animation(scene(), "m", "t"))).words


def test_names_cannot_be_more_than_text() -> None:
    text = str(animation(scene(names=("a", HOSTILE, "</script>")), "m", HOSTILE))
    page = Page(text)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "img" not in [tag for tag, _ in page.tags]
    assert json.loads(page.scripts[0])["names"] == ["a", HOSTILE, "</script>"]


def test_nothing_is_fetched() -> None:
    for text in (script(), style(), str(animation(scene(), "m", "t"))):
        assert not any(word in text for word in ("http", "url(", "import", "fetch", "src="))


def test_scenes_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="2 names for 3 nodes"):
        scene(names=("a", "b"))
    with pytest.raises(ValueError, match="no such node: 3"):
        scene(ends=(0, 3))
    with pytest.raises(ValueError, match="routes whose times descend"):
        scene(routes=((5, ()), (4, ())))
    assert scene().route_at(29 * S) == ()
    assert scene().route_at(30 * S) == (0, 1, 2)
    assert scene(names=("a", "b", "c")).name(2) == "c"


MS = 1_000_000


def test_routes_worked_by_hand() -> None:
    way = ((0, ()), (2 * MS, (0, 1)), (3 * MS, ()), (14 * MS, (0, 1)), (S, ()))
    found = shown_routes([way, ((0, ()),)])
    assert found.step_ms == 1
    assert found.ways == (((0,), (2, 0, 1), (3,), (14, 0, 1), (1000,)), ((0,),))
    # Of the three in the first 10 ms the last is left: no route, at its own time.
    found = shown_routes([way], most_bytes=30)
    assert found.step_ms == 10
    assert found.ways == (((3,), (14, 0, 1), (1000,)),)


def test_routes_that_change_all_the_time_are_small_or_made_so() -> None:
    whole = tuple(range(3))
    way = tuple((t * 20 * MS, whole if t % 2 else ()) for t in range(45_000))  # over 900 s
    found = str(animation(scene(routes=way, others=(("back", way),), until_ns=900 * S), "m", "t"))
    assert len(found) < 160_000
    assert "Of routes that begin within 1000 ms the last is shown." in found


def test_ways_can_be_chosen_and_their_breaks_gone_to() -> None:
    others = ((HOSTILE, ((0, (2, 1, 0)),)),)
    page = Page(str(animation(scene(way="main, data", others=others), "m", "t")))
    options = [attrs["value"] for tag, attrs in page.tags if tag == "option"]
    assert options[-2:] == ["0", "1"]
    assert "img" not in [tag for tag, _ in page.tags]
    buttons = [attrs["data-do"] for tag, attrs in page.tags if tag == "button"]
    assert buttons == ["play", "back", "on"]
    data = json.loads(page.scripts[0])
    assert data["routes"] == [[0], [30_000, 0, 1, 2]]
    assert data["others"] == [[[0, 2, 1, 0]]]


def test_without_routes_it_says_why() -> None:
    text = str(animation(scene(routes=(), no_routes="nobody wrote them down"), "m", "t"))
    assert "No routes are shown: nobody wrote them down." in text
    assert "break" not in text
    with pytest.raises(ValueError, match="routes whose times descend"):
        scene(others=(("back", ((5, ()), (4, ()))),))
    with pytest.raises(ValueError, match="no such node: 3"):
        scene(others=(("back", ((0, (0, 3)),)),))
