"""The ``mobility:`` of a study: what is read, and what is refused at its line."""

from __future__ import annotations

import pytest

from model.movement.paths import Field
from model.movement.random_waypoint import RandomWaypoint
from model.movement.stationary import Stationary
from testbed.study.form_validation import validate
from testbed.study.mobility_form import Mobility, drawn_by, field_of, mobility_problems
from testbed.study.yaml_document import parse_document

WALKS = """\
mobility:
  model: random-waypoint
  field: {width: 1000 m, height: 0.3 km}
  speed: {min: 1 m/s, max: 20 m/s}
  pause: 30 s
"""
STILL = "mobility: {model: stationary, field: {width: 1000 m, height: 300 m}}\n"
TRACE = """\
mobility:
  model: trace
  field: {width: 1000 m, height: 300 m}
  file: scenario.movements.gz
  format: bonnmotion
"""
FIELD = Field(width_mm=1_000_000, height_mm=300_000)


def read(text: str) -> tuple[Mobility | None, list[str]]:
    """Return the block of a document, and what is wrong with it."""
    document = parse_document(text, "w.yaml")
    found, problems = validate(Mobility, document.data["mobility"], document, ("mobility",))
    if found is not None:
        problems = list(mobility_problems(found, ("mobility",), document))
    return found, [problem.message() for problem in problems]


def valid(text: str) -> Mobility:
    found, problems = read(text)
    assert problems == []
    assert found is not None
    return found


def test_random_waypoint() -> None:
    wanted = RandomWaypoint(
        field=FIELD, min_speed_mps=1.0, max_speed_mps=20.0, pause_ns=30_000_000_000,
        start="steady-state",
    )  # fmt: skip
    assert drawn_by(valid(WALKS)) == wanted
    uniform = drawn_by(valid(WALKS + "  start: uniform\n"))
    assert isinstance(uniform, RandomWaypoint)
    assert uniform.start == "uniform"


def test_nodes_that_stay_may_have_what_would_move_them() -> None:
    assert drawn_by(valid(STILL)) == Stationary(field=FIELD)
    assert drawn_by(valid(WALKS.replace("random-waypoint", "stationary"))) == Stationary(
        field=FIELD
    )


def test_a_trace() -> None:
    found = valid(TRACE)
    assert (found.file, found.format) == ("scenario.movements.gz", "bonnmotion")
    assert field_of(found) == FIELD
    assert valid(TRACE.replace("  format: bonnmotion\n", "")).format is None
    with pytest.raises(ValueError, match="no model draws the movement of trace"):
        drawn_by(found)


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        (
            WALKS, "random-waypoint", "random-walk",
            ("2: mobility.model: unknown model: wanted one of random-waypoint, stationary, trace,"
            " got 'random-walk' (did you mean random-waypoint?)"),
        ),
        (
            WALKS, "min: 1 m/s", "min: 0 m/s",
            ("4: mobility.speed.min: out of range: wanted at least 0.001 m/s, got '0 m/s'"
            " (with a minimum of 0 there is no steady state: nodes get slower for as long as they"
            " move)"),
        ),
        (
            WALKS, "max: 20 m/s", "max: 0.5 m/s",
            ("4: mobility.speed.max: less than the minimum: wanted at least 1 m/s (min),"
            " got 0.5 m/s"),
        ),
        (
            WALKS, "max: 20 m/s", "max: 400 m/s",
            "4: mobility.speed.max: out of range: wanted at most 340 m/s, got '400 m/s'",
        ),
        (
            WALKS, "max: 20 m/s", "max: 72 km/h",
            ("4: mobility.speed.max: unknown unit 'km/h': wanted a speed such as '20 m/s',"
            " got '72 km/h' (write m/s: 36 km/h are 10 m/s)"),
        ),
        (
            WALKS, "{min: 1 m/s, max: 20 m/s}", "20 m/s",
            "4: mobility.speed: wrong kind: wanted a mapping, got '20 m/s'",
        ),
        (
            WALKS, "pause: 30 s", "pause: 30",
            "5: mobility.pause: no unit: wanted a time such as '250 ms', got 30",
        ),
        (
            WALKS, "  pause: 30 s\n", "",
            "1: mobility.pause: missing key: wanted a time between trips such as '30 s', or '0 s'",
        ),
        (
            WALKS, "pause: 30 s", "pause: 30 s\n  file: x",
            ("6: mobility.file: a model random-waypoint has no such key: wanted no such key,"
            " or model: trace"),
        ),
        (
            WALKS, "pause: 30 s", "pause: 30 s\n  begin: uniform",
            ("6: mobility.begin: unknown key: wanted one of model, field, speed, pause, start,"
            " ends, file, format"),
        ),
        (
            WALKS, "pause: 30 s", "pause: 30 s\n  start: steady",
            ("6: mobility.start: unknown start: wanted one of steady-state, uniform, got 'steady'"
            " (did you mean steady-state?)"),
        ),
        (
            WALKS, "width: 1000 m", "width: 0 m",
            "3: mobility.field.width: out of range: wanted more than 0 m, got '0 m'",
        ),
        (
            WALKS, "height: 0.3 km", "height: 1001 km",
            "3: mobility.field.height: out of range: wanted at most 1000 km, got '1001 km'",
        ),
        (
            STILL, ", field: {width: 1000 m, height: 300 m}", "",
            ("1: mobility.field: missing key: wanted the rectangle that nodes are in: width and"
            " height"),
        ),
        (
            TRACE, "  file: scenario.movements.gz\n", "",
            ("1: mobility.file: missing key: wanted a file of movements beside the study file;"
             " {seed} in its name is each run's seed"),
        ),
        (
            TRACE, "  file: scenario.movements.gz\n",
            "  pause: 0 s\n  speed: {min: 1 m/s, max: 2 m/s}\n",
            ("1: mobility.file: missing key: wanted a file of movements beside the study file;"
             " {seed} in its name is each run's seed, got pause and speed, which only model:"
             " random-waypoint has"),
        ),
        (
            TRACE, "scenario.movements.gz", "/tmp/a",
            ("4: mobility.file: not below the study file's folder: wanted a path from there on,"
             " such as 'scenarios/one.tcl', got '/tmp/a' (so that a study and its files can be"
             " handed on; a link to the file will do)"),
        ),
        (
            TRACE, "scenario.movements.gz", "a/../../b",
            ("4: mobility.file: not below the study file's folder: wanted a path from there on,"
             " such as 'scenarios/one.tcl', got 'a/../../b' (so that a study and its files can be"
             " handed on; a link to the file will do)"),
        ),
        (
            TRACE, "scenario.movements.gz", "a-{Seed}-{seed}",
            "4: mobility.file: an unknown word in braces: wanted {seed}, got '{Seed}'",
        ),
        (
            TRACE, "format: bonnmotion", "format: bonnmotion\n  ends: stay",
            ("6: mobility.ends: nodes go where the file says, the first pair's too: wanted move,"
             " or no such key, got stay"),
        ),
        (
            TRACE, "bonnmotion", "ns2",
            "5: mobility.format: unknown format: wanted one of setdest, bonnmotion, got 'ns2'",
        ),
        (
            TRACE, "format: bonnmotion", "format: bonnmotion\n  pause: 0 s",
            ("6: mobility.pause: a model trace has no such key: wanted no such key,"
            " or model: random-waypoint"),
        ),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, old: str, new: str, said: str) -> None:
    assert old in text
    assert read(text.replace(old, new))[1] == [f"w.yaml:{said}"]
