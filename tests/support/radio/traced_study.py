"""A small study whose nodes follow a file of movements: written to a folder, edited, read."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from model.cell import Cell
from testbed.points.load_study import Study, load_study
from testbed.points.resolve import resolve_cell
from tests.support.ad_hoc_study import edited
from tests.support.study_file import Edit

#: Node 0 stands at the corner, 4 is 200 m from it. Node 1 is 200 m from 4, and from 5 s on goes
#: straight away from both at 20 m/s: at 7.5 s it is 250 m from 4, from 20 s on it stands.
TRACE = """\
# six nodes
$node_(0) set X_ 0
$node_(0) set Y_ 0
$node_(1) set X_ 400
$node_(1) set Y_ 0
$node_(2) set X_ 0
$node_(2) set Y_ 100
$node_(3) set X_ 100
$node_(3) set Y_ 100
$node_(4) set X_ 200
$node_(4) set Y_ 0
$node_(5) set X_ 700
$node_(5) set Y_ 100
$ns_ at 5.0 "$node_(1) setdest 700 0 20"
"""
MOVEMENT = """\
t_ns,node,x_mm,y_mm
0,0,0,0
0,1,400000,0
5000000000,1,400000,0
20000000000,1,700000,0
0,2,0,100000
0,3,100000,100000
0,4,200000,0
0,5,700000,100000
"""
NAME = "walk.tcl"
FOLLOWS: tuple[Edit, ...] = (
    ("model: random-waypoint", "model: trace"),
    ("    speed: {min: 1 m/s, max: 5 m/s}\n    pause: 0 s\n", f"    file: {NAME}\n"),
)


def written(place: Path, *edits: Edit, trace: str | bytes = TRACE, name: str = NAME) -> Path:
    """Write a study file into a folder, and a trace beside it; return the study's path."""
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_bytes(trace if isinstance(trace, bytes) else trace.encode())
    path = place / "a.yaml"
    path.write_text(edited(*FOLLOWS, *edits))
    return path


def read(place: Path, *edits: Edit, trace: str | bytes = TRACE, name: str = NAME) -> Study:
    """Return the study of a folder that was written."""
    return load_study(written(place, *edits, trace=trace, name=name))


def cell_of(
    study: Study, *, seed: int = 1, purpose: Literal["measure", "calibrate"] = "measure",
    lab: dict[str, str] | None = None, point: int = 0,
) -> Cell:  # fmt: skip
    """Return one cell of a study."""
    return resolve_cell(
        study, study.points[point], seed=seed, replicate=1, lab=lab or {}, purpose=purpose
    )
