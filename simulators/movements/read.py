"""A file of movements, plain or packed, read in the format that the study says it has."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from simulators.movements import bonnmotion, setdest
from simulators.movements.claimed import Claimed, Imported
from simulators.results.streams import opened

Format = Literal["setdest", "bonnmotion"]
_READERS = {"setdest": setdest.read, "bonnmotion": bonnmotion.read}


def read(path: Path, form: Format, claimed: Claimed) -> Imported:
    """Return the movement of all nodes of a study, and notes for who reads its runs.

    Raises:
        ParseError: the file cannot be read as that, or is not of this study; file, line, wanted,
            got, and a hint where one is known.
    """
    with opened(path) as stream:
        return _READERS[form](stream, claimed)
