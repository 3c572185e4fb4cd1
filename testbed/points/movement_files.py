"""Files of movements that a study's nodes follow: found beside the study, read once, held packed.

Invariants: a file is looked for below the study file's folder alone; what a cell's settings say of
one is digests, so that a file that has changed makes other cells; all movements of a study together
take so many bytes at most.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from model.ad_hoc import AD_HOC
from model.cell import Cell
from model.errors import ParseError
from model.movement import kept, movement_csv
from model.units import ns_to_seconds, seconds_to_ns
from simulators.movements import read as movement_files
from simulators.movements.claimed import Claimed
from testbed.study import mobility_form
from testbed.study.problems import MAX_SOUGHT, Problem, StudyFileError, suggestion
from testbed.study.study_form import StudyFile
from testbed.study.yaml_document import Document

#: Of a study's movements all together, packed: about 25 million rows.
MOST_PACKED_BYTES = 256 << 20
LOC = ("network", "mobility", "file")
#: Files beside a missing one whose names are compared with its.
MOST_LOOKED_AT = 1000
GUIDE = "docs/guides/mobility.md"


@dataclass(frozen=True, kw_only=True)
class Followed:
    """What came of a file: by what it and its movement are known, when all nodes stand, its text.

    The text is that of movement.csv, packed, without what lies behind the end of the run.
    """

    trace_sha256: str
    movement_sha256: str
    ends_s: float
    packed: bytes


class _Place(Protocol):
    """A point: settings, and the document that has their lines."""

    @property
    def settings(self) -> StudyFile: ...
    @property
    def document(self) -> Document: ...


@dataclass(frozen=True)
class _Wanted:
    """A file, and what the study claims of it."""

    path: Path
    form: mobility_form.TraceFormat | None
    claimed: Claimed


@dataclass
class MovementFiles:
    """The files that a study's nodes follow, looked for below the folder ``beside``."""

    beside: Path
    _found: dict[_Wanted, Followed | ParseError] = field(default_factory=dict)

    def load(self, points: Iterable[_Place], seeds: Collection[int]) -> list[Problem]:
        """Read the files of these points with these seeds; return what is wrong with them."""
        problems: dict[Problem, None] = {}
        for point in points:
            for seed in seeds if _follows(point) else ():
                try:
                    self.of(point, seed)
                except StudyFileError as error:
                    problems |= dict.fromkeys(error.problems)
                if len(problems) > MAX_SOUGHT:
                    return list(problems)
        return list(problems)

    def of(self, point: _Place, seed: int) -> Followed | None:
        """Return what a point's nodes follow with a seed; None if no file.

        Raises:
            StudyFileError: the file cannot be read, or is not of the study.
        """
        if not _follows(point):
            return None
        wanted = self._wanted(point.settings, seed)
        if wanted not in self._found:
            try:
                self._found[wanted] = self._read(wanted)
            except ParseError as error:
                self._found[wanted] = _no_file(wanted.path, self.beside, error)
        found = self._found[wanted]
        if isinstance(found, ParseError):
            problem = point.document.problem(
                LOC, f"{found.where}: {found.what}", wanted=found.wanted, got=found.got,
                hint=found.hint,
            )  # fmt: skip
            raise StudyFileError([problem]) from found
        return found

    def read_files(self) -> list[Path]:
        """Return every file that was read, in order."""
        return list(dict.fromkeys(wanted.path for wanted in self._found))

    def of_cells(self, cells: Iterable[Cell]) -> Iterator[tuple[str, str]]:
        """Yield each movement that cells follow once: its digest, and the text of movement.csv."""
        wanted = {cell.ad_hoc.mobility.movement_sha256 for cell in cells if cell.ad_hoc}
        for one in self._found.values():
            if isinstance(one, Followed) and one.movement_sha256 in wanted:
                wanted.remove(one.movement_sha256)
                yield one.movement_sha256, zlib.decompress(one.packed).decode()

    def _wanted(self, settings: StudyFile, seed: int) -> _Wanted:
        network, mobility = settings.network, settings.network.mobility
        if network.nodes is None or mobility is None or mobility.file is None:
            raise TypeError("no file of movements")
        return _Wanted(
            path=self.beside / mobility_form.file_of(mobility.file, seed),
            form=mobility.format,
            claimed=Claimed(
                nodes=network.nodes, field=mobility_form.field_of(mobility),
                until_ns=seconds_to_ns(settings.duration_s),
            ),
        )  # fmt: skip

    def _read(self, wanted: _Wanted) -> Followed:
        form = wanted.form or movement_files.told(wanted.path)
        found = movement_files.read(wanted.path, form, wanted.claimed)
        moved = found.movement
        text = movement_csv.text_of(moved.until(wanted.claimed.until_ns))
        followed = Followed(
            trace_sha256=found.sha256,
            movement_sha256=kept.digest(text),
            ends_s=ns_to_seconds(moved.last_ns),
            packed=zlib.compress(text.encode(), level=1),
        )
        held = [one for one in self._found.values() if isinstance(one, Followed)]
        if sum(len(one.packed) for one in (*held, followed)) > MOST_PACKED_BYTES:
            raise ParseError(
                "too many movements for one study", where=str(wanted.path),
                wanted=f"at most {MOST_PACKED_BYTES} bytes of them, packed",
            )  # fmt: skip
        return followed


def _no_file(path: Path, beside: Path, error: ParseError) -> ParseError:
    """Return the error, or one that says what is wanted if there is no such file."""
    if not isinstance(error.__cause__, FileNotFoundError):
        return error
    try:
        there = [each.name for each in itertools.islice(path.parent.iterdir(), MOST_LOOKED_AT)]
    except OSError:
        there = []
    return ParseError(
        "there is no such file", where=error.where,
        wanted=f"a file of setdest or BonnMotion, by its path from {beside.absolute()} on",
        hint=suggestion(path.name, sorted(there)) or f"see {GUIDE}",
    )  # fmt: skip


def _follows(point: _Place) -> bool:
    network = point.settings.network
    return (
        network.topology == AD_HOC
        and network.mobility is not None
        and network.mobility.model == "trace"
    )
