"""The ``mobility:`` of a study file: where its nodes are and how they move, and what must agree.

Invariants: a model has its own keys, but one that stands still may have those of random waypoint,
which say nothing there, so that a sweep can go from one model to the other. A pause is the nodes'
own time, which ``--scale`` does not shorten; nor does it what a file says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal

from pydantic import Field

from model import units
from model.ad_hoc import Ends, Start
from model.movement.paths import Field as NodesField
from model.movement.random_waypoint import RandomWaypoint
from model.movement.stationary import Stationary
from testbed.study.problems import Loc, Problem
from testbed.study.setting_types import DelayS, LengthM, Settings, SpeedMps, Text
from testbed.study.yaml_document import Document

TraceFormat = Literal["setdest", "bonnmotion"]
Model = Literal["random-waypoint", "stationary", "trace"]

#: The keys of each model, and those it must have.
KEYS: dict[Model, frozenset[str]] = {
    "random-waypoint": frozenset({"speed", "pause", "start"}),
    "stationary": frozenset(),
    "trace": frozenset({"file", "format"}),
}
NEEDED: dict[Model, tuple[str, ...]] = {
    "random-waypoint": ("speed", "pause"), "stationary": (), "trace": ("file",),
}  # fmt: skip
#: The start of random waypoint where a study says none.
DEFAULT_START: Start = "steady-state"
#: In the name of a file of movements: stands for each run's seed.
SEED = "{seed}"


class FieldSize(Settings):
    """The rectangle that nodes are in."""

    width_m: LengthM = Field(alias="width", description="a length such as '1000 m'")
    height_m: LengthM = Field(alias="height", description="a length such as '300 m'")


class Speed(Settings):
    """Between which speeds that of each trip is drawn, uniformly."""

    min_mps: SpeedMps = Field(alias="min", description="a speed above 0 such as '1 m/s'")
    max_mps: SpeedMps = Field(alias="max", description="a speed such as '20 m/s'")


class Mobility(Settings):
    """How nodes move; which keys a model must have, or cannot, :func:`mobility_problems` says."""

    model: Model = Field(
        description="random-waypoint, stationary, or trace for a file of movements"
    )
    field: FieldSize = Field(description="the rectangle that nodes are in: width and height")
    speed: Speed | None = Field(None, description="min and max, between which speeds are drawn")
    pause_s: DelayS | None = Field(
        None, alias="pause", description="a time between trips such as '30 s', or '0 s'"
    )
    start: Start | None = Field(
        None, description="steady-state (the default), or uniform as ns-2's setdest begins"
    )
    ends: Ends = Field("move", description="move, or stay: whether the first pair's nodes move")
    file: Text | None = Field(
        None, description="a file of movements beside the study file; {seed} in its name is each"
        " run's seed",
    )  # fmt: skip
    format: TraceFormat | None = Field(
        None, description="setdest or bonnmotion; told by the file's first line if not given"
    )


#: The Python name of each key.
_FIELDS = {(field.alias or name): name for name, field in Mobility.model_fields.items()}


def mobility_problems(mobility: Mobility, place: Loc, document: Document) -> Iterator[Problem]:
    """Yield what does not agree in a valid block; ``place`` is where it stands in the document.

    A trace without a file is one problem, whatever is there of another model instead.
    """
    is_lost = mobility.model == "trace" and mobility.file is None
    if is_lost:
        yield _no_file(mobility, place, document)
    for key in NEEDED[mobility.model]:
        if getattr(mobility, _FIELDS[key]) is None and key != "file":
            wanted = Mobility.model_fields[_FIELDS[key]].description or ""
            yield document.problem((*place, key), "missing key", wanted=wanted)
    for model, keys in KEYS.items():
        if model == mobility.model or (model, mobility.model) == ("random-waypoint", "stationary"):
            continue
        if is_lost:
            continue
        for key in sorted(keys):
            if getattr(mobility, _FIELDS[key]) is not None:
                yield document.problem(
                    (*place, key), f"a model {mobility.model} has no such key",
                    wanted=f"no such key, or model: {model}",
                )  # fmt: skip
    yield from _file_problems(mobility, place, document)
    speed = mobility.speed
    if speed is not None and speed.max_mps < speed.min_mps:
        yield document.problem(
            (*place, "speed", "max"), "less than the minimum",
            wanted=f"at least {units.format_speed(speed.min_mps)} (min)",
            got=units.format_speed(speed.max_mps),
        )  # fmt: skip


def _no_file(mobility: Mobility, place: Loc, document: Document) -> Problem:
    """Return the problem of a trace that names no file."""
    theirs = KEYS["random-waypoint"]
    other = [key for key in sorted(theirs) if getattr(mobility, _FIELDS[key]) is not None]
    return document.problem(
        (*place, "file"), "missing key",
        wanted=Mobility.model_fields["file"].description or "",
        got=f"{' and '.join(other)}, which only model: random-waypoint has" if other else "",
    )  # fmt: skip


def _file_problems(mobility: Mobility, place: Loc, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with a trace's keys themselves; nothing is looked for."""
    if mobility.model != "trace":
        return
    if mobility.ends == "stay":
        yield document.problem(
            (*place, "ends"), "nodes go where the file says, the first pair's too",
            wanted="move, or no such key", got="stay",
        )  # fmt: skip
    file = mobility.file or ""
    if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts:
        yield document.problem(
            (*place, "file"), "not below the study file's folder", got=units.shown(file),
            wanted="a path from there on, such as 'scenarios/one.tcl'",
            hint="so that a study and its files can be handed on; a link to the file will do",
        )  # fmt: skip
    for word in dict.fromkeys(re.findall(r"\{[^{}]*\}", file)):
        if word != SEED:
            yield document.problem(
                (*place, "file"), "an unknown word in braces", wanted=SEED, got=units.shown(word)
            )


def file_of(file: str, seed: int) -> str:
    """Return the file that nodes follow with a seed."""
    return file.replace(SEED, str(seed))


def field_of(mobility: Mobility) -> NodesField:
    """Return the field in whole millimetres."""
    return NodesField(
        width_mm=units.metres_to_mm(mobility.field.width_m),
        height_mm=units.metres_to_mm(mobility.field.height_m),
    )


def drawn_by(mobility: Mobility) -> RandomWaypoint | Stationary:
    """Return the model that draws the movement of a block without problems; not for a trace.

    Raises:
        ValueError: the movement is read from a file.
    """
    field = field_of(mobility)
    if mobility.model == "stationary":
        return Stationary(field=field)
    if mobility.model == "trace" or mobility.speed is None or mobility.pause_s is None:
        raise ValueError(f"no model draws the movement of {mobility.model}")
    return RandomWaypoint(
        field=field, min_speed_mps=mobility.speed.min_mps, max_speed_mps=mobility.speed.max_mps,
        pause_ns=units.seconds_to_ns(mobility.pause_s), start=mobility.start or DEFAULT_START,
    )  # fmt: skip
