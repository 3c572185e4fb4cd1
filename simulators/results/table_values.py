"""Rows of CSV as readings: replicates, a row each, or means with their spread. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from model.errors import ParseError
from model.run_files.comparing.brought import Reading, ResultsMapping, Sought, SummaryReading
from simulators.results import tables
from simulators.results.numbers import number, possible, whole
from simulators.results.places import Lookup, Places
from simulators.results.streams import Stream

MOST_REPLICATES = 10**9


def table_readings(
    stream: Stream, mapping: ResultsMapping, places: Places, lookup: Lookup, name: str
) -> Iterator[Reading | SummaryReading]:
    """Yield what each row gives.

    Raises:
        ParseError: no such table; file, line and reason.
    """
    for line, row in tables.rows(stream, mapping.delimiter):
        where = f"{stream.where}:{line}"

        def of_row(part: str, row: dict[str, str] = row) -> str | None:
            told = lookup(part)
            return row.get(part) if told is None else told

        place = places.find(of_row, where)
        totals_s = places.totals_of(place).length_s
        values = [one for one in mapping.sought if not one.summary]
        metrics = {
            one.metric: _metric(row, one, where, one.factor / _per(one, totals_s))
            for one in values
        }
        if metrics:
            replicate = places.replicate(of_row, where) or f"{name}:{line}"
            yield Reading(where=where, point=place.point, replicate=replicate, metrics=metrics)
        for one in mapping.sought:
            if one.summary:
                scale = one.factor / _per(one, totals_s)
                n = _n(row, one, where)
                yield SummaryReading(
                    where=where, point=place.point, metric=one.metric, n=n,
                    mean=_metric(row, one, where, scale),
                    sd=_sd(row, one, n, where, scale),
                )  # fmt: skip


def _per(one: Sought, totals_s: float) -> float:
    return totals_s if one.per_second else 1.0


def _metric(row: dict[str, str], one: Sought, where: str, scale: float) -> float:
    value = _value(row, one.column, where) * scale
    return possible(value, one.bounds, where, f"{one.metric} of column {one.column}")


def _value(row: dict[str, str], column: str, where: str, *, least: float | None = None) -> float:
    if column not in row:
        raise ParseError(
            "no such column", where=where, wanted=repr(column),
            got=", ".join(name[:30] for name in list(row)[:12]),
        )  # fmt: skip
    return number(row[column], where, f"column {column}", least=least)


def _n(row: dict[str, str], one: Sought, where: str) -> int:
    text = row.get(one.n, one.n)
    return whole(text, where, f"n of {one.metric}", least=1, most=MOST_REPLICATES)


def _sd(row: dict[str, str], one: Sought, n: int, where: str, scale: float) -> float | None:
    """Return the standard deviation; of one replicate there is none."""
    if n == 1 or not one.sd:
        return None
    return _value(row, one.sd, where, least=0) * abs(scale)
