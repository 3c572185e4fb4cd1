"""What ``groundtruth export`` writes, read back without a mapping: CSV of metrics, and scalars.

Invariants: numbers are those that were exported, to the last digit; cells that did not count then
are left out, and what was unknown stays so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from model.errors import ParseError
from model.run_files.comparing.brought import FileRead, Format, KnownPoint, Reading
from simulators.results import omnetpp, tables
from simulators.results.formats import format_of
from simulators.results.numbers import number
from simulators.results.places import same_setting
from simulators.results.streams import Stream, head_of, opened

#: Columns that say that a table is one of metrics, and what an exported run says of itself.
COLUMNS = frozenset({"study", "cell", "replicate", "seed", "excluded", "metric", "value"})
ATTRIBUTES = frozenset({"configname", "cell", "seedset", "kernel"})
_MAPPING = "--mapping FILE; --new-mapping FILE writes one to start from"


def read(path: Path, study: str, points: Sequence[KnownPoint]) -> tuple[FileRead, list[Reading]]:
    """Return what an exported file gives, a reading for each metric or cell.

    Raises:
        ParseError: it is none, or of another study; file, line and reason.
    """
    kind = format_of(head_of(path), str(path))
    if kind not in _READERS:
        raise _needs_mapping(str(path))
    with opened(path) as stream:
        found = list(_READERS[kind](stream, study, points))
    file = FileRead(
        file=str(path), format=kind, stored_bytes=stream.stored_bytes,
        sha256=stream.digest.hexdigest(),
    )  # fmt: skip
    return file, found


def _needs_mapping(where: str) -> ParseError:
    return ParseError(
        "not an export of this program, so it needs a mapping", where=where, wanted=_MAPPING
    )


def _of_table(stream: Stream, study: str, points: Sequence[KnownPoint]) -> Iterator[Reading]:
    for line, row in tables.rows(stream):
        where = f"{stream.where}:{line}"
        if not row.keys() >= COLUMNS:
            raise _needs_mapping(where)
        _check_study(row["study"], study, where)
        if row["excluded"] or not row["value"]:
            continue
        settings = {name.removeprefix("point."): text for name, text in row.items() if text}
        metric = row["metric"]
        yield Reading(
            where=where, point=_point(settings, points, where).point,
            replicate=_name(row["seed"], row["cell"]),
            metrics={metric: number(row["value"], where, metric[:60])},
        )  # fmt: skip


def _of_scalars(stream: Stream, study: str, points: Sequence[KnownPoint]) -> Iterator[Reading]:
    span = points[0].span
    for run in omnetpp.read(stream, wanted=lambda module, _: module == study, span=span):
        if not run.attributes.keys() >= ATTRIBUTES:
            raise _needs_mapping(run.where)
        _check_study(run.attributes["configname"], study, run.where)
        if "excluded" in run.attributes:
            continue
        metrics = {kept.name: kept.value for kept in run.kept if isinstance(kept.value, float)}
        yield Reading(
            where=run.where, point=_point(run.settings, points, run.where).point, metrics=metrics,
            replicate=_name(run.attributes["seedset"], run.attributes["cell"]),
        )  # fmt: skip


_READERS = {"csv": _of_table, "omnetpp": _of_scalars}
FORMATS: frozenset[Format] = frozenset({"csv", "omnetpp"})


def _check_study(got: str, wanted: str, where: str) -> None:
    if got != wanted:
        raise ParseError("of another study", where=where, wanted=wanted, got=repr(got[:60]))


def _name(seed: str, cell: str) -> str:
    return f"seed {seed[:30]}, cell {cell[:60]}"


def _point(settings: Mapping[str, str], points: Sequence[KnownPoint], where: str) -> KnownPoint:
    for one in points:
        there = one.point.as_dict()
        if there.keys() <= settings.keys() and all(
            same_setting(value, settings[name]) for name, value in there.items()
        ):
            return one
    names = dict.fromkeys(name for one in points for name, _ in one.point.settings)
    raise ParseError(
        "no point of the run", where=where,
        got=", ".join(f"{name} {settings.get(name, '-')[:40]}" for name in names),
    )  # fmt: skip
