"""What ``groundtruth export`` writes, read back without a mapping: CSV of metrics, and scalars.

Invariants: numbers are those that were exported, to the last digit; cells that did not count then
are left out, and what was unknown stays so; all are of one kernel and lab, for they become one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.errors import ParseError
from model.run_files.comparing.brought import FileRead, Format, KnownPoint, Reading
from model.run_files.metrics.declared import Bounds
from model.run_files.point import Point
from simulators.results import omnetpp, tables
from simulators.results.formats import format_of
from simulators.results.numbers import number, possible
from simulators.results.places import Texts, same_setting, scalar
from simulators.results.streams import Stream, head_of, opened

#: Columns that say that a table is one of metrics, and what an exported run says of itself.
COLUMNS = frozenset({
    "study", "cell", "replicate", "seed", "kernel_release", "lab", "excluded", "metric", "value",
})  # fmt: skip
ATTRIBUTES = frozenset({"configname", "cell", "seedset", "kernel", "lab.name"})
_MAPPING = "--mapping FILE; --new-mapping FILE writes one to start from"


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What a line or a run of an export gives, and on what it was made, in words."""

    made_on: str
    reading: Reading


class OwnExports:
    """Reads exports of runs of one study; ``bounds`` are what its metrics can be."""

    def __init__(
        self, study: str, points: Sequence[KnownPoint], bounds: Mapping[str, Bounds]
    ) -> None:
        self._study, self._points, self._bounds = study, _Points(points), bounds
        self._first: Exported | None = None

    def read(self, path: Path) -> tuple[FileRead, list[Reading]]:
        """Return what an exported file gives, a reading for each metric or cell.

        Raises:
            ParseError: it is none, of another study, made on something else than those before it,
                or holds what nothing measured can be; file, line and reason.
        """
        kind = format_of(head_of(path), str(path))
        if kind not in _READERS:
            raise _needs_mapping(str(path))
        with opened(path) as stream:
            found = [
                self._checked(one) for one in _READERS[kind](stream, self._study, self._points)
            ]
        file = FileRead(
            file=str(path), format=kind, stored_bytes=stream.stored_bytes,
            sha256=stream.digest.hexdigest(),
        )  # fmt: skip
        return file, found

    def _checked(self, one: Exported) -> Reading:
        where, self._first = one.reading.where, self._first or one
        if one.made_on != self._first.made_on:
            raise ParseError(
                "made on something else than the exports before it", where=where, got=one.made_on,
                wanted=f"{self._first.made_on}, as in {self._first.reading.where}",
                hint="compare each by itself, and tell them apart by --name",
            )  # fmt: skip
        for metric, value in one.reading.metrics.items():
            if metric in self._bounds:
                possible(value, self._bounds[metric], where, metric)
        return one.reading


def _needs_mapping(where: str) -> ParseError:
    return ParseError(
        "not an export of this program, so it needs a mapping", where=where, wanted=_MAPPING
    )


class _Points:
    """The points of a study, found by all that a line says of settings; as often as it is asked."""

    def __init__(self, points: Sequence[KnownPoint]) -> None:
        self._points = [one.point for one in points]
        self._names = tuple(dict.fromkeys(name for one in self._points for name, _ in one.settings))
        self._exact = {one: one for one in self._points}
        self._found: dict[Texts, Point] = {}
        self.span = points[0].span

    def find(self, settings: Mapping[str, str], where: str) -> Point:
        """Return the point; raise :class:`ParseError` if it is none of the study's."""
        texts = tuple(settings.get(name) for name in self._names)
        if texts not in self._found:
            self._found[texts] = self._sought(settings, where)
        return self._found[texts]

    def _sought(self, settings: Mapping[str, str], where: str) -> Point:
        told = {name: scalar(settings[name]) for name in self._names if name in settings}
        exact = self._exact.get(Point.of(told))
        if exact is not None:
            return exact
        for one in self._points:
            there = one.as_dict()
            if there.keys() <= settings.keys() and all(
                same_setting(value, settings[name]) for name, value in there.items()
            ):
                return one
        raise ParseError(
            "no point of the run", where=where,
            got=", ".join(f"{name} {settings.get(name, '-')[:40]}" for name in self._names),
        )  # fmt: skip


def _of_table(stream: Stream, study: str, points: _Points) -> Iterator[Exported]:
    for line, row in tables.rows(stream):
        where = f"{stream.where}:{line}"
        if not row.keys() >= COLUMNS:
            raise _needs_mapping(where)
        _check_study(row["study"], study, where)
        if row["excluded"] or not row["value"]:
            continue
        settings = {name.removeprefix("point."): text for name, text in row.items() if text}
        metric = row["metric"]
        made = Reading(
            where=where, point=points.find(settings, where),
            replicate=_name(row["seed"], row["cell"]),
            metrics={metric: number(row["value"], where, metric[:60])},
        )  # fmt: skip
        yield Exported(made_on=_made_on(row["kernel_release"], row["lab"]), reading=made)


def _of_scalars(stream: Stream, study: str, points: _Points) -> Iterator[Exported]:
    for run in omnetpp.read(stream, wanted=lambda module, _: module == study, span=points.span):
        if not run.attributes.keys() >= ATTRIBUTES:
            raise _needs_mapping(run.where)
        _check_study(run.attributes["configname"], study, run.where)
        if "excluded" in run.attributes:
            continue
        metrics = {kept.name: kept.value for kept in run.kept if isinstance(kept.value, float)}
        made = Reading(
            where=run.where, point=points.find(run.settings, run.where), metrics=metrics,
            replicate=_name(run.attributes["seedset"], run.attributes["cell"]),
        )  # fmt: skip
        on = _made_on(run.attributes["kernel"], run.attributes["lab.name"])
        yield Exported(made_on=on, reading=made)


_READERS: dict[Format, Callable[[Stream, str, _Points], Iterator[Exported]]] = {
    "csv": _of_table, "omnetpp": _of_scalars,
}  # fmt: skip
FORMATS: frozenset[Format] = frozenset({"csv", "omnetpp"})


def _check_study(got: str, wanted: str, where: str) -> None:
    if got != wanted:
        raise ParseError("of another study", where=where, wanted=wanted, got=repr(got[:60]))


def _made_on(kernel: str, lab: str) -> str:
    return f"kernel {kernel[:60]}, lab {lab[:60]}"


def _name(seed: str, cell: str) -> str:
    return f"seed {seed[:30]}, cell {cell[:60]}"
