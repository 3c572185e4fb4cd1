"""Runs of OMNeT++'s files as readings: scalars, statistics' fields and vectors. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from model.errors import ParseError
from model.run_files.comparing.brought import (
    KnownPoint,
    Reading,
    ResultsMapping,
    Sought,
    Span,
    SummaryReading,
    Take,
)
from simulators.results.names import matches
from simulators.results.numbers import possible
from simulators.results.omnetpp import Kept, OmnetRun, Samples, read
from simulators.results.places import Lookup, Places
from simulators.results.streams import Stream

_MOST_NAMED = 6
_TOGETHER: dict[Take, Callable[[list[float]], float]] = {
    "sum": math.fsum, "mean": lambda these: math.fsum(these) / len(these), "min": min, "max": max,
    "last": lambda these: these[-1], "only": lambda these: these[0],
}  # fmt: skip


def omnet_readings(
    stream: Stream, mapping: ResultsMapping, places: Places, lookup: Lookup, name: str
) -> Iterator[Reading | SummaryReading]:
    """Yield what each run of a file gives.

    Raises:
        ParseError: no such file, or a number that is asked for is not there; file, line and reason.
    """

    def wanted(module: str, number: str) -> bool:
        return any(_is(one, module, number) for one in mapping.sought)

    for run in read(stream, wanted=wanted, span=places.span(lookup, stream.where)):

        def of_run(part: str, run: OmnetRun = run) -> str | None:
            return next(
                (
                    told
                    for told in (lookup(part), run.settings.get(part), run.attributes.get(part))
                    if told is not None
                ),
                None,
            )

        place = places.find(of_run, run.where)
        metrics = {}
        for one in mapping.sought:
            found = [kept for kept in run.kept if _is(one, kept.module, kept.name)]
            value = _together(run, one, found)
            if value is not None:
                per = _counted(found, place, places).length_s if one.per_second else 1.0
                metrics[one.metric] = possible(
                    value * one.factor / per, one.bounds, found[0].where,
                    f"{one.metric} of {found[0].module} {found[0].name}",
                )  # fmt: skip
        if not metrics:
            raise ParseError(
                "none of the numbers asked for", where=run.where,
                wanted="; ".join(
                    f"{one.module} {one.name}" for one in mapping.sought[:_MOST_NAMED]
                ),
            )  # fmt: skip
        replicate = places.replicate(of_run, run.where) or f"{name}: {run.name}"
        yield Reading(where=run.where, point=place.point, replicate=replicate, metrics=metrics)


def _counted(found: list[Kept], place: KnownPoint, places: Places) -> Span:
    """Return what a total is of: of a vector's samples those of the study's time were taken."""
    samples = any(isinstance(kept.value, Samples) for kept in found)
    return place.span if samples else places.totals_of(place)


def _is(one: Sought, module: str, number: str) -> bool:
    return matches(one.module, module) and matches(one.name, number)


def _together(run: OmnetRun, one: Sought, found: list[Kept]) -> float | None:
    """Return the one value that several modules' numbers, or a vector's samples, make."""
    values = []
    for kept in found:
        value = kept.value
        least = value.least if isinstance(value, Samples) and value.count else value
        if isinstance(least, float) and least < 0 <= one.bounds.least:
            possible(least * one.factor, one.bounds, kept.where, f"{kept.name} of {kept.module}")
        if isinstance(value, Samples):
            value = _of_samples(kept, value, one.take)
        values.append(value)
    if not values:
        return None
    if one.take in ("only", "last") and len(values) > 1:
        raise ParseError(
            f"{len(values)} numbers for {one.metric}", where=found[1].where, wanted="one",
            got="; ".join(f"{kept.module} {kept.name}" for kept in found[:_MOST_NAMED]),
            hint="take: sum, mean, min or max in the mapping",
        )  # fmt: skip
    return _TOGETHER[one.take](values)


def _of_samples(kept: Kept, samples: Samples, take: Take) -> float:
    if not samples.count:
        raise ParseError(
            f"{kept.name} of {kept.module} has no sample in the time that is counted",
            where=kept.where,
        )
    if take == "only":
        raise ParseError(
            "a vector, and nothing says what to take of it", where=kept.where,
            wanted="take: sum, mean, min, max or last in the mapping",
        )  # fmt: skip
    return {
        "sum": samples.total, "mean": samples.total / samples.count, "min": samples.least,
        "max": samples.most, "last": samples.last,
    }[take]  # fmt: skip
