"""A cell as a file of OMNeT++ scalars (version 3): one run, its settings, its numbers.

The OMNeT++ manual's appendix "Result File Formats" says what is in it. Iteration variables are the
point's settings, the repetition is the seed; ``config`` are the cell's settings, by path. Scalars
are the metrics (of the module named as the study), and each flow's columns of ``flows.parquet`` and
``path.parquet`` (of the module ``STUDY.FLOW``).

Invariants: units stand in names and in ``attr unit``; what is unknown has no line; each number is
written so that reading it gives the table's.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

from model.cell import to_dict
from model.run_files.column_words import unit_of
from model.run_files.point import Scalar
from reports.exports.cell import ExportedCell, OutFile

VERSION = 3
ENDING = ".sca"
#: Parts of a cell's settings that say how it was run, not what; hosts' notes fill pages.
_LEFT_OUT = frozenset({"schema", "point", "hosts", "limits", "lab", "collect"})
#: Columns that both tables have: the receiver's count, and the captures'.
_COUNTED_TWICE = frozenset({"goodput_bytes", "total_bytes"})
_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
}  # fmt: skip
#: No text of such a file can hold it; what stands for what cannot be shown takes its place.
_NUL, _REPLACED = "\0", "\N{REPLACEMENT CHARACTER}"


def omnetpp_files(cell: ExportedCell) -> Iterator[OutFile]:
    """Yield the one scalar file of a cell."""
    pieces = (f"{line}\n".encode() for line in _lines(cell))
    yield OutFile(name=f"{cell.stem}{ENDING}", pieces=pieces)


def token(text: str) -> str:
    """Return a text as one token of a line: in quotes, with escapes, where it must be."""
    text = text.replace(_NUL, _REPLACED)
    plain = text and not text.startswith("#") and not any(_needs_quotes(one) for one in text)
    if plain:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def _needs_quotes(character: str) -> bool:
    return character in '"\\' or character.isspace() or _is_control(character)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\x{ord(character):02X}" if _is_control(character) else character


def _is_control(character: str) -> bool:
    """Return whether C's ``iscntrl`` is true of it, whose bytes are ASCII."""
    return ord(character) < ord(" ") or ord(character) == 0x7F


def _lines(cell: ExportedCell) -> Iterator[str]:
    yield f"version {VERSION}"
    yield f"run {token(f'{cell.cell.study}-{cell.id}')}"
    for name, value in _attributes(cell).items():
        yield f"attr {token(name)} {token(value)}"
    for name, setting in cell.cell.point.items():
        yield f"itervar {token(name)} {token(_text(setting))}"
    for name, setting in _config(cell).items():
        yield f"config {token(name)} {token(_text(setting))}"
    yield ""
    for metric, found in cell.values.items():
        yield from _scalar(cell.cell.study, metric, found.value, cell.metrics[metric].label)
    for flow, columns in _flow_columns(cell).items():
        for name, value in columns.items():
            yield from _scalar(f"{cell.cell.study}.{flow}", name, value)


def _attributes(cell: ExportedCell) -> dict[str, str]:
    settings = cell.cell
    swept = ", ".join(f"${name}={_text(value)}" for name, value in settings.point.items())
    seed = str(settings.seed)
    return {
        "configname": settings.study,
        "experiment": settings.study,
        "network": settings.study,
        "measurement": swept,
        "iterationvars": swept,
        "repetition": seed,
        "replication": f"#{seed}",
        "seedset": seed,
        "runnumber": str(settings.replicate),
        "cell": cell.id,
        "kernel": cell.kernel,
        **{f"lab.{name}": value for name, value in settings.lab.items()},
        **({"excluded": cell.excluded} if cell.excluded else {}),
    }


def _config(cell: ExportedCell) -> dict[str, Scalar]:
    settings = to_dict(cell.cell)
    return dict(_flat({name: one for name, one in settings.items() if name not in _LEFT_OUT}, ""))


def _flat(value: Any, path: str) -> Iterator[tuple[str, Scalar]]:
    """Yield what is in objects and lists by its path."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _flat(one, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _flat(one, f"{path}[{place}]")
    elif value is not None:
        yield path, value


def _flow_columns(cell: ExportedCell) -> dict[str, dict[str, Any]]:
    """Return each flow's columns: of its table, then what the captures say besides."""
    paths = {row.flow: row for row in cell.found.evidence.paths}
    return {
        row.flow: {
            **dataclasses.asdict(row),
            **{
                f"captured_{name}" if name in _COUNTED_TWICE else name: value
                for name, value in (
                    dataclasses.asdict(paths[row.flow]) if row.flow in paths else {}
                ).items()
            },
        }
        for row in cell.found.flows
    }


def _scalar(module: str, name: str, value: Any, title: str = "") -> Iterator[str]:
    """Yield the lines of a number; nothing of what is unknown, or no number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return
    yield f"scalar {token(module)} {token(name)} {_text(value)}"
    if title:
        yield f"attr title {token(title)}"
    if unit := unit_of(name):
        yield f"attr unit {token(unit)}"


def _text(value: Scalar) -> str:
    """Return a value as it is written; a number so that it is read back as it was."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)
