"""``report/section.json``: a study's section of the page of a set, as its own report left it. Pure.

Invariants: no name of a run folder and nothing of when or where it was run is in it. The set gives
each study a name, which goes between the pieces: so ids are unique and links lead to the study's
own files, whatever it stands beside.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from reports.page.verdicts import VerdictRow, signed
from reports.store.json_document import Doc

SCHEMA = 1
#: Stands for the study's name in the set; a character that no HTML text may hold.
GAP = "\0"
_STORED = ("id", "text", "where", "verdict", "result", "wanted", "evidence", "sure")


@dataclass(frozen=True, kw_only=True)
class Section:
    """A study as a set shows it.

    ``rows`` are its verdicts, without comparisons; ``ran`` says in words what was run, ``again``
    what ``make experiment`` takes to run it again; ``drawn`` is whether there are figures.
    """

    study: str
    title: str
    ran: str
    again: tuple[str, ...]
    warnings: int
    drawn: bool
    rows: tuple[VerdictRow, ...]
    pieces: tuple[str, ...]

    def html(self, name: str) -> str:
        """Return the section of the study of this name."""
        return name.join(self.pieces)


def section_json(section: Section) -> str:
    """Return ``report/section.json``."""
    content = {
        "schema": SCHEMA,
        "study": section.study,
        "title": section.title,
        "ran": section.ran,
        "again": list(section.again),
        "warnings": section.warnings,
        "drawn": section.drawn,
        "verdicts": [
            {key: getattr(row, key) for key in (*_STORED, "suspected")} for row in section.rows
        ],
        "html": list(section.pieces),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def parse_section(doc: Doc) -> Section:
    """Return what :func:`section_json` wrote; raise ``ParseError`` naming what is not that."""
    doc.require_schema(SCHEMA)
    return Section(
        study=doc.get("study").name(),
        title=doc.get("title").text(),
        ran=doc.get("ran").text(),
        again=tuple(item.text() for item in doc.get("again").items()),
        warnings=doc.get("warnings").integer(),
        drawn=bool(doc.get("drawn").truth()),
        rows=tuple(_parse_row(item) for item in doc.get("verdicts").items()),
        pieces=tuple(item.text() for item in doc.get("html").items()),
    )


def _parse_row(doc: Doc) -> VerdictRow:
    stored = {key: doc.get(key).text() for key in _STORED}
    shown, style = signed(stored["verdict"])
    suspected = doc.maybe("suspected")  # older versions name none
    return VerdictRow(
        **stored, shown=shown, style=style, comparisons=(),
        suspected=suspected.text() if suspected else "",
    )  # fmt: skip
