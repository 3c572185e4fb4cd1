"""Fuzzed: the readers of movements, of users' tools and the lab's own file, and what follows."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from model.movement import measures
from model.movement.closeness import links
from model.movement.movement_csv import movement_of, text_of
from model.movement.paths import Field, Movement
from model.movement.random_waypoint import RandomWaypoint, movement
from simulators.movements.claimed import Claimed
from simulators.movements.read import Format, read
from testbed.study.form_validation import validate
from testbed.study.mobility_form import Mobility, mobility_problems
from testbed.study.problems import StudyFileError
from testbed.study.yaml_document import parse_document
from tests.fuzz.mutate import Mutate, bytes_input, text_input
from tests.fuzz.target import Target, text

NODES, UNTIL_NS = 3, 100_000_000_000
FIELD = Field(width_mm=1_000_000, height_mm=300_000)
SETDEST = b"""\
# nodes: 3
$node_(0) set X_ 100.0
$node_(0) set Y_ 50.0
$node_(0) set Z_ 0.0
$node_(1) set X_ 700
$node_(1) set Y_ 200
$node_(2) set X_ 1.5
$node_(2) set Y_ 299.9
$god_ set-dist 0 1 3
$ns_ at 2.000000000000 "$node_(0) setdest 130.0 90.0 5.0"
$ns_ at 4.0 "$god_ set-dist 0 1 2"
$ns_ at 20.0 "$node_(2) setdest 130.0 290.0 10.0"
$ns_ at 25.0 "$node_(2) setdest 230.0 140.0 20.0"
$ns_ at 27.0 "$node_(2) setdest 0.0 0.0 0.0"
"""
BONNMOTION = b"0 100 50 2 100 50 12 130 90\n0.0 700.0 200.0 100 700 200\n# c\n5 1 1 9 2 2 9 2 2\n"
BLOCK = b"""\
mobility:
  model: random-waypoint
  field: {width: 1000 m, height: 300 m}
  speed: {min: 1 m/s, max: 20 m/s}
  pause: 30 s
  start: uniform
"""


def movements(place: Path) -> dict[str, Target]:
    """Return the targets; the files that are read lie below ``place``."""
    place.mkdir(parents=True, exist_ok=True)
    drawn = movement(
        RandomWaypoint(field=FIELD, min_speed_mps=1.0, max_speed_mps=20.0, pause_ns=10**9,
                       start="steady-state"),
        nodes=NODES, seed=1, until_ns=UNTIL_NS,
    )  # fmt: skip
    packed = [gzip.compress(BONNMOTION), gzip.compress(SETDEST)]
    return {
        "setdest": Target(
            corpus=[SETDEST], mutate=_both, run=_reader(place / "s", "setdest"), share=10
        ),
        "bonnmotion": Target(
            corpus=[BONNMOTION], mutate=_both, run=_reader(place / "b", "bonnmotion"), share=10
        ),
        "packed movements": Target(
            corpus=packed, mutate=bytes_input, run=_reader(place / "p", "bonnmotion"), share=4
        ),
        "movement.csv": Target(
            corpus=[text_of(drawn).encode()], mutate=_both,
            run=lambda content: _used(movement_of(text(content), "m.csv")), share=8,
        ),
        "mobility": Target(corpus=[BLOCK], mutate=text_input, run=_block, share=8),
    }  # fmt: skip


def _both(rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    way: Mutate = text_input if rng.random() < 0.8 else bytes_input
    return way(rng, corpus)


def _reader(file: Path, form: Format) -> Callable[[bytes], object]:
    claimed = Claimed(nodes=NODES, field=FIELD, until_ns=UNTIL_NS)

    def run(content: bytes) -> object:
        file.write_bytes(content)
        found = read(file, form, claimed).movement
        assert movement_of(text_of(found), "m.csv") == found
        return _used(found)

    return run


def _used(found: Movement) -> object:
    met = links(found, 250_000, UNTIL_NS)
    hops = measures.hops_over_time(met, 0, found.nodes - 1)
    return (
        measures.speeds(found, 0, UNTIL_NS), measures.mean_neighbours(met),
        measures.connected_frac(hops, UNTIL_NS),
    )  # fmt: skip


def _block(content: bytes) -> object:
    document = parse_document(text(content), "w.yaml")
    found, problems = validate(Mobility, document.data.get("mobility"), document, ("mobility",))
    if found is not None:
        problems = list(mobility_problems(found, ("mobility",), document))
    if problems:
        raise StudyFileError(problems)
    return found
