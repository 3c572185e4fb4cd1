"""``report/section.json``: a study's section of the page of a set, as its own report left it. Pure.

Invariants: no name of a run folder and nothing of when or where it was run is in it. The set gives
each study a name, which goes between the pieces: so ids are unique and links lead to the study's
own files, whatever it stands beside.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter

from model.run_files.json_file import Name
from reports.page.first_screen import Answer

#: Stands for the study's name in the set; a character that no HTML text may hold.
GAP = "\0"
#: The version of the file.
SCHEMA = 3


@dataclass(frozen=True, kw_only=True)
class Section:
    """A study as a set shows it.

    ``answer`` is what the first screen says of it, ``again`` what ``make experiment`` takes to run
    it again; ``drawn`` is whether there are figures, ``moves`` whether one of them plays a
    movement.
    """

    schema: int = SCHEMA
    study: Name
    again: tuple[str, ...]
    drawn: bool
    moves: bool = False
    answer: Answer
    pieces: tuple[str, ...]

    def html(self, name: str) -> str:
        """Return the section of the study of this name."""
        return name.join(self.pieces)


SECTION = TypeAdapter(Section)
