"""Every number carries its unit in its name: in cells, study files and host profiles."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from model import ad_hoc, cell, links
from model.movement import closeness, measures, paths, random_waypoint
from testbed.labs.confinement import windows
from testbed.planning import plan
from testbed.study import ad_hoc_form, host_profile_form, mobility_form, study_form, vocabulary

MODULES = [
    cell,
    links,
    ad_hoc,
    ad_hoc_form,
    study_form,
    host_profile_form,
    plan,
    windows,
    paths,
    random_waypoint,
    closeness,
    measures,
    mobility_form,
]
SUFFIXES = (
    "_bps", "_ns", "_us", "_ms", "_s", "_bytes", "_pkts", "_packets", "_segments", "_frac", "_pct",
    "_m", "_mm", "_mps", "_db",
)  # fmt: skip
#: Numbers that count or name something and so have no unit.
COUNTS = {
    "attempts": "how often a frame is sent",
    "retry_limit": "how often a frame is sent",
    "long_attempts": "how often a frame is sent",
    "long_retry_limit": "how often a frame is sent",
    "schema": "version of a format",
    "year": "a calendar year",
    "seed": "names a random sequence",
    "seeds": "names of random sequences",
    "replicate": "number of a repetition",
    "rounds": "numbers of replicates",
    "sources": "number of hosts",
    "destinations": "number of hosts",
    "source": "index of a host",
    "destination": "index of a host",
    "port": "number of a port",
    "pairs": "number of host pairs",
    "nodes": "number of nodes",
    "hops": "number of links",
    "begun": "pairs of nodes",
    "ended": "pairs of nodes",
    "pair": "number of a host pair",
    "copies": "number of flows",
    "queues": "number of queues that flows are hashed to",
    "streams": "number of SCTP streams",
    "episode": "number of a loss episode",
    "first_pkt": "number of a packet",
    "base_cells": "number of cells",
    "at_least": "number of seeds",
    "at_most": "number of seeds",
    "half_width": "in the unit of the metric named beside it",
}
#: Names of knobs are the kernel's own where they do not end in a unit.
KERNEL_NAMES = {
    "hb_disable", "nodelay", "cwnd", "initcwnd", "initrwnd", "mtu", "quickack", "reordering",
    "ssthresh", "window", "advmss",
}  # fmt: skip


def is_number(annotation: Any) -> bool:
    """Return whether a field holds numbers: int, float, or a list or union with one."""
    if annotation in (int, float):
        return True
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType, tuple, list, typing.Annotated):
        return any(is_number(argument) for argument in typing.get_args(annotation))
    return False


def numeric_fields(module: types.ModuleType) -> Iterator[tuple[str, str]]:
    """Yield (class, field) of every numeric field a module defines."""
    for name, kind in inspect.getmembers(module, inspect.isclass):
        if kind.__module__ != module.__name__:
            continue
        if dataclasses.is_dataclass(kind):
            hints = typing.get_type_hints(kind)
            fields = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
        elif issubclass(kind, BaseModel):
            fields = {field: info.annotation for field, info in kind.model_fields.items()}
        else:
            continue
        yield from ((name, field) for field, hint in fields.items() if is_number(hint))


FIELDS = [(f"{m.__name__}.{c}", f) for m in MODULES for c, f in numeric_fields(m)]


@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_a_number_names_its_unit(kind: str, field: str) -> None:
    assert field.endswith(SUFFIXES) or field in COUNTS, f"{kind}.{field} has no unit in its name"


def test_the_walk_finds_numbers() -> None:
    assert ("model.links.Direction", "rate_bps") in FIELDS
    assert ("testbed.study.study_form.Reverse", "owd_s") in FIELDS
    assert ("testbed.study.study_form.StudyFile", "seeds") in FIELDS


def test_the_exceptions_are_in_use() -> None:
    assert set(COUNTS) == {field for _, field in FIELDS if not field.endswith(SUFFIXES)}


@pytest.mark.parametrize(
    "name",
    [
        name
        for options in vocabulary.KNOB_OPTIONS.values()
        for name, kind in options.items()
        if kind == vocabulary.INTEGER
    ],
)
def test_an_option_names_its_unit_or_is_the_kernels(name: str) -> None:
    assert name.endswith(SUFFIXES) or name in KERNEL_NAMES
